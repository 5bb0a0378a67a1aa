package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

// answering is a client whose specialist reads the cart and answers at once. It counts its calls.
type answering struct {
	specialistv1.SpecialistServiceClient
	calls atomic.Int64
	mu    sync.Mutex
	carts []*cartv1.Cart
}

func (c *answering) Describe(context.Context, *specialistv1.DescribeRequest, ...grpc.CallOption) (*specialistv1.DescribeResponse, error) {
	return &specialistv1.DescribeResponse{Specialist: &specialistv1.Specialist{ReadsCart: true}}, nil
}

func (c *answering) Answer(
	ctx context.Context, req *specialistv1.AnswerRequest, _ ...grpc.CallOption,
) (grpc.ServerStreamingClient[specialistv1.AnswerResponse], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.calls.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.carts = append(c.carts, req.GetCart())
	return &answerStream{ctx: ctx, answer: &specialistv1.Answer{Text: "About " + req.GetSubQuery() + ".", Confidence: 0.9}}, nil
}

// answerStream is a stream of one answer.
type answerStream struct {
	grpc.ClientStream
	ctx    context.Context
	answer *specialistv1.Answer
}

func (s *answerStream) Recv() (*specialistv1.AnswerResponse, error) {
	if s.answer == nil {
		return nil, io.EOF
	}
	a := s.answer
	s.answer = nil
	return &specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{Answer: a}}, nil
}

// journal is a Journal that may panic when it keeps an answer.
type journal struct {
	answers map[string]*specialistv1.Answer
	panics  string // the assignment
}

func (j *journal) Answer(id string) *specialistv1.Answer { return j.answers[id] }

func (j *journal) KeepAnswer(id string, _ *specialistv1.Answer) {
	if id == j.panics {
		panic("kaboom")
	}
}

type cartClient struct {
	cartv1.CartServiceClient
	get func(context.Context) (*cartv1.Cart, error)
}

func (c cartClient) GetCart(ctx context.Context, _ *cartv1.GetCartRequest, _ ...grpc.CallOption) (*cartv1.GetCartResponse, error) {
	cart, err := c.get(ctx)
	return &cartv1.GetCartResponse{Cart: cart}, err
}

// fixture is a run of a turn of store demo with one specialist, "search".
type fixture struct {
	specialist *answering
	log        *strings.Builder
	turn       *Turn
	run        *Run
	events     []string
	mu         sync.Mutex
}

func start(t *testing.T, limit time.Duration, getCart func(context.Context) (*cartv1.Cart, error)) *fixture {
	t.Helper()
	f := &fixture{specialist: &answering{}, log: &strings.Builder{}}
	ctx, cancel := context.WithTimeout(scope.NewContext(t.Context(), scope.Scope{StoreID: "demo"}), limit)
	t.Cleanup(cancel)
	logger := slog.New(slog.NewTextHandler(f.log, nil))
	specialists := registry.New([]registry.Peer{{Name: "search", Client: f.specialist, Reads: scope.Reads()}}, scopetest.Signer(), logger)
	specialists.Describe(ctx, "demo")
	cfg := Config{
		Registry: specialists, Signer: scopetest.Signer(), RunAhead: RunAheadAlways, MergeReserve: time.Second, Tracer: tracenoop.Tracer{},
		Meter: metricnoop.Meter{}, Logger: logger,
	}
	if getCart != nil {
		cfg.Cart = cartClient{get: getCart}
	}
	fan, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.turn = &Turn{
		Scope: scope.Scope{StoreID: "demo", CartID: "c1"}, Journal: &journal{}, Drains: &Drains{},
		Output: output.New(nil, "en"),
		Emit: func(ev *gatewayv1.AskStreamResponse) {
			f.mu.Lock()
			defer f.mu.Unlock()
			switch {
			case ev.GetAgentStarted() != nil:
				f.events = append(f.events, "started "+ev.GetAgentStarted().GetAssignment().GetAssignmentId())
			case ev.GetAgentFinished() != nil:
				f.events = append(f.events, "finished "+ev.GetAgentFinished().GetResult().GetAssignment().GetAssignmentId())
			}
		},
	}
	f.run = fan.Start(ctx, f.turn)
	t.Cleanup(func() { f.run.Wait(); f.turn.Drains.Wait() })
	return f
}

// decision assigns sub-queries named by letters to the specialist.
func decision(stage routerv1.DecisionStage, ids string) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{Stage: stage}
	for _, id := range ids {
		d.Assignments = append(d.Assignments, &routerv1.Assignment{AssignmentId: string(id), Specialist: "search", SubQuery: string(id)})
	}
	return d
}

const (
	final       = routerv1.DecisionStage_DECISION_STAGE_FINAL
	provisional = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
)

