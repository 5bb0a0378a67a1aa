package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// maxMessages is the number of messages of a thread that are kept.
	maxMessages = 200
	// historyMessages is the number of messages that the router and the specialists are shown.
	historyMessages = 10
	// maxTitle is the longest title of a thread, in characters.
	maxTitle = 200
	// recordTries is how often a turn is written anew because another one changed the thread meanwhile.
	recordTries = 5
)

// threads keeps conversations. For each thread there is a hash about it, a list of its messages and a sorted set of its
// turns by time; for each customer a sorted set of threads by time; for each turn its reply. All expire together, a TTL
// after the last write.
type threads struct {
	redis redis.UniversalClient
	ttl   time.Duration
}

// thread is one conversation with its last messages.
type thread struct {
	id, customer, title string
	created, updated    time.Time
	turns               int    // that it has had
	summary             string // of the first turns; before there is one, the first message, cut
	messages            []*commonv1.Message
}

func threadKey(storeID, id string) string   { return state.Key(storeID, "thread", id) }
func messagesKey(storeID, id string) string { return state.Key(storeID, "thread", id, "messages") }
func turnsKey(storeID, id string) string    { return state.Key(storeID, "thread", id, "turns") }
func turnKey(storeID, id string) string     { return state.Key(storeID, "turn", id) }
func customerKey(storeID, customerID string) string {
	return state.Key(storeID, "customer", customerID, "threads")
}

// score orders by time. Microseconds tell turns apart and fit into a float64 exactly.
func score(t time.Time) int64 { return t.UnixMicro() }

// load returns a thread with its last n messages, or nil when there is none.
func (t threads) load(ctx context.Context, storeID, id string, n int64) (*thread, error) {
	var about *redis.MapStringStringCmd
	var list *redis.StringSliceCmd
	_, err := t.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		about = p.HGetAll(ctx, threadKey(storeID, id))
		list = p.LRange(ctx, messagesKey(storeID, id), -n, -1)
		return nil
	})
	if err != nil {
		return nil, state.Error("read thread", err)
	}
	found, err := decodeThread(id, about.Val())
	if found == nil || err != nil {
		return nil, err
	}
	for _, raw := range list.Val() {
		m := &commonv1.Message{}
		if err := proto.Unmarshal([]byte(raw), m); err != nil {
			return nil, fmt.Errorf("decode message of thread %q: %w", id, err)
		}
		found.messages = append(found.messages, m)
	}
	return found, nil
}

func decodeThread(id string, fields map[string]string) (*thread, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	created, err1 := strconv.ParseInt(fields["created"], 10, 64)
	updated, err2 := strconv.ParseInt(fields["updated"], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("decode thread %q: %w", id, err)
	}
	found := &thread{
		id: id, customer: fields["customer"], title: fields["title"], summary: fields["summary"],
		created: time.UnixMilli(created).UTC(), updated: time.UnixMilli(updated).UTC(),
	}
	found.turns, _ = strconv.Atoi(fields["turns"]) // absent: 0
	if found.summary == "" {
		found.summary = found.title
	}
	return found, nil
}

// mayUse reports whether a customer may go on with the thread: their own, or a guest's, which becomes theirs when a guest
// signs in on the way.
func (t *thread) mayUse(customerID string) bool { return t.customer == "" || t.customer == customerID }

// record writes a turn and its two messages, all or nothing, and renews the thread's time to live. A thread that has
// become another customer's since the turn was admitted is left alone: a *fault.NotFound.
func (t threads) record(ctx context.Context, sc scope.Scope, message string, reply *gatewayv1.AskResponse, now time.Time) error {
	question, err1 := proto.Marshal(&commonv1.Message{Role: commonv1.Role_ROLE_USER, Text: message})
	answer, err2 := proto.Marshal(&commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: reply.GetText()})
	turn, err3 := proto.Marshal(reply)
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("encode turn: %w", err)
	}
	about := threadKey(sc.StoreID, sc.ThreadID)
	write := func(tx *redis.Tx) error {
		owner, err := tx.HGet(ctx, about, "customer").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if !(&thread{customer: owner}).mayUse(sc.CustomerID) {
			return threadNotFound(sc.ThreadID)
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			t.writeThread(ctx, p, sc, firstRunes(message, maxTitle), now, question, answer)
			p.Set(ctx, turnKey(sc.StoreID, sc.TurnID), turn, t.ttl)
			return nil
		})
		return err
	}
	var err error = redis.TxFailedErr
	for try := 0; try < recordTries && errors.Is(err, redis.TxFailedErr); try++ {
		err = t.redis.Watch(ctx, write, about)
	}
	return state.Error("record turn", err)
}

