package endpoint

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// messageBytes bounds a provider's own words in an error.
const messageBytes = 500

// Clean makes a provider's words fit for an error: one line, cut, without the key.
func Clean(message, key string) string {
	if key != "" {
		message = strings.ReplaceAll(message, key, "[key]")
	}
	message = strings.ToValidUTF8(strings.Join(strings.Fields(message), " "), "")
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + " [cut]"
	}
	return message
}

// RetryAfter returns the wait that the headers of an answer ask for, 0 if none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
