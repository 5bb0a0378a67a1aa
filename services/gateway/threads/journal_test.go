package threads

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// slow is a Redis whose commands wait until they may go on.
type slow struct {
	entered chan struct{}
	goOn    chan struct{}
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.entered <- struct{}{}
		<-s.goOn
		return next(ctx, cmd)
	}
}

// storeOf returns a store on a Redis of its own.
func storeOf(t *testing.T) (*Store, *miniredis.Miniredis) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return New(Config{Redis: client, Sealer: servicetest.Sealer(t), TTL: time.Hour, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)}), server
}

// leaseOf returns the lease of a request in a new thread, its Redis, and what holds the commands that follow.
func leaseOf(t *testing.T) (*Lease, *miniredis.Miniredis, *slow) {
	t.Helper()
	store, server := storeOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	sc := scope.Scope{StoreID: "demo", ThreadID: "t1"}
	lease, err := store.Begin(ctx, Turn{Scope: sc, ID: "1", RequestID: "r1", Hash: "h"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := journalScript.Load(t.Context(), store.cfg.Redis).Err(); err != nil { // else the first write takes two commands
		t.Fatal(err)
	}
	s := &slow{entered: make(chan struct{}, 100), goOn: make(chan struct{})}
	store.cfg.Redis.AddHook(s)
	return lease, server, s
}

func fields(t *testing.T, server *miniredis.Miniredis, j *Journal) []string {
	t.Helper()
	found, err := server.HKeys(j.key)
	if err != nil {
		t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(f string) bool { return f != decisionField && !strings.HasPrefix(f, answerField) })
	slices.Sort(found)
	return found
}

func decision() *routerv1.RoutingDecision {
	return &routerv1.RoutingDecision{Assignments: []*routerv1.Assignment{{AssignmentId: "a1", Specialist: "search", SubQuery: "x"}}}
}

func TestJournalIsWrittenInTheBackgroundInFewWrites(t *testing.T) {
	l, server, redis := leaseOf(t)
	j := l.Journal
	j.KeepAnswer("a0", &specialistv1.Answer{Text: "before the routing was final"})
	j.KeepDecision(decision())
	<-redis.entered // the first write is under way, and the turn does not wait for it
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() { j.KeepAnswer(fmt.Sprintf("a%d", i+1), &specialistv1.Answer{Text: "x"}) })
	}
	wg.Wait()
	j.KeepAnswer("late", &specialistv1.Answer{Text: "cut", FinishReason: specialistv1.FinishReason_FINISH_REASON_DEADLINE})
	j.KeepAnswer("failed", &specialistv1.Answer{Text: "cut", FinishReason: specialistv1.FinishReason_FINISH_REASON_ERROR})
	close(redis.goOn)
	j.close(false)
	j.KeepAnswer("after", &specialistv1.Answer{Text: "x"})
	got := fields(t, server, j)
	if len(got) != 12 || slices.Contains(got, "answer:late") || slices.Contains(got, "answer:after") {
		t.Errorf("fields %v", got)
	}
	if more := len(redis.entered); more != 1 {
		t.Errorf("%d further writes, want 1", more)
	}
	if ttl := server.TTL(j.key); ttl != time.Hour {
		t.Errorf("is kept for %v", ttl)
	}
}

func TestAnswersAreNotWrittenWithoutTheRouting(t *testing.T) {
	l, server, _ := leaseOf(t)
	l.Journal.KeepAnswer("a1", &specialistv1.Answer{Text: "x"})
	l.Journal.close(false)
	if got := fields(t, server, l.Journal); len(got) != 0 {
		t.Errorf("fields %v", got)
	}
}

func TestQueuedProgressIsWrittenOnlyOfATurnWithoutReply(t *testing.T) {
	for replied, want := range map[bool][]string{true: {"decision"}, false: {"answer:a1", "decision"}} {
		t.Run(fmt.Sprintf("replied %v", replied), func(t *testing.T) {
			l, server, redis := leaseOf(t)
			j := l.Journal
			j.KeepDecision(decision())
			<-redis.entered
			j.KeepAnswer("a1", &specialistv1.Answer{Text: "x"})
			var wg sync.WaitGroup
			wg.Go(func() { l.Close(t.Context(), replied) })
			for closed := false; !closed; {
				j.mu.Lock()
				closed = j.closed
				j.mu.Unlock()
				time.Sleep(time.Millisecond)
			}
			close(redis.goOn)
			wg.Wait()
			if got := fields(t, server, j); !slices.Equal(got, want) {
				t.Errorf("fields %v, want %v", got, want)
			}
			if queued := server.Exists(l.lock.Keys()[0]); queued != replied {
				t.Errorf("still queued: %v", queued)
			}
		})
	}
}

func TestJournalOfALostLeaseIsNotWritten(t *testing.T) {
	l, server, redis := leaseOf(t)
	close(redis.goOn)
	server.Del(l.lock.Keys()[0])
	l.Journal.KeepDecision(decision())
	l.Journal.close(false)
	if got := fields(t, server, l.Journal); len(got) != 0 {
		t.Errorf("fields %v", got)
	}
}

// panics is a Redis whose first command panics.
type panics struct {
	slow
	once sync.Once
}

func (p *panics) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.once.Do(func() { panic("kaboom") })
		return next(ctx, cmd)
	}
}

func TestJournalGoesOnAfterAPanic(t *testing.T) {
	l, server, redis := leaseOf(t)
	close(redis.goOn)
	l.store.cfg.Redis.AddHook(&panics{})
	j := l.Journal
	j.KeepDecision(decision())
	j.writer.Wait() // the write of the decision has panicked
	j.KeepAnswer("a1", &specialistv1.Answer{Text: "x"})
	j.close(false)
	if got := fields(t, server, j); !slices.Equal(got, []string{"answer:a1"}) {
		t.Errorf("fields %v", got)
	}
}
