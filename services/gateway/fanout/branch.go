package fanout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

const (
	// maxHeld bounds the size of the events, in bytes, that a branch holds back until its assignment is final. At the bound,
	// the branch stops reading its stream, so the specialist waits.
	maxHeld = 64 << 10
	// heldOverhead is about the size of an event beside its content, in bytes.
	heldOverhead = 128
	// lateConfidence is the confidence of an answer that was cut off while it was streamed. It recommends a human.
	lateConfidence = 0.2
)

// branch is the work on one assignment. Exactly one of answer and err is set once the branch is done.
//
// A speculative branch works on a provisional assignment. Until confirm makes the assignment final, the branch holds its
// events back in their order, so that no listener sees a wrong guess.
type branch struct {
	turn *Turn

	// Set before the branch starts.
	specialist   string
	remappedFrom string
	request      *specialistv1.AnswerRequest
	cancel       context.CancelCauseFunc // of a speculative branch; else nil
	final        chan struct{}           // closed by confirm
	journaled    bool                    // the answer comes from the journal; set by the branch's goroutine
	colleagues   []string                // that the specialist may pass the assignment on to; set by the branch's goroutine

	mu         sync.Mutex
	assignment *routerv1.Assignment
	alone      bool // its text is the reply's, so it is passed on as it comes
	confirmed  bool
	done       bool
	next       string               // the specialist that the assignment was passed on to; empty: it was not
	first      *specialistv1.Answer // of the specialist that passed it on
	held       []heldEvent
	heldBytes  int
	calls      []*specialistv1.ToolCall // that have ended
	own        *commonv1.Usage          // as reported so far by the call that is under way
	before     *commonv1.Usage          // of calls before that: of the first specialist, or one that broke
	spent      *commonv1.Usage          // before and own
	text       *output.Stream           // checks the text that is passed on
	streamed   strings.Builder          // the text that was passed on
	heard      bool                     // a listener has heard of the specialist's work
	answer     *specialistv1.Answer
	err        error
	began      time.Time // when the specialist was asked; zero: it was not
	took       time.Duration
}

// heldEvent is an event that a branch holds back.
type heldEvent struct {
	specialist string
	*specialistv1.AnswerResponse
}

func newBranch(t *Turn, a *routerv1.Assignment) *branch {
	unavailable := ""
	if a.GetRemappedFrom() != "" {
		unavailable = a.GetReason()
	}
	return &branch{
		turn: t, text: t.Output.NewStream(), assignment: a, specialist: a.GetSpecialist(), remappedFrom: a.GetRemappedFrom(), final: make(chan struct{}),
		request: &specialistv1.AnswerRequest{
			AssignmentId: a.GetAssignmentId(), SubQuery: a.GetSubQuery(), Message: t.Message, History: t.History,
			UnavailableReason: unavailable, StoreName: t.StoreName, TimeZone: t.TimeZone, ClaimRules: t.ClaimRules, JudgeClaims: t.JudgeClaims,
			Voice: t.Voice, Summary: t.Summary, ShownProducts: t.Shown, PendingQuestion: t.Pending,
		},
	}
}

// sameWork reports whether two branches ask the same specialist for the same.
func (b *branch) sameWork(o *branch) bool {
	return b.specialist == o.specialist && b.remappedFrom == o.remappedFrom && proto.Equal(b.request, o.request)
}

