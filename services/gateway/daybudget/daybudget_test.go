package daybudget

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// on runs a test on a Redis.
func on(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Run("embedded", func(t *testing.T) { test(t, servicetest.Redis(t)) })
	for name, start := range map[string]func(testing.TB) string{"single": redistest.Single, "cluster": redistest.Cluster} {
		t.Run(name, func(t *testing.T) {
			client, err := state.Open(t.Context(), start(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			test(t, client)
		})
	}
}

// Turns of several gateways reserve, end, crash and are resumed in random order; what is used and reserved never exceeds the budget.
func TestTheBudgetIsNeverExceeded(t *testing.T) {
	on(t, func(t *testing.T, client redis.UniversalClient) {
		refused := 0
		for seed := range uint64(20) {
			day := Day{StoreID: "demo", Date: fmt.Sprintf("day-%d", seed), Max: wrap.Spend{Tokens: 10_000, CostMicros: 5_000}}
			random := rand.New(rand.NewPCG(seed, 1))
			now := noon
			running, ended := make(map[string]wrap.Spend), wrap.Spend{}
			due := make(map[string]time.Time)
			for step := range 300 {
				turn := fmt.Sprintf("turn_%d", random.IntN(40))
				switch _, known := running[turn]; random.IntN(5) {
				case 0, 1: // begins, or is resumed by another gateway
					g, err := day.Reserve(t.Context(), client, Request{
						TurnID: turn, Want: wrap.Spend{Tokens: random.Int64N(900) + 1, CostMicros: random.Int64N(400) + 1},
						SavingPercent: 80, SavingDivisor: 1 + random.IntN(4), Now: now, Until: now.Add(time.Minute),
					})
					if err != nil {
						t.Fatal(err)
					}
					delete(running, turn)
					if g.OK {
						running[turn], due[turn] = g.Spend, now.Add(time.Minute)
					} else {
						refused++
					}
				case 2: // ends
					if known && now.Before(due[turn]) {
						used := wrap.Spend{Tokens: random.Int64N(running[turn].Tokens + 1), CostMicros: random.Int64N(running[turn].CostMicros + 1)}
						if err := day.Settle(t.Context(), client, turn, used); err != nil {
							t.Fatal(err)
						}
						ended = wrap.Spend{Tokens: ended.Tokens + used.Tokens, CostMicros: ended.CostMicros + used.CostMicros}
						delete(running, turn)
					}
				case 3: // crashes, and is forgotten by all but Redis
					delete(running, turn)
				case 4:
					now = now.Add(time.Duration(random.IntN(5)) * time.Second)
				}
				used, reserved, err := day.Read(t.Context(), client)
				if err != nil {
					t.Fatal(err)
				}
				if used != ended || reserved.Tokens < 0 || reserved.CostMicros < 0 ||
					used.Tokens+reserved.Tokens > day.Max.Tokens || used.CostMicros+reserved.CostMicros > day.Max.CostMicros {
					t.Fatalf("seed %d, step %d: used %v, of which turns know %v, reserved %v, of %v", seed, step, used, ended, reserved, day.Max)
				}
			}
			// After the last deadline nothing is reserved.
			g, err := day.Reserve(t.Context(), client, Request{
				TurnID: "last", Want: wrap.Spend{Tokens: 1, CostMicros: 1}, SavingPercent: 100, SavingDivisor: 1, Now: now.Add(2 * time.Minute), Until: now.Add(3 * time.Minute),
			})
			_, reserved, readErr := day.Read(t.Context(), client)
			if err != nil || readErr != nil || reserved != g.Spend {
				t.Errorf("seed %d: reserved are %v in the end, the last turn has %v; errors %v, %v", seed, reserved, g.Spend, err, readErr)
			}
		}
		if refused == 0 {
			t.Error("nothing was refused, so the test shows nothing")
		}
	})
}

func TestWhatATurnGets(t *testing.T) {
	on(t, func(t *testing.T, client redis.UniversalClient) {
		day := Day{StoreID: "demo", Date: "2026-11-23", Max: wrap.Spend{Tokens: 1000}}
		want := func(turn string, tokens int64, divisor int) Grant {
			t.Helper()
			g, err := day.Reserve(t.Context(), client, Request{
				TurnID: turn, Want: wrap.Spend{Tokens: tokens, CostMicros: 7}, SavingPercent: 80, SavingDivisor: divisor, Now: noon, Until: noon.Add(time.Minute),
			})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		for _, c := range []struct {
			turn    string
			tokens  int64
			divisor int
			expect  Grant
		}{
			{"a", 500, 1, Grant{OK: true, Spend: wrap.Spend{Tokens: 500}}},
			{"a", 500, 1, Grant{OK: true, Spend: wrap.Spend{Tokens: 500}}}, // resumed: once
			{"b", 300, 1, Grant{OK: true, Spend: wrap.Spend{Tokens: 300}}},
			{"c", 400, 4, Grant{OK: true, Saving: true, Spend: wrap.Spend{Tokens: 100}}},
			{"d", 400, 1, Grant{OK: true, Saving: true, Spend: wrap.Spend{Tokens: 100}}}, // what is left, a quarter
			{"e", 1, 1, Grant{Saving: true}},
		} {
			if got := want(c.turn, c.tokens, c.divisor); got != c.expect {
				t.Errorf("turn %s gets %+v, want %+v", c.turn, got, c.expect)
			}
		}
		if err := day.Settle(t.Context(), client, "a", wrap.Spend{Tokens: 100, CostMicros: 3}); err != nil {
			t.Fatal(err)
		}
		if got := want("f", 200, 1); got != (Grant{OK: true, Spend: wrap.Spend{Tokens: 200}}) {
			t.Errorf("after a turn has given back its rest, the next gets %+v", got)
		}
		for _, key := range day.keys() {
			if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > keep {
				t.Errorf("%s is kept for %v", key, ttl)
			}
		}
	})
}