// A panic outside of the call to the specialist costs that branch, and not the process.
func TestPanicAnywhereInABranchFailsThatBranchOnly(t *testing.T) {
	for name, arrange := range map[string]func(f *fixture){
		"when the answer is journaled": func(f *fixture) { f.turn.Journal = &journal{panics: "a"} },
		"when the budget is settled": func(f *fixture) {
			f.turn.Budget = NewBudget(&commonv1.Budget{MaxTokens: 1000})
			f.turn.Budget.entries = nil // setting an entry aside panics
		},
		"when an event is emitted": func(f *fixture) {
			emit := f.turn.Emit
			f.turn.Emit = func(ev *gatewayv1.AskStreamResponse) {
				if ev.GetAgentFinished().GetResult().GetAssignment().GetAssignmentId() == "a" {
					panic("kaboom")
				}
				emit(ev)
			}
		},
	} {
		for _, speculative := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, speculative %v", name, speculative), func(t *testing.T) {
				f := start(t, time.Minute, nil)
				arrange(f)
				if speculative {
					f.run.Speculate(decision(provisional, "ab"))
				}
				results, err := f.run.Collect(decision(final, "ab"))
				if f.turn.Budget != nil {
					if err == nil {
						t.Error("both branches share the budget, so both fail")
					}
				} else if err != nil || results[0].Err == nil || results[1].Answer.GetText() != "About b." {
					t.Errorf("%v, %v", results, err)
				}
				if !strings.Contains(f.log.String(), "panic in a branch") || !strings.Contains(f.log.String(), "stack=") {
					t.Errorf("log %s", f.log)
				}
			})
		}
	}
}

func TestJournaledAnswerIsReportedButNotAskedFor(t *testing.T) {
	f := start(t, time.Minute, nil)
	f.turn.Journal = &journal{answers: map[string]*specialistv1.Answer{"a": {Text: "Here."}}, panics: "a"} // keeps it no more
	results, err := f.run.Collect(decision(final, "a"))
	if err != nil || results[0].Answer.GetText() != "Here." || f.specialist.calls.Load() != 0 {
		t.Errorf("%v, %v, %d calls", results, err, f.specialist.calls.Load())
	}
	if diff := cmp.Diff([]string{"started a", "finished a"}, f.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSpecialistIsNotAskedWithoutTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]int64{minCall - 1: 0, minCall: 1} {
			f := start(t, time.Minute, nil)
			b := newBranch(f.turn, decision(final, "a").GetAssignments()[0])
			_, err := f.run.ask(f.run.ctx, b, b.specialist, time.Now().Add(left))
			if f.specialist.calls.Load() != want || (err == nil) != (want == 1) {
				t.Errorf("with %v left: asked %d times, %v", left, f.specialist.calls.Load(), err)
			}
			f.turn.Drains.Wait()
		}
	})
}

// The branch that needs the cart first may be cancelled: the read goes on for the others, once.
func TestCartReadOutlivesTheBranchThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		f := start(t, time.Minute, func(ctx context.Context) (*cartv1.Cart, error) {
			reads++
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(100 * time.Millisecond):
				return &cartv1.Cart{StoreId: "demo", CartId: "c1"}, nil
			}
		})
		f.run.Speculate(decision(provisional, "x"))
		synctest.Wait()
		results, err := f.run.Collect(decision(final, "ab"))
		if err != nil || len(results) != 2 || reads != 1 {
			t.Fatalf("%v, %v, %d reads", results, err, reads)
		}
		for _, cart := range f.specialist.carts {
			if cart.GetCartId() != "c1" {
				t.Errorf("carts %v", f.specialist.carts)
			}
		}
	})
}

func TestCartReadThatFailsOrPanicsIsLeftToTheSpecialists(t *testing.T) {
	for name, get := range map[string]func(context.Context) (*cartv1.Cart, error){
		"fails":  func(context.Context) (*cartv1.Cart, error) { return nil, errors.New("bug") },
		"panics": func(context.Context) (*cartv1.Cart, error) { panic("kaboom") },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, time.Minute, get)
			results, err := f.run.Collect(decision(final, "ab"))
			if err != nil || results[0].Err != nil || f.specialist.carts[0] != nil {
				t.Errorf("%v, %v, carts %v", results, err, f.specialist.carts)
			}
		})
	}
}

// panickingStream is a stream whose Recv panics.
type panickingStream struct{ grpc.ClientStream }

func (panickingStream) Recv() (*specialistv1.AnswerResponse, error) { panic("kaboom") }

func TestPanicInDrainingAStreamEndsTheDrain(t *testing.T) {
	var d Drains
	ctx, cancel := context.WithCancel(t.Context())
	Drain(&d, panickingStream{}, cancel)
	d.Wait()
	if ctx.Err() == nil {
		t.Error("the call was not cancelled")
	}
}
