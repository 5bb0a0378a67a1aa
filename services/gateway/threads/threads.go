// Package threads keeps conversations in Redis: threads with their messages, recorded turns, the journals of turns under way,
// and which request has which reply. A lease lets one gateway at a time work on a request, and on a thread.
//
// # Consistency
//
// All keys of a thread share a cluster slot, so a turn is recorded all or nothing. Some keys lie in slots of their own, since they
// are looked up without the thread's id, and are written in an order that a crash in between does not harm:
//
//   - The claim of a request id names the thread of the request. It is written first. A claim whose request never started costs
//     nothing: the next attempt starts it in the same thread.
//   - The indexes of a customer's threads and of the turns of a day are written before the turn is recorded, so every recorded
//     thread and turn is listed. Entries whose thread or turn does not exist, or belongs to another customer, are skipped.
//
// Deleting a thread removes the thread first, and then its entries in the indexes and the claims of its requests.
//
// The package must not import a service.
package threads

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

const (
	// MaxMessages is the number of messages of a thread that are kept.
	MaxMessages = 200
	// HistoryMessages is the number of last messages that a turn gets.
	HistoryMessages = 10
	// maxTitle is the longest title of a thread, in characters.
	maxTitle = 200
)

//go:embed delete.lua
var deleteLua string

var deleteScript = redis.NewScript(state.QueueLockLua + deleteLua)

// Config says where and for how long threads are kept. All fields are required.
type Config struct {
	// Redis keeps the threads. The caller owns it.
	Redis redis.UniversalClient
	// TTL is how long a thread and its turns are kept after the last message.
	TTL time.Duration
	// Sealer encrypts what shoppers and specialists say. Nil: it is kept in plaintext.
	Sealer *seal.Sealer
	// Lease is how long a gateway that has died keeps its turns.
	Lease time.Duration
	// Logger gets what goes wrong in the background, never customer text.
	Logger *slog.Logger
}

// Store keeps threads. It is safe for concurrent use.
//
// For each thread there are a hash about it, a list of its messages, and sorted sets of its turns and of the ids of its requests
// by time; for each turn its reply, its message and its feedback; for each request id a claim and a journal; for each customer a
// sorted set of threads by time; and for each day a sorted set of turns by time. A claim expires the TTL after the first attempt of its request, and each other key the TTL after its last write.
type Store struct{ cfg Config }

// New returns a store. It makes no call.
func New(cfg Config) *Store { return &Store{cfg: cfg} }

// Thread is one conversation.
type Thread struct {
	ID, Customer, Title string
	Cart                string // that binds a guest's thread; empty: none
	Created, Updated    time.Time
	Muted               bool                          // a person answers
	Turns               int                           // number of turns
	Summary             string                        // of the first turns; until there is one, the title
	Summarized          int                           // number of turns that the summary covers; 0: it is the title
	Shown               []*specialistv1.ProductChoice // the products that the shopper saw last
	Pending             *specialistv1.PendingQuestion // that the last reply ended with; nil: none
	Messages            []*commonv1.Message           // the last ones, oldest first
}

// NotFound is the error for a thread that does not exist, or is another shopper's: nothing tells which.
func NotFound(id string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_THREAD_NOT_FOUND, Resource: "thread", Name: id}
}

// score orders by time. Microseconds tell turns apart and fit into a float64 exactly.
func score(t time.Time) int64 { return t.UnixMicro() }

// Read returns a thread with all its messages and the ids of the turns that are still kept, the oldest first. A thread that is
// not there or not the shopper's is a *fault.NotFound.
func (s *Store) Read(ctx context.Context, storeID, id string, who Shopper, now time.Time) (*Thread, []string, error) {
	var turns *redis.StringSliceCmd
	t, err := s.load(ctx, storeID, id, MaxMessages, func(p redis.Pipeliner) {
		turns = p.ZRangeArgs(ctx, redis.ZRangeArgs{
			Key: turnsKey(storeID, id), ByScore: true, Start: score(now.Add(-s.cfg.TTL)), Stop: "+inf",
		})
	})
	switch {
	case err != nil:
		return nil, nil, err
	case t == nil || t.foreignTo(who):
		return nil, nil, NotFound(id)
	}
	return t, turns.Val(), nil
}

// Load returns a thread with its last n messages, or nil if there is no such thread. It asks nobody whose thread that is.
func (s *Store) Load(ctx context.Context, storeID, id string, n int64) (*Thread, error) {
	return s.load(ctx, storeID, id, n, func(redis.Pipeliner) {})
}

