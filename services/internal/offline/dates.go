package offline

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	isoDateRE  = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b`)
	inDaysRE   = regexp.MustCompile(`\bin (\d+) (day|days|week|weeks)\b`)
	dayMonthRE = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?(?: of|\.)? ([a-z]{3,9})\b(?: (\d{4}))?`)
	monthDayRE = regexp.MustCompile(`\b([a-z]{3,9}) (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4}))?`)
)

// dayWords give a day counted from today, in four languages.
var dayWords = map[string]int{"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "hoy": 0, "manana": 1, "heute": 0, "demain": 1}

// dates returns the days that t names, as ISO dates, in order. now says what day it is.
func dates(t text, now time.Time) ([]string, []span) {
	var out []string
	var where []span
	add := func(d time.Time, s span) {
		out, where = append(out, d.Format(time.DateOnly)), append(where, s)
	}
	for _, m := range isoDateRE.FindAllStringIndex(t.raw, -1) {
		if d, err := time.Parse(time.DateOnly, t.raw[m[0]:m[1]]); err == nil {
			add(d, span{m[0], m[1]})
		}
	}
	for _, m := range dayMonthRE.FindAllStringSubmatchIndex(t.lower, -1) {
		if d, ok := calendarDay(t.lower, m[2:4], m[4:6], m[6:8], now); ok {
			add(d, span{m[0], m[1]})
		}
	}
	if len(out) == 0 {
		for _, m := range monthDayRE.FindAllStringSubmatchIndex(t.lower, -1) {
			if d, ok := calendarDay(t.lower, m[4:6], m[2:4], m[6:8], now); ok {
				add(d, span{m[0], m[1]})
			}
		}
	}
	for i, w := range t.words {
		if n, ok := dayWords[w.norm]; ok {
			add(now.AddDate(0, 0, n), span{w.start, w.end})
		} else if day, ok := weekday(w.norm); ok {
			n := (int(day)-int(now.Weekday())+6)%7 + 1
			start := w.start
			if i > 0 && (t.words[i-1].norm == "next" || t.words[i-1].norm == "this" || t.words[i-1].norm == "on") {
				start = t.words[i-1].start
			}
			add(now.AddDate(0, 0, n), span{start, w.end})
		}
	}
	if m := inDaysRE.FindStringSubmatchIndex(t.lower); m != nil {
		n, _ := strconv.Atoi(t.lower[m[2]:m[3]])
		if strings.HasPrefix(t.lower[m[4]:m[5]], "week") {
			n *= 7
		}
		if n < 3660 {
			add(now.AddDate(0, 0, n), span{m[0], m[1]})
		}
	}
	return out, where
}

func weekday(w string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(d.String(), w) {
			return d, true
		}
	}
	return 0, false
}

// calendarDay reads day, month and year at the given offsets; without a year it is the next such day.
func calendarDay(s string, day, month, year []int, now time.Time) (time.Time, bool) {
	d, _ := strconv.Atoi(s[day[0]:day[1]])
	name := s[month[0]:month[1]]
	for m := time.January; m <= time.December; m++ {
		full := strings.ToLower(m.String())
		if name != full && name != full[:3] && name != "sept" || name == "sept" && m != time.September {
			continue
		}
		y := now.Year()
		if year[0] >= 0 {
			y, _ = strconv.Atoi(s[year[0]:year[1]])
		}
		out := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		if out.Day() != d {
			return time.Time{}, false
		}
		if year[0] < 0 && out.Before(now.AddDate(0, 0, -1)) {
			out = out.AddDate(1, 0, 0)
		}
		return out, true
	}
	return time.Time{}, false
}
