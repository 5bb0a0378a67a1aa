package endpoint_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/services/internal/model/endpoint"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, 0},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {" 0.5 "}}, 500 * time.Millisecond},
		{http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:15 GMT"}}, 10 * time.Second},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:00 GMT"}}, 0},
		{http.Header{"Retry-After": {"-3"}}, 0},
		{http.Header{"Retry-After": {"1e12"}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 0},
	} {
		if got := endpoint.RetryAfter(c.header, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestCleanMakesOneShortLineWithoutTheKey(t *testing.T) {
	if got := endpoint.Clean("bad\n key  k3y\xff", "k3y"); got != "bad key [key]" {
		t.Errorf("%q", got)
	}
	if got := endpoint.Clean(strings.Repeat("é", 10000), ""); got != strings.Repeat("é", 250)+" [cut]" {
		t.Errorf("%q", got)
	}
}

func TestWholeAnswersAreToldFromBrokenOnes(t *testing.T) {
	broken := errors.New("reset")
	refused := &openai.StatusError{StatusCode: 503}
	for name, c := range map[string]struct {
		ending endpoint.Ending
		err    error
		want   agentloop.FinishReason
		is     error
	}{
		"finished":                {ending: endpoint.Ending{Finish: "stop"}, want: "stop"},
		"finished, then broken":   {ending: endpoint.Ending{Finish: "stop"}, err: broken, want: "stop"},
		"finished, then refused":  {ending: endpoint.Ending{Finish: "stop"}, err: refused, is: refused},
		"text, then nothing":      {ending: endpoint.Ending{Text: true}, want: "length"},
		"text, then broken":       {ending: endpoint.Ending{Text: true}, err: broken, is: broken},
		"text and part of a call": {ending: endpoint.Ending{Text: true, Calls: 1}, is: io.ErrUnexpectedEOF},
		"nothing":                 {is: io.ErrUnexpectedEOF},
	} {
		if got, err := c.ending.Last(c.err); got.FinishReason != c.want || !errors.Is(err, c.is) {
			t.Errorf("%s: %q, error %v, want %q, %v", name, got.FinishReason, err, c.want, c.is)
		}
	}
}
