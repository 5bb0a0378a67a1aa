package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// slow is a Redis whose commands wait until they may go on.
type slow struct {
	mortal
	entered chan struct{}
	goOn    chan struct{}
}

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.entered <- struct{}{}
		<-s.goOn
		return next(ctx, cmd)
	}
}

// journalOf returns a journal whose lock is the first, and what holds its commands.
func journalOf(t *testing.T, h *house) (*journal, *slow) {
	t.Helper()
	client := h.redisClient()
	lock := state.NewQueueLock(client, "p1", time.Minute, requestLine("demo", "r1"))
	if err := lock.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := journalScript.Load(t.Context(), client).Err(); err != nil { // else the first write takes two commands
		t.Fatal(err)
	}
	s := &slow{entered: make(chan struct{}, 100), goOn: make(chan struct{})}
	client.AddHook(s)
	return &journal{
		ctx: t.Context(), due: time.Now().Add(time.Minute), redis: client, key: journalKey("demo", "r1"), lock: lock,
		ttl: time.Hour, logger: slog.New(slog.DiscardHandler),
	}, s
}

func TestAJournalIsWrittenBehindTheTurnInFewWrites(t *testing.T) {
	h := newHouse(t, miniredis.RunT(t))
	j, redis := journalOf(t, h)
	j.answered("a0", &specialistv1.Answer{Text: "before the routing was final"})
	j.decided(split("search: x"))
	<-redis.entered // the first write is under way, and nobody waits for it
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() { j.answered(fmt.Sprintf("a%d", i+1), &specialistv1.Answer{Text: "x"}) })
	}
	wg.Wait()
	j.answered("late", &specialistv1.Answer{Text: "cut", FinishReason: specialistv1.FinishReason_FINISH_REASON_DEADLINE})
	close(redis.goOn)
	j.close(false)
	j.answered("after", &specialistv1.Answer{Text: "x"})
	fields, err := h.redis.HKeys(j.key)
	if err != nil || len(fields) != 12 || slices.Contains(fields, "answer:late") || slices.Contains(fields, "answer:after") {
		t.Errorf("fields %v, %v", fields, err)
	}
	if more := len(redis.entered); more != 1 {
		t.Errorf("%d further writes, want 1", more)
	}
	if ttl := h.redis.TTL(j.key); ttl != time.Hour {
		t.Errorf("is kept for %v", ttl)
	}
}

func TestWhatComesTogetherIsWrittenTogether(t *testing.T) {
	h := newHouse(t, miniredis.RunT(t))
	j, redis := journalOf(t, h)
	j.linger = time.Hour
	close(redis.goOn)
	j.decided(split("search: x"))
	j.answered("a1", &specialistv1.Answer{Text: "x"})
	if n := len(redis.entered); n != 0 {
		t.Errorf("%d writes before the time", n)
	}
	j.close(false) // does not wait for an hour
	fields, err := h.redis.HKeys(j.key)
	if writes := len(redis.entered); err != nil || len(fields) != 2 || writes != 1 {
		t.Errorf("fields %v in %d writes, %v", fields, writes, err)
	}
}

func TestAnswersBeforeTheRoutingAreNotWrittenWithoutIt(t *testing.T) {
	h := newHouse(t, miniredis.RunT(t))
	j, _ := journalOf(t, h)
	j.answered("a1", &specialistv1.Answer{Text: "x"})
	j.close(false)
	if h.redis.Exists(j.key) {
		t.Error("an answer was kept to who knows what")
	}
}

