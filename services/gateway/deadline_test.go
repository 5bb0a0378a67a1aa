package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// schedule is when the parts of a turn are slow. It is read from the number of the case.
type schedule struct{ number atomic.Int64 }

func (s *schedule) rand(part string) *rand.Rand {
	return seeded(fmt.Sprintf("%d %s", s.number.Load(), part))
}

// limit is how long the caller waits.
func (s *schedule) limit() time.Duration {
	return oneOf(s.rand("limit"), 350*time.Millisecond, time.Second, 5*time.Second, 20*time.Second, time.Minute)
}

// pause waits for a part of what the caller waits, or, if it hangs, until the context ends. A part that is deaf does not
// look at its context.
func (s *schedule) pause(ctx context.Context, r *rand.Rand) error {
	part := oneOf(r, 0, 0, 0, 0, 0.01, 0.05, 0.2, 0.5, 0.9, 2)
	if r.IntN(10) == 0 {
		time.Sleep(time.Duration(part * float64(s.limit())))
		return nil
	}
	select {
	case <-time.After(time.Duration(part * float64(s.limit()))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *schedule) route(req *routerv1.RouteRequest, stream routeStream) error {
	r := s.rand("route")
	d := split(oneOf(r, "search: shoes", "search: shoes | support: returns", "search: a | recommend: b | promotions: c | support: d"))
	if r.IntN(2) == 0 {
		g := split(oneOf(r, "search: shoes", "search: shoes | support: returns", "recommend: b"))
		g.Stage = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
		if err := s.pause(stream.Context(), r); err != nil {
			return err
		}
		if err := stream.Send(&routerv1.RouteResponse{Decision: g}); err != nil {
			return err
		}
	}
	if err := s.pause(stream.Context(), r); err != nil {
		return err
	}
	if err := stream.Send(&routerv1.RouteResponse{Decision: d}); err != nil {
		return err
	}
	return s.pause(stream.Context(), r)
}

// answer tells half of the answer, is slow before and after, and may hand over what it has when its time is up.
func (s *schedule) answer(name string) func(*specialistv1.AnswerRequest, answerStream) error {
	return func(req *specialistv1.AnswerRequest, stream answerStream) error {
		r := s.rand(name)
		text := "It is " + req.GetSubQuery() + "."
		err := s.pause(stream.Context(), r)
		if err != nil && r.IntN(2) == 0 {
			return err
		}
		if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
			TextDelta: &specialistv1.TextDelta{Text: text[:6]}}}); err != nil {
			return err
		}
		if err := s.pause(stream.Context(), r); err != nil && r.IntN(2) == 0 {
			return err
		}
		if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{
			Answer: &specialistv1.Answer{Text: text, Confidence: 0.9}}}); err != nil {
			return err
		}
		return s.pause(stream.Context(), r)
	}
}

func (s *schedule) merge(*agentloop.Request) scripted.Step {
	r := s.rand("merge")
	part := oneOf(r, 0, 0.01, 0.2, 2)
	return scripted.Step{
		Text: "It is shoes. It is returns. It is a. It is b. It is c. It is d.", ChunkSize: 5,
		Delay: time.Duration(part * float64(s.limit())), Hang: r.IntN(4) == 0,
	}
}

func (s *schedule) install(h *fixture) {
	h.config.Model = scripted.Func(s.merge)
	h.router.route = s.route
	for name, sp := range h.specialists {
		sp.answer = s.answer(name)
		sp.describe = func(ctx context.Context) error { return s.pause(ctx, s.rand("describe "+name)) }
	}
}

func TestTheCallerIsAnsweredInTimeWhateverIsSlow(t *testing.T) {
	modes := []RunAhead{RunAheadAlways, RunAheadCertain, RunAheadOff}
	var redis []*miniredis.Miniredis
	for range modes {
		redis = append(redis, miniredis.RunT(t))
	}
	synctest.Test(t, func(t *testing.T) {
		var s schedule
		var houses []*fixture
		for i, mode := range modes {
			h := newFixture(t, redis[i])
			h.config.RunAhead = mode
			s.install(h)
			h.start()
			houses = append(houses, h)
		}
		const cases = 90
		answered := 0
		for n := range cases {
			s.number.Store(int64(n))
			h, name := houses[n%len(houses)], fmt.Sprintf("case %d within %v", n, s.limit())
			ctx, cancel := context.WithTimeout(t.Context(), s.limit())
			begun := time.Now()
			events, err := h.askStream(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: "hello"})
			if took := time.Since(begun); took >= s.limit() {
				t.Errorf("%s: it took %v: %v", name, took, err)
			}
			cancel()
			wantWellFormed(t, name, events, err)
			switch code := status.Code(err); code {
			case codes.OK:
				answered++
			case codes.DeadlineExceeded, codes.Unavailable:
			default:
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(registry.TTL) // descriptions get old
		}
		if answered < cases/2 {
			t.Errorf("%d of %d were answered", answered, cases)
		}
		time.Sleep(time.Hour) // the deaf ones end
	})
}