// ask asks a specialist and passes its progress on. If the connection breaks before anybody has heard of it, the specialist is asked
// once more, on another replica if there is one: its tools change nothing.
func (r *Run) ask(ctx context.Context, b *branch, specialist string, due time.Time) (*specialistv1.Answer, error) {
	peer, ok := r.fanout.cfg.Registry.Peer(specialist)
	if !ok {
		return nil, fmt.Errorf("there is no specialist %q", specialist)
	}
	ctx, cancel := context.WithDeadline(ctx, due)
	release := cancel
	defer func() { release() }()
	if err := Enough(ctx, minCall, "ask "+specialist); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask %s: %w", specialist, orLate(ctx, ctx.Err()))
	}
	// What is no part of the work that sameWork compares is added to a copy.
	req := proto.CloneOf(b.request)
	req.Budget = r.turn.Budget.share(b, req.GetAssignmentId())
	if req.GetPendingQuestion().GetSpecialist() != specialist {
		req.PendingQuestion = nil
	}
	b.colleagues = r.colleagues(b)
	req.Colleagues = b.colleagues
	req.Cart = r.cartFor(ctx, specialist)
	req.Prompt = r.turn.Prompts[specialist]
	ctx, err := r.fanout.cfg.Signer.Outgoing(ctx, r.turn.Scope.Narrow(peer.Name, peer.Reads))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", specialist, err)
	}
	answer, end, err := r.call(ctx, cancel, peer, b, req)
	if isBroken(err) {
		if spent, ok := b.restart(); ok {
			r.fanout.cfg.Logger.WarnContext(ctx, "the connection to a specialist broke; it is asked once more", "store", r.turn.Scope.StoreID,
				"turn", r.turn.Scope.TurnID, "assignment", req.GetAssignmentId(), "specialist", specialist, "error", err)
			if answer, end, err = r.call(ctx, cancel, peer, b, req); err == nil && spent != nil {
				answer.Usage, answer.Cost = usage.Plus(spent, answer.GetUsage()), nil // nobody knows what the first attempt cost
			}
		}
	}
	if end != nil {
		release = end
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", specialist, err)
	}
	return answer, nil
}

// isBroken reports whether a call failed because the connection to the server did: the server's own failures say why.
func isBroken(err error) bool {
	return status.Code(err) == codes.Unavailable && rpc.Reason(status.Convert(err)) == ""
}

// call asks a specialist once. After an answer, end releases the call instead of cancel.
func (r *Run) call(
	ctx context.Context, cancel context.CancelFunc, peer registry.Peer, b *branch, req *specialistv1.AnswerRequest,
) (answer *specialistv1.Answer, end func(), err error) {
	stream, err := peer.Client.Answer(ctx, req)
	if err != nil {
		return nil, nil, orLate(ctx, err)
	}
	said := false
	for {
		ev, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil, errors.New("the stream ended without an answer")
		case err != nil:
			return nil, nil, orLate(ctx, err)
		}
		r.turn.Output.Event(ev) // whatever the specialist is
		if a := ev.GetAnswer(); a != nil {
			if said || strings.TrimSpace(a.GetText()) != "" || len(req.GetColleagues()) == 0 {
				a.NotMine = nil // the text may have been shown, or the specialist was told to answer
			}
			if a.GetNotMine() == nil && strings.TrimSpace(a.GetText()) == "" {
				return nil, nil, errors.New("the answer is empty")
			}
			return a, func() { Drain(r.turn.Drains, stream, cancel) }, nil
		}
		said = said || ev.GetTextDelta().GetText() != ""
		b.pass(ctx, peer.Name, ev)
	}
}

// orLate returns the error of a call, which is DeadlineExceeded if the call was cancelled because it was late.
func orLate(ctx context.Context, err error) error {
	canceled := status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled)
	if canceled && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// confirm makes the assignment final: it reports the start of the branch, and passes on what was held back. It is called
// once.
func (b *branch) confirm(a *routerv1.Assignment, alone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(b.final)
	b.assignment, b.alone, b.confirmed = a, alone, true
	b.turn.Emit.Started(a)
	for _, h := range b.held {
		b.report(h.specialist, h.AnswerResponse)
	}
	b.held = nil
	if b.done {
		b.conclude()
	}
}

