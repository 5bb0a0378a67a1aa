package threads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// journalTimeout bounds one write to a journal.
const journalTimeout = time.Second

// The fields of a journal, beside those of begin.lua and record.lua.
const (
	decisionField = "decision"
	traceField    = "trace"   // of the latest attempt, as a W3C traceparent
	answerField   = "answer:" // followed by the assignment's id
)

//go:embed journal.lua
var journalLua string

var journalScript = redis.NewScript(state.QueueLockLua + journalLua)

// Journal keeps the progress of a turn under way, so that another gateway can resume the turn. A nil Journal keeps nothing. It is
// safe for concurrent use.
//
// One writer at a time writes in the background, takes all that is queued, and ends when the queue is empty. Failures are logged:
// they cost a resumed turn some work, and nothing else.
type Journal struct {
	ctx    context.Context // of the turn, without its cancellation: progress is kept when the caller leaves
	due    time.Time       // the turn's deadline, which ends all writing
	redis  redis.UniversalClient
	key    string
	sealer *seal.Sealer // may be nil
	store  string
	lock   *state.QueueLock
	ttl    time.Duration
	log    *slog.Logger
	before progress

	mu      sync.Mutex
	queue   []any // alternating fields and values
	decided bool  // the decision is known
	closed  bool
	writing bool
	writer  sync.WaitGroup
}

// newJournal returns the journal of a turn, whose context has a deadline.
func (s *Store) newJournal(ctx context.Context, t Turn, lock *state.QueueLock, before progress) *Journal {
	due, _ := ctx.Deadline()
	return &Journal{
		ctx: context.WithoutCancel(ctx), due: due, redis: s.cfg.Redis, key: journalKey(t.Scope.StoreID, t.Scope.ThreadID, t.request()),
		sealer: s.cfg.Sealer, store: t.Scope.StoreID, lock: lock, ttl: s.ttl(t), log: s.cfg.Logger,
		before: before,
	}
}

// progress is what a journal holds.
type progress struct {
	attempt  trace.SpanContext // of the attempt before; not valid: unknown
	decision *routerv1.RoutingDecision
	answers  map[string]*specialistv1.Answer // by assignment id
}

// decodeProgress reads the fields of a turn's journal.
func (s *Store) decodeProgress(t Turn, fields map[string]string) (progress, error) {
	key := journalKey(t.Scope.StoreID, t.Scope.ThreadID, t.request())
	p := progress{attempt: spanOf(fields[traceField]), answers: map[string]*specialistv1.Answer{}}
	raw, ok := fields[decisionField]
	if !ok {
		return p, nil
	}
	p.decision = &routerv1.RoutingDecision{}
	at := seal.Place{Store: t.Scope.StoreID, Key: key, Field: decisionField}
	if err := s.cfg.Sealer.Unmarshal(at, raw, p.decision); err != nil {
		return progress{}, fmt.Errorf("decode journal: %w", err)
	}
	for field, raw := range fields {
		id, ok := strings.CutPrefix(field, answerField)
		if !ok {
			continue
		}
		a := &specialistv1.Answer{}
		at := seal.Place{Store: t.Scope.StoreID, Key: key, Field: field}
		if err := s.cfg.Sealer.Unmarshal(at, raw, a); err != nil {
			return progress{}, fmt.Errorf("decode journal: %w", err)
		}
		p.answers[id] = a
	}
	return p, nil
}

// traceparent is the only header of a trace that a journal keeps.
const traceparent = "traceparent"

// traceParent names the span of ctx, or is "".
func traceParent(ctx context.Context) string {
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header[traceparent]
}

// spanOf is the inverse of traceParent.
func spanOf(parent string) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: parent}))
}

// Attempt returns the span of the attempt that the turn resumes. It is not valid if there was none.
func (j *Journal) Attempt() trace.SpanContext {
	if j == nil {
		return trace.SpanContext{}
	}
	return j.before.attempt
}

// Decision returns the routing that was decided before the turn was resumed, or nil.
func (j *Journal) Decision() *routerv1.RoutingDecision {
	if j == nil {
		return nil
	}
	return j.before.decision
}

// Answer returns what was answered before the turn was resumed, or nil.
func (j *Journal) Answer(assignmentID string) *specialistv1.Answer {
	if j == nil {
		return nil
	}
	return j.before.answers[assignmentID]
}

// KeepDecision keeps the final routing.
func (j *Journal) KeepDecision(d *routerv1.RoutingDecision) {
	if j == nil || j.before.decision != nil {
		return
	}
	j.keep(decisionField, d)
}

// KeepAnswer keeps an answer to an assignment of the final routing. It is written once the routing is known. An answer that was
// cut off by the deadline or a failure of the model is not kept: a resumed turn may have a whole one.
func (j *Journal) KeepAnswer(assignmentID string, a *specialistv1.Answer) {
	if j == nil || j.before.answers[assignmentID] != nil {
		return
	}
	switch a.GetFinishReason() {
	case specialistv1.FinishReason_FINISH_REASON_DEADLINE, specialistv1.FinishReason_FINISH_REASON_ERROR:
		return
	}
	j.keep(answerField+assignmentID, a)
}

// keep queues a field. It encodes at once, since the turn may modify the value afterwards.
func (j *Journal) keep(field string, value proto.Message) {
	raw, err := j.sealer.Marshal(seal.Place{Store: j.store, Key: j.key, Field: field}, value)
	if err != nil {
		j.log.ErrorContext(j.ctx, "journal not written", "error", err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.queue = append(j.queue, field, raw)
	j.decided = j.decided || field == decisionField || j.before.decision != nil
	if j.decided && !j.writing {
		j.writing = true
		j.writer.Go(j.write)
	}
}

// write writes until nothing is queued.
func (j *Journal) write() {
	for fields := j.take(); len(fields) > 0; fields = j.take() {
		if err := j.put(fields); err != nil {
			j.log.WarnContext(j.ctx, "journal not written", "error", err)
		}
	}
}

// take takes what is queued. If the queue is empty, the writer has ended.
func (j *Journal) take() []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	fields := j.queue
	j.queue, j.writing = nil, len(fields) > 0
	return fields
}

// put writes fields in one script. A panic becomes an error; the stack goes to the log.
func (j *Journal) put(fields []any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			j.log.ErrorContext(j.ctx, "panic in a journal", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	ctx, cancel := context.WithTimeout(j.ctx, min(journalTimeout, time.Until(j.due)))
	defer cancel()
	args := j.lock.Args(append([]any{j.ttl.Milliseconds()}, fields...)...)
	return state.Error("write journal", journalScript.Run(ctx, j.redis, j.lock.Keys(j.key), args...).Err())
}

// close waits for the writer. What is still queued is written only if the turn has no reply. Nothing is kept afterwards.
func (j *Journal) close(replied bool) {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.closed = true
	if replied {
		j.queue = nil
	}
	j.mu.Unlock()
	j.writer.Wait()
}
