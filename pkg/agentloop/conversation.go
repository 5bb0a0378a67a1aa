package agentloop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// What the loop itself says to the model.
const (
	sayLastCall  = "You have no tool calls left. Answer now from what you know; say plainly what you could not find out."
	sayLastRound = "You can call tools once more; after that you must answer from what you know."
	sayHurry     = "Little time is left. Call a tool only if there is no answer without it."
	sayRepeated  = "You made this same call before. This is its result again."
	sayNoAnswer  = "You wrote nothing. Answer the last message now, in plain text."
)

// Conversation is one run in progress. It is not safe for concurrent use.
type Conversation struct {
	loop     *Loop
	begun    time.Time
	messages []Message
	result   *Result
	answered map[string]*job // by name and arguments, the calls whose results still hold
	nudges   int             // model calls that only repeat one that came to nothing
	nudged   bool            // the model was told that it wrote nothing
	thought  bool            // the last model call held reasoning
	plain    bool            // the model is asked not to reason
	capped   bool            // the model was told that it has no tool calls left
	hurried  bool            // the model was told that time is short
	done     bool
	err      error
}

// Done reports whether the run has ended.
func (r *Conversation) Done() bool { return r.done }

// Err says why the run ended without a plain answer; nil while it goes on.
func (r *Conversation) Err() error { return r.err }

// Result returns what the run came to so far. It must not be changed.
func (r *Conversation) Result() *Result { return r.result }

// Messages returns a copy of the conversation, the system prompt included.
func (r *Conversation) Messages() []Message { return slices.Clone(r.messages) }

// Step makes one model call and runs the tools that it asks for, and yields what happens. It does nothing once the run
// is done. Breaking out of the sequence ends the run.
func (r *Conversation) Step(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if r.done {
			return
		}
		step, spent := len(r.result.Steps), r.spent(ctx)
		if spent != nil && !r.capped {
			r.capped = true
			r.say(sayLastCall)
		}
		answer, err := r.call(ctx, step, spent != nil, yield)
		r.advance(ctx, step, spent, answer, err, yield)
	}
}

// advance does what a model call leads to. Step would be the place for it, but waits for the model with all that it has on
// the stack.
func (r *Conversation) advance(ctx context.Context, step int, spent error, answer Message, err error, yield func(Event) bool) {
	switch {
	case err != nil:
		r.fail(ctx, answer.Text, fmt.Errorf("agentloop: model call: %w", err))
	case len(answer.ToolCalls) > 0 && spent == nil:
		r.messages = append(r.messages, answer)
		if err := r.runTools(ctx, step, answer.ToolCalls, yield); err != nil {
			r.fail(ctx, "", fmt.Errorf("agentloop: tool calls: %w", err))
		} else {
			r.warn(ctx)
		}
	case strings.TrimSpace(answer.Text) == "":
		r.empty(step)
	case spent != nil:
		r.end(finishOf(spent), answer.Text, spent)
	default:
		r.end(r.result.Steps[step].FinishReason, answer.Text, nil)
	}
	if !errors.Is(r.err, errStopped) && !yield(StepFinished{Step: step, Record: r.result.Steps[step]}) && !r.done {
		r.end(FinishCanceled, "", errStopped)
	}
}

// errStopped ends a run whose consumer broke out of the sequence.
var errStopped = fmt.Errorf("agentloop: consumer stopped: %w", context.Canceled)

// finishOf returns the finish reason of a bound that leaves room for an answer, "" for any other error.
func finishOf(bound error) FinishReason {
	switch bound {
	case ErrMaxSteps:
		return FinishMaxSteps
	case ErrBudget:
		return FinishBudget
	case ErrOutOfTime:
		return FinishDeadline
	}
	return ""
}

// spent says which bound was reached, so that the next call must not ask for tools; nil for none.
func (r *Conversation) spent(ctx context.Context) error {
	if r.stepsLeft() <= 0 {
		return ErrMaxSteps
	}
	if cfg, u := r.loop.cfg, r.result.Usage; cfg.MaxTotalTokens > 0 && u.InputTokens+u.OutputTokens >= cfg.MaxTotalTokens ||
		cfg.MaxCostMicros > 0 && cfg.Price.Of(u).Micros >= cfg.MaxCostMicros {
		return ErrBudget
	}
	if end, ok := r.toolsEnd(ctx); ok && !time.Now().Before(end) {
		return ErrOutOfTime
	}
	return nil
}

// stepsLeft returns how many calls may still ask for tools. Nudges do not count as steps.
func (r *Conversation) stepsLeft() int { return r.loop.cfg.MaxSteps - len(r.result.Steps) + r.nudges }

