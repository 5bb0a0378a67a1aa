package agentloop

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

const (
	// bytesPerToken estimates tokens where a provider reports no usage. It is the usual rule of thumb for English.
	bytesPerToken = 4
	// maxBytesPerToken limits what is kept of an answer per token of MaxOutputTokens. At sixteen times the usual size, an
	// answer within its tokens does not come near: only runs of one character make tokens that long.
	maxBytesPerToken = 64
)

// accumulator collects the chunks of an answer.
type accumulator struct {
	step      int
	space     int  // bytes that may still be kept
	truncated bool // something did not fit
	received  bool // at least one chunk came
	text      strings.Builder
	reasoning int // bytes
	calls     []*partialCall
	finish    FinishReason
	usage     *Usage
	unpriced  bool
	model     string
	data      string // the message's ProviderData
}

// partialCall is a tool call that is still arriving.
type partialCall struct {
	index     int
	id, name  string
	arguments strings.Builder
	data      string // the call's ProviderData
	truncated bool   // some of the arguments did not fit
}

func newAccumulator(step, maxTokens int) *accumulator {
	return &accumulator{step: step, space: maxBytesPerToken * min(maxTokens, math.MaxInt/maxBytesPerToken)}
}

// consume reads the sequence to its end and yields text as it comes. When there is no space for more, it stops the model as
// if the model had reached its token limit.
func (a *accumulator) consume(chunks iter.Seq2[Chunk, error], yield func(Event) bool) error {
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		a.received = true
		a.reasoning += len(a.fit(chunk.Reasoning))
		for _, d := range chunk.ToolCalls {
			a.addCall(d)
		}
		if chunk.FinishReason != "" {
			a.finish = chunk.FinishReason
		}
		if chunk.Usage != nil {
			a.usage = chunk.Usage
		}
		a.unpriced = a.unpriced || chunk.Unpriced
		if chunk.Model != "" {
			a.model = chunk.Model
		}
		if chunk.ProviderData != "" {
			a.data = a.fitWhole(chunk.ProviderData)
		}
		if text := a.fit(chunk.Text); text != "" {
			a.text.WriteString(text)
			if !yield(TextDelta{Step: a.step, Text: text}) {
				return errStopped
			}
		}
		if a.truncated {
			a.finish = FinishLength
			return nil
		}
	}
	return nil
}

// fit returns the start of s that there is space for.
func (a *accumulator) fit(s string) string {
	kept := truncate(s, a.space)
	a.space -= len(kept)
	a.truncated = a.truncated || len(kept) < len(s)
	return kept
}

// fitWhole returns s, or "" if there is not enough space for all of it.
func (a *accumulator) fitWhole(s string) string {
	if len(s) > a.space {
		a.truncated = true
		return ""
	}
	a.space -= len(s)
	return s
}

// addCall adds a piece to its call. A new call takes the space of one token, which limits the number of calls.
func (a *accumulator) addCall(d ToolCallDelta) {
	p := a.find(d)
	if p == nil {
		if a.truncated = a.truncated || a.space < maxBytesPerToken; a.truncated {
			return
		}
		a.space -= maxBytesPerToken
		p = &partialCall{index: d.Index}
		a.calls = append(a.calls, p)
	}
	if d.ID != "" && d.ID != p.id {
		p.id = a.fit(d.ID)
	}
	if d.Name != "" && d.Name != p.name {
		p.name = a.fit(d.Name)
	}
	if d.ProviderData != "" {
		p.data = a.fitWhole(d.ProviderData)
	}
	arguments := a.fit(d.Arguments)
	p.arguments.WriteString(arguments)
	p.truncated = p.truncated || len(arguments) < len(d.Arguments)
}

// find returns the call that a piece continues, or nil for a new call.
func (a *accumulator) find(d ToolCallDelta) *partialCall {
	for _, p := range slices.Backward(a.calls) {
		switch {
		case d.Index >= 0 && p.index == d.Index:
			if p.endsBefore(d) {
				return nil
			}
			return p
		case d.Index < 0 && d.ID != "" && p.id == d.ID:
			return p
		}
	}
	if d.Index < 0 && d.ID == "" && d.Name == "" && len(a.calls) > 0 {
		return a.calls[len(a.calls)-1]
	}
	return nil
}

// endsBefore reports whether a piece with the index of this call starts another call. Some providers number all calls 0.
// The piece starts another call if it has a name and a new id or, without ids, arguments after complete ones.
func (p *partialCall) endsBefore(d ToolCallDelta) bool {
	switch {
	case d.Name == "" || p.name == "":
		return false
	case d.ID != "" && p.id != "":
		return d.ID != p.id
	}
	return d.ID == p.id && d.Arguments != "" && json.Valid([]byte(p.arguments.String()))
}

// message returns the answer. Every call has an id that is unique in the conversation; missing and repeated ids are
// replaced. A call whose arguments were truncated has none.
func (a *accumulator) message(earlier []Message) Message {
	m := Message{Role: RoleAssistant, Text: a.text.String(), ProviderData: a.data}
	taken := map[string]bool{"": true}
	for _, e := range earlier {
		for _, c := range e.ToolCalls {
			taken[c.ID] = true
		}
	}
	for i, p := range a.calls {
		for n := i; taken[p.id]; n++ {
			p.id = fmt.Sprintf("call_%d_%d", a.step, n)
		}
		taken[p.id] = true
		call := ToolCall{ID: p.id, Name: p.name, ProviderData: p.data}
		if !p.truncated {
			call.Arguments = p.arguments.String()
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return m
}

// usageOf returns the reported usage, or an estimate marked as such. A call that failed before its first chunk used
// nothing.
func (a *accumulator) usageOf(req *Request, err error) Usage {
	if a.usage != nil {
		u := *a.usage
		u.ModelCalls = 1
		return u
	}
	if err != nil && !a.received {
		return Usage{ModelCalls: 1}
	}
	in, out := 0, a.text.Len()+a.reasoning
	for _, m := range req.Messages {
		in += len(m.Text)
		for _, c := range m.ToolCalls {
			in += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, p := range a.calls {
		out += len(p.name) + p.arguments.Len()
	}
	return Usage{
		InputTokens: estimateTokens(in), OutputTokens: estimateTokens(out), ReasoningTokens: estimateTokens(a.reasoning),
		ModelCalls: 1, Estimated: true,
	}
}

func estimateTokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }
