package endpoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The kinds of failure that an endpoint reports. A [*StatusError] matches at most one of them with errors.Is.
var (
	// ErrBadRequest says that the request itself is at fault (400, 413, 422), so that another model would refuse it too.
	ErrBadRequest = errors.New("the endpoint refuses the request")
	// ErrUnauthorized says that the endpoint refuses the key (401, 403).
	ErrUnauthorized = errors.New("the endpoint refuses the key")
	// ErrRateLimited says that a limit of requests, tokens or money is used up (429).
	ErrRateLimited = errors.New("the endpoint limits the rate of calls")
	// ErrUnavailable says that the endpoint failed: 5xx, or a failure without a code in the middle of an answer.
	ErrUnavailable = errors.New("the endpoint is unavailable")
)

// StatusError is a failure that an endpoint reports. Its text never repeats what the endpoint wrote, because endpoints echo
// requests, and with them what users wrote.
type StatusError struct {
	// StatusCode of the HTTP response. For a failure in the middle of an answer: the provider's number for it, or 0 if it
	// gives none.
	StatusCode int
	// Type is the provider's name for the failure, such as "rate_limit_exceeded". Empty: it gives none.
	Type string
	// RequestID is the provider's id of the call. Empty: it gives none.
	RequestID string
	// RetryAfter is how long the endpoint asks to wait before another try. Zero: it does not say.
	RetryAfter time.Duration
	// Message is what the endpoint wrote, as one line of at most 500 bytes without the key. It may repeat the request, so it
	// belongs in debug logs only.
	Message string
}

