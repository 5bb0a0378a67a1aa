package offline

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	wordsPerChunk  = 3
	argumentsChunk = 16 // bytes of a tool call's arguments per chunk
)

// stream sends the reply as server-sent events: role, pieces, finish reason, usage when asked for, [DONE].
func (s *Server) stream(w http.ResponseWriter, r *http.Request, head completion, rep reply, opts *streamOptions, used usage) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	head.Object = "chat.completion.chunk"
	event := func(data []byte) bool {
		if r.Context().Err() != nil {
			return false
		}
		if _, err := w.Write(append(append([]byte("data: "), data...), "\n\n"...)); err != nil {
			return false
		}
		return flush.Flush() == nil
	}
	send := func(delta answer, finish *string) bool {
		head.Choices = []choice{{Delta: &delta, FinishReason: finish}}
		return event(encode(head))
	}
	for i, d := range deltas(rep) {
		if i > 0 && !wait(r.Context(), s.cfg.TokenDelay) {
			return
		}
		if !send(d, nil) {
			return
		}
	}
	if !send(answer{}, &rep.finish) {
		return
	}
	if opts != nil && opts.IncludeUsage {
		head.Choices, head.Usage = []choice{}, &used
		if !event(encode(head)) {
			return
		}
	}
	event([]byte("[DONE]"))
}

// deltas cuts a reply into the pieces of a stream.
func deltas(rep reply) []answer {
	empty := ""
	out := []answer{{Role: "assistant", Content: &empty}}
	if len(rep.calls) > 0 {
		out[0].Content = nil
		for i, c := range rep.calls {
			out = append(out, answer{ToolCalls: []toolCall{{Index: &i, ID: c.ID, Type: "function", Function: functionCall{Name: c.Function.Name}}}})
			for _, piece := range pieces(c.Function.Arguments, argumentsChunk) {
				out = append(out, answer{ToolCalls: []toolCall{{Index: &i, Function: functionCall{Arguments: piece}}}})
			}
		}
		return out
	}
	split := strings.SplitAfter(rep.text, " ")
	for len(split) > 0 {
		n := min(wordsPerChunk, len(split))
		text := strings.Join(split[:n], "")
		split = split[n:]
		if text != "" {
			out = append(out, answer{Content: &text})
		}
	}
	return out
}

// pieces cuts s every n bytes or a little later, never inside a character.
func pieces(s string, n int) []string {
	var out []string
	for len(s) > n {
		cut := n
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut++
		}
		out, s = append(out, s[:cut]), s[cut:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
