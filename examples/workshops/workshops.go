package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/specialist"
)

// definition is the whole specialist: what it is for, when it is asked, what it is told, and which tools it has.
var definition = specialist.Definition{
	Name:    "workshops",
	Purpose: "Finds the store's workshops and courses: what is taught, when, where, the fee and free seats. Not for products or orders.",
	Examples: []string{
		"when is the next map and compass course",
		"do you have a workshop about caring for boots",
		"are there free seats in the first aid course",
	},
	Keywords: map[float64][]string{
		3: {"workshop", "workshops", "course", "courses"},
		2: {"map and compass", "first aid", "seats", "lesson", "class"},
	},
	Prompt: "You answer questions about the store's workshops. Look workshops up before you answer. Give the date, the fee and the " +
		"free seats of each. Nobody can book here: say that seats are booked at the counter.",
	Tools:       tools,
	Unavailable: unavailable,
}

// unavailable says which stores have no workshops.
func unavailable(_ context.Context, storeID string) (string, error) {
	if len(timetables[storeID]) == 0 {
		return "This store holds no workshops.", nil
	}
	return "", nil
}

// workshop is one entry of a timetable.
type workshop struct {
	Title     string       `json:"title"`
	Day       time.Weekday `json:"-"` // every week
	Date      string       `json:"date"`
	Fee       string       `json:"fee"`
	FreeSeats int          `json:"free_seats"`
}

// timetables are the workshops by store. A real program asks a booking system.
var timetables = map[string][]workshop{
	"demo": {
		{Title: "Map and compass", Day: time.Saturday, Fee: "35.00 EUR", FreeSeats: 4},
		{Title: "Caring for leather boots", Day: time.Wednesday, Fee: "12.50 EUR", FreeSeats: 9},
		{Title: "First aid on the trail", Day: time.Saturday, Fee: "48.00 EUR", FreeSeats: 0},
	},
}

type findArgs struct {
	Topic string `json:"topic,omitempty" jsonschema:"words of the title, in English; empty for all"`
}

type findResult struct {
	Workshops []workshop `json:"workshops"`
}

// tools are the tools of one turn. The store comes from the turn, so a model cannot name another one.
func tools(t *specialist.Turn) []agentloop.Tool {
	find := func(_ context.Context, in findArgs) (findResult, error) {
		var out findResult
		for _, w := range timetables[t.StoreID()] {
			if matches(w.Title, in.Topic) {
				w.Date = next(t.Now(), w.Day).Format(time.DateOnly)
				out.Workshops = append(out.Workshops, w)
			}
		}
		t.Found(len(out.Workshops))
		if len(out.Workshops) == 0 {
			return out, fmt.Errorf("no workshop has %q in its title; leave out topic to see all", in.Topic)
		}
		return out, nil
	}
	return []agentloop.Tool{agentloop.NewTool("find_workshops", "Lists the coming workshops.", find)}
}

// matches reports whether a title has any word of a topic. An empty topic matches all.
func matches(title, topic string) bool {
	words := strings.Fields(strings.ToLower(title))
	return topic == "" || slices.ContainsFunc(strings.Fields(strings.ToLower(topic)), func(w string) bool {
		return len(w) > 3 && slices.Contains(words, w)
	})
}

// next returns the first such day of the week after now.
func next(now time.Time, day time.Weekday) time.Time {
	return now.AddDate(0, 0, (int(day-now.Weekday())+6)%7+1)
}
