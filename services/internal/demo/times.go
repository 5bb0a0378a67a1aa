package demo

import (
	"regexp"
	"strconv"
	"time"
)

// relativeTime is a JSON value, not a key, that is a relative time and nothing else. What only resembles one stays as
// it is, and is then refused as a timestamp.
var relativeTime = regexp.MustCompile(`(:\s*)"now(?:([+-])(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?)?"`)

// AbsoluteTimes returns text with each relative time replaced by the instant in RFC 3339.
func AbsoluteTimes(text []byte, now time.Time) []byte {
	now = now.UTC().Truncate(time.Second)
	return relativeTime.ReplaceAllFunc(text, func(found []byte) []byte {
		part := relativeTime.FindSubmatch(found)
		sign, days, hours, minutes := part[2], part[3], part[4], part[5]
		if len(sign) > 0 && len(days)+len(hours)+len(minutes) == 0 {
			return found
		}
		offset := units(days, 24*time.Hour) + units(hours, time.Hour) + units(minutes, time.Minute)
		if string(sign) == "-" {
			offset = -offset
		}
		out := append([]byte(nil), part[1]...)
		return strconv.AppendQuote(out, now.Add(offset).Format(time.RFC3339))
	})
}

// units returns a count of units; no digits count as zero.
func units(digits []byte, unit time.Duration) time.Duration {
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}
