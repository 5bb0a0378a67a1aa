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

// The loop's own notes to the model.
const (
	noteFinal    = "You have no tool calls left. Answer now from what you know; say plainly what you could not find out."
	noteLastStep = "You can call tools once more; after that you must answer from what you know."
	noteLowTime  = "Little time is left. Call a tool only if there is no answer without it."
	noteRepeated = "You made this same call before. This is its result again."
	noteNoAnswer = "You wrote nothing. Answer the last message now, in plain text."
	noteContinue = "Your answer was cut off after this. Write the rest of it, from the next sentence on: no introduction, and nothing twice."
)

// Conversation is a run in progress. [Loop.Start] makes one; Step advances it. It is not safe for concurrent use.
type Conversation struct {
	loop     *Loop
	started  time.Time
	messages []Message
	result   *Result
	reusable map[string]*job // finished calls by callKey, until a tool with effects runs

	emptyAnswers  int  // model calls that returned nothing and do not count as steps
	reasoned      bool // the last model call reasoned
	noReasoning   bool // further model calls are asked not to reason
	notedFinal    bool // each note is given once
	notedLowTime  bool
	notedNoAnswer bool

	endless bool   // the loop stopped the last model call
	kept    string // of an answer that is being continued
	limit   error  // that forced this answer, or nil

	done bool
	err  error
}

// Done reports whether the run has ended.
func (c *Conversation) Done() bool { return c.done }

// Err returns why the run ended without a complete answer, as [Loop.Run] does. It is nil while the run goes on.
func (c *Conversation) Err() error { return c.err }

// Result returns the result so far. It is never nil. The caller must not change it.
func (c *Conversation) Result() *Result { return c.result }

// Messages returns a copy of the conversation so far, including the system prompt.
func (c *Conversation) Messages() []Message { return slices.Clone(c.messages) }

// Step makes one model call, runs the tools that the model asks for, and yields the events. It does nothing once the run is
// done. Breaking out of the sequence ends the run.
func (c *Conversation) Step(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if c.done {
			return
		}
		step, limit := len(c.result.Steps), c.limitReached(ctx)
		if c.kept != "" {
			limit = c.limit // Continue has checked the others
		}
		if limit != nil && !c.notedFinal {
			c.notedFinal = true
			c.addNote(noteFinal)
		}
		answer, err := c.callModel(ctx, step, limit != nil || c.kept != "", yield)
		switch {
		case c.kept != "" && (err != nil || strings.TrimSpace(answer.Text) == "") && ctx.Err() == nil && !errors.Is(err, errStopped):
			c.finish(answer.Text, FinishLength, limit) // still cut
		case err != nil:
			c.fail(ctx, answer.Text, fmt.Errorf("agentloop: model call: %w", err))
		case len(answer.ToolCalls) > 0 && limit == nil && c.kept == "":
			c.messages = append(c.messages, answer)
			if err := c.runTools(ctx, step, answer.ToolCalls, yield); err != nil {
				c.fail(ctx, "", fmt.Errorf("agentloop: tool calls: %w", err))
			} else if c.calledFinal(step) {
				c.end(FinishStop, answer.Text, nil)
			} else {
				c.noteLowLimits(ctx)
			}
		case strings.TrimSpace(answer.Text) == "":
			c.retryEmpty(c.result.Steps[step].FinishReason)
		default:
			c.finish(answer.Text, c.result.Steps[step].FinishReason, limit)
		}
		if errors.Is(c.err, errStopped) {
			return
		}
		if !yield(StepFinished{Step: step, Record: c.result.Steps[step]}) && !c.done {
			c.end(FinishCanceled, "", errStopped)
		}
	}
}

// calledFinal reports whether a call of the step to a final tool succeeded.
func (c *Conversation) calledFinal(step int) bool {
	return slices.ContainsFunc(c.result.Calls, func(r CallRecord) bool {
		return r.Step == step && r.Error == "" && c.loop.tools[r.Name].Final
	})
}

