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
	sayLastCall = "You have no tool calls left. Answer now from what you know; say plainly what you could not find out."
	sayNoAnswer = "You wrote nothing. Answer the last message now, in plain text."
)

// Run is one conversation in progress. It is not safe for concurrent use.
type Run struct {
	loop     *Loop
	begun    time.Time
	messages []Message
	result   *Result
	answered map[string]*job // by name and arguments, the calls whose results still hold
	nudged   bool
	capped   bool // the model was told that it has no tool calls left
	done     bool
	err      error
}

// Done reports whether the run has ended.
func (r *Run) Done() bool { return r.done }

// Err says why the run ended without a plain answer; nil while it goes on.
func (r *Run) Err() error { return r.err }

// Result returns what the run came to so far. It must not be changed.
func (r *Run) Result() *Result { return r.result }

// Messages returns a copy of the conversation, the system prompt included.
func (r *Run) Messages() []Message { return slices.Clone(r.messages) }

// Step makes one model call and runs the tools that it asks for, and yields what happens. It does nothing once the run
// is done. Breaking out of the sequence ends the run.
func (r *Run) Step(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if r.done {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		step, spent := len(r.result.Steps), r.spent(ctx)
		if spent != nil && !r.capped {
			r.capped = true
			r.say(sayLastCall)
		}
		answer, err := r.call(ctx, step, spent != nil, yield)
		switch {
		case err != nil:
			r.fail(ctx, answer.Text, fmt.Errorf("agentloop: model call: %w", err))
		case len(answer.ToolCalls) > 0 && spent == nil:
			r.messages = append(r.messages, answer)
			if err := r.runTools(ctx, step, answer.ToolCalls, yield); err != nil {
				r.fail(ctx, "", fmt.Errorf("agentloop: tool calls: %w", err))
			}
		case strings.TrimSpace(answer.Text) == "":
			r.empty()
		case spent != nil:
			r.end(finishOf(spent), answer.Text, spent)
		default:
			r.end(r.result.Steps[step].FinishReason, answer.Text, nil)
		}
		if !errors.Is(r.err, errStopped) && !yield(StepFinished{Step: step, Record: r.result.Steps[step]}) && !r.done {
			r.end(FinishCanceled, "", errStopped)
		}
	}
}

// errStopped ends a run whose consumer broke out of the sequence.
var errStopped = fmt.Errorf("agentloop: consumer stopped: %w", context.Canceled)

// finishOf returns the finish reason of a bound that leaves room for an answer, "" for any other error.
func finishOf(bound error) FinishReason {
	switch bound {
	case ErrMaxSteps:
		return FinishMaxSteps
	case ErrOutOfTime:
		return FinishDeadline
	}
	return ""
}

// spent says which bound was reached, so that the next call must not ask for tools; nil for none. Nudges do not count as
// steps.
func (r *Run) spent(ctx context.Context) error {
	n := len(r.result.Steps)
	if r.nudged {
		n--
	}
	if n >= r.loop.cfg.MaxSteps {
		return ErrMaxSteps
	}
	if end, ok := r.toolsEnd(ctx); ok && !time.Now().Before(end) {
		return ErrOutOfTime
	}
	return nil
}

// toolsEnd returns when tools must be done, so that the reserve is left for the answer, and whether there is such a time.
func (r *Run) toolsEnd(ctx context.Context) (time.Time, bool) {
	deadline, ok := ctx.Deadline()
	return deadline.Add(-r.loop.cfg.Reserve), ok && r.loop.cfg.Reserve > 0
}

// call makes one model call and records it as a step.
func (r *Run) call(ctx context.Context, step int, last bool, yield func(Event) bool) (Message, error) {
	r.messages = paired(r.messages)
	req := &Request{
		Messages:        slices.Clip(r.messages),
		Tools:           r.loop.specs,
		NoToolCalls:     last,
		Temperature:     r.loop.cfg.Temperature,
		MaxOutputTokens: r.loop.cfg.MaxOutputTokens,
	}
	a := assembler{step: step}
	begun := time.Now()
	err := a.consume(r.loop.cfg.Model.Generate(ctx, req), yield)
	if err == nil && a.finish == "" {
		err = ctx.Err() // a model may end its sequence quietly when cancelled
	}
	message := a.message(r.messages)
	usage := a.usageOf(req, err)
	r.result.Steps = append(r.result.Steps, StepRecord{
		Text: message.Text, FinishReason: a.finish, ToolCalls: len(message.ToolCalls), Usage: usage, Duration: time.Since(begun),
	})
	r.result.Usage = r.result.Usage.Add(usage)
	r.result.Cost = r.loop.cfg.Price.Of(r.result.Usage)
	if a.model != "" {
		r.result.Model = a.model
	}
	return message, err
}

// empty handles an answer of nothing: it is asked for once more, then given up.
func (r *Run) empty() {
	if r.nudged {
		r.end(r.result.Steps[len(r.result.Steps)-1].FinishReason, "", ErrNoAnswer)
		return
	}
	r.nudged = true
	r.say(sayNoAnswer)
}

// say puts the loop's own words into the conversation.
func (r *Run) say(text string) {
	r.messages = append(r.messages, Message{Role: RoleUser, Text: text})
}

// fail closes the run because of an error, with the text that was there by then. When ctx is done that is the reason,
// whatever the error came to be called on its way.
func (r *Run) fail(ctx context.Context, text string, err error) {
	reason := FinishError
	switch cause := ctx.Err(); {
	case errors.Is(err, errStopped):
		reason = FinishCanceled
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
func (r *Run) end(reason FinishReason, text string, err error) {
	if text != "" && (err == nil || finishOf(err) != "") {
		r.messages = append(r.messages, Message{Role: RoleAssistant, Text: text})
	}
	if reason == "" || reason == FinishToolCalls {
		reason = FinishStop
	}
	r.done, r.err = true, err
	r.result.Text, r.result.FinishReason, r.result.Duration = text, reason, time.Since(r.begun)
}
