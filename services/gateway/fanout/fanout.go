// Package fanout asks specialists for the parts of one message at the same time, in time and within the turn's budget.
//
// Branches may start before the routing is final (speculation, called run-ahead in flags and docs). Their progress is held
// back until the final routing confirms them, so the reply does not depend on speculation. The package must not import a
// service; it meets specialists through the registry.
package fanout

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// errUnwanted is the cause with which a speculative branch is cancelled that the final routing does not have.
var errUnwanted = errors.New("the final routing does not have the assignment")

// errPanic is the outcome of a branch that panicked. The stack is in the log.
var errPanic = errors.New("panic in the gateway")

// Config says how branches run. All fields but Cart and Orders are required.
type Config struct {
	// Registry reaches the specialists.
	Registry *registry.Registry
	// CatchAll is the specialist that gets what one passes on without saying to whom.
	CatchAll string
	// Signer signs what a specialist gets of a turn's scope.
	Signer *scope.Signer
	// Cart reads the shopper's cart, once per turn. Nil: specialists read it themselves.
	Cart cartv1.CartServiceClient
	// Orders reads the shopper's open orders, at most once per turn. Nil: none are known.
	Orders orderv1.OrderServiceClient
	// MergeReserve is the time that several branches leave for merging, but at most a quarter of the time left.
	MergeReserve time.Duration
	// RunAhead says which branches may start before the routing is final.
	RunAhead RunAhead
	// Tracer traces each branch.
	Tracer trace.Tracer
	// Meter makes the metrics of speculation.
	Meter metric.Meter
	// Logger gets failures of branches, never customer text.
	Logger *slog.Logger
}

// Fanout runs the branches of turns. It is safe for concurrent use.
type Fanout struct {
	cfg         Config
	speculation *speculation // nil: nothing starts before the routing is final
}

