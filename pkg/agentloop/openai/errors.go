package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
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

// answerError is an answer that can not be read: something else than a chat completion, or JSON that is broken or of another
// shape.
type answerError struct{ err error }

// Error implements error.
func (e *answerError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong with the answer.
func (e *answerError) Unwrap() error { return e.err }

// RetryHint says that another try may succeed: such answers come from proxies whose server is just away, or from a server
// that is going down. Package wrap asks for it.
func (e *answerError) RetryHint() (after time.Duration, retry bool) { return 0, true }

// statusError turns go-openai's errors into a StatusError, and leaves all others as they are.
func (m *Model) statusError(err error, retryAfter time.Duration) error {
	e := &StatusError{RetryAfter: retryAfter}
	var apiErr *goopenai.APIError
	var reqErr *goopenai.RequestError // may wrap an APIError without a status
	switch {
	case errors.As(err, &reqErr):
		e.StatusCode, e.Message = reqErr.HTTPStatusCode, messageOfBody(reqErr.Body)
	case errors.As(err, &apiErr):
		e.StatusCode, e.Message = apiErr.HTTPStatusCode, apiErr.Message
	default:
		return err
	}
	e.Message = CleanMessage(e.Message, m.cfg.APIKey)
	return e
}

// messageOfBody returns the words in the body of a refusal that is not quite OpenAI's, or all of it.
func messageOfBody(raw []byte) string {
	var body struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(raw, &body) == nil && body.Error != nil {
		return body.Error.message
	}
	return string(raw)
}

// hinted adds which setting may help where an endpoint refuses a field that not all take.
func (m *Model) hinted(err error, req *agentloop.Request) error {
	var status *StatusError
	if !errors.As(err, &status) || !status.BadRequest() {
		return err
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(status.Message), w) })
	}
	switch {
	case req.Output != nil && m.cfg.ResponseFormat != ResponseNone && says("response_format", "response format", "json_schema", "json_object"):
		return fmt.Errorf("%w (another response format may help: Config.ResponseFormat json_object or none)", err)
	case req.NoReasoning && says("chat_template", "reasoning_effort"):
		return fmt.Errorf("%w (another switch for reasoning may help: Config.ReasoningSwitch, or none)", err)
	}
	return err
}

// wireError is an error in place of an answer or in the middle of it: an object with a message and maybe a code, or just a string.
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
	message = strings.ToValidUTF8(strings.Join(strings.Fields(message), " "), "")
	if key != "" { // last: what was taken out may have split it
		message = strings.ReplaceAll(message, key, "[key]")
	}
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + " [cut]"
	}
	return message
}
