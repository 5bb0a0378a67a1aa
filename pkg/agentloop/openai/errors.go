package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// messageBytes bounds the endpoint's own words in an error.
const messageBytes = 500

// StatusError is a failure that the endpoint reports.
type StatusError struct {
	// StatusCode of the HTTP answer. For a failure in the middle of an answer, the endpoint's number for it, or 0 if it
	// gives none.
	StatusCode int
	// RetryAfter is how long the endpoint asks to wait before another try. Zero: it does not say.
	RetryAfter time.Duration
	// Message is the endpoint's own words, cut and without the key. They may repeat parts of the request.
	Message string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.StatusCode == 0 {
		return "the endpoint failed: " + e.Message
	}
	return fmt.Sprintf("the endpoint answered %d %s: %s", e.StatusCode, http.StatusText(e.StatusCode), e.Message)
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
	switch e.StatusCode {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return e.RetryAfter, true
	}
	return e.RetryAfter, e.StatusCode >= http.StatusInternalServerError
}

// BadRequest reports whether the request itself was at fault, so that another model would refuse it too. Package wrap
// asks for it.
func (e *StatusError) BadRequest() bool {
	switch e.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// statusError turns go-openai's errors into a StatusError, and leaves all others as they are.
func (m *Model) statusError(err error, call *exchange) error {
	e := &StatusError{RetryAfter: call.retryAfter}
	var apiErr *goopenai.APIError
	var reqErr *goopenai.RequestError
	switch {
	case errors.As(err, &apiErr):
		e.StatusCode, e.Message = apiErr.HTTPStatusCode, apiErr.Message
	case errors.As(err, &reqErr):
		e.StatusCode, e.Message = reqErr.HTTPStatusCode, string(reqErr.Body)
	default:
		return err
	}
	e.Message = CleanMessage(e.Message, m.cfg.APIKey)
	return e
}

// wireError is an error in the middle of a stream: an object with a message and maybe a code, or just a string.
type wireError struct {
	code    int
	message string
}

// UnmarshalJSON implements json.Unmarshaler. It never fails: any error is an error.
func (w *wireError) UnmarshalJSON(raw []byte) error {
	var object struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		w.message = text
	case json.Unmarshal(raw, &object) == nil && object.Message != "":
		w.message = object.Message
		w.code, _ = strconv.Atoi(strings.Trim(string(object.Code), `"`))
	default:
		w.message = string(raw)
	}
	return nil
}

// status returns the error to report.
func (w *wireError) status(key string) error {
	return &StatusError{StatusCode: w.code, Message: CleanMessage(w.message, key)}
}

// CleanMessage makes a provider's own words fit for the Message of a StatusError: one line, cut to 500 bytes, without the
// key.
func CleanMessage(message, key string) string {
	if key != "" {
		message = strings.ReplaceAll(message, key, "[key]")
	}
	message = strings.ToValidUTF8(strings.Join(strings.Fields(message), " "), "")
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + " [cut]"
	}
	return message
}
