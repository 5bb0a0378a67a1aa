package gateway

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

//go:embed begin.lua
var beginLua string

var beginScript = redis.NewScript(state.QueueLockLua + beginLua)

// The outcomes of begin.lua and record.lua.
const (
	outcomeFirst    = "first"
	outcomeWait     = "wait"
	outcomeDone     = "done"
	outcomeReused   = "reused"
	outcomeForeign  = "foreign"
	outcomeRecorded = "recorded"
)

// requestLine is the line of those who want to answer the same request. threadLine is that of a thread's messages.
func requestLine(storeID, id string) string { return state.Key(storeID, "request", id, "line") }
func threadLine(storeID, id string) string  { return state.Key(storeID, "thread", id, "line") }

// begin waits until it is the turn's time: nobody else works on its request any more, and every earlier message of its
// thread is answered. It then holds the turn's places, and what is kept of request and thread is in the turn. If the
// request has its reply by then, that is in the turn, and no lock is held.
func (s *Service) begin(ctx context.Context, t *turn, req *gatewayv1.AskRequest) error {
	known := req.GetThreadId() != "" // else the thread's id has just been made
	// Who wants both lines enters that of the request first, so that nobody waits for one who waits for them.
	var lines []string
	if t.requestID != "" {
		lines = append(lines, requestLine(t.scope.StoreID, t.requestID))
	}
	if known {
		lines = append(lines, threadLine(t.scope.StoreID, t.scope.ThreadID))
	}
	var err error
	if t.hash, err = bodyHash(req); err != nil {
		return err
	}
	// The turn's id is this attempt's alone until the journal, maybe, gives the turn that of an earlier attempt.
	t.lock = state.NewQueueLock(s.cfg.Redis, t.scope.TurnID, s.cfg.Lease, lines...)
	var found opening
	err = t.lock.AcquireBy(ctx, func(ctx context.Context) (int, error) {
		found, err = s.threads.begin(ctx, t, known, s.cfg.Now())
		return found.ahead, err
	})
	if err != nil {
		return err
	}
	switch found.outcome {
	case outcomeReused:
		return &fault.Exists{
			Reason: commonv1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED, Resource: "request", Name: t.requestID,
			Description: "the id stands for a request that differs in another field; use a new id for a new request",
		}
	case outcomeForeign:
		return threadNotFound(t.scope.ThreadID)
	case outcomeDone:
		t.replied, err = s.threads.turn(ctx, t.scope.StoreID, found.turnID)
		return err
	}
	return s.takeUp(ctx, t, found)
}

// takeUp puts what is kept of a turn's thread and request into the turn.
func (s *Service) takeUp(ctx context.Context, t *turn, found opening) error {
	if th := found.thread; th != nil {
		t.history, t.summary, t.shown = th.messages, th.summary, th.shown
	}
	if t.requestID == "" {
		return nil
	}
	before, err := decodeProgress(found.journal)
	if err != nil {
		_ = t.lock.Release(ctx) // the lease runs out anyway
		return err
	}
	t.scope.TurnID, t.scope.ThreadID = found.journal["turn"], found.journal["thread"]
	due, _ := ctx.Deadline()
	t.journal = &journal{
		ctx: context.WithoutCancel(ctx), due: due, redis: s.cfg.Redis, key: journalKey(t.scope.StoreID, t.requestID),
		lock: t.lock, ttl: s.cfg.ThreadTTL, logger: s.cfg.Logger, before: before,
		linger: s.journalLinger,
	}
	return nil
}

// opening is what begin.lua returns.
type opening struct {
	outcome string
	ahead   int               // in the line in which the turn waits
	turnID  string            // of the reply that is there already
	journal map[string]string // fields; empty: there is none
	thread  *thread           // with its last messages; nil: there is none
}

func decodeOpening(threadID string, raw []any) (opening, error) {
	bad := fmt.Errorf("begin turn: unexpected %d values", len(raw))
	if len(raw) == 0 {
		return opening{}, bad
	}
	o := opening{}
	o.outcome, _ = raw[0].(string)
	switch {
	case o.outcome == outcomeReused || o.outcome == outcomeForeign:
		return o, nil
	case o.outcome == outcomeWait && len(raw) == 2:
		ahead, _ := raw[1].(int64)
		o.ahead = int(ahead)
		return o, nil
	case o.outcome == outcomeDone && len(raw) == 2:
		o.turnID, _ = raw[1].(string)
		return o, nil
	case o.outcome == outcomeFirst && len(raw) == 4:
		var err error
		o.journal = fieldsOf(texts(raw[1]))
		o.thread, err = decodeThread(threadID, fieldsOf(texts(raw[2])), texts(raw[3]))
		return o, err
	}
	return opening{}, bad
}

// texts returns a script's list of texts.
func texts(raw any) []string {
	list, _ := raw.([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		text, _ := v.(string)
		out = append(out, text)
	}
	return out
}

// fieldsOf makes a hash of its fields and values in turns.
func fieldsOf(flat []string) map[string]string {
	fields := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i]] = flat[i+1]
	}
	return fields
}