// New returns a Fanout. An error says that a metric could not be made.
func New(cfg Config) (*Fanout, error) {
	s, err := newSpeculation(cfg.RunAhead, cfg.Meter, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &Fanout{cfg: cfg, speculation: s}, nil
}

// Journal keeps answers, so that a turn that is resumed does not ask again.
type Journal interface {
	// Answer returns what was answered to an assignment before the turn was resumed, or nil.
	Answer(assignmentID string) *specialistv1.Answer
	// KeepAnswer keeps an answer to an assignment of the final routing. It does not wait.
	KeepAnswer(assignmentID string, a *specialistv1.Answer)
}

// Turn is what the branches of one message have in common. They do not modify it.
type Turn struct {
	Scope       scope.Scope
	Message     string
	Summary     string                        // of the thread so far
	History     []*commonv1.Message           // oldest first
	Shown       []*specialistv1.ProductChoice // the products that the shopper saw last
	Pending     *specialistv1.PendingQuestion // that the last reply ended with; nil: none
	StoreName   string
	TimeZone    string                          // of the store
	ClaimRules  []*specialistv1.ClaimRule       // of the store
	JudgeClaims bool                            // a model decides on claims
	Voice       *specialistv1.Voice             // of the store; nil: none
	Prompts     map[string]*specialistv1.Prompt // by specialist; one that is missing uses its own
	Output      *output.Policy                  // what may be shown; required
	Budget      *Budget                         // nil: no bound
	Journal     Journal                         // required
	Drains      *Drains                         // of the turn's streams; required
	Emit        Emit                            // nil: there is no listener
}

// Run is the branches of one turn. Its methods must be called from one goroutine.
type Run struct {
	ctx    context.Context // of the turn
	fanout *Fanout
	turn   *Turn
	cart   sharedCart

	goroutines  sync.WaitGroup
	speculative []*branch
	due         time.Time // of the speculative branches
}

// Start returns the run of a turn, whose context has a deadline. It starts no branch. The caller must call Wait at the end.
func (f *Fanout) Start(ctx context.Context, turn *Turn) *Run {
	return &Run{ctx: ctx, fanout: f, turn: turn}
}

// Wait waits until all goroutines of the run have ended. The caller has ended the turn's context, or has called Collect.
func (r *Run) Wait() { r.goroutines.Wait() }

// Speculate starts branches of a provisional decision, as Config.RunAhead and the waste limiter allow.
func (r *Run) Speculate(d *routerv1.RoutingDecision) {
	s := r.fanout.speculation
	if s == nil || !s.limiter.allow() {
		return
	}
	r.turn.Budget.plan(d)
	r.due = r.fanout.due(r.ctx, len(d.GetAssignments()))
	for _, a := range d.GetAssignments() {
		if !s.wants(a) {
			continue
		}
		b := newBranch(r.turn, a)
		ctx, cancel := context.WithCancelCause(r.ctx)
		b.cancel = cancel
		r.speculative = append(r.speculative, b)
		r.goroutines.Go(func() { r.work(ctx, b, r.due) })
	}
}

// Collect works on the final decision until each assignment is answered, has failed or is late. Speculative branches that do
// the same work go on, the others are cancelled, and what is missing is started. The results are in the order of the
// assignments. The error says that nothing was answered, or that ctx has ended.
func (r *Run) Collect(d *routerv1.RoutingDecision) ([]Result, error) {
	r.turn.Budget.plan(d)
	due := r.fanout.due(r.ctx, len(d.GetAssignments()))
	branches := make([]*branch, len(d.GetAssignments()))
	for i, a := range d.GetAssignments() {
		branches[i] = r.speculativeOr(newBranch(r.turn, a))
	}
	for _, b := range r.speculative {
		if !slices.Contains(branches, b) {
			b.cancel(errUnwanted)
		}
	}
	if r.due.After(due) { // the provisional decision had one assignment, and now there are several to merge
		cut := time.AfterFunc(time.Until(due), func() {
			for _, b := range r.speculative {
				b.cancel(context.DeadlineExceeded)
			}
		})
		defer cut.Stop()
	}
	r.turn.Emit.Routed(d)
	for i, b := range branches { // first those that have not started: confirming the others may wait for a slow listener
		if b.cancel == nil {
			r.goroutines.Go(func() {
				r.confirm(b, d.GetAssignments()[i], len(branches) == 1)
				r.work(r.ctx, b, due)
			})
		}
	}
	for i, b := range branches {
		if b.cancel != nil {
			r.confirm(b, d.GetAssignments()[i], len(branches) == 1)
		}
	}
	r.goroutines.Wait()
	r.account(branches)
	results := make([]Result, len(branches))
	for i, b := range branches {
		results[i] = b.result()
	}
	return results, nothingAnswered(r.ctx, results)
}

// speculativeOr returns the speculative branch that does the same work as b, or else b.
func (r *Run) speculativeOr(b *branch) *branch {
	if i := slices.IndexFunc(r.speculative, b.sameWork); i >= 0 {
		return r.speculative[i]
	}
	return b
}

// confirm makes a branch final. A panic fails the branch.
func (r *Run) confirm(b *branch, a *routerv1.Assignment, alone bool) {
	defer r.recover(r.ctx, b)
	b.confirm(a, alone)
}

// work works on one assignment until it is done, due or the context ends.
func (r *Run) work(ctx context.Context, b *branch, due time.Time) {
	defer r.recover(ctx, b)
	if a := r.turn.Journal.Answer(b.request.GetAssignmentId()); a != nil {
		b.journaled = true
		if _, ok := r.fanout.cfg.Registry.Peer(a.GetSpecialist()); ok && a.GetSpecialist() != b.specialist {
			b.next = a.GetSpecialist()
		}
		r.turn.Budget.settle(b, a, nil)
		b.finish(a, nil)
		return
	}
	began := time.Now()
	answer, err := r.askTraced(ctx, b, b.specialist, due)
	if next := r.passOn(b, answer); next != "" {
		if answer, err = r.askTraced(ctx, b, next, due); err == nil {
			b.addFirst(answer)
		}
	}
	r.turn.Budget.settle(b, answer, err)
	b.setTimes(began, time.Since(began))
	b.finish(answer, err)
}

// askTraced asks a specialist in a span of its own.
func (r *Run) askTraced(ctx context.Context, b *branch, specialist string, due time.Time) (*specialistv1.Answer, error) {
	ctx, span := r.fanout.cfg.Tracer.Start(ctx, telemetry.OperationInvokeAgent+" "+specialist,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeAgent),
			attribute.String(telemetry.KeyAgent, specialist),
			attribute.String(telemetry.KeyConversation, r.turn.Scope.ThreadID),
			attribute.String(telemetry.KeyStore, r.turn.Scope.StoreID),
			attribute.String(telemetry.KeyAssignment, b.request.GetAssignmentId()),
		))
	defer span.End()
	answer, err := r.ask(ctx, b, specialist, due)
	switch {
	case errors.Is(context.Cause(ctx), errUnwanted):
		span.SetAttributes(attribute.String(telemetry.KeyRunAheadOutcome, outcomeCanceled))
	case err != nil:
		f := failure(err)
		span.SetAttributes(attribute.String(telemetry.KeyErrorType, f.GetCode()))
		span.SetStatus(codes.Error, rpc.Reason(rpc.Status(err)))
		r.fanout.cfg.Logger.WarnContext(ctx, "assignment failed", "store", r.turn.Scope.StoreID, "turn", r.turn.Scope.TurnID,
			"assignment", b.request.GetAssignmentId(), "specialist", specialist, "code", f.GetCode(), "error", err)
	}
	return answer, err
}

// recover fails a branch that panics, so that the turn goes on without it. It is called by defer.
func (r *Run) recover(ctx context.Context, b *branch) {
	if p := recover(); p != nil {
		r.fanout.cfg.Logger.ErrorContext(ctx, "panic in a branch", "specialist", b.specialist, "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
		b.fail(errPanic)
	}
}

// account counts the outcome of speculation. What it wasted is paid for, but it is not part of the reply: the turn's span has
// it.
func (r *Run) account(branches []*branch) {
	if len(r.speculative) == 0 {
		return
	}
	var wasted int64
	for _, b := range r.speculative {
		confirmed := slices.Contains(branches, b)
		r.fanout.speculation.count(r.ctx, confirmed, b.tokens())
		if !confirmed {
			wasted += b.tokens()
		}
	}
	trace.SpanFromContext(r.ctx).SetAttributes(attribute.Int64(telemetry.KeyRunAheadWasted, wasted))
}
