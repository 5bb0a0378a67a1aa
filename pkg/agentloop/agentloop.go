// Package agentloop is a tool-calling loop over any language model.
//
// A [Loop] holds a [Model], a system prompt and [Tool] values. Run sends the conversation to the model, runs the tools the
// model asks for, sends their results back, and repeats until the model answers in text or a limit is reached. Stream does
// the same and reports each event as it happens; Run is Stream without the events.
//
//	loop, err := agentloop.New(agentloop.Config{Model: model, System: "You are terse.", Tools: tools})
//	...
//	result, err := loop.Run(ctx, nil, "Is it raining in Oslo?")
//
// Everything has a limit: model calls (MaxSteps), the answer (MaxOutputTokens), concurrent tools (MaxParallel), the time of
// a tool (ToolTimeout), the size of a result (MaxResultBytes), and the whole run by tokens (MaxTotalTokens), money
// (MaxCostMicros) and the context. A tool that fails, panics or gets bad arguments becomes a result that the model reads;
// it never ends the run.
//
// Tool results are data, never instructions. The model reads them inside a fence, without invisible characters, and with
// look-alikes of the fence and of tool calls disarmed. [CallRecord.Value] is the value as the tool returned it.
//
// The package knows no provider, transport or business domain. It must not import anything beyond the standard library, a
// JSON Schema package and its own internal packages; adapters live in the packages beside it.
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

// Config configures a [Loop]. Only Model is required.
type Config struct {
	// Model answers. Required.
	Model Model
	// System is the system prompt. Empty: none.
	System string
	// Tools are the tools that the model may call. Names must be unique.
	Tools []Tool
	// Temperature is the sampling temperature. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens limits the answer of each model call. The request asks the model to respect the limit. The loop stops a
	// model that does not after 64 bytes of text, reasoning and calls per token, sixteen times the usual size of a token. The
	// answer is then what came so far, with [FinishLength]; incomplete calls are refused. Zero: DefaultMaxOutputTokens.
	MaxOutputTokens int
	// MaxSteps limits the model calls that may ask for tools. After the last one, one more call without tools turns what is
	// known into an answer. Zero: DefaultMaxSteps.
	MaxSteps int
	// MaxTotalTokens limits the input and output tokens of all model calls of a run. Once they are used, one more call
	// without tools turns what is known into an answer. Usage is known only after a call, so the call that reaches the limit
	// and the final call exceed it. Zero: no limit.
	MaxTotalTokens int64
	// MaxCostMicros limits the cost of a run, in millionths of the currency of Price, in the same way. It requires Price.
	// Zero: no limit.
	MaxCostMicros int64
	// MaxParallel limits the tools that run at once. Zero: DefaultMaxParallel.
	MaxParallel int
	// ToolTimeout limits one tool call. Zero: DefaultToolTimeout.
	ToolTimeout time.Duration
	// Reserve is the time before the context's deadline that is kept for the answer. When only Reserve is left, running tools
	// are cancelled and no more are allowed. Zero: no time is kept, and a run may end without an answer.
	Reserve time.Duration
	// MaxResultBytes limits what the model reads of one result. A longer result is cut and marked as cut. Zero:
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
	tools map[string]Tool
	specs []ToolSpec // in the order of Config.Tools
}

// New returns a loop, or an error that says what is wrong with the configuration.
func New(cfg Config) (*Loop, error) {
	if cfg.Model == nil {
		return nil, errors.New("agentloop: Config.Model is nil")
	}
	if cfg.MaxSteps < 0 || cfg.MaxOutputTokens < 0 || cfg.MaxParallel < 0 || cfg.ToolTimeout < 0 ||
		cfg.Reserve < 0 || cfg.MaxResultBytes < 0 || cfg.MaxTotalTokens < 0 || cfg.MaxCostMicros < 0 {
		return nil, errors.New("agentloop: a limit in Config is negative")
	}
	if cfg.MaxCostMicros > 0 && cfg.Price == nil {
		return nil, errors.New("agentloop: Config.MaxCostMicros requires Config.Price")
	}
	setDefault(&cfg.MaxSteps, DefaultMaxSteps)
	setDefault(&cfg.MaxOutputTokens, DefaultMaxOutputTokens)
	setDefault(&cfg.MaxParallel, DefaultMaxParallel)
	setDefault(&cfg.ToolTimeout, DefaultToolTimeout)
	setDefault(&cfg.MaxResultBytes, DefaultMaxResultBytes)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	l := &Loop{cfg: cfg, tools: make(map[string]Tool)}
	for _, t := range cfg.Tools {
		t, err := t.compile()
		if err != nil {
			return nil, fmt.Errorf("agentloop: %w", err)
		}
		if _, ok := l.tools[t.Name]; ok {
			return nil, fmt.Errorf("agentloop: tool name %q is taken", t.Name)
		}
		l.tools[t.Name] = t
		l.specs = append(l.specs, t.ToolSpec)
	}
	return l, nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Run answers a message. History holds the earlier messages of the conversation, without the system prompt. The result is
// never nil: beside an error it holds what was done so far.
//
// Errors: [ErrMaxSteps], [ErrOutOfTime] and [ErrBudget] come with an answer made from what was known; [ErrNoAnswer], the
// context's error and the model's error, wrapped, come without one. An ErrBudget from the model itself comes without an
// answer.
func (l *Loop) Run(ctx context.Context, history []Message, message string) (*Result, error) {
	c := l.Start(history, message)
	for !c.Done() {
		for range c.Step(ctx) {
		}
	}
	return c.Result(), c.Err()
}

// Stream is Run as a sequence of events. The last pair is always a [Finished] event with Run's result and error; the error
// is nil in every earlier pair. Breaking out of the sequence stops the model and the tools, and waits for them. Each range
// over the sequence is a separate run.
func (l *Loop) Stream(ctx context.Context, history []Message, message string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c := l.Start(history, message)
		for !c.Done() {
			for ev := range c.Step(ctx) {
				if !yield(ev, nil) {
					return
				}
			}
		}
		yield(Finished{Result: c.Result()}, c.Err())
	}
}

// Start returns a conversation that the caller advances one step at a time. Arguments are those of [Loop.Run].
func (l *Loop) Start(history []Message, message string) *Conversation {
	c := &Conversation{loop: l, started: time.Now(), result: &Result{}, reusable: make(map[string]*job)}
	if l.cfg.System != "" {
		c.messages = append(c.messages, Message{Role: RoleSystem, Text: l.cfg.System})
	}
	c.messages = slices.Concat(c.messages, history, []Message{{Role: RoleUser, Text: message}})
	return c
}