// load loads a thread in one transaction with more: the messages are never those of a thread with another owner, that has come in
// between under the same id.
func (s *Store) load(ctx context.Context, storeID, id string, n int64, more func(redis.Pipeliner)) (*Thread, error) {
	var about *redis.MapStringStringCmd
	var list *redis.StringSliceCmd
	_, err := s.cfg.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		about = p.HGetAll(ctx, threadKey(storeID, id))
		list = p.LRange(ctx, messagesKey(storeID, id), -n, -1)
		more(p)
		return nil
	})
	if err != nil {
		return nil, state.Error("read thread", err)
	}
	return s.decodeThread(storeID, id, about.Val(), list.Val())
}

// decodeThread makes a thread of its hash and its messages. An empty hash gives nil.
func (s *Store) decodeThread(storeID, id string, fields map[string]string, messages []string) (*Thread, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	created, err1 := strconv.ParseInt(fields["created"], 10, 64)
	updated, err2 := strconv.ParseInt(fields["updated"], 10, 64)
	shown := &specialistv1.Answer{} // for its list of products, and its question
	err3 := s.cfg.Sealer.Unmarshal(shownPlace(storeID, id, fields["customer"], fields["cart"]), fields["shown"], shown)
	title, err4 := s.cfg.Sealer.Open(titlePlace(storeID, id), fields["title"])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("decode thread %q: %w", id, err)
	}
	t := &Thread{
		ID: id, Customer: fields["customer"], Cart: fields["cart"], Title: string(title), Shown: shown.GetProducts(),
		Created: time.UnixMilli(created).UTC(), Updated: time.UnixMilli(updated).UTC(),
	}
	if q := shown.GetClarifyingQuestion(); q != nil {
		t.Pending = &specialistv1.PendingQuestion{Specialist: shown.GetSpecialist(), Question: q, SubQuery: shown.GetText()}
	}
	t.Muted = fields["muted"] == "1"
	t.Turns, _ = strconv.Atoi(fields["turns"]) // absent: 0
	t.Summary = t.Title
	if t.Summarized, _ = strconv.Atoi(fields["summary_turns"]); t.Summarized > 0 {
		summary, err := s.cfg.Sealer.Open(summaryPlace(storeID, id), fields["summary"])
		if err != nil {
			return nil, fmt.Errorf("decode summary of thread %q: %w", id, err)
		}
		t.Summary = string(summary)
	}
	for _, raw := range messages {
		m := &commonv1.Message{}
		if err := s.cfg.Sealer.Unmarshal(messagePlace(storeID, id), raw, m); err != nil {
			return nil, fmt.Errorf("decode message of thread %q: %w", id, err)
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}

// Turn returns a recorded turn. One that is not there, or not in a thread of the shopper's, is a *fault.NotFound.
func (s *Store) Turn(ctx context.Context, storeID, id string, who Shopper) (*gatewayv1.Turn, error) {
	turn, err := s.turn(ctx, storeID, id)
	if err != nil || who.All {
		return turn, err
	}
	// The thread is read after the turn and together with whether the turn is still there: the thread may have been deleted, and
	// have come again as another shopper's.
	var kept *redis.IntCmd
	t, err := s.load(ctx, storeID, turn.GetReply().GetThreadId(), 1, func(p redis.Pipeliner) { kept = p.Exists(ctx, turnKey(storeID, id)) })
	switch {
	case err != nil:
		return nil, err
	case t == nil || t.foreignTo(who) || kept.Val() == 0:
		return nil, turnNotFound(id)
	}
	return turn, nil
}

func turnNotFound(id string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_TURN_NOT_FOUND, Resource: "turn", Name: id}
}

// turn returns a recorded turn, whoever's it is.
func (s *Store) turn(ctx context.Context, storeID, id string) (*gatewayv1.Turn, error) {
	values, err := s.cfg.Redis.MGet(ctx, turnKeys(storeID, id)...).Result()
	if err != nil {
		return nil, state.Error("read turn", err)
	}
	turn, err := s.decodeTurn(storeID, id, values)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode turn %q: %w", id, err)
	case turn == nil:
		return nil, turnNotFound(id)
	}
	return turn, nil
}

