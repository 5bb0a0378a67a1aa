// Package agentloop is a tool-calling loop over any language model.
//
// A [Loop] holds a [Model], a system prompt and some [Tool] values. Run sends the conversation to the model, runs the
// tools that it asks for, sends back what they returned, and so on until the model answers in text or a bound is
// reached. Stream does the same and reports each event as it happens; both are the same code.
//
//	loop, err := agentloop.New(agentloop.Config{Model: model, System: "You are terse.", Tools: tools})
//	...
//	result, err := loop.Run(ctx, nil, "Is it raining in Oslo?")
//
// Everything is bounded: model calls (MaxSteps), the answer (MaxOutputTokens), tools at once (MaxParallel), a tool's
// time (ToolTimeout), a result's size (MaxResultBytes), and the whole by tokens (MaxTotalTokens), money (MaxCostMicros) and
// the context. A tool that fails, panics or is called wrongly becomes a result that the model reads; it never ends the run.
//
// What tools return is data, never instructions: the model reads it within a fence, without characters that a person would
// not see, and with look-alikes of the fence and of tool calls disarmed. [CallRecord.Value] is as the tool returned it.
//
// The package knows nothing of any provider, transport or trade. It must not import anything beyond the standard
// library, a JSON Schema package and its own internal ones; adapters live in the packages beside it.
package agentloop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"
)

// Defaults for the zero values of [Config].
const (
	DefaultMaxSteps        = 10
	DefaultMaxOutputTokens = 4096
	DefaultMaxParallel     = 8
	DefaultToolTimeout     = 30 * time.Second
	DefaultMaxResultBytes  = 16 << 10
)

// Config says how a loop works. Only Model is required.
type Config struct {
	// Model answers. Required.
	Model Model
	// System is the system prompt. Empty: none is sent.
	System string
	// Tools that the model may call. Names are unique.
	Tools []Tool
	// Temperature is passed to the model. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens bounds the answer of each model call. Models are asked to keep to it; one that does not is stopped after
	// 64 bytes of text, reasoning and calls for each token, sixteen times what a token has as a rule. The answer is then what
	// came until there, with [FinishLength]; calls that had not come whole are refused. Zero: DefaultMaxOutputTokens.
	MaxOutputTokens int
	// MaxSteps bounds the model calls that may ask for tools. After the last one, a further call without tools turns what
	// is known into an answer. Zero: DefaultMaxSteps.
	MaxSteps int
	// MaxTotalTokens bounds the input and output tokens of a run, all model calls together: once they are used, a further
	// call without tools turns what is known into an answer. What is used is known only after a call, so the call that reaches
	// the bound, and the last one, go beyond it. Zero: no bound.
	MaxTotalTokens int64
	// MaxCostMicros bounds what a run costs by Price, in millionths of its currency, in the same way. It wants a Price. Zero:
	// no bound.
	MaxCostMicros int64
	// MaxParallel bounds the tools that run at once. Zero: DefaultMaxParallel.
	MaxParallel int
	// ToolTimeout bounds one tool call. Zero: DefaultToolTimeout.
	ToolTimeout time.Duration
	// Reserve is what is kept for the answer of the time until the context's deadline: when no more than this is left, tools
	// are stopped and no more are asked for. Zero: none is kept, and a run may end without an answer.
	Reserve time.Duration
	// MaxResultBytes bounds what the model reads of one result; the rest is cut and the cut said. Zero:
	// DefaultMaxResultBytes.
	MaxResultBytes int
	// Price turns usage into cost. Nil: the cost is unknown.
	Price *Price
	// Logger gets the stack of a tool that panics. Nil: slog.Default().
	Logger *slog.Logger
}

// Loop runs conversations. It is immutable and safe for concurrent use.
type Loop struct {
	cfg   Config
	tools []Tool // few, so that a map of them would be larger and no faster
	specs []ToolSpec
}

// New returns a loop, or an error that names what is wrong with the configuration.
func New(cfg Config) (*Loop, error) {
	if cfg.Model == nil {
		return nil, errors.New("agentloop: Config.Model is nil")
	}
	if cfg.MaxSteps < 0 || cfg.MaxOutputTokens < 0 || cfg.MaxParallel < 0 || cfg.ToolTimeout < 0 ||
		cfg.Reserve < 0 || cfg.MaxResultBytes < 0 || cfg.MaxTotalTokens < 0 || cfg.MaxCostMicros < 0 {
		return nil, errors.New("agentloop: a bound in Config is negative")
	}
	if cfg.MaxCostMicros > 0 && cfg.Price == nil {
		return nil, errors.New("agentloop: Config.MaxCostMicros wants a Config.Price")
	}
	setDefault(&cfg.MaxSteps, DefaultMaxSteps)
	setDefault(&cfg.MaxOutputTokens, DefaultMaxOutputTokens)
	setDefault(&cfg.MaxParallel, DefaultMaxParallel)
	setDefault(&cfg.ToolTimeout, DefaultToolTimeout)
	setDefault(&cfg.MaxResultBytes, DefaultMaxResultBytes)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	l := &Loop{cfg: cfg, tools: slices.Grow([]Tool(nil), len(cfg.Tools)), specs: slices.Grow([]ToolSpec(nil), len(cfg.Tools))}
	for _, t := range cfg.Tools {
		t, err := t.compile()
		if err != nil {
			return nil, fmt.Errorf("agentloop: %w", err)
		}
		if _, ok := l.tool(t.Name); ok {
			return nil, fmt.Errorf("agentloop: tool name %q is taken", t.Name)
		}
		l.tools = append(l.tools, t)
		l.specs = append(l.specs, t.ToolSpec)
	}
	return l, nil
}

// tool returns the tool of a name.
func (l *Loop) tool(name string) (Tool, bool) {
	i := slices.IndexFunc(l.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return l.tools[i], true
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Run answers a message, given the earlier messages of the conversation without the system prompt. The result is never
// nil: beside an error it holds whatever was done until then. Errors: [ErrMaxSteps], [ErrOutOfTime] and [ErrBudget] with an
// answer made from what was known, [ErrNoAnswer] without one, the context's error, or the model's error, wrapped. An
// [ErrBudget] of the model's own comes without an answer.
func (l *Loop) Run(ctx context.Context, history []Message, message string) (*Result, error) {
	var result *Result
	var err error
	for ev, e := range l.Stream(ctx, history, message) {
		if f, ok := ev.(Finished); ok {
			result, err = f.Result, e
		}
	}
	return result, err
}

// Stream is Run as a sequence of events. The last pair is always a [Finished] event with Run's result and error; the
// error is nil in every earlier pair. Breaking out of the sequence stops the model and the tools, and waits for them.
// Each range over the sequence is a run of its own.
func (l *Loop) Stream(ctx context.Context, history []Message, message string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := l.Start(history, message)
		for !r.Done() {
			for ev := range r.Step(ctx) {
				if !yield(ev, nil) {
					return
				}
			}
		}
		yield(Finished{Result: r.Result()}, r.Err())
	}
}

// Start returns a run that is advanced by hand, a step at a time.
func (l *Loop) Start(history []Message, message string) *Conversation {
	r := &Conversation{loop: l, begun: time.Now(), result: &Result{}, answered: make(map[string]*job)}
	if l.cfg.System != "" {
		r.messages = append(r.messages, Message{Role: RoleSystem, Text: l.cfg.System})
	}
	r.messages = append(r.messages, history...)
	r.messages = append(r.messages, Message{Role: RoleUser, Text: message})
	return r
}
