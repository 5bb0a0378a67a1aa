package openai_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/publicdata"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

// recording is one recorded answer of a real endpoint.
type recording struct {
	Repo, File, Host string
	N, Status        int
	ContentType      string `json:"content_type"`
	Response         string
}

// name is that of a subtest.
func (r recording) name() string {
	return fmt.Sprintf("%s/%s/%d", r.Host, strings.TrimSuffix(filepath.Base(r.File), ".yaml"), r.N)
}

// recordings reads the recorded answers in a file.
func recordings(t *testing.T, name string) []recording {
	t.Helper()
	z, err := gzip.NewReader(publicdata.Open(t, "openai/"+name))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	for dec := json.NewDecoder(bufio.NewReader(z)); ; {
		var r recording
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// recordedAnswer is the content of a recorded answer.
type recordedAnswer struct {
	Text, Reasoning string
	Calls           []agentloop.ToolCall
	Finish          agentloop.FinishReason
	Usage           *agentloop.Usage
	Failed          bool
}

// expected reads a recorded stream in the most direct way, as untyped JSON.
func expected(t *testing.T, body string) recordedAnswer {
	t.Helper()
	var s recordedAnswer
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatal(err)
		}
		if ev["error"] != nil {
			s.Failed, s.Finish, s.Usage = true, "", nil
			return s
		}
		if u, ok := ev["usage"].(map[string]any); ok {
			s.Usage = usageIn(u)
		}
		choices, _ := ev["choices"].([]any)
		for _, c := range choices {
			s.add(c.(map[string]any))
		}
	}
	return s
}

func (s *recordedAnswer) add(choice map[string]any) {
	if f, ok := choice["finish_reason"].(string); ok {
		s.Finish = agentloop.FinishReason(f)
	}
	delta, _ := choice["delta"].(map[string]any)
	s.addMessage(delta)
	calls, _ := delta["tool_calls"].([]any)
	for _, c := range calls {
		call := c.(map[string]any)
		s.addCall(int(call["index"].(float64)), call)
	}
}

func str(v any, key string) string {
	fields, _ := v.(map[string]any)
	text, _ := fields[key].(string)
	return text
}

// addMessage adds a message, or a piece of one, without its calls.
func (s *recordedAnswer) addMessage(m map[string]any) {
	s.Text += str(m, "content") + str(m, "refusal")
	parts, _ := m["content"].([]any)
	for _, p := range parts {
		s.Text += str(p, "text")
		thoughts, _ := p.(map[string]any)["thinking"].([]any)
		for _, thought := range thoughts {
			s.Reasoning += str(thought, "text")
		}
	}
	s.Reasoning += cmp.Or(str(m, "reasoning_content"), str(m, "reasoning"))
}

// addCall adds a call, or a piece of one.
func (s *recordedAnswer) addCall(index int, call map[string]any) {
	for len(s.Calls) <= index {
		s.Calls = append(s.Calls, agentloop.ToolCall{})
	}
	at := &s.Calls[index]
	at.ID += str(call, "id")
	at.Name += str(call["function"], "name")
	at.Arguments += str(call["function"], "arguments")
}

// expectedOfObject reads a recorded answer that does not stream, likewise.
func expectedOfObject(t *testing.T, body string) recordedAnswer {
	t.Helper()
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	choices, _ := answer["choices"].([]any)
	if len(choices) == 0 {
		return recordedAnswer{Failed: true}
	}
	var s recordedAnswer
	if u, ok := answer["usage"].(map[string]any); ok {
		s.Usage = usageIn(u)
	}
	choice := choices[0].(map[string]any)
	s.Finish = agentloop.FinishReason(str(choice, "finish_reason"))
	message := choice["message"].(map[string]any)
	s.addMessage(message)
	calls, _ := message["tool_calls"].([]any)
	for i, c := range calls {
		s.addCall(i, c.(map[string]any))
	}
	return s
}

func usageIn(u map[string]any) *agentloop.Usage {
	num := func(m any, k string) int64 {
		fields, _ := m.(map[string]any)
		v, _ := fields[k].(float64)
		return int64(v)
	}
	use := &agentloop.Usage{
		InputTokens: num(u, "prompt_tokens"), CachedInputTokens: num(u["prompt_tokens_details"], "cached_tokens"),
		ReasoningTokens: num(u["completion_tokens_details"], "reasoning_tokens"),
	}
	use.OutputTokens = num(u, "completion_tokens")
	if rest := num(u, "total_tokens") - use.InputTokens; rest == use.OutputTokens+use.ReasoningTokens {
		use.OutputTokens = rest
	}
	return use
}

