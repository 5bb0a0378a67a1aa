package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/suite"
)

// leastLease is the shortest lease of a turn: it is renewed three times in its length, over a network.
const leastLease = time.Second

// addTurnFlags adds the flags that say how the gateway runs turns, and returns where they will be.
func addTurnFlags(fs *flag.FlagSet) *suite.Turns {
	t := &suite.Turns{}
	fs.Func("run-ahead", "gateway: `when` specialists start before the routing is final: always, certain (only where the rules are) or off (default always)",
		func(s string) error {
			modes := []gateway.RunAhead{gateway.RunAheadAlways, gateway.RunAheadCertain, gateway.RunAheadOff}
			if t.RunAhead = gateway.RunAhead(s); !slices.Contains(modes, t.RunAhead) {
				return errors.New("must be always, certain or off")
			}
			return nil
		})
	fs.Func("merge-reserve", defaulted("gateway: `time` kept for wording one reply from several answers, at most a quarter of what is left", gateway.DefaultMergeReserve),
		atLeast(&t.MergeReserve, time.Millisecond, time.ParseDuration))
	fs.Func("lease", defaulted("gateway: `time` for which a gateway that is not heard of keeps its turn; then another one may take the turn up", gateway.DefaultLease),
		atLeast(&t.Lease, leastLease, time.ParseDuration))
	fs.Func("thread-ttl", defaulted("gateway: `time` for which a conversation is kept after its last message", gateway.DefaultThreadTTL),
		atLeast(&t.ThreadTTL, time.Minute, time.ParseDuration))
	fs.Func("max-turns", defaulted("gateway: most `turns` in flight in this process", gateway.DefaultMaxTurns),
		atLeast(&t.Max, 1, strconv.Atoi))
	fs.Func("max-turns-per-store", defaulted("gateway: most `turns` in flight of one store", gateway.DefaultMaxTurnsPerStore),
		atLeast(&t.MaxPerStore, 1, strconv.Atoi))
	budget := func() *commonv1.Budget {
		if t.Budget == nil {
			t.Budget = &commonv1.Budget{}
		}
		return t.Budget
	}
	fs.Func("turn-budget-tokens", "gateway: most `tokens`, in and out, that the models may use for one turn (default no bound)",
		func(s string) error { return atLeast(&budget().MaxTokens, 1, parseInt64)(s) })
	fs.Func("turn-budget-cost", "gateway: most `money` that the models may cost in one turn, such as \"0.02 USD\"; wants --model-price (default no bound)",
		func(s string) error {
			c, err := model.ParseCost(s)
			if err != nil {
				return err
			}
			if c.Micros == 0 {
				return errors.New("must be more than nothing")
			}
			budget().MaxCost = &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
			return nil
		})
	return t
}

// checkBudget refuses a budget of money that could not be kept to, since the cost of the model that answers is not known in
// its currency.
func checkBudget(cfg suite.Config) error {
	most := cfg.Turns.Budget.GetMaxCost()
	if price := cfg.Model.Price; most != nil && (price == nil || price.Currency != most.GetCurrencyCode()) {
		return usagef("--turn-budget-cost is in %s, so --model-price must be given in %[1]s too", most.GetCurrencyCode())
	}
	return nil
}

// defaulted is the usage of a flag with the default that its zero value stands for.
func defaulted(usage string, def any) string { return fmt.Sprintf("%s (default %v)", usage, def) }

// atLeast returns what sets a flag to a value that parse reads and that is least or more.
func atLeast[T cmp.Ordered](value *T, least T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err != nil {
			return fmt.Errorf("must be a %s", kind(least))
		}
		if v < least {
			return fmt.Errorf("must be %v or more", least)
		}
		*value = v
		return nil
	}
}

func kind(v any) string {
	if _, ok := v.(time.Duration); ok {
		return `duration, such as "30s"`
	}
	return "whole number"
}

func parseInt64(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
