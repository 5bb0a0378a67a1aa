package grounding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// isDate reports whether a fact is a day of a month.
func isDate(f Fact) bool { return len(f.readings) > 0 && f.readings[0][0].kind == day }

// someYear is the year of dates where none is known. It has 365 days.
const someYear = 2001

// timeline is what days may follow from: the dates of some facts, and the periods. The zero value has none.
type timeline struct {
	year      int // of dates that have none; 0: it is not known
	dates     []time.Time
	intervals []interval
	years     []int
}

// interval is a period in months, in days or in working days. The zero value is none.
type interval struct {
	months, days int
	isWork       bool
}

// newTimeline reads facts. Each date and each period is there once, and at most maxLearned of a kind.
func newTimeline(facts []Fact) timeline {
	var out timeline
	counts := map[int]int{}
	for _, f := range facts {
		if y := f.year(); y > 0 {
			if counts[y]++; counts[y] > counts[out.year] || counts[y] == counts[out.year] && y > out.year {
				out.year = y
			}
			out.years = addOnce(out.years, y)
		}
		if p := f.interval(); p != (interval{}) {
			out.intervals = addOnce(out.intervals, p)
		}
	}
	for _, f := range facts {
		if !isDate(f) {
			continue
		}
		f = f.withYear()
		if t, ok := f.dayIn(cmp.Or(f.year(), out.year, someYear)); ok {
			out.dates = addOnce(out.dates, t)
		}
	}
	return out
}

// withYear returns the date that a day and the year behind it make, for either of them; other facts as they are.
func (f Fact) withYear() Fact {
	if f.dated != nil {
		f.readings = [][]key{f.dated}
	}
	return f
}

// nearest returns the day of a date of a text; without a year, the one that is nearest to a day of the evidence: 6 January is after 23 December.
func (t timeline) nearest(f Fact) (nearest time.Time, ok bool) {
	if year := f.year(); year > 0 || t.year == 0 {
		return f.dayIn(cmp.Or(year, someYear))
	}
	least := time.Duration(0)
	for _, year := range []int{t.year, t.year - 1, t.year + 1} {
		day, exists := f.dayIn(year)
		for _, u := range t.dates {
			if off := u.Sub(day).Abs(); exists && (!ok || off < least) {
				nearest, least, ok = day, off, true
			}
		}
	}
	return nearest, ok
}

