package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

var _ wrap.RetryHinter = (*endpoint.StatusError)(nil)

func TestStatusErrorsKnowWhetherToTryAgain(t *testing.T) {
	tests := []struct {
		code       int
		retry, bad bool
	}{
		{0, true, false}, {400, false, true}, {401, false, false}, {404, false, false}, {408, true, false},
		{413, false, true}, {422, false, true}, {429, true, false}, {500, true, false}, {503, true, false},
	}
	for _, tt := range tests {
		err := &endpoint.StatusError{StatusCode: tt.code, RetryAfter: 3 * time.Second}
		if after, retry := err.RetryHint(); retry != tt.retry || after != 3*time.Second {
			t.Errorf("%d: RetryHint is %v, %v; want 3s, %v", tt.code, after, retry, tt.retry)
		}
		if bad := errors.Is(err, endpoint.ErrBadRequest); bad != tt.bad {
			t.Errorf("%d: bad request %v", tt.code, bad)
		}
	}
}

func TestAUsedUpBudgetIsNotTriedAgain(t *testing.T) {
	err := endpoint.NewStatusError(429, http.Header{"Retry-After": {"3"}}, []byte(`{"error":{"message":"no","code":"insufficient_quota"}}`), "")
	if after, retry := err.RetryHint(); retry || after != 0 || !errors.Is(err, endpoint.ErrRateLimited) {
		t.Errorf("RetryHint is %v, %v of %v", after, retry, err)
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
		if got := endpoint.RetryAfter(c.header, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCleanMakesOneShortLineWithoutTheKey(t *testing.T) {
	if got := endpoint.CleanMessage("bad\n key  k3y\xff", "k3y"); got != "bad key [key]" {
		t.Errorf("%q", got)
	}
	if got := endpoint.CleanMessage("key k3\xcdy", "k3y"); got != "key [key]" {
		t.Errorf("%q", got)
	}
	if got := endpoint.CleanMessage(strings.Repeat("é", 10000), ""); got != strings.Repeat("é", 250)+" [cut]" {
		t.Errorf("%q", got)
	}
}

// FuzzRetryAfter gives anything to the reader of the headers that ask to wait. A wait is neither negative nor absurd.
func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"1", "0.5", "-1", "1e300", "NaN", "Inf", "Sun, 01 Mar 2026 12:00:30 GMT", "6m0s", "-6m0s", "2540400h", ""} {
		f.Add(v, v, v)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, after, ms, reset string) {
		header := http.Header{
			"Retry-After": {after}, "Retry-After-Ms": {ms}, "X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {reset},
		}
		if wait := endpoint.RetryAfter(header, now); wait < 0 || wait > 1e6*time.Second {
			t.Errorf("%q, %q, %q: %v", after, ms, reset, wait)
		}
	})
}

func TestKindsOfFailures(t *testing.T) {
	kinds := []error{endpoint.ErrBadRequest, endpoint.ErrUnauthorized, endpoint.ErrRateLimited, endpoint.ErrUnavailable}
	for code, want := range map[int]error{
		0: endpoint.ErrUnavailable, 302: nil, 400: endpoint.ErrBadRequest, 401: endpoint.ErrUnauthorized, 403: endpoint.ErrUnauthorized, 404: nil,
		413: endpoint.ErrBadRequest, 422: endpoint.ErrBadRequest, 429: endpoint.ErrRateLimited, 500: endpoint.ErrUnavailable, 529: endpoint.ErrUnavailable,
	} {
		for _, kind := range kinds {
			if got := errors.Is(&endpoint.StatusError{StatusCode: code}, kind); got != (kind == want) {
				t.Errorf("%d: errors.Is(%v) is %v", code, kind, got)
			}
		}
	}
}