func TestAnAnswerThatIsCutOffWhileStreamingCounts(t *testing.T) {
	for _, tt := range []struct {
		name, pieces, message string
		want                  codes.Code
	}{
		{"it is alone", "It costs 12", "search: shoes", codes.OK},
		{"it is not, and half a sentence may mislead", "It costs 12", "search: shoes | support: returns", codes.DeadlineExceeded},
		{"it has said nothing", "\n", "search: shoes", codes.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				for _, name := range []string{"search", "support"} {
					h.specialists[name].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
						for _, piece := range strings.SplitAfter(tt.pieces, " ") {
							if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
								TextDelta: &specialistv1.TextDelta{Text: piece}}}); err != nil {
								return err
							}
						}
						return untilGone(req, stream)
					}
				}
				h.start()
				reply, took, err := h.askWithin(20*time.Second, tt.message)
				if status.Code(err) != tt.want || took >= 20*time.Second {
					t.Fatalf("after %v: %v, want %v", took, err, tt.want)
				}
				if err != nil {
					return
				}
				a := reply.GetResults()[0].GetAnswer()
				if reply.GetText() != tt.pieces || a.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_DEADLINE ||
					a.GetSpecialist() != "search" || a.GetConfidence() != 0.2 || !reply.GetHandoff().GetRecommended() {
					t.Errorf("reply %v", reply)
				}
				if !reply.GetUsage().GetEstimated() || reply.GetCost() != nil {
					t.Errorf("usage %v and cost %v, though nobody told them", reply.GetUsage(), reply.GetCost())
				}
			})
		})
	}
}

func TestATurnWaitsAMomentForAStreamToEndAfterItsLastMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = func(req *routerv1.RouteRequest, s routeStream) error {
			if err := s.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())}); err != nil {
				return err
			}
			<-s.Context().Done()
			return s.Context().Err()
		}
		h.specialists["search"].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			if err := say(stream, "Here."); err != nil {
				return err
			}
			return untilGone(req, stream)
		}
		h.start()
		if reply, took, err := h.askWithin(time.Minute, "search: shoes"); err != nil || took != fanout.DrainTimeout || reply.GetText() != "Here." {
			t.Errorf("after %v: %v, %v", took, reply, err)
		}
	})
}

func TestStreamsAreDrainedAndNotCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		var cut [2]error
		lasts := func(ctx context.Context) error { // how a stream's handler ends
			select {
			case <-time.After(fanout.DrainTimeout / 2):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		h.router.route = func(req *routerv1.RouteRequest, s routeStream) error {
			err := s.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())})
			cut[0] = lasts(s.Context())
			return err
		}
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			err := say(stream, "Here.")
			cut[1] = lasts(stream.Context())
			return err
		}
		h.start()
		if reply, took, err := h.askWithin(time.Minute, "search: shoes"); err != nil || took != fanout.DrainTimeout/2 || cut != [2]error{} {
			t.Errorf("after %v: %v, %v; streams cut: %v", took, reply, err, cut)
		}
	})
}

func TestASpeculativeBranchIsCutEarlierWhenThereIsMoreToMerge(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("search: shoes"), split("search: shoes | support: returns"))
		h.specialists["search"].answer = untilGone
		h.specialists["support"].answer = takes(time.Second)
		h.start()
		reply, took, err := h.askWithin(40*time.Second, "shoes and returns")
		if err != nil || took > 34*time.Second || reply.GetResults()[0].GetFailure().GetCode() != "DEADLINE_EXCEEDED" {
			t.Errorf("after %v: %v, %v", took, reply, err)
		}
	})
}

func TestWorkThatCannotFinishIsNotStarted(t *testing.T) {
	for _, tt := range []struct {
		name         string
		left         time.Duration // for the gateway
		hangs        bool          // the router, and a description
		asked, calls int           // the router, the specialists
	}{
		{"too little for a turn", fanout.MinTurn - time.Millisecond, false, 0, 0},
		{"just enough for a turn", fanout.MinTurn, false, 1, 1},
		{"just enough for a turn in which all is slow", fanout.MinTurn, true, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.config.RunAhead = RunAheadOff
				h.start()
				h.ask("support: hello")
				time.Sleep(registry.TTL)
				if tt.hangs {
					h.specialists["search"].describe = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
					h.router.route = func(_ *routerv1.RouteRequest, s routeStream) error {
						if err := s.Send(&routerv1.RouteResponse{Decision: guess("support: hello | search: shoes")}); err != nil {
							return err
						}
						<-s.Context().Done()
						return s.Context().Err()
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.left)
				defer cancel()
				_, err := h.service.turn(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: "support: hello"}, nil)
				if tt.calls > 0 && err != nil {
					t.Error(err)
				}
				if tt.calls == 0 {
					wantStatus(t, rpc.Status(err).Err(), codes.DeadlineExceeded, "DEADLINE")
				}
				requests, _ := h.specialists["support"].calls()
				if len(h.router.requests)-1 != tt.asked || len(requests)-1 != tt.calls {
					t.Errorf("the router was asked %d times and support %d times, want %d and %d",
						len(h.router.requests)-1, len(requests)-1, tt.asked, tt.calls)
				}
			})
		})
	}
}

func TestATurnWithoutADeadlineGetsOne(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.config.TurnTimeout = 7 * time.Second
		h.start()
		ctx, cancel := h.service.withDeadline(context.Background())
		defer cancel()
		if due, _ := ctx.Deadline(); time.Until(due) != 7*time.Second {
			t.Errorf("it has %v", time.Until(due))
		}
	})
}