// List returns up to limit threads of a customer after a cursor, without their messages, the most recently updated first, and the cursor
// of the last one, zero when there are no more.
func (s *Store) List(
	ctx context.Context, storeID, customerID string, after pagetoken.Cursor, limit int, now time.Time,
) (found []*Thread, next pagetoken.Cursor, err error) {
	var last pagetoken.Cursor
	_, err = state.ByTime(ctx, s.cfg.Redis, customerKey(storeID, customerID), score(now.Add(-s.cfg.TTL)), math.MaxInt64, after, limit+1,
		func(at []pagetoken.Cursor) (more bool, err error) {
			if len(at) == 0 {
				return true, nil
			}
			abouts := make([]*redis.MapStringStringCmd, len(at))
			_, err = s.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i, entry := range at {
					abouts[i] = p.HGetAll(ctx, threadKey(storeID, entry.ID))
				}
				return nil
			})
			if err != nil {
				return false, err
			}
			for i, entry := range at {
				t, err := s.decodeThread(storeID, entry.ID, abouts[i].Val(), nil)
				switch {
				case err != nil:
					return false, err
				case t == nil || t.Customer != customerID:
				case len(found) == limit:
					next = last
					return false, nil
				default:
					found, last = append(found, t), entry
				}
			}
			return true, nil
		})
	return found, next, state.Error("read threads", err)
}

// index adds a turn to the list of its day, and its thread to its customer's list. A guest has none.
func (s *Store) index(ctx context.Context, sc scope.Scope, reply *gatewayv1.AskResponse, now time.Time) error {
	key := customerKey(sc.StoreID, sc.CustomerID)
	_, err := s.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		s.listTurn(ctx, p, sc, reply.GetCreateTime().AsTime())
		if sc.CustomerID == "" {
			return nil
		}
		p.ZAdd(ctx, key, redis.Z{Score: float64(score(now)), Member: sc.ThreadID})
		p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(score(now.Add(-s.cfg.TTL)), 10))
		p.PExpire(ctx, key, s.cfg.TTL)
		return nil
	})
	return state.Error("index turn", err)
}

// Delete waits until the messages that came before are answered, and removes a thread, its turns, what Redis
// has recorded of them, its requests and its entry in the customer's list. A thread that is not there or not the shopper's is a *fault.NotFound. If the shopper is All, Delete also
// removes the requests of a thread that was never recorded, and reports whether there was a thread.
func (s *Store) Delete(ctx context.Context, storeID, id string, who Shopper) (bool, error) {
	// A shopper whose thread it is not must not hold up its turns. A thread that is not there may be one whose first turn runs.
	if !who.All {
		switch t, err := s.Load(ctx, storeID, id, 1); {
		case err != nil:
			return false, err
		case t != nil && t.foreignTo(who):
			return false, NotFound(id)
		}
	}
	token := "delete_" + strings.ToLower(rand.Text())
	lock := state.NewQueueLock(s.cfg.Redis, token, s.cfg.Lease, threadQueue(storeID, id))
	if err := lock.Acquire(ctx); err != nil {
		return false, fmt.Errorf("delete thread: %w", err)
	}
	defer func() { _ = lock.Release(ctx) }() // on failure, the lease expires
	var about *redis.MapStringStringCmd
	var turns *redis.ZSliceCmd
	var requests *redis.StringSliceCmd
	_, err := s.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		about = p.HGetAll(ctx, threadKey(storeID, id))
		turns = p.ZRangeWithScores(ctx, turnsKey(storeID, id), 0, -1)
		requests = p.ZRange(ctx, requestsKey(storeID, id), 0, -1)
		return nil
	})
	if err != nil {
		return false, state.Error("read thread", err)
	}
	t, err := s.decodeThread(storeID, id, about.Val(), nil)
	switch {
	case err != nil && !who.All:
		return false, err
	case !who.All && (t == nil || t.foreignTo(who)): // while the lock is held, the owner stays
		return false, NotFound(id)
	}
	keys := lock.Keys(threadKey(storeID, id), messagesKey(storeID, id), turnsKey(storeID, id), requestsKey(storeID, id))
	for _, turn := range turns.Val() {
		turnID, _ := turn.Member.(string)
		keys = append(keys, turnKeys(storeID, turnID)...)
	}
	for _, request := range requests.Val() {
		keys = append(keys, journalKey(storeID, id, request))
	}
	deleted, err := deleteScript.Run(ctx, s.cfg.Redis, keys, lock.Args()...).Bool()
	switch {
	case err != nil:
		return false, state.Error("delete thread", err)
	case !deleted:
		return false, ErrTakenOver
	}
	_, err = s.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, customerKey(storeID, about.Val()["customer"]), id)
		unlistTurns(ctx, p, storeID, turns.Val())
		for _, turn := range turns.Val() {
			turnID, _ := turn.Member.(string)
			p.Unlink(ctx, bundle.Turn{Store: storeID, ID: turnID}.Key())
		}
		for _, request := range requests.Val() {
			p.Del(ctx, claimKey(storeID, request))
		}
		return nil
	})
	return len(about.Val()) > 0, state.Error("delete thread", err)
}
