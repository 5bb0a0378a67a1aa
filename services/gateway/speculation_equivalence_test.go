package gateway

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// seeded is the randomness of one generated thing.
func seeded(what string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(what))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func anyAssignment(r *rand.Rand) *routerv1.Assignment {
	return &routerv1.Assignment{
		AssignmentId: oneOf(r, "a1", "a2", "a3", "a4", "gateway-1", ""),
		Specialist:   oneOf(r, "search", "recommend", "promotions", "support", "support", "billing"),
		SubQuery:     oneOf(r, "shoes", "hats", "returns", " "), Reason: oneOf(r, "", "", "it says so"),
		RemappedFrom: oneOf(r, "", "", "", "recommend"), Confidence: r.Float64(), Certain: r.IntN(2) == 0,
	}
}

// anyVerdict makes a final decision that has much of the guess, changed here and there.
func anyVerdict(r *rand.Rand, guessed *routerv1.RoutingDecision) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{Stage: routerv1.DecisionStage_DECISION_STAGE_FINAL, Source: routerv1.DecisionSource_DECISION_SOURCE_MODEL}
	for _, a := range guessed.GetAssignments() {
		a = proto.CloneOf(a)
		switch r.IntN(10) {
		case 0, 1:
			continue
		case 2:
			a.Confidence = r.Float64()
		case 3:
			a.Reason = "another"
		case 4:
			a.SubQuery += " in red"
		case 5:
			a.Specialist = oneOf(r, "search", "support")
		}
		d.Assignments = append(d.Assignments, a)
	}
	for range r.IntN(3) {
		d.Assignments = append(d.Assignments, anyAssignment(r))
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(d.Assignments), func(i, j int) {
			d.Assignments[i], d.Assignments[j] = d.Assignments[j], d.Assignments[i]
		})
	}
	return d
}

// anyRoute routes as the message seeds it: with or without a guess, well, badly or not at all.
func anyRoute(req *routerv1.RouteRequest, stream routeStream) error {
	r := seeded(req.GetMessage())
	guessed := &routerv1.RoutingDecision{Stage: routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL}
	for range r.IntN(5) {
		guessed.Assignments = append(guessed.Assignments, anyAssignment(r))
	}
	decided := anyVerdict(r, guessed)
	time.Sleep(oneOf(r, 0, time.Second))
	for range oneOf(r, 0, 1, 1, 1, 1, 1, 2) {
		if err := stream.Send(&routerv1.RouteResponse{Decision: guessed}); err != nil {
			return err
		}
	}
	time.Sleep(oneOf(r, 0, time.Second, 3*time.Second))
	switch r.IntN(8) {
	case 0:
		return errors.New("bug")
	case 1:
		return nil
	case 2:
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	return stream.Send(&routerv1.RouteResponse{Decision: decided})
}

// anyAnswer answers as the request seeds it.
func anyAnswer(req *specialistv1.AnswerRequest, stream answerStream) error {
	r := seeded(req.String())
	answer := takes(oneOf(r, 0, time.Second, 4*time.Second))
	switch r.IntN(9) {
	case 0:
		return errors.New("bug")
	case 1:
		return &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, RetryAfter: 7 * time.Second}
	case 2:
		return untilGone(req, stream)
	case 3:
		return nil
	case 4:
		if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
			TextDelta: &specialistv1.TextDelta{Text: "It is"}}}); err != nil {
			return err
		}
		return untilGone(req, stream)
	}
	return answer(req, stream)
}

func TestRepliesDoNotDependOnSpeculation(t *testing.T) {
	redis := map[RunAhead]*miniredis.Miniredis{RunAheadOff: miniredis.RunT(t), RunAheadAlways: miniredis.RunT(t), RunAheadCertain: miniredis.RunT(t)}
	synctest.Test(t, func(t *testing.T) {
		houses := map[RunAhead]*fixture{}
		for mode, r := range redis {
			h := newFixture(t, r)
			h.config.RunAhead, h.router.route = mode, anyRoute
			for _, s := range h.specialists {
				s.answer = anyAnswer
			}
			h.start()
			houses[mode] = h
		}
		var took [2]time.Duration
		for n := range 50 {
			message := fmt.Sprintf("message %d", n)
			want := houses[RunAheadOff].outcomeOf(t, message)
			for _, mode := range []RunAhead{RunAheadAlways, RunAheadCertain} {
				got := houses[mode].outcomeOf(t, message)
				if diff := cmp.Diff(want, got, sameReply()...); diff != "" {
					t.Errorf("%s, running ahead %s (-off +on):\n%s", message, mode, diff)
				}
				if mode == RunAheadAlways {
					took[0], took[1] = took[0]+want.took, took[1]+got.took
				}
			}
		}
		if took[1] >= took[0] {
			t.Errorf("%v with running ahead, %v without: nothing ran ahead", took[1], took[0])
		}
	})
}

