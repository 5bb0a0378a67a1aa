package threads

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// counter counts commands, except those that open a connection.
type counter struct{ n int }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !slices.Contains([]string{"hello", "client"}, cmd.Name()) {
			c.n++
		}
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !slices.Contains([]string{"hello", "client"}, cmds[0].Name()) {
			c.n++
		}
		return next(ctx, cmds)
	}
}

// turns are turns with and without a request id, in known and in new threads.
var turns = []struct {
	request, thread string
	roundTrips      int // of Begin and Record
}{
	{"", "", 2}, {"", "t1", 3}, {"r1", "", 4}, {"r2", "t2", 4},
}

func turnOf(request, thread, id string) Turn {
	sc := scope.Scope{StoreID: "demo", ThreadID: thread}
	if thread == "" {
		sc.ThreadID = "thr_" + id
	}
	return Turn{Scope: sc, ID: id, RequestID: request, Hash: "h", Known: thread != ""}
}

func TestTurnsTakeFewRoundTrips(t *testing.T) {
	store, _ := storeOf(t)
	for _, script := range []*redis.Script{claimScript, beginScript, recordScript} { // else the first of each takes two
		if err := script.Load(t.Context(), store.cfg.Redis).Err(); err != nil {
			t.Fatal(err)
		}
	}
	count := &counter{}
	store.cfg.Redis.AddHook(count)
	for _, tt := range turns {
		count.n = 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l, err := store.Begin(ctx, turnOf(tt.request, tt.thread, tt.request+tt.thread), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Record(ctx, "hi", &gatewayv1.AskResponse{Text: "here"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		l.Close(ctx, true)
		if count.n != tt.roundTrips {
			t.Errorf("request %q, thread %q: %d round trips, want %d", tt.request, tt.thread, count.n, tt.roundTrips)
		}
	}
}

// A client that loses the connection repeats a command that may have been carried out.
func TestTurnThatIsRecordedTwiceIsThereOnce(t *testing.T) {
	store, _ := storeOf(t)
	for _, tt := range turns {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l, err := store.Begin(ctx, turnOf(tt.request, tt.thread, tt.request+tt.thread), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.Record(ctx, "hi", &gatewayv1.AskResponse{Text: "here"}, time.Now()); err != nil {
				t.Errorf("request and thread %q %q: %v", tt.request, tt.thread, err)
			}
		}
		if got, err := store.Load(ctx, "demo", l.Scope.ThreadID, 10); err != nil || len(got.Messages) != 2 {
			t.Errorf("request and thread %q %q: %v, %v", tt.request, tt.thread, got, err)
		}
	}
}

// The index is written first, so a crash may leave an entry whose thread was never recorded, or is another customer's.
func TestListSkipsEntriesWithoutAThreadOfTheCustomer(t *testing.T) {
	store, _ := storeOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now := time.Now()
	sc := func(customer, thread string) scope.Scope {
		return scope.Scope{StoreID: "demo", CustomerID: customer, ThreadID: thread}
	}
	for i, sc := range []scope.Scope{sc("ann", "t1"), sc("bob", "t2"), sc("ann", "t3")} {
		l, err := store.Begin(ctx, Turn{Scope: sc, ID: sc.ThreadID}, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Record(ctx, "hi", &gatewayv1.AskResponse{}, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for i, thread := range []string{"gone1", "t2", "gone2"} {
		if err := store.index(ctx, sc("ann", thread), &gatewayv1.AskResponse{}, now.Add(time.Duration(10+i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int][]string{1: {"t3"}, 2: {"t3", "t1"}, 20: {"t3", "t1"}} {
		found, _, err := store.List(ctx, "demo", "ann", pagetoken.Cursor{}, limit, now)
		var got []string
		for _, th := range found {
			got = append(got, th.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, %v, want %v", limit, got, err, want)
		}
	}
}

// The connection of a command that the deadline cuts short reports a timeout of the network.
func TestARedisThatDoesNotAnswerBeforeTheDeadlineIsLate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	store := New(Config{Redis: client, Sealer: servicetest.Sealer(t), TTL: time.Hour, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	for _, request := range []string{"", "r1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := store.Begin(ctx, turnOf(request, "t1", "1"), time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("request id %q: %v", request, err)
		}
	}
}
