package openai

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsRead(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", nil, 0},
		{"seconds", http.Header{"Retry-After": {"12"}}, 12 * time.Second},
		{"part of a second", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds come first", http.Header{"Retry-After": {"12"}, "Retry-After-Ms": {"20"}}, 20 * time.Millisecond},
		{"a date", http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:30 GMT"}}, 30 * time.Second},
		{"a date that has passed", http.Header{"Retry-After": {"Sun, 01 Mar 2026 11:00:00 GMT"}}, 0},
		{"negative", http.Header{"Retry-After": {"-3"}}, 0},
		{"absurd", http.Header{"Retry-After": {"1e300"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}, "Retry-After-Ms": {"NaN"}}, 0},
		{"words", http.Header{"Retry-After": {"later"}}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := RetryAfter(c.header, now); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
