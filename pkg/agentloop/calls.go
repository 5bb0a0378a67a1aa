package agentloop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is repeated of a call.
const (
	previewBytes = 500     // of a result, in the call log
	errorBytes   = 2 << 10 // of an error, for the model
)

// job is one tool call of a step on its way to a result.
type job struct {
	record  CallRecord
	content string // what the model reads, harmless and without its fence
	tool    Tool
	refused bool          // the content is set, the tool does not run
	same    *job          // an earlier job of this step whose result serves for this one too
	done    chan struct{} // closed when record and content are final
}

// runTools runs the calls of one step and appends one tool message for each, in call order, whatever happens. It returns
// an error only when ctx is done or the consumer stopped.
func (r *Conversation) runTools(ctx context.Context, step int, calls []ToolCall, yield func(Event) bool) error {
	jobs := r.prepare(step, calls)
	toolsCtx := ctx
	if end, ok := r.toolsEnd(ctx); ok {
		var cancel context.CancelFunc
		toolsCtx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	err := r.runBatches(toolsCtx, jobs, yield)
	if !errors.Is(err, errStopped) {
		err = ctx.Err() // when only the tools' time is over, the run goes on to its answer
	}
	for _, j := range jobs {
		text := fenced(j.record.ToolCall, j.content)
		if j.record.Repeated {
			text = noted(text, sayRepeated)
		}
		r.messages = append(r.messages, Message{Role: RoleTool, ToolCallID: j.record.ID, Text: text})
		switch {
		case j.tool.Effects && !j.refused:
			clear(r.answered) // what was read before may be different now
		case j.record.Error == "" && !j.record.Repeated:
			r.answered[callKey(j.record.ToolCall)] = j
		}
		r.result.Calls = append(r.result.Calls, j.record)
	}
	return err
}

// prepare looks the calls over. An unknown tool, arguments that do not fit and a call that was made before are answered
// without running anything. Calls whose arguments were repaired are changed to what will run.
func (r *Conversation) prepare(step int, calls []ToolCall) []*job {
	jobs := make([]*job, len(calls))
	inStep := make(map[string]*job, len(calls))
	changed := false // a call with effects comes before: earlier results do not serve any more
	for i, c := range calls {
		j := r.newJob(step, c)
		jobs[i] = j
		if j.record.RepairedFrom != "" {
			calls[i].Arguments = j.record.Arguments // so that the conversation has what is run, as the JSON that providers want
		}
		key := callKey(j.record.ToolCall)
		first, known := r.answered[key]
		switch {
		case j.refused:
		case j.tool.Effects:
			changed = true
			clear(inStep)
		case inStep[key] != nil:
			j.same = inStep[key]
		case known && !changed:
			j.repeat(first)
		default:
			inStep[key] = j
		}
	}
	return jobs
}

// newJob checks one call against the tool that it names.
func (r *Conversation) newJob(step int, c ToolCall) *job {
	j := &job{record: CallRecord{ToolCall: c, Step: step}, done: make(chan struct{})}
	tool, ok := r.loop.tool(c.Name)
	if !ok {
		var names []string
		for _, t := range r.loop.tools {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		j.refuse(fmt.Sprintf("there is no tool %q; the tools are: [%s]", cut(c.Name, 100), strings.Join(names, ", ")))
		return j
	}
	if c.Arguments == "" && r.result.Steps[step].FinishReason == FinishLength { // and not because the tool needs none
		j.refuse(c.Name + ": arguments: the answer was cut before they had come")
		return j
	}
	arguments, repaired, err := tool.check(argumentsOf(c))
	if err != nil {
		j.refuse(fmt.Sprintf("%s: arguments: %v", c.Name, err))
		return j
	}
	j.tool = tool
	j.record.Arguments = string(arguments)
	if repaired {
		j.record.RepairedFrom = c.Arguments
	}
	return j
}

// callKey is equal for calls of one tool with equal arguments: newJob has brought them into one form.
func callKey(c ToolCall) string { return c.Name + "\x00" + c.Arguments }

// refuse answers the call with an error.
func (j *job) refuse(why string) {
	why = cut(harmless(why), errorBytes)
	j.refused, j.record.Error, j.content = true, why, "Error: "+why
}

// repeat answers the call with the result of an earlier one.
func (j *job) repeat(first *job) {
	if first.record.Error != "" {
		j.refuse(first.record.Error)
		return
	}
	j.refused, j.record.Repeated = true, true
	j.record.Value, j.record.Preview, j.record.Cut = first.record.Value, first.record.Preview, first.record.Cut
	j.content = first.content
}

// runBatches runs jobs concurrently, save that one with effects runs alone, in call order.
func (r *Conversation) runBatches(ctx context.Context, jobs []*job, yield func(Event) bool) error {
	for len(jobs) > 0 {
		n := 0
		for n < len(jobs) && !jobs[n].tool.Effects {
			n++
		}
		n = max(n, 1)
		if err := r.runBatch(ctx, jobs[:n], yield); err != nil {
			for _, j := range jobs[n:] {
				if !j.refused {
					j.refuse("cancelled before it ran")
				}
			}
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// runBatch runs jobs side by side, started in order, and waits for all. When the consumer stops it cancels them, and
// still waits.
func (r *Conversation) runBatch(ctx context.Context, jobs []*job, yield func(Event) bool) error {
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
		if next < len(jobs) && running < r.loop.cfg.MaxParallel {
			j := jobs[next]
			j.record.Start = time.Now()
			emit(ToolStarted{Step: j.record.Step, Call: j.record.ToolCall})
			wg.Go(func() {
				defer func() { close(j.done); finished <- j }()
				r.runJob(ctx, j)
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

// runJob brings a job to its result.
func (r *Conversation) runJob(ctx context.Context, j *job) {
	switch {
	case j.refused:
	case j.same != nil:
		<-j.same.done // it was started before this one, so it has a place to run
		j.repeat(j.same)
	case ctx.Err() != nil:
		j.refuse("cancelled before it ran")
	default:
		r.runTool(ctx, j)
	}
}

// runTool runs a tool and turns whatever comes of it into what the model reads.
func (r *Conversation) runTool(ctx context.Context, j *job) {
	timeout := j.tool.Timeout
	if timeout == 0 {
		timeout = r.loop.cfg.ToolTimeout
	}
	toolCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	j.record.Start = time.Now()
	j.fail("the tool failed") // stands if the tool ends its goroutine, as a test's assertion does
	value, content, short, err := r.runSafely(toolCtx, j.tool, j.record.ToolCall)
	j.record.Duration = time.Since(j.record.Start)
	switch {
	case err == nil:
		j.content, j.record.Error = content, ""
		j.record.Value, j.record.Preview, j.record.Cut = value, cut(content, previewBytes), short
	case ctx.Err() != nil:
		j.fail("cancelled while it ran")
	case toolCtx.Err() != nil:
		j.fail(fmt.Sprintf("it took longer than %v", timeout))
	default:
		j.fail(err.Error())
	}
}

// fail says what became of a tool that did run.
func (j *job) fail(why string) {
	j.refuse(j.record.Name + ": " + why)
	j.refused = false
}

// runSafely runs a tool and renders its value, short if it had to be cut. A panic becomes an error that tells the model nothing; the stack goes to
// the log.
func (r *Conversation) runSafely(ctx context.Context, t Tool, c ToolCall) (value any, content string, short bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.loop.cfg.Logger.ErrorContext(ctx, "tool panicked", "tool", t.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			value, content, short, err = nil, "", false, errors.New("the tool failed")
		}
	}()
	if value, err = t.Run(ctx, c); err != nil {
		return nil, "", false, err
	}
	if content, short, err = render(value, r.loop.cfg.MaxResultBytes); err != nil {
		return nil, "", false, fmt.Errorf("its result can not be shown: %w", err)
	}
	return value, content, short, nil
}
