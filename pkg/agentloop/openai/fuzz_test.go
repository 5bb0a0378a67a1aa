package openai_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// FuzzAnswer gives anything an endpoint may send to the decoder of answers. Whatever it is, it says the same however it is
// cut and asked for, and an error is one short line without the key.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\n",
		": wait\nevent: x\nid\nretry:1\ndata:{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":9,\"completion_tokens_details\":{\"reasoning_tokens\":6}}}\n\ndata: [DONE]",
		`{"choices":[{"message":{"content":[{"type":"thinking","thinking":"x"},{"text":["y"]}],"reasoning":{},"tool_calls":[{"function":{"arguments":{"a":1}}}]}}]}`,
		`data: {"error":"` + testKey + `"}`, `{"error":{"message":"m","code":"429"}}`, "<html>\n" + testKey + "\n</html>", "\xef\xbb\xbf{", "[1]", "",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, wholeErr := chunksOf(t, replay{status: 200, body: strings.NewReader(body)}, false)
		cut, cutErr := chunksOf(t, replay{status: 200, body: iotest.OneByteReader(strings.NewReader(body))}, true)
		if diff := cmp.Diff(whole, cut); diff != "" || (wholeErr == nil) != (cutErr == nil) {
			t.Errorf("errors %v and %v (-whole +cut):\n%s", wholeErr, cutErr, diff)
		}
		checkError(t, wholeErr)
	})
}

// chunksOf returns all that the adapter yields, and its error.
func chunksOf(t *testing.T, r replay, noStream bool) (any, error) {
	t.Helper()
	chunks, err := collect(t.Context(), replayed(t, r, noStream), ask("hi"))
	return chunks, err
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if msg := err.Error(); len(msg) > 1200 || strings.Contains(msg, testKey) || strings.Contains(msg, "\n") {
		t.Errorf("error of %d bytes shows the key or is several lines: %q", len(msg), msg)
	}
}

// FuzzRefusal gives anything to the decoder of refusals.
func FuzzRefusal(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"slow down","type":"x","code":"rate_limit_exceeded","param":null}}`, `{"error":{"message":["a","b"],"code":7}}`,
		`{"error":"` + testKey + `"}`, `{"error":{}}`, `{"error":null}`, `[]`, "<html>\n" + testKey, "\xff", "",
	} {
		f.Add(429, body)
		f.Add(500, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 400 + (status%200+200)%200
		_, err := chunksOf(t, replay{status: status, body: strings.NewReader(body)}, false)
		var refused *endpoint.StatusError
		if !errors.As(err, &refused) || refused.StatusCode != status {
			t.Errorf("error %v is no refusal with status %d", err, status)
		}
		checkError(t, err)
	})
}