// pass reports the progress of a specialist, or holds it back while the assignment may still be dropped.
func (b *branch) pass(ctx context.Context, specialist string, ev *specialistv1.AnswerResponse) {
	b.awaitRoom(ctx, ev)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.GetEvent().(type) {
	case *specialistv1.AnswerResponse_UsageUpdate:
		b.own = e.UsageUpdate.GetUsage()
		b.spent = usage.Plus(b.before, b.own)
		return
	case *specialistv1.AnswerResponse_ToolCallFinished:
		b.calls = append(b.calls, e.ToolCallFinished.GetToolCall())
	}
	if b.confirmed {
		b.report(specialist, ev)
		return
	}
	b.held, b.heldBytes = append(b.held, heldEvent{specialist, ev}), b.heldBytes+heldSize(ev)
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

// restart forgets what a specialist has done, so that it can be asked once more, and returns what it is known to have spent. ok is
// false if a listener has heard of it.
func (b *branch) restart() (spent *commonv1.Usage, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard {
		return nil, false
	}
	spent, b.own, b.before = b.own, nil, b.spent
	b.held, b.heldBytes, b.calls = nil, 0, nil
	b.text = b.turn.Output.NewStream()
	b.streamed.Reset()
	return spent, true
}

// report passes on an event of a final assignment. The specialist's text is the reply's only if no other one is asked.
func (b *branch) report(specialist string, ev *specialistv1.AnswerResponse) {
	b.heard = b.heard || b.turn.Emit != nil
	switch ev := ev.GetEvent().(type) {
	case *specialistv1.AnswerResponse_ToolCallStarted:
		b.turn.Emit.ToolCallStarted(b.assignment.GetAssignmentId(), specialist, ev.ToolCallStarted)
	case *specialistv1.AnswerResponse_ToolCallFinished:
		b.turn.Emit.ToolCallFinished(b.assignment.GetAssignmentId(), specialist, ev.ToolCallFinished.GetToolCall())
	case *specialistv1.AnswerResponse_TextDelta:
		if b.alone {
			b.say(b.text.Add(ev.TextDelta.GetText()))
		}
	}
}

// say passes on a piece of the reply's text.
func (b *branch) say(text string) {
	b.streamed.WriteString(text)
	b.turn.Emit.Text(text)
}

// setTimes sets when the specialist was asked, and how long that took.
func (b *branch) setTimes(began time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began, b.took = began, took
}

// finish sets the outcome, after the last event.
func (b *branch) finish(answer *specialistv1.Answer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer, b.err, b.done = answer, err, true
	if b.confirmed {
		b.conclude()
	}
}

// conclude journals and reports the outcome of a final assignment. b.mu is held.
func (b *branch) conclude() {
	b.say(b.text.Rest())
	late := b.err != nil && rpc.Status(b.err).Code() == codes.DeadlineExceeded
	switch {
	case late && strings.TrimSpace(b.streamed.String()) != "":
		b.answer, b.err = b.cutOff(b.streamed.String()), nil // its text is the reply's, and cannot be taken back
	case b.err == nil && !b.journaled:
		b.turn.Journal.KeepAnswer(b.assignment.GetAssignmentId(), b.answer)
	}
	b.turn.Emit.Finished(b.snapshot().Proto())
}

// fail sets the outcome of a branch that panicked, wherever that was. If reporting panics too, the failure stands unreported.
func (b *branch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer, b.err, b.done = nil, err, true
	defer func() { _ = recover() }()
	if b.confirmed {
		b.turn.Emit.Finished(b.snapshot().Proto())
	}
}

// cutOff is the answer of a specialist that ran out of time while it streamed its text.
func (b *branch) cutOff(text string) *specialistv1.Answer {
	used := b.spent
	if used == nil {
		used = &commonv1.Usage{ModelCalls: 1, Estimated: true} // the call that wrote the text
	}
	return &specialistv1.Answer{
		Specialist: cmp.Or(b.next, b.specialist), Text: text, Confidence: lateConfidence, ToolCalls: b.calls, Usage: used,
		FinishReason: specialistv1.FinishReason_FINISH_REASON_DEADLINE,
	}
}

// result is the outcome of a branch that is done.
func (b *branch) result() Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.snapshot()
}

// snapshot is result for callers that hold b.mu.
func (b *branch) snapshot() Result {
	r := Result{Assignment: b.assignment, Answer: b.answer, Err: b.err, Streamed: b.streamed.String(), spent: b.spent, began: b.began, took: b.took}
	if b.next != "" {
		r.PassedOnBy, r.Assignment = b.specialist, proto.CloneOf(b.assignment)
		r.Assignment.Specialist = b.next
	}
	return r
}

// tokens returns the number of tokens that a branch that is done is known to have spent.
func (b *branch) tokens() int64 {
	used := b.spent
	if b.answer != nil {
		used = b.answer.GetUsage()
	}
	return used.GetInputTokens() + used.GetOutputTokens()
}
