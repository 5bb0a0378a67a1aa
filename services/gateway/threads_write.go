package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

var (
	//go:embed record.lua
	recordLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed summary.lua
	summaryLua string
)

var (
	recordScript  = redis.NewScript(state.QueueLockLua + recordLua)
	deleteScript  = redis.NewScript(state.QueueLockLua + deleteLua)
	summaryScript = redis.NewScript(summaryLua)
)

// begin takes the turn's places, or looks again whether they are the first. A thread that is known may be there already.
func (t threads) begin(ctx context.Context, turn *turn, known bool, now time.Time) (opening, error) {
	sc := turn.scope
	keys := turn.lock.Keys(
		journalKey(sc.StoreID, turn.requestID), threadKey(sc.StoreID, sc.ThreadID),
		messagesKey(sc.StoreID, sc.ThreadID), requestsKey(sc.StoreID, sc.ThreadID),
	)
	args := turn.lock.Args(
		turn.requestID, turn.hash, sc.TurnID, sc.ThreadID, known, sc.CustomerID, t.ttl.Milliseconds(), historyMessages, score(now),
	)
	raw, err := beginScript.Run(ctx, t.redis, keys, args...).Slice()
	if err != nil {
		return opening{}, state.Error("begin turn", err)
	}
	return decodeOpening(sc.ThreadID, raw)
}

// record writes a turn and its two messages, all or nothing, renews the thread's time to live and gives up the turn's
// places. It writes nothing when those are not the first any more, state.ErrLockLost, nor into a thread that has become
// another customer's since the turn was admitted, a *fault.NotFound.
func (t threads) record(ctx context.Context, turn *turn, reply *gatewayv1.AskResponse, now time.Time) error {
	question, err1 := proto.Marshal(&commonv1.Message{Role: commonv1.Role_ROLE_USER, Text: turn.message})
	answer, err2 := proto.Marshal(&commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: reply.GetText()})
	kept, err3 := proto.Marshal(reply)
	shown, err4 := proto.Marshal(&specialistv1.Answer{Products: shownAfter(turn.shown, reply.GetProducts())})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("encode turn: %w", err)
	}
	sc := turn.scope
	keys := turn.lock.Keys(
		threadKey(sc.StoreID, sc.ThreadID), messagesKey(sc.StoreID, sc.ThreadID), turnsKey(sc.StoreID, sc.ThreadID),
		requestsKey(sc.StoreID, sc.ThreadID), turnKey(sc.StoreID, sc.TurnID), journalKey(sc.StoreID, turn.requestID),
		customerKey(sc.StoreID, sc.CustomerID),
	)
	args := turn.lock.Args(
		sc.TurnID, sc.ThreadID, turn.requestID, sc.CustomerID, firstRunes(turn.message, maxTitle), question, answer, kept, shown,
		now.UnixMilli(), score(now), score(now.Add(-t.ttl)), t.ttl.Milliseconds(), maxMessages,
		turn.hash,
	)
	outcome, err := recordScript.Run(ctx, t.redis, keys, args...).Text()
	switch {
	case err != nil:
		return state.Error("record turn", err)
	case outcome == outcomeForeign:
		return threadNotFound(sc.ThreadID)
	case outcome != outcomeRecorded:
		return fmt.Errorf("record turn: %w", state.ErrLockLost)
	}
	return nil
}

// setSummary keeps a summary of a thread's first turns, if the thread is still there and no summary of as many turns is.
func (t threads) setSummary(ctx context.Context, storeID, threadID, summary string, turns int) error {
	err := summaryScript.Run(ctx, t.redis, []string{threadKey(storeID, threadID)}, summary, turns).Err()
	return state.Error("write summary", err)
}

// delete waits until the messages that came before are answered, and removes a thread, its turns, what is known of their
// request ids, and its place in the customer's list. It reports whether there was such a thread.
func (t threads) delete(ctx context.Context, storeID, id string) (bool, error) {
	lock := state.NewQueueLock(t.redis, "delete_"+randomID(), t.lease, threadLine(storeID, id))
	if err := lock.Acquire(ctx); err != nil {
		return false, fmt.Errorf("delete thread: %w", err)
	}
	defer func() { _ = lock.Release(ctx) }() // the lease runs out anyway
	var about *redis.MapStringStringCmd
	var turns, requests *redis.StringSliceCmd
	_, err := t.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		about = p.HGetAll(ctx, threadKey(storeID, id))
		turns = p.ZRange(ctx, turnsKey(storeID, id), 0, -1)
		requests = p.ZRange(ctx, requestsKey(storeID, id), 0, -1)
		return nil
	})
	if err != nil {
		return false, state.Error("read thread", err)
	}
	keys := lock.Keys(
		customerKey(storeID, about.Val()["customer"]),
		threadKey(storeID, id), messagesKey(storeID, id), turnsKey(storeID, id), requestsKey(storeID, id),
	)
	for _, turn := range turns.Val() {
		keys = append(keys, turnKey(storeID, turn))
	}
	for _, request := range requests.Val() {
		keys = append(keys, journalKey(storeID, request))
	}
	deleted, err := deleteScript.Run(ctx, t.redis, keys, lock.Args(id)...).Bool()
	switch {
	case err != nil:
		return false, state.Error("delete thread", err)
	case !deleted:
		return false, errTakenOver
	}
	return len(about.Val()) > 0, nil
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
