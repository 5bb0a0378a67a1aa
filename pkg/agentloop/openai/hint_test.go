package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

var (
	_ wrap.RetryHinter  = (*openai.StatusError)(nil)
	_ wrap.BadRequester = (*openai.StatusError)(nil)
)

func TestStatusErrorsKnowWhetherToTryAgain(t *testing.T) {
	tests := []struct {
		code       int
		retry, bad bool
	}{
		{0, true, false}, {400, false, true}, {401, false, false}, {404, false, false}, {408, true, false},
		{413, false, true}, {422, false, true}, {429, true, false}, {500, true, false}, {503, true, false},
	}
	for _, tt := range tests {
		err := &openai.StatusError{StatusCode: tt.code, RetryAfter: 3 * time.Second}
		if after, retry := err.RetryHint(); retry != tt.retry || after != 3*time.Second {
			t.Errorf("%d: RetryHint is %v, %v; want 3s, %v", tt.code, after, retry, tt.retry)
		}
		if err.BadRequest() != tt.bad {
			t.Errorf("%d: BadRequest is %v", tt.code, err.BadRequest())
		}
	}
}

// What can not be read may be readable the next time; what breaks off needs no hint.
func TestAnswersThatCanNotBeReadAreWorthAnotherTry(t *testing.T) {
	for name, r := range map[string]replay{
		"a page":                  {status: 200, contentType: "text/html", body: strings.NewReader("<html>\nSign in\n</html>")},
		"another object":          {status: 200, contentType: "application/json", body: strings.NewReader(`{"status":"starting"}`)},
		"half of an event's JSON": {status: 200, contentType: "text/event-stream", body: strings.NewReader("data: {\"choices\":[{\"del\n\n")},
		"an event of other types": {status: 200, contentType: "text/event-stream", body: strings.NewReader("data: {\"choices\":7}\n\n")},
	} {
		_, err := collect(t.Context(), replayed(t, r, false), ask("hi"))
		var hint wrap.RetryHinter
		if !errors.As(err, &hint) {
			t.Errorf("%s: error %v has no hint", name, err)
			continue
		}
		if after, retry := hint.RetryHint(); after != 0 || !retry {
			t.Errorf("%s: RetryHint is %v, %v", name, after, retry)
		}
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"none":                               {nil, 0},
		"seconds":                            {http.Header{"Retry-After": {"12"}}, 12 * time.Second},
		"part of a second":                   {http.Header{"Retry-After": {" 0.5 "}}, 500 * time.Millisecond},
		"milliseconds come first":            {http.Header{"Retry-After": {"12"}, "Retry-After-Ms": {"20"}}, 20 * time.Millisecond},
		"a date":                             {http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:30 GMT"}}, 30 * time.Second},
		"a date that has passed":             {http.Header{"Retry-After": {"Sun, 01 Mar 2026 11:00:00 GMT"}}, 0},
		"a date of another century":          {http.Header{"Retry-After": {"Sun, 01 Mar 2126 11:00:00 GMT"}}, 0},
		"negative":                           {http.Header{"Retry-After": {"-3"}}, 0},
		"absurd":                             {http.Header{"Retry-After": {"1e300"}}, 0},
		"too long":                           {http.Header{"Retry-After": {"1e12"}}, 0},
		"not a number":                       {http.Header{"Retry-After": {"NaN"}, "Retry-After-Ms": {"NaN"}}, 0},
		"words":                              {http.Header{"Retry-After": {"later"}}, 0},
		"a limit that is used up":            {http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6m0.5s"}}, 360500 * time.Millisecond},
		"two, of which the later counts":     {http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"1s"}, "X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"20ms"}}, time.Second},
		"a limit that is not used up":        {http.Header{"X-Ratelimit-Remaining-Tokens": {"9"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}}, 0},
		"a limit beside what is said":        {http.Header{"Retry-After": {"2"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}}, 2 * time.Second},
		"a limit that is reset at no time":   {http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"soon"}}, 0},
		"a limit that is reset in the past":  {http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"-5s"}}, 0},
		"a limit that is reset in centuries": {http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"999999h"}}, 0},
	} {
		if got := openai.RetryAfter(c.header, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCleanMakesOneShortLineWithoutTheKey(t *testing.T) {
	if got := openai.CleanMessage("bad\n key  k3y\xff", "k3y"); got != "bad key [key]" {
		t.Errorf("%q", got)
	}
	if got := openai.CleanMessage("key k3\xcdy", "k3y"); got != "key [key]" {
		t.Errorf("%q", got)
	}
	if got := openai.CleanMessage(strings.Repeat("é", 10000), ""); got != strings.Repeat("é", 250)+" [cut]" {
		t.Errorf("%q", got)
	}
}
