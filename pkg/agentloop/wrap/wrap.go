// Package wrap adds to a model what providers leave out. Each function takes an [agentloop.Model] and returns one:
//
//   - [IdleTimeout] fails a call that sends nothing for some time.
//   - [Retry] repeats a call that fails before it answers.
//   - [Fallback] asks the next model if one fails before it answers.
//   - [Reasoning] moves reasoning that a model writes into its answer to [agentloop.Chunk.Reasoning].
//   - [Record] and [Replay] keep the calls of a run and play them back without a network.
//   - [Limit] holds calls to a shared [Budget] of tokens, money or both.
//
// [Standard] composes them in the right order. Compose by hand only for what its [Options] cannot express. Then one order is
// wrong: Reasoning over texttools would run tool calls that the model only considers. In all other orders a wrapper covers
// what is below it: Retry over Fallback repeats the whole chain, one IdleTimeout over Retry serves all attempts together.
//
// All models here are safe for concurrent use, change no request, and keep nothing of a call after its sequence has ended,
// including goroutines, except what Record hands to its sink.
//
// The package must not import anything beyond the standard library, agentloop, endpoint and texttools.
package wrap

import (
	"context"
	"iter"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/texttools"
)

// Options configures [Standard]. The zero value is right for a model with native tool calls: three attempts, reasoning tags
// filtered, no idle timeout, no budget, no recording.
type Options struct {
	// IdleTimeout fails an attempt that sends nothing for this long; see [IdleTimeout]. Zero: no idle timeout.
	IdleTimeout time.Duration
	// Record gets each attempt when it has ended; see [Record]. A replay of the exchanges goes through all other layers. Nil:
	// nothing is recorded.
	Record func(Exchange)
	// Trace wraps each attempt, for example with agentotel.Model. Nil: no tracing.
	Trace func(agentloop.Model) agentloop.Model
	// Budget limits all attempts together; see [Limit]. Nil: no limit.
	Budget *Budget
	// Price of the model's tokens. Required if Budget limits money.
	Price *agentloop.Price
	// Retry configures attempts after a failure. Zero: see [RetryConfig]. MaxAttempts 1: no retries.
	Retry RetryConfig
	// Reasoning configures the reasoning filter. Zero: see [ReasoningConfig].
	Reasoning ReasoningConfig
	// NoReasoning asks for answers without reasoning in every call.
	NoReasoning bool
	// TextTools gives tools to a model without native tool calls; see package texttools.
	TextTools bool
	// RecognizeCalls reads tool calls that the model writes into its text; see [texttools.Recognize]. TextTools includes its
	// own format and ignores RecognizeCalls.
	RecognizeCalls bool
	// Fallbacks are asked in order if the model fails for good before it answers. Each is usually a result of Standard with
	// its own options. Nil: none.
	Fallbacks []agentloop.Model
}

// Standard wraps a model in the layers that its options ask for. From the provider to the loop they are:
//
//	IdleTimeout   each attempt has its own timer
//	Record        a replay sees what the provider sent, also its silence, and goes through all layers above
//	Trace         each attempt that is made is one span
//	Limit         each attempt is counted; a refusal is not retried
//	Retry
//	Reasoning     below TextTools, so that a tool call in reasoning is not run
//	TextTools     or RecognizeCalls
//	Fallback      each model is retried before the next one, and has its own layers
func Standard(m agentloop.Model, o Options) agentloop.Model {
	if o.NoReasoning {
		m = noReasoning{m}
	}
	m = IdleTimeout(m, o.IdleTimeout)
	if o.Record != nil {
		m = Record(m, o.Record)
	}
	if o.Trace != nil {
		m = o.Trace(m)
	}
	if o.Budget != nil {
		m = Limit(m, o.Budget, o.Price)
	}
	m = Retry(m, o.Retry)
	m = Reasoning(m, o.Reasoning)
	switch {
	case o.TextTools:
		m = texttools.New(m)
	case o.RecognizeCalls:
		m = texttools.Recognize(m)
	}
	if len(o.Fallbacks) > 0 {
		m = Fallback(append([]agentloop.Model{m}, o.Fallbacks...)...)
	}
	return m
}

// noReasoning asks for an answer without reasoning in every call.
type noReasoning struct{ next agentloop.Model }

// Generate implements [agentloop.Model].
func (n noReasoning) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	r := *req
	r.NoReasoning = true
	return n.next.Generate(ctx, &r)
}

// isEmpty reports whether a chunk holds nothing of an answer. The name of the model is not part of the answer.
func isEmpty(c agentloop.Chunk) bool {
	return c.Text == "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.FinishReason == "" && c.Usage == nil && c.ProviderData == ""
}