func TestWhatIsStillQueuedIsWrittenOnlyOfATurnThatHasFailed(t *testing.T) {
	for settled, want := range map[bool][]string{true: {"decision"}, false: {"answer:a1", "decision"}} {
		t.Run(fmt.Sprintf("settled %v", settled), func(t *testing.T) {
			h := newHouse(t, miniredis.RunT(t))
			j, redis := journalOf(t, h)
			held := newHold(t.Context(), &turn{journal: j, lock: j.lock})
			j.decided(split("search: x"))
			<-redis.entered
			j.answered("a1", &specialistv1.Answer{Text: "x"})
			held.settled = settled
			var wg sync.WaitGroup
			wg.Go(held.release)
			eventually(t, func() bool {
				j.mu.Lock()
				defer j.mu.Unlock()
				return j.closed
			})
			close(redis.goOn)
			wg.Wait()
			fields, err := h.redis.HKeys(j.key)
			if slices.Sort(fields); err != nil || !slices.Equal(fields, want) {
				t.Errorf("fields %v, %v, want %v", fields, err, want)
			}
			if stands := h.redis.Exists(requestLine("demo", "r1")); stands != settled {
				t.Errorf("stands in line: %v", stands)
			}
		})
	}
}

func TestOneWhoHasLostItsPlaceWritesNothingToTheJournal(t *testing.T) {
	h := newHouse(t, miniredis.RunT(t))
	j, redis := journalOf(t, h)
	close(redis.goOn)
	h.redis.Del(requestLine("demo", "r1"))
	j.decided(split("search: x"))
	j.close(false)
	if h.redis.Exists(j.key) {
		t.Error("it wrote")
	}
}

func TestTheJournalOfARecordedTurnHoldsNoWordOfTheShopper(t *testing.T) {
	h := open(t, nil)
	if _, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil {
		t.Fatal(err)
	}
	fields, err := h.redis.HKeys(journalKey("demo", "r1"))
	slices.Sort(fields)
	if want := []string{"done", "hash", "thread", "turn"}; err != nil || !slices.Equal(fields, want) {
		t.Errorf("fields %v, %v, want %v", fields, err, want)
	}
}

// The commands on the way of a turn, beside those of its journal, each a round trip.
func TestATurnTakesFewRoundTrips(t *testing.T) {
	h := newHouse(t, miniredis.RunT(t))
	h.start()
	for _, script := range []*redis.Script{beginScript, recordScript, journalScript} { // else the first of each takes two
		if err := script.Load(t.Context(), h.redisClient()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(cmd redis.Cmder) bool { // not the journal, nor what opens a connection
		return !slices.Contains(cmd.Args(), any(journalScript.Hash())) && cmd.Name() != "hello" && cmd.Name() != "client"
	}
	var mu sync.Mutex
	n := 0
	gateway := h.mortalGateway("counted", func(cmd redis.Cmder) bool {
		mu.Lock()
		defer mu.Unlock()
		if counted(cmd) {
			n++
		}
		return false
	})
	for _, tt := range []struct {
		request, thread string
		want            int
	}{
		{"", "", 2}, {"", "t1", 3}, {"r1", "", 2}, {"r2", "t2", 2}, // the store is known from the second to the others
	} {
		n = 0
		req := named(tt.request, "search: shoes")
		req.ThreadId = tt.thread
		if _, err := gateway.client.Ask(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if n != tt.want {
			t.Errorf("request %q, thread %q: %d round trips, want %d", tt.request, tt.thread, n, tt.want)
		}
	}
}

// A client that loses the connection repeats a command that may have been carried out.
func TestATurnThatIsRecordedTwiceIsThereOnce(t *testing.T) {
	h := open(t, nil)
	for _, ids := range [][2]string{{"", "t1"}, {"r1", "t2"}, {"r2", ""}, {"", ""}} {
		req := named(ids[0], "search: shoes")
		req.ThreadId = ids[1]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		turn, err := h.service.admit(ctx, req, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := h.service.record(ctx, turn, &gatewayv1.AskResponse{Text: "here", TurnId: turn.scope.TurnID}); err != nil {
				t.Errorf("request and thread %q: %v", ids, err)
			}
		}
		if got, err := h.thread(turn.scope.ThreadID); err != nil || len(got.GetMessages()) != 2 {
			t.Errorf("request and thread %q: thread %v, %v", ids, got, err)
		}
	}
}
