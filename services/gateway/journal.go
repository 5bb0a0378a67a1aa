package gateway

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// journalTimeout bounds one write to a journal.
	journalTimeout = time.Second
	// journalLinger is how long a write waits for more to write. What would be written at once competes with the
	// specialists that start just then, and answers often come together; who resumes the turn repeats that much more.
	journalLinger = 5 * time.Millisecond
)

// The fields of a journal beside those that begin.lua and record.lua write.
const (
	decisionField = "decision"
	answerField   = "answer:" // and the assignment's id
)

//go:embed journal.lua
var journalLua string

var journalScript = redis.NewScript(state.QueueLockLua + journalLua)

// journal is what is kept of a turn while it runs, so that another gateway can take it up. A nil journal keeps nothing.
//
// It is written behind the turn's back: one writer at a time, which begins after lingering, takes all that waits and ends when
// nothing does.
// Trouble is logged; it costs a resumed turn some work and nobody anything else.
type journal struct {
	ctx    context.Context // of the turn, without its cancellation: what was done is kept when the caller leaves
	due    time.Time       // when the caller's patience ends, and all writing
	redis  redis.UniversalClient
	key    string
	lock   *state.QueueLock
	ttl    time.Duration
	logger *slog.Logger
	before progress
	linger time.Duration

	mu     sync.Mutex
	queue  []any // fields and values to be written, in turns
	opened bool  // the decision is known
	closed bool
	writes bool // there is a writer, or will be
	begins *time.Timer
	writer sync.WaitGroup
}

// progress is how far a turn had come.
type progress struct {
	decision *routerv1.RoutingDecision
	answers  map[string]*specialistv1.Answer // by assignment id
}

func journalKey(storeID, requestID string) string { return state.Key(storeID, "request", requestID) }

// bodyHash tells requests apart that have the same id. Every field counts but that id.
func bodyHash(req *gatewayv1.AskRequest) (string, error) {
	body := proto.CloneOf(req)
	body.RequestId = ""
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("hash request: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// decodeProgress reads the fields of a journal.
func decodeProgress(fields map[string]string) (progress, error) {
	p := progress{answers: map[string]*specialistv1.Answer{}}
	raw, ok := fields[decisionField]
	if !ok {
		return p, nil
	}
	p.decision = &routerv1.RoutingDecision{}
	if err := proto.Unmarshal([]byte(raw), p.decision); err != nil {
		return progress{}, fmt.Errorf("decode journal: %w", err)
	}
	for field, raw := range fields {
		id, ok := strings.CutPrefix(field, answerField)
		if !ok {
			continue
		}
		a := &specialistv1.Answer{}
		if err := proto.Unmarshal([]byte(raw), a); err != nil {
			return progress{}, fmt.Errorf("decode journal: %w", err)
		}
		p.answers[id] = a
	}
	return p, nil
}

// decision is the routing that was made before the turn was resumed, or nil.
func (j *journal) decision() *routerv1.RoutingDecision {
	if j == nil {
		return nil
	}
	return j.before.decision
}

// answer is what was answered before the turn was resumed, or nil.
func (j *journal) answer(assignmentID string) *specialistv1.Answer {
	if j == nil {
		return nil
	}
	return j.before.answers[assignmentID]
}

// decided keeps the final routing.
func (j *journal) decided(d *routerv1.RoutingDecision) {
	if j == nil || j.before.decision != nil {
		return
	}
	j.keep(decisionField, d)
}

// answered keeps an answer to an assignment of the final routing; it is written only when that is known. What was said
// because time was up is not kept: one who resumes the turn has time again.
func (j *journal) answered(assignmentID string, a *specialistv1.Answer) {
	if j == nil || j.before.answers[assignmentID] != nil || a.GetFinishReason() == specialistv1.FinishReason_FINISH_REASON_DEADLINE {
		return
	}
	j.keep(answerField+assignmentID, a)
}

// keep queues a field. It encodes at once, since the turn may go on to change what it keeps.
func (j *journal) keep(field string, value proto.Message) {
	raw, err := proto.Marshal(value)
	if err != nil {
		j.logger.ErrorContext(j.ctx, "journal not written", "error", err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.queue = append(j.queue, field, raw)
	j.opened = j.opened || field == decisionField || j.before.decision != nil
	if j.opened && !j.writes {
		j.writes = true
		j.writer.Add(1)
		j.begins = time.AfterFunc(j.linger, j.write)
	}
}

// write writes until nothing is queued.
func (j *journal) write() {
	defer j.writer.Done()
	for fields := j.take(); len(fields) > 0; fields = j.take() {
		if err := j.put(fields); err != nil {
			j.logger.WarnContext(j.ctx, "journal not written", "error", err)
		}
	}
}

// take takes what is queued. If that is nothing, the writer is no more.
func (j *journal) take() []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	fields := j.queue
	j.queue, j.writes = nil, len(fields) > 0
	return fields
}

func (j *journal) put(fields []any) error {
	ctx, cancel := context.WithTimeout(j.ctx, min(journalTimeout, time.Until(j.due)))
	defer cancel()
	args := j.lock.Args(append([]any{j.ttl.Milliseconds()}, fields...)...)
	return state.Error("write journal", journalScript.Run(ctx, j.redis, j.lock.Keys(j.key), args...).Err())
}

// close waits for the writer, which writes what is still queued only if the turn has not been recorded. Nothing is kept
// afterwards.
func (j *journal) close(recorded bool) {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.closed = true
	if recorded {
		j.queue = nil
	}
	lingers := j.writes && j.begins.Stop()
	j.mu.Unlock()
	if lingers {
		j.write()
	}
	j.writer.Wait()
}
