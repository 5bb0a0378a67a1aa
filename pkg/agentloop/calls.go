package agentloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	previewBytes = 500     // of a result, in the call log
	errorBytes   = 2 << 10 // of an error, for the model
)

// job is one tool call of a step.
type job struct {
	record      CallRecord
	content     string // what the model reads: sanitized, without the fence
	tool        Tool
	answered    bool          // content is set without running the tool
	duplicateOf *job          // an earlier job of this step with the same call
	done        chan struct{} // closed when record and content are final
}

// runTools runs the calls of one step and appends one tool message per call, in call order, whatever happens. It returns an
// error only if ctx is done or the consumer stopped.
func (c *Conversation) runTools(ctx context.Context, step int, calls []ToolCall, yield func(Event) bool) error {
	jobs := c.newJobs(step, calls)
	toolsCtx := ctx
	if deadline, ok := c.toolDeadline(ctx); ok {
		var cancel context.CancelFunc
		toolsCtx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	err := c.runBatches(toolsCtx, jobs, yield)
	if !errors.Is(err, errStopped) {
		err = ctx.Err() // if only the time for tools is over, the run goes on to its answer
	}
	for _, j := range jobs {
		text := fence(j.content)
		if j.record.Repeated {
			text = withNote(text, noteRepeated)
		}
		c.messages = append(c.messages, Message{Role: RoleTool, ToolCallID: j.record.ID, Text: text})
		c.result.Calls = append(c.result.Calls, j.record)
		switch {
		case j.tool.Effects && !j.answered:
			clear(c.reusable) // what earlier calls read may have changed
		case j.record.Error == "" && !j.record.Repeated:
			c.reusable[callKey(j.record.ToolCall)] = j
		}
	}
	return err
}

// newJobs checks the calls. A call of an unknown tool, a call with bad arguments and a repeated call are answered here and
// run nothing. Repaired arguments replace the original ones in calls, so that the conversation holds valid JSON.
func (c *Conversation) newJobs(step int, calls []ToolCall) []*job {
	jobs := make([]*job, len(calls))
	inStep := make(map[string]*job) // by callKey, since the last call with effects
	hadEffects := false
	for i := range calls {
		j := c.newJob(step, calls[i])
		jobs[i] = j
		if j.record.RepairedFrom != "" {
			calls[i].Arguments = j.record.Arguments
		}
		key := callKey(j.record.ToolCall)
		switch {
		case j.answered:
		case j.tool.Effects:
			hadEffects = true
			clear(inStep)
		case inStep[key] != nil:
			j.duplicateOf = inStep[key]
		case c.reusable[key] != nil && !hadEffects:
			j.reuse(c.reusable[key])
		default:
			inStep[key] = j
		}
	}
	return jobs
}

// newJob checks one call against the tool that it names.
func (c *Conversation) newJob(step int, call ToolCall) *job {
	j := &job{record: CallRecord{ToolCall: call, Step: step}, done: make(chan struct{})}
	tool, ok := c.loop.tools[call.Name]
	if !ok {
		names := slices.Sorted(maps.Keys(c.loop.tools))
		j.refuse(fmt.Sprintf("there is no tool %q; the tools are: [%s]", truncate(call.Name, 100), strings.Join(names, ", ")))
		return j
	}
	if call.Arguments == "" && c.result.Steps[step].FinishReason == FinishLength {
		j.refuse(call.Name + ": arguments: the answer was cut before they had come")
		return j
	}
	arguments, repaired, err := tool.schema.check(argumentsOf(call))
	if err != nil {
		j.refuse(fmt.Sprintf("%s: arguments: %v", call.Name, err))
		return j
	}
	j.tool = tool
	j.record.Arguments = string(arguments)
	if repaired {
		j.record.RepairedFrom = call.Arguments
	}
	return j
}

// callKey is equal for calls of one tool with equal arguments, because newJob normalizes the arguments.
func callKey(c ToolCall) string { return c.Name + "\x00" + c.Arguments }

// refuse answers the call with an error instead of running the tool.
func (j *job) refuse(reason string) {
	j.fail(reason)
	j.answered, j.record.Refused = true, true
}

// fail answers the call with an error.
func (j *job) fail(reason string) {
	reason = truncate(sanitize(reason), errorBytes)
	j.record.Error, j.content = reason, "Error: "+reason
}

// reuse answers the call with the result of an earlier one.
func (j *job) reuse(earlier *job) {
	if earlier.record.Error != "" {
		j.refuse(earlier.record.Error)
		return
	}
	j.answered, j.record.Repeated = true, true
	j.record.Value, j.record.Preview, j.record.Cut = earlier.record.Value, earlier.record.Preview, earlier.record.Cut
	j.content = earlier.content
}

// runBatches runs jobs concurrently, except that a job with effects runs alone, in its place in the call order.
func (c *Conversation) runBatches(ctx context.Context, jobs []*job, yield func(Event) bool) error {
	for len(jobs) > 0 {
		n := slices.IndexFunc(jobs, func(j *job) bool { return j.tool.Effects })
		switch n {
		case -1:
			n = len(jobs)
		case 0:
			n = 1
		}
		if err := c.runBatch(ctx, jobs[:n], yield); err != nil {
			for _, j := range jobs[n:] {
				if !j.answered {
					j.refuse("cancelled before it ran")
				}
			}
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// runBatch runs jobs concurrently, started in order, and waits for all of them. If the consumer stops, it cancels them and
// still waits.
func (c *Conversation) runBatch(ctx context.Context, jobs []*job, yield func(Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	stopped := false
	emit := func(ev Event) {
		if !stopped && !yield(ev) {
			stopped = true
			cancel()
		}
	}
	finished := make(chan *job, len(jobs))
	for next, running := 0, 0; next < len(jobs) || running > 0; {
		if next < len(jobs) && running < c.loop.cfg.MaxParallel {
			j := jobs[next]
			j.record.Start = time.Now()
			emit(ToolStarted{Step: j.record.Step, Call: j.record.ToolCall})
			wg.Go(func() {
				defer func() { close(j.done); finished <- j }() // deferred: a tool may end its goroutine
				c.runJob(ctx, j)
			})
			next, running = next+1, running+1
			continue
		}
		j := <-finished
		running--
		emit(ToolFinished{Record: j.record})
	}
	if stopped {
		return errStopped
	}
	return ctx.Err()
}

// runJob answers a job.
func (c *Conversation) runJob(ctx context.Context, j *job) {
	switch {
	case j.answered:
	case j.duplicateOf != nil:
		<-j.duplicateOf.done // it started first, so it is running or done
		j.reuse(j.duplicateOf)
	case ctx.Err() != nil:
		j.refuse("cancelled before it ran")
	default:
		c.runTool(ctx, j)
	}
}

// runTool runs the tool of a job and records its result or error.
func (c *Conversation) runTool(ctx context.Context, j *job) {
	timeout := j.tool.Timeout
	if timeout == 0 {
		timeout = c.loop.cfg.ToolTimeout
	}
	toolCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := j.record.Name
	j.record.Start = time.Now()
	j.fail(name + ": the tool failed") // stands if the tool ends its goroutine, as a test's t.FailNow does
	value, content, cut, err := c.callTool(toolCtx, j.tool, j.record.ToolCall)
	j.record.Duration = time.Since(j.record.Start)
	switch {
	case err == nil:
		j.content, j.record.Error = content, ""
		j.record.Value, j.record.Preview, j.record.Cut = value, truncate(content, previewBytes), cut
	case ctx.Err() != nil:
		j.fail(name + ": cancelled while it ran")
	case toolCtx.Err() != nil:
		j.fail(fmt.Sprintf("%s: it took longer than %v", name, timeout))
	default:
		j.fail(fmt.Sprintf("%s: %v", name, err))
	}
}

// callTool calls a tool and renders its value for the model. A panic becomes an error without details for the model; the
// log gets its type and the stack, but not its text, which may be about a customer.
func (c *Conversation) callTool(ctx context.Context, t Tool, call ToolCall) (value any, content string, cut bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.loop.cfg.Logger.ErrorContext(ctx, "tool panicked", "tool", t.Name, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			value, content, cut, err = nil, "", false, errors.New("the tool failed")
		}
	}()
	if value, err = t.Run(ctx, call); err != nil {
		return nil, "", false, err
	}
	if content, cut, err = render(value, c.loop.cfg.MaxResultBytes); err != nil {
		return nil, "", false, fmt.Errorf("its result cannot be shown: %w", err)
	}
	return value, content, cut, nil
}