// decoded is what the adapter makes of an answer.
func decoded(t *testing.T, m agentloop.Model) (recordedAnswer, error) {
	t.Helper()
	var got recordedAnswer
	chunks, err := collect(t.Context(), m, ask("hi"))
	for _, c := range chunks {
		got.Text += c.Text
		got.Reasoning += c.Reasoning
		got.Finish = cmp.Or(c.FinishReason, got.Finish)
		got.Usage = cmp.Or(c.Usage, got.Usage)
		for _, d := range c.ToolCalls {
			got.addCall(d.Index, map[string]any{"id": d.ID, "function": map[string]any{"name": d.Name, "arguments": d.Arguments}})
		}
	}
	got.Failed = err != nil
	return got, err
}

// replay is a transport that answers every call with a body.
type replay struct {
	status      int
	contentType string
	body        io.Reader
}

// RoundTrip implements http.RoundTripper.
func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: r.status, Status: http.StatusText(r.status), Header: http.Header{"Content-Type": {r.contentType}},
		Body: io.NopCloser(r.body), Request: req,
	}, nil
}

// replayed returns a model that is answered so.
func replayed(t *testing.T, r replay, noStream bool) *openai.Model {
	t.Helper()
	m, err := openai.New(openai.Config{
		BaseURL: "http://endpoint.invalid/v1", Model: "m", APIKey: testKey, NoStream: noStream, HTTPClient: &http.Client{Transport: r},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cuts returns a body in pieces: whole, byte by byte, and cut in two at some places, at fewer of a long one.
func cuts(body string) map[string]func() io.Reader {
	all := map[string]func() io.Reader{
		"whole":        func() io.Reader { return strings.NewReader(body) },
		"byte by byte": func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) },
	}
	random := rand.New(rand.NewPCG(1, uint64(len(body))))
	for range max(3, min(20, 30<<10/len(body))) {
		i := random.IntN(len(body))
		all[fmt.Sprintf("cut at %d", i)] = func() io.Reader {
			return io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:]))
		}
	}
	return all
}

// TestRecordedStreams plays what real endpoints sent, byte for byte, through the adapter.
func TestRecordedStreams(t *testing.T) {
	for _, r := range recordings(t, "chat_sse.jsonl.gz") {
		t.Run(r.name(), func(t *testing.T) {
			want := expected(t, r.Response)
			got, err := decoded(t, serve(t, stream(r.Response)))
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("error %v (-recorded +decoded):\n%s", err, diff)
			}
			pieces := cuts(r.Response)
			crlf := strings.ReplaceAll(strings.ReplaceAll(r.Response, "\r\n", "\n"), "\n", "\r\n")
			pieces["CRLF"] = func() io.Reader { return strings.NewReader(crlf) }
			pieces["CRLF, byte by byte"] = func() io.Reader { return iotest.OneByteReader(strings.NewReader(crlf)) }
			for cut, reader := range pieces {
				got, err := decoded(t, replayed(t, replay{status: 200, contentType: r.ContentType, body: reader()}, false))
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s: error %v (-recorded +decoded):\n%s", cut, err, diff)
				}
			}
		})
	}
}

// TestRecordedAnswers does so with answers that do not stream, asked for as such and as a stream.
func TestRecordedAnswers(t *testing.T) {
	for _, r := range recordings(t, "chat_json.jsonl.gz") {
		t.Run(r.name(), func(t *testing.T) {
			want := expectedOfObject(t, r.Response)
			for cut, reader := range cuts(r.Response) {
				for _, noStream := range []bool{false, true} {
					got, err := decoded(t, replayed(t, replay{status: r.Status, contentType: r.ContentType, body: reader()}, noStream))
					if diff := gocmp.Diff(want, got); diff != "" {
						t.Errorf("%s, no stream %v: error %v (-recorded +decoded):\n%s", cut, noStream, err, diff)
					}
					var status *endpoint.StatusError
					if refused := r.Status >= 400; refused != errors.As(err, &status) || refused && (status.StatusCode != r.Status || status.Message == "") {
						t.Errorf("error %v of an answer %d", err, r.Status)
					}
				}
			}
		})
	}
}