func TestFailuresAreReadAndTheirTextStaysOut(t *testing.T) {
	header := http.Header{"Retry-After": {"7"}, "X-Request-Id": {"req_1"}}
	for name, c := range map[string]struct {
		status int
		body   string
		want   endpoint.StatusError
		text   string
	}{
		"OpenAI's": {
			429, `{"error":{"message":"slow k3y","type":"tokens","code":"rate_limit_exceeded"}}`,
			endpoint.StatusError{Type: "rate_limit_exceeded", Message: "slow [key]"}, "the endpoint answered 429 Too Many Requests, rate_limit_exceeded, request req_1",
		},
		"Anthropic's": {
			529, `{"type":"error","error":{"type":"overloaded_error","message":"canary"}}`,
			endpoint.StatusError{Type: "overloaded_error", Message: "canary"}, "the endpoint answered 529, overloaded_error, request req_1",
		},
		"Google's": {
			400, `{"error":{"code":400,"message":"canary","status":"INVALID_ARGUMENT"}}`,
			endpoint.StatusError{Type: "INVALID_ARGUMENT", Message: "canary"}, "the endpoint answered 400 Bad Request, INVALID_ARGUMENT, request req_1",
		},
		"vLLM's":                     {404, `{"error":{"message":"canary","type":"NotFoundError","code":404}}`, endpoint.StatusError{Type: "NotFoundError", Message: "canary"}, "the endpoint answered 404 Not Found, NotFoundError, request req_1"},
		"words in place of the type": {400, `{"error":{"message":"m","type":"canary","code":"my canary_bird sings"}}`, endpoint.StatusError{Message: "m"}, "the endpoint answered 400 Bad Request, request req_1"},
		"several messages":           {400, `{"error":{"message":["canary","b"]}}`, endpoint.StatusError{Message: `["canary","b"]`}, "the endpoint answered 400 Bad Request, request req_1"},
		"an error that is a string":  {500, `{"error":"canary"}`, endpoint.StatusError{Message: "canary"}, "the endpoint answered 500 Internal Server Error, request req_1"},
		"a page":                     {502, "<html>\ncanary", endpoint.StatusError{Message: "<html> canary"}, "the endpoint answered 502 Bad Gateway, request req_1"},
		"an error that is null":      {500, `{"error":null}`, endpoint.StatusError{Message: `{"error":null}`}, "the endpoint answered 500 Internal Server Error, request req_1"},
		"nothing":                    {500, "", endpoint.StatusError{}, "the endpoint answered 500 Internal Server Error, request req_1"},
	} {
		c.want.StatusCode, c.want.RetryAfter, c.want.RequestID = c.status, 7*time.Second, "req_1"
		got := endpoint.NewStatusError(c.status, header, []byte(c.body), "k3y")
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Error() != c.text {
			t.Errorf("%s: text %q, want %q", name, got, c.text)
		}
		if endpoint.Message(got) != c.want.Message {
			t.Errorf("%s: message %q", name, endpoint.Message(got))
		}
	}
	if id := endpoint.NewStatusError(500, http.Header{"X-Request-Id": {"two words"}}, nil, "").RequestID; id != "" {
		t.Errorf("request id %q", id)
	}
	if code := endpoint.ParseError([]byte(`{"error":{"message":"m","code":"529"}}`), "").StatusCode; code != 529 {
		t.Errorf("code %d in the middle of an answer", code)
	}
}

func TestRedactHidesTextsThatAreNotKnownToBeSafe(t *testing.T) {
	for _, err := range []error{
		nil, context.Canceled, fmt.Errorf("read: %w", io.ErrUnexpectedEOF), &net.OpError{Op: "dial", Err: errors.New("refused")},
		&endpoint.StatusError{StatusCode: 500}, &url.Error{Op: "Post", URL: "http://x", Err: &net.OpError{Op: "read", Err: errors.New("reset")}},
	} {
		if got := endpoint.Redact(err, "k3y"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	quoted := &quotingError{"malformed header: canary k3y"}
	err := endpoint.Redact(fmt.Errorf("SDK: %w", quoted), "k3y")
	if strings.Contains(err.Error(), "canary") || !errors.Is(err, quoted) || endpoint.Redact(err, "") != err {
		t.Errorf("error %v", err)
	}
	if got := endpoint.Message(err); got != "SDK: malformed header: canary [key]" {
		t.Errorf("message %q", got)
	}
}

// quotingError repeats what an endpoint wrote.
type quotingError struct{ text string }

func (e *quotingError) Error() string { return e.text }
