package main

import (
	"context"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/specialist"
)

func TestTheSpecialistAnswersFromItsTimetable(t *testing.T) {
	monday := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s, err := specialist.New(definition, specialist.Config{Model: rule, Now: func() time.Time { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ question, want string }{
		{"When is the next compass course?",
			"Map and compass is on 2026-03-07, costs 35.00 EUR and has 4 free seats. Seats are booked at the counter."},
		{"Is there a knitting workshop?", "I found no such workshop."},
	} {
		answer, err := s.Ask(context.Background(), "demo", c.question)
		if err != nil {
			t.Fatal(err)
		}
		if answer.GetText() != c.want || len(answer.GetUnsupportedClaims()) > 0 {
			t.Errorf("%q: %q, without support: %q", c.question, answer.GetText(), answer.GetUnsupportedClaims())
		}
	}
}

func TestAStoreWithoutWorkshopsHasNoSpecialist(t *testing.T) {
	if why, err := unavailable(context.Background(), "other"); err != nil || why == "" {
		t.Errorf("%q, %v", why, err)
	}
}
