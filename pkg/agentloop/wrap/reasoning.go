package wrap

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// DefaultHold bounds what is held of an answer that may start with reasoning, in bytes. It is as much as a loop keeps of an
// answer of agentloop.DefaultMaxOutputTokens, so it covers any reasoning that has an answer after it.
const DefaultHold = 256 << 10

// ReasoningConfig configures [Reasoning]. The zero value is right for a model that writes both tags itself, and for one that is
// not known.
type ReasoningConfig struct {
	// CloseOnly is for a model whose prompt template opens the tag: its answers start as reasoning, which only the close tag
	// ends. An answer without a close tag is all reasoning. Nothing is held back.
	CloseOnly bool
	// Hold is for a model whose prompt template opens the tag at most endpoints: how many bytes at the start of an answer are
	// held back until a tag comes, because a close tag would make them reasoning. Nothing is held of an answer whose reasoning
	// the endpoint sends apart. Zero: nothing is held at first, so reasoning without an open tag is yielded as text, unless its
	// close tag comes in the first chunk; once an answer had such reasoning, DefaultHold is held of further answers, until one of
	// them has text and no such tag. CloseOnly ignores it.
	Hold int
}

// Reasoning returns a model that moves the reasoning in m's text to [agentloop.Chunk.Reasoning]. Reasoning is the text between
// the tags think, thinking, thought or reasoning, in any case; the open tag may have attributes.
//
//   - Chunks may split tags anywhere; only what may still become a tag is held back.
//   - Reasoning ends with the first close tag of the name that opened it. It does not nest.
//   - A close tag without an open tag makes all text before it reasoning, if the text was held back; see [ReasoningConfig].
//   - Text that is held back when the token limit, a content filter or an error ends the answer is reasoning.
//   - Reasoning without a close tag continues to the end of the answer.
//   - A stray close tag after the first tag of an answer is dropped, and so is the space between reasoning at the start of an
//     answer and its text.
//   - Tags count in code blocks, too: text that looks like reasoning is not shown.
//
// The finish reason and the usage come with the last chunk.
func Reasoning(m agentloop.Model, cfg ReasoningConfig) agentloop.Model {
	return &reasoner{next: m, cfg: cfg}
}

type reasoner struct {
	next      agentloop.Model
	cfg       ReasoningConfig
	closeOnly atomic.Bool // the last answer that tells had a close tag without an open tag
}

// Generate implements [agentloop.Model].
func (r *reasoner) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		cfg := r.cfg
		if cfg.Hold == 0 && r.closeOnly.Load() {
			cfg.Hold = DefaultHold
		}
		s := newSplitter(cfg)
		defer func() {
			if s.closeOnly {
				r.closeOnly.Store(true)
			}
		}()
		var last agentloop.Chunk
		var failure error
		for c, err := range r.next.Generate(ctx, req) {
			if err != nil {
				failure = err
				break
			}
			if c.FinishReason != "" {
				last.FinishReason, c.FinishReason = c.FinishReason, ""
			}
			if c.Usage != nil {
				last.Usage, c.Usage = c.Usage, nil
			}
			if c.Reasoning != "" {
				s.release() // the endpoint tells reasoning from text itself
			}
			text, reasoning := s.write(c.Text)
			c.Text, c.Reasoning = text, c.Reasoning+reasoning
			if (!isEmpty(c) || c.Model != "") && !yield(c, nil) {
				return
			}
		}
		if !req.NoReasoning && (failure != nil || last.FinishReason == agentloop.FinishLength || last.FinishReason == agentloop.FinishContentFilter) {
			s.cut()
		}
		last.Text, last.Reasoning = s.end()
		if failure == nil && s.hasAnswer && !s.closeOnly {
			r.closeOnly.Store(false)
		}
		if !isEmpty(last) && !yield(last, nil) {
			return
		}
		if failure != nil {
			yield(agentloop.Chunk{}, failure)
		}
	}
}

// maxTagBytes limits a tag with its attributes. A '<' without its '>' by then is text.
const maxTagBytes = 256

// tagNames are the names of reasoning tags.
var tagNames = []string{"think", "thinking", "thought", "reasoning"}

// state is what the next text is.
type state int

const (
	undecided state = iota // text, or reasoning if a close tag comes
	inAnswer
	inReasoning
)

// splitter separates the reasoning in a text from the rest, piece by piece. Where the pieces are cut changes only when it
// returns something, not what.
type splitter struct {
	state state
	name  string          // of the tag that opened the reasoning; "" if the template did
	hold  int             // bytes
	held  strings.Builder // text so far while undecided
	tail  string          // the end of the input: it may be the start of a tag

	lead         string // space at the start of the answer, and maybe part of a character
	hasAnswer    bool   // the answer has more than space
	hasTag       bool
	hasReasoning bool // the reasoning has more than space
	hasYielded   bool // some of the answer was returned
	closeOnly    bool // the first tag was a close tag

	text, reasoning strings.Builder // output of the current write
}

func newSplitter(cfg ReasoningConfig) *splitter {
	s := &splitter{hold: cfg.Hold}
	switch {
	case cfg.CloseOnly:
		s.state = inReasoning
	case cfg.Hold == 0:
		s.state = inAnswer
	}
	return s
}