// Continue reopens a run whose answer was cut by its length, and reports whether it did. The answer is shortened to kept, its start
// up to a place from which the model can go on, such as the end of a sentence. The next step asks for the rest, without tools; its
// text follows kept in the result. If the model fails or writes nothing, kept is the answer. Continue does nothing if a limit of the
// run other than MaxSteps is reached, or if the loop had to stop the model.
func (c *Conversation) Continue(ctx context.Context, kept string) bool {
	limit := c.limitReached(ctx)
	if !c.done || c.result.Steps[len(c.result.Steps)-1].FinishReason != FinishLength || c.endless || ctx.Err() != nil ||
		limit != nil && !errors.Is(limit, ErrMaxSteps) || c.err != nil && !errors.Is(c.err, ErrMaxSteps) ||
		strings.TrimSpace(kept) == "" || c.messages[len(c.messages)-1].Role != RoleAssistant {
		return false
	}
	c.reopen(kept, noteContinue)
	return true
}

// Revise reopens a run that has ended with an answer, and reports whether it did. The answer is shortened to kept, as in Continue, and
// note tells the model why and what to write next. If kept is blank, the model is shown its whole answer, and may call tools again.
// Revise does nothing if a limit of the run is reached.
func (c *Conversation) Revise(ctx context.Context, kept, note string) bool {
	if !c.done || c.err != nil || c.limitReached(ctx) != nil || ctx.Err() != nil || c.messages[len(c.messages)-1].Role != RoleAssistant {
		return false
	}
	c.reopen(kept, note)
	return true
}

// reopen has the model go on after kept.
func (c *Conversation) reopen(kept, note string) {
	if strings.TrimSpace(kept) != "" {
		c.messages[len(c.messages)-1].Text, c.kept = kept, kept
	}
	c.addNote(note)
	c.done, c.limit = false, c.err
}

// limitReached returns the limit that forbids further tool calls, or nil.
func (c *Conversation) limitReached(ctx context.Context) error {
	cfg, usage := c.loop.cfg, c.result.Usage
	if c.stepsLeft() <= 0 {
		return ErrMaxSteps
	}
	if cfg.MaxTotalTokens > 0 && usage.InputTokens+usage.OutputTokens >= cfg.MaxTotalTokens {
		return ErrBudget
	}
	usage.Unpriced = false // the limit counts it all at Price
	if cfg.MaxCostMicros > 0 && cfg.Price.Of(usage).Micros >= cfg.MaxCostMicros {
		return ErrBudget
	}
	if deadline, ok := c.toolDeadline(ctx); ok && !time.Now().Before(deadline) {
		return ErrOutOfTime
	}
	return nil
}

// stepsLeft returns how many model calls may still ask for tools.
func (c *Conversation) stepsLeft() int {
	return c.loop.cfg.MaxSteps - (len(c.result.Steps) - c.emptyAnswers)
}

// toolDeadline returns when tools must end to keep Config.Reserve for the answer, and whether there is such a time.
func (c *Conversation) toolDeadline(ctx context.Context) (time.Time, bool) {
	deadline, ok := ctx.Deadline()
	return deadline.Add(-c.loop.cfg.Reserve), ok && c.loop.cfg.Reserve > 0
}

// noteLowLimits tells the model that its next step is the last one, and once that less than a quarter of the time is left.
func (c *Conversation) noteLowLimits(ctx context.Context) {
	if c.limitReached(ctx) != nil {
		return // the next step says that no calls are left
	}
	if c.stepsLeft() == 1 {
		c.addNote(noteLastStep)
	}
	deadline, ok := ctx.Deadline()
	deadline = deadline.Add(-c.loop.cfg.Reserve)
	if ok && !c.notedLowTime && time.Until(deadline) < deadline.Sub(c.started)/4 {
		c.notedLowTime = true
		c.addNote(noteLowTime)
	}
}

// addNote adds the loop's own words to the conversation. After a tool result they join the result, because some providers
// refuse a user message there.
func (c *Conversation) addNote(note string) {
	if last := &c.messages[len(c.messages)-1]; last.Role == RoleTool {
		last.Text = withNote(last.Text, note)
		return
	}
	c.messages = append(c.messages, Message{Role: RoleUser, Text: note})
}

