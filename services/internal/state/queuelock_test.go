package state_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const lease = 300 * time.Millisecond

// withEach runs a test on the embedded server and on a real Redis.
func withEach(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Run("embedded", func(t *testing.T) {
		server, err := state.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		test(t, open(t, server.URL()))
	})
	t.Run("redis", func(t *testing.T) {
		addr := redistest.FreeAddr(t)
		redistest.Start(t, addr, redistest.InMemory...)
		test(t, open(t, "redis://"+addr))
	})
}

func lock(client redis.UniversalClient, token string) *state.QueueLock {
	return state.NewQueueLock(client, token, lease, state.Key("demo", "queue"))
}

func TestQueueLockIsHeldInOrderAndByOneTokenAtATime(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		var mu sync.Mutex
		var served []string
		inside := 0
		first := lock(client, "p0")
		if err := first.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var want []string
		for i := range 5 {
			token := fmt.Sprintf("p%d", i+1)
			want = append(want, token)
			wg.Go(func() {
				p := lock(client, token)
				if err := p.Acquire(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if inside++; inside != 1 {
					t.Errorf("%d at once", inside)
				}
				served = append(served, token)
				inside--
				mu.Unlock()
				if err := p.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
			// The next one comes when this one is queued.
			redistest.Eventually(t, func() error {
				if n := client.LLen(t.Context(), first.Keys()[0]).Val(); n != int64(i+2) {
					return fmt.Errorf("%d queued", n)
				}
				return nil
			})
		}
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

func TestDeadHolderLosesTheLockAndIsFenced(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		dead, next := lock(client, "dead"), lock(client, "next")
		if err := dead.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := next.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < lease/2 {
			t.Errorf("taken over after %v, before the lease of %v was over", took, lease)
		}
		write := redis.NewScript(state.QueueLockLua + "if held() then redis.call('SET', key(1), arg(1)) end return 0")
		for who, p := range map[string]*state.QueueLock{"next": next, "dead": dead} {
			if err := write.Run(t.Context(), client, p.Keys(state.Key("demo", "k")), p.Args(who)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if got := client.Get(t.Context(), state.Key("demo", "k")).Val(); got != "next" {
			t.Errorf("%q wrote", got)
		}
		if err := next.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := make(chan struct{})
		defer dead.KeepAlive(t.Context(), func() { close(lost) })()
		<-lost
		if n := client.Exists(t.Context(), next.Keys()...).Val(); n != 0 {
			t.Error("a token that had lost the lock joined the empty queue again")
		}
	})
}

func TestRenewedLockOutlivesItsLease(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		holder, next := lock(client, "holder"), lock(client, "next")
		if err := holder.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := holder.KeepAlive(t.Context(), func() { t.Error("the lock was lost") })
		waiting, cancel := context.WithTimeout(t.Context(), 3*lease)
		defer cancel()
		if err := next.Acquire(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire behind a renewed lock: %v", err)
		}
		if n := client.LLen(t.Context(), next.Keys()[0]).Val(); n != 1 {
			t.Errorf("%d queued after one gave up", n)
		}
		stop()
		waiting, cancel = context.WithTimeout(t.Context(), 3*lease)
		defer cancel()
		if err := next.Acquire(waiting); err != nil {
			t.Errorf("Acquire behind a lock that is no longer renewed: %v", err)
		}
	})
}

// Many tokens need both of two queues and name them in the same order.
func TestSeveralQueuesAreJoinedWithoutDeadlock(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		queues := []string{state.Key("demo", "a"), state.Key("demo", "b")}
		var inside [2]atomic.Int32
		var wg sync.WaitGroup
		for i := range 24 {
			wants := [][]int{{0, 1}, {0}, {1}}[i%3]
			wg.Go(func() {
				var keys []string
				for _, w := range wants {
					keys = append(keys, queues[w])
				}
				p := state.NewQueueLock(client, fmt.Sprintf("p%d", i), time.Minute, keys...)
				if err := p.Acquire(t.Context()); err != nil {
					t.Error(err)
					return
				}
				for _, w := range wants {
					if n := inside[w].Add(1); n != 1 {
						t.Errorf("%d at once queued %d", n, w)
					}
				}
				for _, w := range wants {
					inside[w].Add(-1)
				}
				if err := p.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys are left when all have gone", n)
		}
	})
}

func TestGivingUpLeavesAllQueues(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		a, b := state.Key("demo", "a"), state.Key("demo", "b")
		holder := state.NewQueueLock(client, "holder", time.Minute, b)
		if err := holder.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), lease/3)
		defer cancel()
		if err := state.NewQueueLock(client, "waits", time.Minute, a, b).Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: %v", err)
		}
		if got := client.LRange(t.Context(), b, 0, -1).Val(); !slices.Equal(got, []string{"holder"}) || client.Exists(t.Context(), a).Val() != 0 {
			t.Errorf("%v are left queued", got)
		}
	})
}

func TestNilLockIsAlwaysHeld(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		var none *state.QueueLock
		script := redis.NewScript(state.QueueLockLua + "return {held() and 1 or 0, key(1), arg(1)}")
		got, err := script.Run(t.Context(), client, none.Keys("k"), none.Args("v")...).Slice()
		if want := []any{int64(1), "k", "v"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		if err := none.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAcquireOnASilentServerEndsAtTheDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), lease/3)
	defer cancel()
	if err := lock(client, "p").Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire: %v", err)
	}
}

// panicHook is a Redis whose first command panics. The others fail.
type panicHook struct {
	calls atomic.Int32
	again chan struct{} // closed at the second command
}

func (p *panicHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *panicHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (p *panicHook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error {
		switch p.calls.Add(1) {
		case 1:
			panic("kaboom")
		case 2:
			close(p.again)
		}
		return errors.New("out of reach")
	}
}

func TestKeepAliveGoesOnAfterAPanic(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	hook := &panicHook{again: make(chan struct{})}
	client.AddHook(hook)
	stop := lock(client, "p0").KeepAlive(t.Context(), func() { t.Error("the lock is lost") })
	defer stop()
	select {
	case <-hook.again:
	case <-time.After(10 * time.Second):
		t.Error("the lease is not renewed again")
	}
}