// write adds a piece and returns what is decided by now.
func (s *splitter) write(piece string) (text, reasoning string) {
	in := s.tail + piece
	s.tail = ""
	for in != "" {
		i := strings.IndexByte(in, '<')
		if i < 0 {
			s.add(in)
			break
		}
		s.add(in[:i])
		in = in[i:]
		t, n, ok := parseTag(in)
		switch {
		case !ok && n == 0:
			s.tail = in
			return s.take()
		case !ok:
			s.add(in[:n])
		case !s.tag(t):
			s.add(in[:n])
		}
		in = in[n:]
	}
	return s.take()
}

// end returns what was held back at the end of the text.
func (s *splitter) end() (text, reasoning string) {
	s.add(s.tail)
	s.tail = ""
	s.release()
	if !s.hasTag {
		s.text.WriteString(s.lead)
	} else {
		s.text.WriteString(strings.TrimLeftFunc(s.lead, unicode.IsSpace))
	}
	s.lead = ""
	return s.take()
}

func (s *splitter) take() (text, reasoning string) {
	text, reasoning = s.text.String(), s.reasoning.String()
	s.hasYielded = s.hasYielded || text != ""
	s.text.Reset()
	s.reasoning.Reset()
	return text, reasoning
}

// add adds text without tags.
func (s *splitter) add(text string) {
	switch s.state {
	case undecided:
		s.held.WriteString(text)
		if s.held.Len() > s.hold {
			s.release()
		}
	case inAnswer:
		s.addAnswer(text)
	case inReasoning:
		s.hasReasoning = s.hasReasoning || strings.Trim(text, " \t\r\n") != "" // ASCII only: characters may come in parts
		s.reasoning.WriteString(text)
	}
}

// release decides that the held text is the answer.
func (s *splitter) release() {
	if s.state == undecided {
		s.state = inAnswer
		s.addAnswer(s.held.String())
		s.held.Reset()
	}
}

// cut decides that the held text is reasoning, because the answer broke off before a tag came.
func (s *splitter) cut() {
	if s.state == undecided {
		s.state, s.hasTag = inReasoning, true
		s.add(s.held.String())
		s.held.Reset()
	}
}

// addAnswer adds to the answer. Space at its start waits, and is dropped if reasoning comes before the first word.
func (s *splitter) addAnswer(text string) {
	if s.hasAnswer {
		s.text.WriteString(text)
		return
	}
	s.lead += text
	rest := strings.TrimLeftFunc(s.lead, unicode.IsSpace)
	if !utf8.FullRuneInString(rest) { // nothing, or the start of a character that may be space
		return
	}
	if s.hasTag {
		s.text.WriteString(rest)
	} else {
		s.text.WriteString(s.lead)
	}
	s.hasAnswer, s.lead = true, ""
}

// tag handles a tag, and reports whether it counts as one in this place.
func (s *splitter) tag(t tag) bool {
	s.closeOnly = s.closeOnly || t.closes && !s.hasTag && s.state != inReasoning
	switch {
	case s.state == inReasoning && t.closes && (s.name == "" || s.name == t.name):
		s.state = inAnswer
	case s.state == inReasoning && s.name == "" && !s.hasReasoning && !t.closes:
		s.name = t.name // the model repeats the open tag of the template
	case s.state == inReasoning:
		return false
	case t.closes && s.state == undecided:
		s.reasoning.WriteString(s.held.String())
		s.held.Reset()
		s.state = inAnswer
	case t.closes && s.hold == 0 && !s.hasTag && !s.hasYielded: // it can still be taken back
		s.reasoning.WriteString(s.text.String() + s.lead)
		s.text.Reset()
		s.hasAnswer, s.lead = false, ""
	case !t.closes:
		s.release()
		if !t.empty {
			s.state, s.name = inReasoning, t.name
		}
	}
	s.hasTag = true
	return true
}

// tag is a reasoning tag.
type tag struct {
	name   string
	closes bool
	empty  bool // opens and closes at once
}

// parseTag reads a tag at the start of in, which starts with '<', and returns its length. If there is no tag, it returns how
// much of in is certainly text, or 0 if that depends on what follows.
func parseTag(in string) (t tag, n int, ok bool) {
	rest := in[1:]
	if strings.HasPrefix(rest, "/") {
		t.closes, rest = true, rest[1:]
	}
	end := 0
	for end < len(rest) && (rest[end]|0x20 >= 'a' && rest[end]|0x20 <= 'z') {
		end++
	}
	t.name = strings.ToLower(rest[:end])
	rest = rest[end:]
	if rest == "" {
		return t, textIf(!isNamePrefix(t.name)), false
	}
	if !slices.Contains(tagNames, t.name) || !strings.ContainsRune(" \t\r\n/>", rune(rest[0])) {
		return t, 1, false
	}
	i := strings.IndexAny(rest, "<>")
	length := len(in) - len(rest) + i + 1
	switch {
	case i < 0:
		return t, textIf(len(in) >= maxTagBytes), false
	case rest[i] == '<' || length > maxTagBytes:
		return t, 1, false
	}
	inside := rest[:i]
	if t.closes && strings.TrimSpace(inside) != "" {
		return t, 1, false
	}
	t.empty = strings.HasSuffix(strings.TrimSpace(inside), "/")
	return t, length, true
}

// textIf returns 1 if the '<' is text, or 0.
func textIf(isText bool) int {
	if isText {
		return 1
	}
	return 0
}

// isNamePrefix reports whether a tag name starts with s.
func isNamePrefix(s string) bool {
	return slices.ContainsFunc(tagNames, func(name string) bool { return strings.HasPrefix(name, s) })
}
