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
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// maxMessages is the number of messages of a thread that are kept.
	maxMessages = 200
	// historyMessages is the number of messages that the router and the specialists are shown.
	historyMessages = 10
	// maxTitle is the longest title of a thread, in characters.
	maxTitle = 200
)

// threads keeps conversations. For each thread there is a hash about it, a list of its messages and sorted sets of its turns
// and of the requests that had an id by time; for each customer a sorted set of threads by time; for each turn its reply,
// and for each request id a journal. All expire together, a TTL after the last write.
type threads struct {
	redis redis.UniversalClient
	ttl   time.Duration
	lease time.Duration // of who deletes a thread
}

// thread is one conversation with its last messages.
type thread struct {
	id, customer, title string
	created, updated    time.Time
	turns               int                           // that it has had
	summary             string                        // of the first turns; before there is one, the first message, cut
	summarized          int                           // how many turns the summary covers; 0: it is the first message
	shown               []*specialistv1.ProductChoice // what the shopper was last shown
	messages            []*commonv1.Message
}

func threadKey(storeID, id string) string   { return state.Key(storeID, "thread", id) }
func messagesKey(storeID, id string) string { return state.Key(storeID, "thread", id, "messages") }
func turnsKey(storeID, id string) string    { return state.Key(storeID, "thread", id, "turns") }
func requestsKey(storeID, id string) string { return state.Key(storeID, "thread", id, "requests") }
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
	return decodeThread(id, about.Val(), list.Val())
}

// decodeThread makes a thread of its hash and its messages. Without a hash there is none.
func decodeThread(id string, fields map[string]string, messages []string) (*thread, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	created, err1 := strconv.ParseInt(fields["created"], 10, 64)
	updated, err2 := strconv.ParseInt(fields["updated"], 10, 64)
	shown := &specialistv1.Answer{} // for its list of products
	err3 := proto.Unmarshal([]byte(fields["shown"]), shown)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("decode thread %q: %w", id, err)
	}
	t := &thread{
		id: id, customer: fields["customer"], title: fields["title"], summary: fields["summary"], shown: shown.GetProducts(),
		created: time.UnixMilli(created).UTC(), updated: time.UnixMilli(updated).UTC(),
	}
	t.turns, _ = strconv.Atoi(fields["turns"]) // absent: 0
	if t.summarized, _ = strconv.Atoi(fields["summary_turns"]); t.summarized == 0 {
		t.summary = t.title
	}
	for _, raw := range messages {
		m := &commonv1.Message{}
		if err := proto.Unmarshal([]byte(raw), m); err != nil {
			return nil, fmt.Errorf("decode message of thread %q: %w", id, err)
		}
		t.messages = append(t.messages, m)
	}
	return t, nil
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
		one, err := decodeThread(id, abouts[i].Val(), nil)
		if err != nil {
			return nil, err
		}
		if one != nil {
			found = append(found, one)
		}
	}
	return found, nil
}