// Error implements error. It names the status, the type and the request, but not the message.
func (e *StatusError) Error() string {
	text := "the endpoint reports a failure"
	if e.StatusCode != 0 {
		text = strings.TrimSpace(fmt.Sprintf("the endpoint answered %d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	}
	if e.Type != "" {
		text += ", " + e.Type
	}
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text
}

// Is reports whether target is the kind of the failure.
func (e *StatusError) Is(target error) bool { return target != nil && target == e.kind() }

func (e *StatusError) kind() error {
	switch e.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return ErrBadRequest
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrUnauthorized
	case http.StatusTooManyRequests:
		return ErrRateLimited
	case 0:
		return ErrUnavailable
	}
	if e.StatusCode >= http.StatusInternalServerError {
		return ErrUnavailable
	}
	return nil
}

// ErrorType returns the status code as a short name for the kind of the error, "_OTHER" without one. Package agentotel
// asks for it.
func (e *StatusError) ErrorType() string {
	if e.StatusCode == 0 {
		return "_OTHER"
	}
	return strconv.Itoa(e.StatusCode)
}

// RetryHint reports whether another try may succeed, and after what wait; zero leaves the wait to the caller. Package wrap
// asks for it.
func (e *StatusError) RetryHint() (after time.Duration, retry bool) {
	if e.Type == "insufficient_quota" { // OpenAI's name for a used-up budget of money, with status 429
		return 0, false
	}
	switch e.StatusCode {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return e.RetryAfter, true
	}
	return e.RetryAfter, e.StatusCode >= http.StatusInternalServerError
}

// NewStatusError reads the failure that an HTTP response reports: its status, its headers and its body, which most
// providers fill with an object that has an "error". Key is removed from the message.
func NewStatusError(status int, header http.Header, body []byte, key string) *StatusError {
	e := ParseError(body, key)
	e.StatusCode = status
	e.RetryAfter = RetryAfter(header, time.Now())
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := header.Get(name); e.RequestID == "" && plainID.MatchString(id) {
			e.RequestID = id
		}
	}
	return e
}

// ParseError reads a failure in the body of a response or in an event of a stream: an "error" that is an object with a
// message and maybe a code and a type, or a string; or else any text. The status code is the provider's number, if it
// gives one.
func ParseError(body []byte, key string) *StatusError {
	e := &StatusError{}
	text := string(body)
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 && string(outer.Error) != "null" {
		text = string(outer.Error)
		var inner struct {
			Message json.RawMessage `json:"message"`
			Code    json.RawMessage `json:"code"`
			Type    json.RawMessage `json:"type"`
			Status  json.RawMessage `json:"status"`
		}
		switch {
		case json.Unmarshal(outer.Error, &text) == nil:
		case json.Unmarshal(outer.Error, &inner) == nil:
			if len(inner.Message) > 0 && json.Unmarshal(inner.Message, &text) != nil {
				text = string(inner.Message)
			}
			e.StatusCode, _ = strconv.Atoi(strings.Trim(string(inner.Code), `"`))
			e.Type = typeOf(inner.Code, inner.Type, inner.Status)
		}
	}
	e.Message = CleanMessage(text, key)
	return e
}

// typeOf returns the first of the values that is a name for a kind of failure. An endpoint could echo a user's words here
// too, so only what has the shape of such a name counts.
func typeOf(values ...json.RawMessage) string {
	for _, v := range values {
		var s string
		if json.Unmarshal(v, &s) == nil && plainType.MatchString(s) {
			return s
		}
	}
	return ""
}

var (
	// plainType matches names such as rate_limit_error, RESOURCE_EXHAUSTED and BadRequestError.
	plainType = regexp.MustCompile(`^([A-Za-z0-9]{1,24}(_[A-Za-z0-9]{1,24}){1,5}|[A-Z][A-Za-z]{1,40}Error)$`)
	// plainID matches ids of requests.
	plainID = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,80}$`)
)

// messageBytes bounds a StatusError's Message.
const messageBytes = 500

// CleanMessage makes what an endpoint wrote fit for the Message of a [StatusError]: one line, cut to 500 bytes, without the
// key.
func CleanMessage(message, key string) string {
	message = strings.ToValidUTF8(strings.Join(strings.Fields(message), " "), "")
	if key != "" { // after the clean-up, which may join what was split
		message = strings.ReplaceAll(message, key, "[key]")
	}
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + " [cut]"
	}
	return message
}

// ResponseError is a response that cannot be read: it is not a model's answer, or its JSON is broken. Its text never
// repeats what the endpoint wrote.
type ResponseError struct {
	// Reason is a fixed sentence.
	Reason string
	// Message is the start of what the endpoint wrote, or what is wrong with it; see [StatusError].Message. It may be empty.
	Message string
}

// Error implements error. It does not show the message.
func (e *ResponseError) Error() string { return e.Reason }

// RetryHint says that another try may succeed: such responses come from proxies whose server is away, or from a server
// that shuts down. Package wrap asks for it.
func (e *ResponseError) RetryHint() (after time.Duration, retry bool) { return 0, true }

// Redact returns an error of an SDK or of net/http as it is if its text is known not to repeat what the endpoint wrote. Any
// other error it wraps in one that hides the text, which [Message] returns without the key. The kind of the error, for
// errors.Is and errors.As, stays. Nil for nil.
func Redact(err error, key string) error {
	if err == nil || isPlain(err) {
		return err
	}
	return &redactedError{err: err, key: key}
}

// isPlain reports whether the text of an error holds nothing that an endpoint wrote.
func isPlain(err error) bool {
	for _, plain := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, bufio.ErrTooLong, http.ErrSchemeMismatch} {
		if errors.Is(err, plain) {
			return true
		}
	}
	return is[*StatusError](err) || is[*ResponseError](err) || is[*redactedError](err) || // are made here
		is[*net.OpError](err) || is[*net.DNSError](err) || is[*tls.CertificateVerificationError](err) || is[tls.RecordHeaderError](err) ||
		is[*json.UnsupportedValueError](err) || is[*json.MarshalerError](err) // of a request
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// redactedError is an error that does not show its text.
type redactedError struct {
	err error
	key string
}

// Error implements error.
func (e *redactedError) Error() string {
	return "the call failed; its text is hidden, because it may repeat the request"
}

// Unwrap returns the error whose text is hidden.
func (e *redactedError) Unwrap() error { return e.err }

// Message returns what the endpoint wrote about the failure err, for debug logs only. Empty: nothing is known.
func Message(err error) string {
	var status *StatusError
	var response *ResponseError
	var redacted *redactedError
	switch {
	case errors.As(err, &status):
		return status.Message
	case errors.As(err, &response):
		return response.Message
	case errors.As(err, &redacted):
		return CleanMessage(redacted.err.Error(), redacted.key)
	}
	return ""
}

// maxWait bounds the wait that a header may ask for: longer ones are not believed.
const maxWait = 1e6 * time.Second

// RetryAfter returns the wait that the headers of a response ask for: Retry-After-Ms, or Retry-After in seconds or as a
// date; without those, the time until the used-up limits of OpenAI's rate-limit headers are reset. Zero: the headers say
// nothing, or nothing that can be believed.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	wait := waitOf(h.Get("Retry-After-Ms"), time.Millisecond)
	if v := strings.TrimSpace(h.Get("Retry-After")); wait == 0 && v != "" {
		if at, err := http.ParseTime(v); err == nil {
			wait = at.Sub(now)
		} else {
			wait = waitOf(v, time.Second)
		}
	} else if wait == 0 {
		wait = max(resetOf(h, "Requests"), resetOf(h, "Tokens"))
	}
	if wait < 0 || wait > maxWait {
		return 0
	}
	return wait
}

// waitOf returns a number of units as a wait; 0 if it is not a positive number below maxWait.
func waitOf(number string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if wait := n * float64(unit); err == nil && wait > 0 && wait < float64(maxWait) {
		return time.Duration(wait)
	}
	return 0
}

// resetOf returns the time until a limit is reset, which OpenAI writes as "1s" or "6m0s"; 0 unless the limit is used up.
func resetOf(h http.Header, limit string) time.Duration {
	reset, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + limit))
	if err != nil || h.Get("X-Ratelimit-Remaining-"+limit) != "0" {
		return 0
	}
	return reset
}
