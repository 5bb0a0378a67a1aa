package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

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
