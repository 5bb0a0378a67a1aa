package grounding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// isDate reports whether a fact is a day of a month.
func isDate(f Fact) bool { return len(f.readings) > 0 && f.readings[0][0].kind == day }

// someYear is the year of dates that have none. It has 365 days.
const someYear = 2001

// yearOf returns the year that some facts name most often, or someYear.
func yearOf(facts []Fact) int {
	counts := map[int]int{}
	most := someYear
	for _, f := range facts {
		if y := f.year(); y > 0 {
			if counts[y]++; counts[y] > counts[most] {
				most = y
			}
		}
	}
	return most
}

// datesOf returns the days among some facts, in the year that stands behind each, or else in a given one.
func datesOf(facts []Fact, year int) []time.Time {
	var out []time.Time
	for i, f := range facts {
		if !isDate(f) || len(out) == maxLearned {
			continue
		}
		own := f.year()
		if own == 0 && i+1 < len(facts) && facts[i+1].Start > f.End && facts[i+1].Start-f.End <= len(" de ") {
			own = facts[i+1].year()
		}
		if own == 0 {
			own = year
		}
		out = append(out, f.dayIn(own))
	}
	return out
}

// year returns the year that a fact is or names, or 0.
func (f Fact) year() int {
	for _, reading := range f.readings {
		k, isDated := reading[len(reading)-1], len(reading) == 1 || reading[0].kind == day
		if y, err := strconv.Atoi(k.text); isDated && err == nil && k.kind == number && y >= 2000 && y < 2100 {
			return y
		}
	}
	return 0
}

// dayIn returns the day of a date in a year.
func (f Fact) dayIn(year int) time.Time {
	var d, m int
	fmt.Sscanf(f.readings[0][0].text, "%d.%d", &d, &m)
	return time.Date(year, time.Month(m), d, 0, 0, 0, 0, time.UTC)
}

// isDaysBetween reports whether a claim is the number of days or weeks between two dates of whatever years, or about that if it
// says so.
func isDaysBetween(c claim, dates []time.Time) bool {
	_, n := c.span()
	if n == 0 || len(c.others) > 0 {
		return false
	}
	off := 0
	if approximate[c.Left] > 0 {
		off = int(periods[c.Unit].times / dayMinutes / 2)
	}
	return slices.ContainsFunc(dates, func(t time.Time) bool {
		return slices.ContainsFunc(dates, func(u time.Time) bool {
			const year = 365
			days := ((u.YearDay()-t.YearDay()-n)%year + year) % year
			return min(days, year-days) <= off
		})
	})
}

// isDay reports whether a claim is a number of days between two dates of the evidence or the text, or follows from one of them by a period
// of theirs: "30 days from 9 November, until 9 December".
func (d *derivation) isDay(c claim, evidence []Fact) bool {
	if !isDate(c.Fact) && c.year() == 0 && !isPeriod(c.Fact) && c.dayAlone() == 0 {
		return false
	}
	year := yearOf(evidence)
	dates := datesOf(evidence, year)
	isNear := isDate(c.Fact) && slices.ContainsFunc(dates, func(t time.Time) bool { return c.dayIn(t.Year()).Sub(t).Abs() <= mistaken*24*time.Hour })
	dates = append(dates, datesOf(d.dates, year)...)
	spans := slices.DeleteFunc(slices.Clone(evidence), func(f Fact) bool { return !isPeriod(f) })
	return isDaysBetween(c, dates) || !isNear && isDayFrom(c, dates, evidence, append(spans, d.measures...))
}

// mistaken is how many days from one of the evidence a date is that is taken for a mistake.
const mistaken = 2

// isDayFrom reports whether a claim is the day that is a period after a date, in days or in working days, or the year that is some years after
// one of the evidence.
func isDayFrom(c claim, dates []time.Time, evidence, spans []Fact) bool {
	return slices.ContainsFunc(spans, func(f Fact) bool {
		months, days := f.span()
		if year := c.year(); year > 0 && !isDate(c.Fact) {
			return months > 0 && months%12 == 0 && slices.ContainsFunc(evidence, func(o Fact) bool { return o.year() == year-months/12 })
		}
		return months+days > 0 && slices.ContainsFunc(dates, func(t time.Time) bool {
			return c.isOn(t.AddDate(0, months, days)) || t.Year() != someYear && periods[f.Unit].times == dayMinutes && c.isOn(workdaysAfter(t, days))
		})
	})
}

// isOn reports whether a date, or the day of a month, is on a day of any year.
func (c claim) isOn(t time.Time) bool {
	if isDate(c.Fact) {
		return c.dayIn(t.Year()).Equal(t)
	}
	return c.dayAlone() == t.Day()
}

// dayAlone returns the day of a month that a number may be without its month, or 0: "the 21st", "on Friday 4".
func (c claim) dayAlone() int {
	isDay := dayEndings[c.Unit] > 0 || dayArticles[c.Left] > 0 || weekdayOf[c.Left] > 0
	if !isDay || !c.IsNumber() || c.currency != "" || len(c.values) == 0 || c.values[0]%thousand != 0 || c.values[0] > 31*thousand {
		return 0
	}
	return int(c.values[0] / thousand)
}

// span returns the length of a period. Both are 0 if it is of no whole day.
func (f Fact) span() (months, days int) {
	switch unit, values := f.measured(); {
	case !isPeriod(f) || len(values) == 0:
		return 0, 0
	case unit == "month":
		return int(values[0] / thousand), 0
	case values[0]%(dayMinutes*thousand) == 0:
		return 0, int(values[0] / (dayMinutes * thousand))
	}
	return 0, 0
}

// workdaysAfter returns the day that is some working days, from Monday to Friday, after another.
func workdaysAfter(t time.Time, days int) time.Time {
	for days = min(days, maxQuantity); days > 0; {
		if t = t.AddDate(0, 0, 1); t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			days--
		}
	}
	return t
}

// isWeekdayIn reports whether a claim is the weekday of a date that some facts have, or may be that of one whose year they do not name.
func isWeekdayIn(c claim, facts []Fact) bool {
	k := c.readings[0][0]
	hasWeekday := slices.ContainsFunc(facts, func(f Fact) bool { return f.readings[0][0].kind == weekday })
	return k.kind == weekday && slices.ContainsFunc(datesOf(facts, someYear), func(t time.Time) bool {
		return t.Year() == someYear && !hasWeekday || t.Year() != someYear && weekdayKey((int(t.Weekday())+6)%7+1) == k
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
