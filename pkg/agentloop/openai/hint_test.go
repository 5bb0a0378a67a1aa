package openai_test

import (
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

func TestRetryAfterOfRefusals(t *testing.T) {
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
		if got := openai.RetryAfter(c.header, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestCleanMakesOneShortLineWithoutTheKey(t *testing.T) {
	if got := openai.CleanMessage("bad\n key  k3y\xff", "k3y"); got != "bad key [key]" {
		t.Errorf("%q", got)
	}
	if got := openai.CleanMessage(strings.Repeat("é", 10000), ""); got != strings.Repeat("é", 250)+" [cut]" {
		t.Errorf("%q", got)
	}
}