// writeThread queues what a turn changes in its thread and in the customer's list of threads.
func (t threads) writeThread(
	ctx context.Context, p redis.Pipeliner, sc scope.Scope, title string, now time.Time, messages ...any,
) {
	about, list, turns := threadKey(sc.StoreID, sc.ThreadID), messagesKey(sc.StoreID, sc.ThreadID), turnsKey(sc.StoreID, sc.ThreadID)
	expired := strconv.FormatInt(score(now.Add(-t.ttl)), 10)
	p.HSetNX(ctx, about, "title", title)
	p.HSetNX(ctx, about, "created", now.UnixMilli())
	p.HIncrBy(ctx, about, "turns", 1)
	p.HSet(ctx, about, "updated", now.UnixMilli(), "customer", sc.CustomerID)
	p.RPush(ctx, list, messages...)
	p.LTrim(ctx, list, -maxMessages, -1)
	p.ZAdd(ctx, turns, redis.Z{Score: float64(score(now)), Member: sc.TurnID})
	keys := []string{about, list, turns}
	if sc.CustomerID != "" {
		index := customerKey(sc.StoreID, sc.CustomerID)
		p.ZAdd(ctx, index, redis.Z{Score: float64(score(now)), Member: sc.ThreadID})
		p.ZRemRangeByScore(ctx, index, "-inf", expired)
		keys = append(keys, index)
	}
	p.ZRemRangeByScore(ctx, turns, "-inf", expired)
	for _, key := range keys {
		p.PExpire(ctx, key, t.ttl)
	}
}

// turn returns a recorded reply, or a *fault.NotFound.
func (t threads) turn(ctx context.Context, storeID, id string) (*gatewayv1.AskResponse, error) {
	raw, err := t.redis.Get(ctx, turnKey(storeID, id)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_TURN_NOT_FOUND, Resource: "turn", Name: id}
	case err != nil:
		return nil, state.Error("read turn", err)
	}
	reply := &gatewayv1.AskResponse{}
	if err := proto.Unmarshal(raw, reply); err != nil {
		return nil, fmt.Errorf("decode turn %q: %w", id, err)
	}
	return reply, nil
}

// turnIDs returns the turns of a thread that are still kept, the oldest first.
func (t threads) turnIDs(ctx context.Context, storeID, id string, now time.Time) ([]string, error) {
	ids, err := t.redis.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: turnsKey(storeID, id), ByScore: true, Start: score(now.Add(-t.ttl)), Stop: "+inf",
	}).Result()
	return ids, state.Error("read turns of thread", err)
}

// list returns up to limit threads of a customer, the one last written first.
func (t threads) list(ctx context.Context, storeID, customerID string, limit int, now time.Time) ([]*thread, error) {
	ids, err := t.redis.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: customerKey(storeID, customerID), ByScore: true, Rev: true,
		Start: "+inf", Stop: score(now.Add(-t.ttl)), Count: int64(limit),
	}).Result()
	if err != nil || len(ids) == 0 {
		return nil, state.Error("read threads", err)
	}
	abouts := make([]*redis.MapStringStringCmd, len(ids))
	_, err = t.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			abouts[i] = p.HGetAll(ctx, threadKey(storeID, id))
		}
		return nil
	})
	if err != nil {
		return nil, state.Error("read threads", err)
	}
	var found []*thread
	for i, id := range ids {
		one, err := decodeThread(id, abouts[i].Val())
		if err != nil {
			return nil, err
		}
		if one != nil {
			found = append(found, one)
		}
	}
	return found, nil
}

// delete removes a thread, its turns and its place in the customer's list. It reports whether there was such a thread.
func (t threads) delete(ctx context.Context, storeID, id string) (bool, error) {
	var customer *redis.StringCmd
	var turns *redis.StringSliceCmd
	_, err := t.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		customer = p.HGet(ctx, threadKey(storeID, id), "customer")
		turns = p.ZRange(ctx, turnsKey(storeID, id), 0, -1)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, state.Error("read thread", err)
	}
	keys := []string{threadKey(storeID, id), messagesKey(storeID, id), turnsKey(storeID, id)}
	for _, turn := range turns.Val() {
		keys = append(keys, turnKey(storeID, turn))
	}
	_, err = t.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, keys...)
		p.ZRem(ctx, customerKey(storeID, customer.Val()), id)
		return nil
	})
	return err == nil, state.Error("delete thread", err)
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
