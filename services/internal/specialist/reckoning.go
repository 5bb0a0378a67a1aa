package specialist

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// reckoning is what the supported claims of an answer add up to. An answer may say, of the amounts that it names itself:
// their sum, the difference of two, one of them so many times, a share of one, or one less a share; and what share one
// is less than another. Of two amounts that stand side by side in the grounds, such as the price before and now, it may
// say the difference and the share. And it may count what it lists, and the rest of a tool's total. Nothing else is derived: with every sum that can be
// made, almost any amount would be one.
type reckoning struct {
	amounts []claim
	shares  []int64 // in thousandths of a percent
	numbers []int64 // whole ones, which may be quantities
	counts  []int64
}

// most bounds each of the lists: no honest text has more to reckon with.
const most = 30

const (
	// maxQuantity bounds how many times an amount may be taken.
	maxQuantity = 100
	// fewTimes is how many times it may be taken without a number in digits that says so: "two pairs" has none.
	fewTimes = 4
)

// learn takes in a claim that is supported.
func (r *reckoning) learn(c claim) {
	switch {
	case c.kind == claimAmount && len(r.amounts) < most:
		r.amounts = append(r.amounts, c)
	case c.kind == claimShare && len(r.shares) < most:
		r.shares = append(r.shares, c.values[0])
	case c.kind == claimNumber && c.values[0]%1000 == 0 && c.values[0] <= maxQuantity*1000 && len(r.numbers) < most:
		r.numbers = append(r.numbers, c.values[0]/1000)
	}
}

// count counts what a text lists: items of lists and amounts.
func (r *reckoning) count(text string) {
	items := int64(0)
	for line := range strings.Lines(text) {
		if grounding.IsItem(strings.TrimLeft(line, " \t"), ".)") {
			items++
		}
	}
	r.counts = append(r.counts, items, int64(len(r.amounts)))
}

// yieldsCount reports whether a claim is how many things the text lists, or all but those of a tool's total.
func (r *reckoning) yieldsCount(g *grounds, c *claim) bool {
	n := c.values[0] / 1000
	return c.kind == claimNumber && c.values[0]%1000 == 0 && slices.ContainsFunc(r.counts, func(listed int64) bool {
		return listed > 0 && (n == listed || g.holds(`"total":`+strconv.FormatInt(n+listed, 10)))
	})
}

// yields reports whether a claim can be derived from amounts.
func (r *reckoning) yields(g *grounds, c *claim) bool {
	g.reckon()
	return slices.ContainsFunc(c.values[:c.readings], func(v int64) bool {
		return c.kind == claimAmount && r.yieldsAmount(g, c, v) || c.kind == claimShare && r.yieldsShare(g, v)
	})
}

func (r *reckoning) yieldsAmount(g *grounds, c *claim, v int64) bool {
	var own []int64
	for i := range r.amounts {
		if a := &r.amounts[i]; a.values[0] > 0 && sameCurrency(c, a) {
			own = append(own, a.values[:a.readings]...)
		}
	}
	for i, a := range own {
		sum := a
		for _, b := range own[i+1:] {
			if sum += b; v == sum || v == a+b || v == a-b || v == b-a {
				return true
			}
		}
		if v%a == 0 && v/a <= fewTimes || slices.ContainsFunc(r.numbers, func(n int64) bool { return v == a*n }) || slices.ContainsFunc(r.shares, func(p int64) bool {
			part := share(a, p)
			return near(v, part) || near(v, a-part)
		}) {
			return true
		}
	}
	return neighbours(g.amounts, func(a, b *claim) bool {
		return (v == a.values[0]-b.values[0] || v == b.values[0]-a.values[0]) && sameCurrency(c, a) && sameCurrency(c, b)
	})
}

// yieldsShare reports whether v is the share, in whole percent, that an amount is less than another.
func (r *reckoning) yieldsShare(g *grounds, v int64) bool {
	less := func(a, b *claim) bool {
		low, high := min(a.values[0], b.values[0]), max(a.values[0], b.values[0])
		return high > low && v == ((high-low)*100+high/2)/high*1000
	}
	return neighbours(g.amounts, less) || neighbours(r.amounts, less)
}

// neighbours reports whether something is true of two amounts that follow each other.
func neighbours(amounts []claim, is func(a, b *claim) bool) bool {
	for i := 1; i < len(amounts); i++ {
		if is(&amounts[i-1], &amounts[i]) {
			return true
		}
	}
	return false
}

// share returns so many thousandths of a percent of an amount.
func share(amount, percent int64) int64 { return amount / 10 * percent / 10_000 }

// near reports whether two amounts are the same but for rounding to hundredths.
func near(a, b int64) bool { return a-b < 10 && b-a < 10 }
