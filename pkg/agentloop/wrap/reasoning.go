package wrap

import (
	"context"
	"iter"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// DefaultHold is the default of [ReasoningConfig], in bytes.
const DefaultHold = 1 << 10

// ReasoningConfig says how [Reasoning] tells thoughts from answers. The zero value is right for a model that writes both
// tags itself.
type ReasoningConfig struct {
	// CloseOnly is for a model whose prompt template opens the tag: its answers begin as reasoning, and only the close tag
	// ends that. An answer without one is all reasoning. Nothing is ever held back.
	CloseOnly bool
	// Hold is how many bytes of the start of an answer are held back for as long as no tag has come, because a close tag
	// would make them reasoning. It delays only answers without reasoning. A close tag that comes later finds its reasoning
	// gone out as text: set CloseOnly where templates open the tag, or a Hold larger than any answer where that is not
	// known. Zero: DefaultHold. Negative: nothing is held. CloseOnly ignores it.
	Hold int
}

// Reasoning returns a model that moves the reasoning in m's text to [agentloop.Chunk.Reasoning]. Reasoning is what stands
// between the tags think, thinking, thought or reasoning, in any case, the open tag with or without attributes:
//
//   - Tags may be cut anywhere between chunks; only what could still become a tag is held back.
//   - Reasoning ends with the first close tag of the name that opened it. It does not nest.
//   - A close tag alone makes all before it reasoning, as far as that was held back; see [ReasoningConfig].
//   - Reasoning that is not closed goes on to the end of the answer.
//   - A stray close tag after the first tag of an answer is dropped, and so is the space between reasoning at the start of an
//     answer and its text.
//   - Tags count in code, too: text that looks like reasoning is not shown, even if it is not.
//
// The finish reason and the usage come with the last chunk.
func Reasoning(m agentloop.Model, cfg ReasoningConfig) agentloop.Model {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	return &reasoner{next: m, cfg: cfg}
}

type reasoner struct {
	next agentloop.Model
	cfg  ReasoningConfig
}

// Generate implements [agentloop.Model].
func (r *reasoner) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		s := newSplitter(r.cfg)
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
			text, thought := s.write(c.Text)
			c.Text, c.Reasoning = text, c.Reasoning+thought
			if (!saysNothing(c) || c.Model != "") && !yield(c, nil) {
				return
			}
		}
		last.Text, last.Reasoning = s.end()
		if !saysNothing(last) && !yield(last, nil) {
			return
		}
		if failure != nil {
			yield(agentloop.Chunk{}, failure)
		}
	}
}
