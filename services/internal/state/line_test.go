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

func place(client redis.UniversalClient, token string) *state.Place {
	return state.NewPlace(client, token, lease, state.Key("demo", "line"))
}

func TestALineIsServedInOrderAndOneAtATime(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		var mu sync.Mutex
		var served []string
		inside := 0
		first := place(client, "p0")
		if err := first.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var want []string
		for i := range 5 {
			token := fmt.Sprintf("p%d", i+1)
			want = append(want, token)
			wg.Go(func() {
				p := place(client, token)
				if err := p.Wait(t.Context()); err != nil {
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
				if err := p.Leave(t.Context()); err != nil {
					t.Error(err)
				}
			})
			// The next one comes when this one stands in the line.
			redistest.Eventually(t, func() error {
				if n := client.LLen(t.Context(), first.Keys()[0]).Val(); n != int64(i+2) {
					return fmt.Errorf("%d in line", n)
				}
				return nil
			})
		}
		if err := first.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

func TestADeadHolderLosesItsPlaceAndIsFenced(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		dead, next := place(client, "dead"), place(client, "next")
		if err := dead.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := next.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < lease/2 {
			t.Errorf("taken over after %v, before the lease of %v was over", took, lease)
		}
		write := redis.NewScript(state.Lua + "if first() then redis.call('SET', key(1), arg(1)) end return 0")
		for who, p := range map[string]*state.Place{"next": next, "dead": dead} {
			if err := write.Run(t.Context(), client, p.Keys(state.Key("demo", "k")), p.Args(who)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if got := client.Get(t.Context(), state.Key("demo", "k")).Val(); got != "next" {
			t.Errorf("%q wrote", got)
		}
		if err := next.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := make(chan struct{})
		defer dead.Keep(t.Context(), func() { close(lost) })()
		<-lost
		if n := client.Exists(t.Context(), next.Keys()...).Val(); n != 0 {
			t.Error("one who had lost its place took another one when the line was empty")
		}
	})
}

func TestAKeptPlaceOutlivesItsLease(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		holder, next := place(client, "holder"), place(client, "next")
		if err := holder.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := holder.Keep(t.Context(), func() { t.Error("the place was lost") })
		waiting, cancel := context.WithTimeout(t.Context(), 3*lease)
		defer cancel()
		if err := next.Wait(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait behind a kept place: %v", err)
		}
		if n := client.LLen(t.Context(), next.Keys()[0]).Val(); n != 1 {
			t.Errorf("%d in line after one gave up", n)
		}
		stop()
		waiting, cancel = context.WithTimeout(t.Context(), 3*lease)
		defer cancel()
		if err := next.Wait(waiting); err != nil {
			t.Errorf("Wait behind a place that is kept no longer: %v", err)
		}
	})
}

// Many want both of two things, in an order of their own but for the lines', which all name in the same order.
func TestSeveralLinesAreEnteredWithoutDeadlock(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		lines := []string{state.Key("demo", "a"), state.Key("demo", "b")}
		var inside [2]atomic.Int32
		var wg sync.WaitGroup
		for i := range 24 {
			wants := [][]int{{0, 1}, {0}, {1}}[i%3]
			wg.Go(func() {
				var keys []string
				for _, w := range wants {
					keys = append(keys, lines[w])
				}
				p := state.NewPlace(client, fmt.Sprintf("p%d", i), time.Minute, keys...)
				if err := p.Wait(t.Context()); err != nil {
					t.Error(err)
					return
				}
				for _, w := range wants {
					if n := inside[w].Add(1); n != 1 {
						t.Errorf("%d at once in line %d", n, w)
					}
				}
				for _, w := range wants {
					inside[w].Add(-1)
				}
				if err := p.Leave(t.Context()); err != nil {
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

func TestOneWhoGivesUpWaitingLeavesAllLines(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		a, b := state.Key("demo", "a"), state.Key("demo", "b")
		holder := state.NewPlace(client, "holder", time.Minute, b)
		if err := holder.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), lease/3)
		defer cancel()
		if err := state.NewPlace(client, "waits", time.Minute, a, b).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait: %v", err)
		}
		if got := client.LRange(t.Context(), b, 0, -1).Val(); !slices.Equal(got, []string{"holder"}) || client.Exists(t.Context(), a).Val() != 0 {
			t.Errorf("%v are left in line", got)
		}
	})
}

func TestNoPlaceIsAlwaysTheFirst(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		var none *state.Place
		script := redis.NewScript(state.Lua + "return {first() and 1 or 0, key(1), arg(1)}")
		got, err := script.Run(t.Context(), client, none.Keys("k"), none.Args("v")...).Slice()
		if want := []any{int64(1), "k", "v"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		if err := none.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitingForAServerThatDoesNotAnswerEndsAtTheDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), lease/3)
	defer cancel()
	if err := place(client, "p").Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait: %v", err)
	}
}
