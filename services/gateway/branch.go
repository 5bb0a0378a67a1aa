package gateway

import (
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

const (
	// maxHeld bounds the events, in bytes, that a branch holds back until its route is final. When it is reached, the
	// branch stops reading, and the specialist waits.
	maxHeld = 64 << 10
	// heldOverhead is about what an event takes beside its content.
	heldOverhead = 128
	// lateConfidence is that of an answer that was cut off while it was told. It recommends a human.
	lateConfidence = 0.2
)

// branch is one assignment being worked on. Exactly one of answer and err is set once it is done.
//
// A branch that runs ahead does so on a provisional assignment. Until confirm makes that final, its events are held back in
// their order, so that a wrong guess reaches nobody.
type branch struct {
	turn *turn
	// Guarded by mu until the branch is done and final.
	assignment *routerv1.Assignment
	alone      bool // its text is the reply's, so it is passed on as it comes

	answer   *specialistv1.Answer
	err      error
	streamed strings.Builder // what was passed on

	// Set once, before the branch starts.
	specialist   string
	remappedFrom string
	asked        *specialistv1.AnswerRequest
	cancel       context.CancelCauseFunc // of a branch that runs ahead; else nil
	final        chan struct{}           // closed by confirm

	mu        sync.Mutex // guards what follows, too
	confirmed bool
	done      bool
	kept      bool // the journal has the answer
	held      []*specialistv1.AnswerResponse
	heldBytes int
	calls     []*specialistv1.ToolCall // that have ended
	spent     *commonv1.Usage          // as told so far
}

func newBranch(t *turn, a *routerv1.Assignment) *branch {
	b := &branch{
		turn: t, assignment: a, specialist: a.GetSpecialist(), remappedFrom: a.GetRemappedFrom(), final: make(chan struct{}),
	}
	b.asked = b.request()
	return b
}

// sameWork reports whether two branches ask the very same of the same specialist.
func (b *branch) sameWork(o *branch) bool {
	return b.specialist == o.specialist && b.remappedFrom == o.remappedFrom && proto.Equal(b.asked, o.asked)
}

// result is how the branch went.
func (b *branch) result() *gatewayv1.AssignmentResult {
	r := &gatewayv1.AssignmentResult{Assignment: b.assignment}
	if b.err != nil {
		r.Outcome = &gatewayv1.AssignmentResult_Failure{Failure: failure(b.err)}
	} else {
		r.Outcome = &gatewayv1.AssignmentResult_Answer{Answer: b.answer}
	}
	return r
}

// confirm makes the assignment final: its beginning is reported, and what was held back is passed on. It is called once.
func (b *branch) confirm(a *routerv1.Assignment, alone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.assignment, b.alone, b.confirmed = a, alone, true
	b.turn.events.agentStarted(a)
	for _, ev := range b.held {
		b.report(ev)
	}
	b.held = nil
	close(b.final)
	if b.done {
		b.conclude()
	}
}

// passOn reports the progress of the specialist, or holds it back while the assignment may still be dropped.
func (b *branch) passOn(ctx context.Context, ev *specialistv1.AnswerResponse) {
	b.awaitRoom(ctx, ev)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.GetEvent().(type) {
	case *specialistv1.AnswerResponse_Spent:
		b.spent = e.Spent.GetUsage()
		return
	case *specialistv1.AnswerResponse_ToolCallFinished:
		b.calls = append(b.calls, e.ToolCallFinished.GetToolCall())
	}
	if b.confirmed {
		b.report(ev)
		return
	}
	b.held, b.heldBytes = append(b.held, ev), b.heldBytes+heldSize(ev)
}

// awaitRoom waits until an event may be held back, or need not be. Only the branch's own goroutine holds events back.
func (b *branch) awaitRoom(ctx context.Context, ev *specialistv1.AnswerResponse) {
	b.mu.Lock()
	full := !b.confirmed && len(b.held) > 0 && b.heldBytes+heldSize(ev) > maxHeld
	b.mu.Unlock()
	if full {
		select {
		case <-b.final:
		case <-ctx.Done():
		}
	}
}

func heldSize(ev *specialistv1.AnswerResponse) int { return heldOverhead + proto.Size(ev) }

// report passes on an event of a final assignment. The specialist's text is the reply's only if nobody else is asked.
func (b *branch) report(ev *specialistv1.AnswerResponse) {
	switch ev := ev.GetEvent().(type) {
	case *specialistv1.AnswerResponse_ToolCallStarted:
		b.turn.events.toolCallStarted(b.assignment, ev.ToolCallStarted)
	case *specialistv1.AnswerResponse_ToolCallFinished:
		b.turn.events.toolCallFinished(b.assignment, ev.ToolCallFinished.GetToolCall())
	case *specialistv1.AnswerResponse_TextDelta:
		if b.alone {
			b.streamed.WriteString(ev.TextDelta.GetText())
			b.turn.events.text(ev.TextDelta.GetText())
		}
	}
}

// resume takes an answer over from before the turn was resumed, in place of asking the specialist.
func (b *branch) resume(answer *specialistv1.Answer) {
	b.kept = true
	b.finish(answer, nil)
}

// finish sets the outcome. It is called once, after the last event.
func (b *branch) finish(answer *specialistv1.Answer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer, b.err, b.done = answer, err, true
	if b.confirmed {
		b.conclude()
	}
}

// conclude keeps and reports the outcome of a final assignment.
func (b *branch) conclude() {
	text := b.streamed.String()
	late := b.err != nil && rpc.Status(b.err).Code() == codes.DeadlineExceeded
	switch {
	case late && strings.TrimSpace(text) != "":
		b.answer, b.err = b.cutOff(text), nil // its text is the reply's, and can not be taken back
	case b.err == nil && !b.kept:
		b.turn.journal.answered(b.assignment.GetAssignmentId(), b.answer)
	}
	b.turn.events.agentFinished(b.result())
}

// cutOff is the answer of a specialist that ran out of time while it told it.
func (b *branch) cutOff(text string) *specialistv1.Answer {
	used := b.spent
	if used == nil {
		used = &commonv1.Usage{ModelCalls: 1, Estimated: true} // the one that the text is of
	}
	return &specialistv1.Answer{
		Specialist: b.assignment.GetSpecialist(), Text: text, Confidence: lateConfidence, ToolCalls: b.calls, Usage: used,
		FinishReason: specialistv1.FinishReason_FINISH_REASON_DEADLINE,
	}
}

// tokens is how many tokens are known to have been spent on a branch that has ended.
func (b *branch) tokens() int64 {
	used := b.spent
	if b.answer != nil {
		used = b.answer.GetUsage()
	}
	return used.GetInputTokens() + used.GetOutputTokens()
}
