// Package daybudget keeps the models' work for a store within its budget of a day. A turn reserves what it may use at most before it
// begins, and counts what it has used when it has ended; scripts in Redis do both, so all gateways together keep the budget.
//
// What a gateway has reserved that died is given back when the turn's deadline has passed. What the turn had used is counted if it is
// resumed, and else lost: it is known to nobody.
package daybudget

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

var (
	//go:embed release.lua
	releaseLua string
	//go:embed reserve.lua
	reserveLua string
	//go:embed settle.lua
	settleLua string
)

var (
	reserveScript = redis.NewScript(releaseLua + reserveLua)
	settleScript  = redis.NewScript(releaseLua + settleLua)
)

// keep is how long the counters of a day are kept.
const keep = 48 * time.Hour

// Day is the budget of a store on one day.
type Day struct {
	// StoreID and Date, such as "2026-11-23", say whose budget it is.
	StoreID, Date string
	// Max is what all turns may use. A field that is zero is not bounded.
	Max wrap.Spend
}

// Request is what a turn asks for.
type Request struct {
	// TurnID of the turn. A turn that is resumed has the same one.
	TurnID string
	// Want is what the turn may use at most. It counts where Max is bounded.
	Want wrap.Spend
	// SavingPercent of Max, used or reserved, is where turns begin to save.
	SavingPercent int
	// SavingDivisor is what Want is divided by for turns that save. At least 1.
	SavingDivisor int
	// Now and Until are when the turn begins and when it has ended at the latest.
	Now, Until time.Time
}

// Grant is what a turn has got.
type Grant struct {
	// OK says that the turn may begin. Otherwise less than a quarter of what it wants is left.
	OK bool
	// Saving says that the day's budget runs out.
	Saving bool
	// Spend is what the turn may use. A field is zero where Max is.
	Spend wrap.Spend
}

// keys of a day, which share one cluster slot.
func (d Day) keys() []string {
	tag := "budget " + d.Date
	return []string{state.TaggedKey(d.StoreID, tag, "totals"), state.TaggedKey(d.StoreID, tag, "leases"), state.TaggedKey(d.StoreID, tag, "amounts")}
}

// Reserve reserves a turn's part of a day's budget.
func (d Day) Reserve(ctx context.Context, client redis.Scripter, r Request) (Grant, error) {
	got, err := reserveScript.Run(ctx, client, d.keys(), r.TurnID, r.Now.UnixMilli(), r.Until.UnixMilli(), r.Want.Tokens, r.Want.CostMicros,
		d.Max.Tokens, d.Max.CostMicros, r.SavingPercent, r.SavingDivisor, keep.Milliseconds()).Int64Slice()
	if err != nil {
		return Grant{}, state.Error("reserve a part of the day's budget", err)
	}
	return Grant{OK: got[0] == 1, Saving: got[1] == 1, Spend: wrap.Spend{Tokens: got[2], CostMicros: got[3]}}, nil
}

// Settle counts what a turn has used, and gives back what it has reserved.
func (d Day) Settle(ctx context.Context, client redis.Scripter, turnID string, used wrap.Spend) error {
	err := settleScript.Run(ctx, client, d.keys(), turnID, used.Tokens, used.CostMicros, keep.Milliseconds()).Err()
	return state.Error("count what a turn has used", err)
}

// Read returns what turns have used, and what turns in flight have reserved.
func (d Day) Read(ctx context.Context, client redis.Cmdable) (used, reserved wrap.Spend, err error) {
	found, err := client.HGetAll(ctx, d.keys()[0]).Result()
	if err != nil {
		return used, reserved, state.Error("read the day's budget", err)
	}
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(found[field], 10, 64) // the scripts write integers; a missing one is zero
		return n
	}
	used = wrap.Spend{Tokens: number("used_tokens"), CostMicros: number("used_micros")}
	reserved = wrap.Spend{Tokens: number("reserved_tokens"), CostMicros: number("reserved_micros")}
	return used, reserved, nil
}