// callModel makes one model call, yields its text, and records the call as a step. It returns what came, also beside an
// error.
func (c *Conversation) callModel(ctx context.Context, step int, final bool, yield func(Event) bool) (Message, error) {
	c.messages = pairToolCalls(c.messages)
	cfg, started := c.loop.cfg, time.Now()
	req := &Request{
		Messages: slices.Clip(c.messages), Tools: c.loop.specs, NoToolCalls: final, Temperature: cfg.Temperature,
		MaxOutputTokens: cfg.MaxOutputTokens, NoReasoning: c.noReasoning,
	}
	a := newAccumulator(step, cfg.MaxOutputTokens)
	err := a.consume(cfg.Model.Generate(ctx, req), yield)
	if err == nil && a.finish == "" {
		err = ctx.Err() // a cancelled model may end its sequence without an error
	}
	answer, usage := a.message(c.messages), a.usageOf(req, err)
	usage.Unpriced = a.unpriced
	c.result.Steps = append(c.result.Steps, StepRecord{
		Text: answer.Text, FinishReason: a.finish, ToolCalls: len(answer.ToolCalls), Usage: usage, Duration: time.Since(started),
	})
	c.result.Usage = c.result.Usage.Add(usage)
	c.result.Cost = cfg.Price.Of(c.result.Usage)
	if a.model != "" {
		c.result.Model = a.model
	}
	c.reasoned, c.endless = a.reasoning > 0, a.truncated
	return answer, err
}

// retryEmpty handles an answer without text or calls. If the answer was cut while the model reasoned, the model is called
// again without reasoning. Otherwise it is asked once more for an answer, and then the run ends.
func (c *Conversation) retryEmpty(reason FinishReason) {
	switch {
	case c.reasoned && reason == FinishLength && !c.noReasoning:
		c.noReasoning = true
	case !c.notedNoAnswer:
		c.notedNoAnswer = true
		c.addNote(noteNoAnswer)
	default:
		c.end(reason, "", ErrNoAnswer)
		return
	}
	c.emptyAnswers++
}

// finish ends the run with an answer. A limit that forced the answer is the run's error and finish reason.
func (c *Conversation) finish(text string, reason FinishReason, limit error) {
	if limit != nil {
		reason = limitReason(limit)
	}
	text = c.kept + text
	c.messages = append(c.messages, Message{Role: RoleAssistant, Text: text})
	c.end(reason, text, limit)
}

// fail ends the run with an error and the text that came before it.
func (c *Conversation) fail(ctx context.Context, text string, err error) {
	reason := failureReason(ctx, err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) && !errors.Is(err, errStopped) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	c.end(reason, c.kept+text, err)
}

func (c *Conversation) end(reason FinishReason, text string, err error) {
	if reason == "" || reason == FinishToolCalls {
		reason = FinishStop
	}
	c.done, c.err = true, err
	c.result.Text, c.result.FinishReason, c.result.Duration = text, reason, time.Since(c.started)
}

// pairToolCalls returns the conversation with every tool call answered exactly once, right after the message that made it,
// and without answers to no call. Providers refuse any other conversation, so one lost result would block a thread for
// good.
func pairToolCalls(messages []Message) []Message {
	paired := make([]Message, 0, len(messages))
	for i, m := range messages {
		if m.Role == RoleTool {
			continue // copied after the call that it answers, if there is one
		}
		answers := messages[i+1:]
		if end := slices.IndexFunc(answers, func(m Message) bool { return m.Role != RoleTool }); end >= 0 {
			answers = answers[:end]
		}
		ids := make(map[string]bool, len(m.ToolCalls))
		m.ToolCalls = slices.DeleteFunc(slices.Clone(m.ToolCalls), func(call ToolCall) bool {
			duplicate := ids[call.ID]
			ids[call.ID] = true
			return duplicate
		})
		paired = append(paired, m)
		for _, call := range m.ToolCalls {
			paired = append(paired, answerTo(call, answers))
		}
	}
	return paired
}

// answerTo returns the first answer to a call, or an answer that says there is none.
func answerTo(call ToolCall, answers []Message) Message {
	for _, a := range answers {
		if a.ToolCallID == call.ID {
			return a
		}
	}
	return Message{Role: RoleTool, ToolCallID: call.ID, Text: fence("Error: the call was cancelled, there is no result")}
}