// addOnce appends a value to a list that lacks it, up to maxLearned.
func addOnce[T comparable](list []T, v T) []T {
	if len(list) == maxLearned || slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// year returns the year that a fact is or names, or 0.
func (f Fact) year() int {
	if f.currency != "" || unitOf(f) != "" {
		return 0
	}
	for _, reading := range f.readings {
		k, isDated := reading[len(reading)-1], len(reading) == 1 || reading[0].kind == day
		if y, err := strconv.Atoi(k.text); isDated && err == nil && k.kind == number && y >= 2000 && y < 2100 {
			return y
		}
	}
	return 0
}

// dayIn returns the day of a date in a year. ok is false if there is no such day, or no year.
func (f Fact) dayIn(year int) (t time.Time, ok bool) {
	var d, m int
	fmt.Sscanf(f.readings[0][0].text, "%d.%d", &d, &m)
	t = time.Date(year, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return t, year > 0 && t.Day() == d
}

// interval returns the length of a period of whole days.
func (f Fact) interval() interval {
	if !isPeriod(f) {
		return interval{}
	}
	unit, values := f.measured()
	switch {
	case len(values) == 0 || unit != "month" && periods[f.Unit].times < dayMinutes:
		return interval{}
	case unit == "month":
		return interval{months: int(values[0] / thousand)}
	}
	return interval{days: int(values[0] / (dayMinutes * thousand)), isWork: workdays[f.Unit]}
}

// workdays are the words for working days, as Fact.Unit has them, and those behind "jours" and "días" that say so.
var workdays = map[string]bool{"work": true, "busi": true, "werk": true, "arbe": true, "ouvr": true, "labo": true, "habi": true}

// after returns the day that is a period after another one; the last of the month if the month has no such day.
func (p interval) after(t time.Time) time.Time {
	u := t.AddDate(0, p.months, 0)
	if u.Day() != t.Day() {
		u = u.AddDate(0, 0, -u.Day())
	}
	if !p.isWork {
		return u.AddDate(0, 0, p.days)
	}
	for days := p.days; days > 0; {
		if u = u.AddDate(0, 0, 1); u.Weekday() != time.Saturday && u.Weekday() != time.Sunday {
			days--
		}
	}
	return u
}

const (
	// mistaken is how many days from one of the evidence a date is that is taken for a mistake.
	mistaken = 2
	// leastTerm is the shortest period, in days, that a text need not name to count by it: what is due sooner may be any day.
	leastTerm = 7
	// maxWorkdays bounds a period in working days.
	maxWorkdays = 60
	// daysOfYear bounds the days between two dates.
	daysOfYear = 365
)

// isDay reports whether a claim is a number of days between two dates of the evidence or the text, or follows from one of them by a period
// of theirs: "30 days from 9 November, until 9 December".
func (d *derivation) isDay(c claim, evidence timeline) bool {
	isBare := c.dayAlone() > 0 || c.year() > 0
	if !isDate(c.Fact) && !isBare && c.interval() == (interval{}) || len(c.others) > 0 {
		return false
	}
	dates := slices.Clone(evidence.dates)
	for _, f := range d.dates {
		if t, ok := evidence.nearest(f); ok {
			dates = addOnce(dates, t)
		}
	}
	if p := c.interval(); p.days > 0 {
		return c.isBetween(p.days, dates)
	}
	terms := d.terms(evidence)
	inYears := func(p interval) bool {
		return p.months > 0 && p.months%12 == 0 && slices.Contains(evidence.years, c.year()-p.months/12)
	}
	if !isDate(c.Fact) && c.year() > 0 && slices.ContainsFunc(terms, inYears) {
		return true
	}
	c.Fact = c.withYear()
	isNear := func(t time.Time) bool {
		u, ok := c.dayIn(t.Year())
		days := int(u.Sub(t).Abs().Hours() / 24)
		return !ok || min(days, daysOfYear-days) <= mistaken
	}
	if isDate(c.Fact) && slices.ContainsFunc(evidence.dates, isNear) {
		return false
	}
	return slices.ContainsFunc(terms, func(p interval) bool {
		return !(p.isWork && p.days > maxWorkdays) && slices.ContainsFunc(dates, func(t time.Time) bool {
			return !(p.isWork && t.Year() == someYear) && c.isOn(p.after(t))
		})
	})
}

// terms returns the periods that days are counted by: those of the text, and of the evidence those that are not too short.
func (d *derivation) terms(evidence timeline) []interval {
	terms := slices.DeleteFunc(slices.Clone(evidence.intervals), func(p interval) bool { return p.months == 0 && p.days < leastTerm })
	for _, f := range d.measures {
		if p := f.interval(); p != (interval{}) && !slices.Contains(terms, p) {
			terms = append(terms, p)
		}
	}
	return terms
}

// isBetween reports whether a claim is the number of days or weeks between two dates, or about that if it says so.
func (c claim) isBetween(n int, dates []time.Time) bool {
	off := 0
	if approximate[c.Left] > 0 {
		off = int(periods[c.Unit].times / dayMinutes / 2)
	}
	return n < daysOfYear && slices.ContainsFunc(dates, func(t time.Time) bool {
		return slices.ContainsFunc(dates, func(u time.Time) bool {
			days := int(u.Sub(t).Hours() / 24)
			return days > 0 && max(days-n, n-days) <= off
		})
	})
}

// isOn reports whether a date, or the day of a month, is on a day: in any year if it names none.
func (c claim) isOn(t time.Time) bool {
	if !isDate(c.Fact) {
		return c.dayAlone() == t.Day()
	}
	u, ok := c.dayIn(cmp.Or(c.year(), t.Year()))
	return ok && u.Equal(t)
}

// dayAlone returns the day of a month that a number may be without its month, or 0: "the 21st", "on Friday 4".
func (c claim) dayAlone() int {
	isDay := dayEndings[c.Unit] > 0 || dayArticles[c.Left] > 0 || weekdayOf[c.Left] > 0
	if !isDay || !c.IsNumber() || c.currency != "" || len(c.values) == 0 || c.values[0]%thousand != 0 || c.values[0] > 31*thousand {
		return 0
	}
	return int(c.values[0] / thousand)
}

// isWeekday reports whether a fact of a text is the weekday of the date beside it, which a timeline has.
func (t Text) isWeekday(f Fact, of timeline) bool {
	k := f.readings[0][0]
	return k.kind == weekday && slices.ContainsFunc(t.Facts, func(date Fact) bool {
		isBeside := date.Start >= f.End && date.Start-f.End <= len(", den ") || f.Start >= date.End && f.Start-date.End <= len(", a ")
		return isDate(date) && isBeside && slices.ContainsFunc(of.dates, func(day time.Time) bool {
			u, ok := date.dayIn(day.Year())
			return ok && u.Equal(day) && u.Year() != someYear && weekdayKey((int(day.Weekday())+6)%7+1) == k
		})
	})
}

// isDayOf reports whether a claim is the day of a date that the evidence has: "the 21st" of 21 November.
func isDayOf(c claim, has func(key) bool) bool {
	n := c.dayAlone()
	if n == 0 {
		return false
	}
	for month := 1; month <= 12; month++ {
		if has(dayKey(n, month)) {
			return true
		}
	}
	return false
}

// periods are the words for periods, as Fact.Unit has them, in minutes or months, which are no whole number of each other.
var periods = periodWords()

// isPeriod reports whether a fact is a number of days, months or the like.
func isPeriod(f Fact) bool {
	_, ok := periods[f.Unit]
	return ok
}

// periodWords has days and all that is shorter in minutes, and years in months.
func periodWords() map[string]scale {
	out := map[string]scale{}
	for words, p := range map[string]scale{
		"minu":                {"minute", 1},
		"hour stun heur hora": {"minute", 60},
		"day days tag tage jour día días work busi werk arbe kale cale": {"minute", dayMinutes},
		"week woch sema":                      {"minute", 7 * dayMinutes},
		"mont mona mois mes mese":             {"month", 1},
		"year jahr jähr an ans anné año años": {"month", 12},
	} {
		for _, w := range strings.Fields(words) {
			out[w] = p
		}
	}
	return out
}

// dayMinutes is how many minutes a day has.
const dayMinutes = 24 * 60
