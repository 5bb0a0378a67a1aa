package endpoint

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

// messageBytes bounds a provider's own words in an error.
const messageBytes = 500

// StatusError is a failure that a provider reports.
type StatusError struct {
	// Code is the HTTP status. For a failure in the middle of an answer, the status that the provider gives such a failure
	// otherwise, or 0 if there is none.
	Code int
	// Wait is how long the provider asks to wait before another try. Zero: it does not say.
	Wait time.Duration
	// Message is the provider's own words, as Clean leaves them. They may repeat parts of the request.
	Message string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Code == 0 {
		return "the endpoint failed: " + e.Message
	}
	return fmt.Sprintf("the endpoint answered %d %s: %s", e.Code, http.StatusText(e.Code), e.Message)
}

// HTTPStatus returns Code.
func (e *StatusError) HTTPStatus() int { return e.Code }

// RetryAfter returns Wait.
func (e *StatusError) RetryAfter() time.Duration { return e.Wait }

// RetryHint reports whether another try may succeed, and after what wait, by the same codes as OpenAI-compatible
// endpoints. Package wrap asks for it.
func (e *StatusError) RetryHint() (after time.Duration, retry bool) { return e.status().RetryHint() }

// BadRequest reports whether the request itself was at fault. Package wrap asks for it.
func (e *StatusError) BadRequest() bool { return e.status().BadRequest() }

func (e *StatusError) status() *openai.StatusError {
	return &openai.StatusError{StatusCode: e.Code, RetryAfter: e.Wait}
}

// ErrorType returns the code as a short name for the kind of the error, "_OTHER" without one. Package agentotel asks for it.
func (e *StatusError) ErrorType() string {
	if e.Code == 0 {
		return "_OTHER"
	}
	return strconv.Itoa(e.Code)
}

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