// shortTime is the part of a run's time for tools, from its start, of which less than one in so many is short.
const shortTime = 4

// warn tells the model, after a step with tools, that the next one is its last, or once that less than a quarter of the
// time is left.
func (r *Conversation) warn(ctx context.Context) {
	if r.spent(ctx) != nil {
		return // it will be told that it must answer
	}
	if r.stepsLeft() == 1 {
		r.say(sayLastRound)
	}
	deadline, ok := ctx.Deadline()
	end := deadline.Add(-r.loop.cfg.Reserve)
	if ok && !r.hurried && time.Until(end) < end.Sub(r.begun)/shortTime {
		r.hurried = true
		r.say(sayHurry)
	}
}

// toolsEnd returns when tools must be done, so that the reserve is left for the answer, and whether there is such a time.
func (r *Conversation) toolsEnd(ctx context.Context) (time.Time, bool) {
	deadline, ok := ctx.Deadline()
	return deadline.Add(-r.loop.cfg.Reserve), ok && r.loop.cfg.Reserve > 0
}

// call makes one model call and records it as a step.
func (r *Conversation) call(ctx context.Context, step int, last bool, yield func(Event) bool) (Message, error) {
	r.messages = paired(r.messages)
	req := &Request{
		Messages:        slices.Clip(r.messages),
		Tools:           r.loop.specs,
		NoToolCalls:     last,
		Temperature:     r.loop.cfg.Temperature,
		MaxOutputTokens: r.loop.cfg.MaxOutputTokens,
		NoReasoning:     r.plain,
	}
	a, begun := newAssembler(step, req.MaxOutputTokens), time.Now()
	err := a.consume(r.loop.cfg.Model.Generate(ctx, req), yield)
	if err == nil && a.finish == "" {
		err = ctx.Err() // a model may end its sequence quietly when cancelled
	}
	return r.record(a, a.usageOf(req, err), time.Since(begun)), err
}

// record notes what a model call came to as a step, and returns the answer.
func (r *Conversation) record(a *assembler, usage Usage, took time.Duration) Message {
	message := a.message(r.messages)
	r.result.Steps = append(r.result.Steps, StepRecord{
		Text: message.Text, FinishReason: a.finish, ToolCalls: len(message.ToolCalls), Usage: usage, Duration: took,
	})
	r.result.Usage = r.result.Usage.Add(usage)
	r.result.Cost = r.loop.cfg.Price.Of(r.result.Usage)
	if a.model != "" {
		r.result.Model = a.model
	}
	r.thought = a.reasoning > 0
	return message
}

// empty handles an answer of nothing. One that was cut while the model still reasoned is tried once more without reasoning;
// any other is asked for once more, then given up.
func (r *Conversation) empty(step int) {
	reason := r.result.Steps[step].FinishReason
	switch {
	case r.thought && reason == FinishLength && !r.plain:
		r.plain = true
	case !r.nudged:
		r.nudged = true
		r.say(sayNoAnswer)
	default:
		r.end(reason, "", ErrNoAnswer)
		return
	}
	r.nudges++
}

// say puts the loop's own words into the conversation. After tool results they go beside the last one: some providers refuse
// a user message there.
func (r *Conversation) say(words string) {
	if last := &r.messages[len(r.messages)-1]; last.Role == RoleTool {
		last.Text = noted(last.Text, words)
		return
	}
	r.messages = append(r.messages, Message{Role: RoleUser, Text: words})
}

// fail closes the run because of an error, with the text that was there by then. When ctx is done that is the reason,
// whatever the error came to be called on its way.
func (r *Conversation) fail(ctx context.Context, text string, err error) {
	reason := FinishError
	switch cause := ctx.Err(); {
	case errors.Is(err, errStopped):
		reason = FinishCanceled
	case cause == nil && errors.Is(err, ErrBudget):
		reason = FinishBudget
	case cause != nil:
		reason = FinishCanceled
		if errors.Is(cause, context.DeadlineExceeded) {
			reason = FinishDeadline
		}
		if !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	r.end(reason, text, err)
}

// end closes the run.
func (r *Conversation) end(reason FinishReason, text string, err error) {
	if text != "" && (err == nil || finishOf(err) != "") {
		r.messages = append(r.messages, Message{Role: RoleAssistant, Text: text})
	}
	if reason == "" || reason == FinishToolCalls {
		reason = FinishStop
	}
	r.done, r.err = true, err
	r.result.Text, r.result.FinishReason, r.result.Duration = text, reason, time.Since(r.begun)
}
