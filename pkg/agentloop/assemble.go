package agentloop

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// maxBytesPerToken bounds what is kept of an answer for each token that it may have. It is sixteen times the usual four
// bytes (see bytesPerToken), so that no answer that keeps to its tokens comes near: only runs of one character make tokens so long.
const maxBytesPerToken = 64

// assembler puts an answer together from its chunks.
type assembler struct {
	step      int
	room      int  // bytes that may still be kept
	full      bool // there was no room for something
	text      strings.Builder
	reasoning int // bytes
	calls     []*partialCall
	finish    FinishReason
	usage     *Usage
	model     string
	data      string // the provider's own, of the message
	heard     bool   // at least one chunk came
}

// partialCall is a tool call of which some pieces have come.
type partialCall struct {
	index     int
	id, name  string
	data      string // the provider's own
	arguments strings.Builder
	cut       bool // there was no room for all of the arguments
}

// newAssembler returns an assembler of an answer that may have so many tokens.
func newAssembler(step, maxTokens int) *assembler {
	return &assembler{step: step, room: maxBytesPerToken * min(maxTokens, math.MaxInt/maxBytesPerToken)}
}

// consume takes in the whole sequence and yields its text as it comes. When there is no room for more it stops the model, as
// if that had stopped at its limit of tokens.
func (a *assembler) consume(chunks iter.Seq2[Chunk, error], yield func(Event) bool) error {
	for c, err := range chunks {
		if err != nil {
			return err
		}
		a.heard = true
		a.reasoning += len(a.fit(c.Reasoning))
		for _, d := range c.ToolCalls {
			a.addCall(d)
		}
		if c.FinishReason != "" {
			a.finish = c.FinishReason
		}
		if c.Usage != nil {
			a.usage = c.Usage
		}
		if c.Model != "" {
			a.model = c.Model
		}
		if c.ProviderData != "" {
			a.data = a.fitWhole(c.ProviderData)
		}
		if text := a.fit(c.Text); text != "" {
			a.text.WriteString(text)
			if !yield(TextDelta{Step: a.step, Text: text}) {
				return errStopped
			}
		}
		if a.full {
			a.finish = FinishLength
			return nil
		}
	}
	return nil
}

// fit returns the start of s for which there is room.
func (a *assembler) fit(s string) string {
	kept := cut(s, a.room)
	a.room -= len(kept)
	a.full = a.full || len(kept) < len(s)
	return kept
}

// fitWhole returns s, or "" if there is no room for all of it.
func (a *assembler) fitWhole(s string) string {
	if len(s) > a.room {
		a.full = true
		return ""
	}
	a.room -= len(s)
	return s
}

// addCall adds a piece to the call that it belongs to. A new call takes a token at the least, so that their number is bounded
// as well.
func (a *assembler) addCall(d ToolCallDelta) {
	p := a.find(d)
	if p == nil {
		if a.full = a.full || a.room < maxBytesPerToken; a.full {
			return
		}
		a.room -= maxBytesPerToken
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
	p.cut = p.cut || len(arguments) < len(d.Arguments)
}

// find returns the call that a piece continues, or nil for a new one.
func (a *assembler) find(d ToolCallDelta) *partialCall {
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

// endsBefore reports whether a piece with the index of this call begins another one, as it does where a provider numbers
// all calls 0: it has a name, and an id of its own or, where there are no ids, arguments after complete ones.
func (p *partialCall) endsBefore(d ToolCallDelta) bool {
	switch {
	case d.Name == "" || p.name == "":
		return false
	case d.ID != "" && p.id != "":
		return d.ID != p.id
	}
	return d.ID == p.id && d.Arguments != "" && json.Valid([]byte(p.arguments.String()))
}

// message returns the answer. Every call has an id that is unique in the conversation, made up where the model gave none
// or one that is taken. A call for whose arguments there was no room has none: what is left of them is of no use, and long.
func (a *assembler) message(earlier []Message) Message {
	m := Message{Role: RoleAssistant, Text: a.text.String(), ProviderData: a.data}
	if len(a.calls) == 0 {
		return m
	}
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
		if !p.cut {
			call.Arguments = p.arguments.String()
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return m
}

// bytesPerToken is the usual rule of thumb for English, used only where a provider reports no usage.
const bytesPerToken = 4

// usageOf returns the reported usage, or an estimate that says so. A call that failed before it answered used nothing.
func (a *assembler) usageOf(req *Request, err error) Usage {
	if a.usage != nil {
		u := *a.usage
		u.ModelCalls = 1
		return u
	}
	if err != nil && !a.heard {
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
		InputTokens: tokens(in), OutputTokens: tokens(out), ReasoningTokens: tokens(a.reasoning),
		ModelCalls: 1, Estimated: true,
	}
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }
