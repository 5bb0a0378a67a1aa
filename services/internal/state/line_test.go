package state_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
		addr := freeAddr(t)
		realRedis(t, addr, inMemory...)
		test(t, open(t, "redis://"+addr))
	})
}

func place(client redis.UniversalClient, token string) *state.Place {
	return state.NewPlace(client, state.Key("demo", "line"), token, lease)
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
			eventually(t, func() error {
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
		write := redis.NewScript("if " + state.IsFirst("KEYS[1]", "ARGV[1]") + " then redis.call('SET', KEYS[2], ARGV[1]) end return 0")
		for _, p := range []*state.Place{next, dead} {
			if err := write.Run(t.Context(), client, []string{p.Keys()[0], state.Key("demo", "k")}, p.Token()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if got := client.Get(t.Context(), state.Key("demo", "k")).Val(); got != "next" {
			t.Errorf("%q wrote last", got)
		}
		if err := dead.Keep(t.Context()); !errors.Is(err, state.ErrNotFirst) {
			t.Errorf("Keep: %v, want ErrNotFirst", err)
		}
	})
}

func TestAKeptPlaceOutlivesItsLease(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		holder, next := place(client, "holder"), place(client, "next")
		if err := holder.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		kept := make(chan error, 1)
		go func() { kept <- holder.Keep(ctx) }()
		waiting, cancel := context.WithTimeout(t.Context(), 3*lease)
		defer cancel()
		if err := next.Wait(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait behind a kept place: %v", err)
		}
		if n := client.LLen(t.Context(), next.Keys()[0]).Val(); n != 1 {
			t.Errorf("%d in line after one gave up", n)
		}
		stop()
		if err := <-kept; err != nil {
			t.Errorf("Keep: %v", err)
		}
	})
}