// outcome is all that a caller gets to see of a turn, and what its specialists were asked.
type outcome struct {
	Reply   *gatewayv1.AskResponse
	Status  string
	Details []any
	Thread  []*commonv1.Message
	Asked   map[string]*specialistv1.AnswerRequest // by specialist and assignment, of those that the reply names
	took    time.Duration
}

// sameReply compares outcomes by everything but names and times.
func sameReply() []cmp.Option {
	return []cmp.Option{
		protocmp.Transform(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".took" }, cmp.Ignore()),
		protocmp.IgnoreFields(&gatewayv1.AskResponse{}, "turn_id", "trace_id", "duration", "create_time", "merge"),
		protocmp.IgnoreFields(&gatewayv1.AssignmentResult{}, "start_time", "duration"),
		protocmp.IgnoreFields(&gatewayv1.Failure{}, "message"), // says which side noticed first that time was up
	}
}

func (h *fixture) outcomeOf(t *testing.T, message string) outcome {
	t.Helper()
	h.service.fanout = h.newFanout() // with a waste limiter that has counted nothing
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := time.Now()
	id := fmt.Sprintf("t%d", seeded(message).Uint32())
	events, err := h.askStream(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: message, ThreadId: id})
	o := outcome{Status: status.Code(err).String(), Details: status.Convert(err).Details(), took: time.Since(begun)}
	synctest.Wait() // what was cancelled has ended
	wantWellFormed(t, message, events, err)
	_, o.Reply = textOf(events)
	if kept, err := h.thread(id); err == nil {
		o.Thread = kept.GetMessages()
	}
	o.Asked = map[string]*specialistv1.AnswerRequest{}
	for _, result := range o.Reply.GetResults() {
		a := result.GetAssignment()
		unavailable := ""
		if a.GetRemappedFrom() != "" {
			unavailable = a.GetReason()
		}
		// A guess that differs from the decision by its reason alone is asked too, maybe after the decision.
		requests, _ := h.specialists[a.GetSpecialist()].calls()
		for _, req := range requests {
			if req.GetMessage() == message && req.GetSubQuery() == a.GetSubQuery() &&
				req.GetAssignmentId() == a.GetAssignmentId() && req.GetUnavailableReason() == unavailable {
				o.Asked[a.GetSpecialist()+" "+a.GetAssignmentId()] = req
			}
		}
	}
	return o
}

// wantWellFormed checks that events tell of a turn from its beginning to its end, in order and without a gap.
func wantWellFormed(t *testing.T, name string, events []*gatewayv1.AskStreamResponse, err error) {
	t.Helper()
	state := map[string]string{} // of each assignment
	for i, ev := range events {
		kind := kindOf(ev)
		id := ""
		switch e := ev.GetEvent().(type) {
		case *gatewayv1.AskStreamResponse_Routed:
			for _, a := range e.Routed.GetDecision().GetAssignments() {
				state[a.GetAssignmentId()] = "routed"
			}
			if i != 0 {
				t.Errorf("%s: event %d is %s", name, i, kind)
			}
			continue
		case *gatewayv1.AskStreamResponse_AgentStarted:
			id = e.AgentStarted.GetAssignment().GetAssignmentId()
			if state[id] != "routed" {
				t.Errorf("%s: %s while it is %q", name, kind, state[id])
			}
			state[id] = "started"
		case *gatewayv1.AskStreamResponse_ToolCallStarted:
			id = e.ToolCallStarted.GetAssignmentId()
		case *gatewayv1.AskStreamResponse_ToolCallFinished:
			id = e.ToolCallFinished.GetAssignmentId()
		case *gatewayv1.AskStreamResponse_AgentFinished:
			id = e.AgentFinished.GetResult().GetAssignment().GetAssignmentId()
		case *gatewayv1.AskStreamResponse_Answer:
			if i != len(events)-1 {
				t.Errorf("%s: the answer is event %d of %d", name, i, len(events))
			}
			continue
		default:
			continue
		}
		if state[id] != "started" {
			t.Errorf("%s: %s while it is %q", name, kind, state[id])
		}
		if ev.GetAgentFinished() != nil {
			state[id] = "finished"
		}
	}
	text, reply := textOf(events)
	if err != nil {
		if reply != nil {
			t.Errorf("%s: an answer, and then %v", name, err)
		}
		return
	}
	if text == "" || text != reply.GetText() || len(reply.GetResults()) != len(reply.GetRouting().GetAssignments()) {
		t.Errorf("%s: deltas %q, answer %v", name, text, reply)
	}
	for _, r := range reply.GetResults() {
		if state[r.GetAssignment().GetAssignmentId()] != "finished" || r.GetOutcome() == nil {
			t.Errorf("%s: result %v of an assignment that is %q", name, r, state[r.GetAssignment().GetAssignmentId()])
		}
	}
}
