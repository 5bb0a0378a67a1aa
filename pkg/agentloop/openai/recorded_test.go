package openai_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

// recording is one recorded answer of a real endpoint.
type recording struct {
	Repo, File, Host string
	N                int
	Response         string
}

// recordings reads the recorded streams. They are too large to keep beside the code: QUARTET_DATA says where they are.
func recordings(t *testing.T) []recording {
	t.Helper()
	dir := os.Getenv("QUARTET_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(dir, "openai", "chat_sse.jsonl.gz"))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("no recordings: set QUARTET_DATA to the folder that holds openai/chat_sse.jsonl.gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
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

// spoken is what a stream says, whoever reads it.
type spoken struct {
	Text, Reasoning string
	Calls           []agentloop.ToolCall
	Finish          agentloop.FinishReason
	Usage           *agentloop.Usage
	Failed          bool
}

// spokenIn reads a recorded stream in the most direct way, as untyped JSON.
func spokenIn(t *testing.T, body string) spoken {
	t.Helper()
	var s spoken
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

func (s *spoken) add(choice map[string]any) {
	if f, ok := choice["finish_reason"].(string); ok {
		s.Finish = agentloop.FinishReason(f)
	}
	delta, _ := choice["delta"].(map[string]any)
	str := func(m map[string]any, k string) string { v, _ := m[k].(string); return v }
	s.Text += str(delta, "content") + str(delta, "refusal")
	if r := str(delta, "reasoning_content"); r != "" {
		s.Reasoning += r
	} else {
		s.Reasoning += str(delta, "reasoning")
	}
	calls, _ := delta["tool_calls"].([]any)
	for _, c := range calls {
		call := c.(map[string]any)
		for len(s.Calls) <= int(call["index"].(float64)) {
			s.Calls = append(s.Calls, agentloop.ToolCall{})
		}
		at := &s.Calls[int(call["index"].(float64))]
		fn := call["function"].(map[string]any)
		at.ID += str(call, "id")
		at.Name += str(fn, "name")
		at.Arguments += str(fn, "arguments")
	}
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

// TestRecordedStreams plays what real endpoints sent, byte for byte, through the adapter.
func TestRecordedStreams(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.Host+"/"+strings.TrimSuffix(filepath.Base(r.File), ".yaml"), func(t *testing.T) {
			m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, r.Response)
			})
			want := spokenIn(t, r.Response)
			var got spoken
			for c, err := range m.Generate(t.Context(), ask("hi")) {
				if err != nil {
					var status *openai.StatusError
					if !errors.As(err, &status) {
						t.Fatal(err)
					}
					got = spoken{Text: got.Text, Reasoning: got.Reasoning, Failed: true}
					break
				}
				got.Text += c.Text
				got.Reasoning += c.Reasoning
				if c.FinishReason != "" {
					got.Finish = c.FinishReason
				}
				if c.Usage != nil {
					got.Usage = c.Usage
				}
				for _, d := range c.ToolCalls {
					got.addDelta(d)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-recorded +decoded):\n%s", diff)
			}
		})
	}
}

func (s *spoken) addDelta(d agentloop.ToolCallDelta) {
	for len(s.Calls) <= d.Index {
		s.Calls = append(s.Calls, agentloop.ToolCall{})
	}
	at := &s.Calls[d.Index]
	at.ID += d.ID
	at.Name += d.Name
	at.Arguments += d.Arguments
}
