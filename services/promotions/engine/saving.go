package engine

import (
	"math/bits"
	"slices"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// fullShare is 100 percent in basis points.
const fullShare = 10_000

// saving returns what an eligible promotion takes off, in minor units. sum is the cost of the qualifying lines. Only a waived
// shipping fee can exceed it.
func saving(p *promotionv1.Promotion, lines []*line, sum int64) int64 {
	switch benefit := p.GetBenefit().(type) {
	case *promotionv1.Promotion_PercentOff:
		s := share(sum, benefit.PercentOff.GetBasisPoints())
		if limit := benefit.PercentOff.GetMaximumSaving(); limit != nil {
			s = min(s, limit.GetAmountMinor())
		}
		return s
	case *promotionv1.Promotion_AmountOff:
		return min(benefit.AmountOff.GetAmount().GetAmountMinor(), sum)
	case *promotionv1.Promotion_BuyXGetY:
		return freeUnits(benefit.BuyXGetY, lines, nil)
	case *promotionv1.Promotion_FreeShipping:
		return benefit.FreeShipping.GetFee().GetAmountMinor()
	case *promotionv1.Promotion_Tiered:
		return share(sum, stepReached(benefit.Tiered, sum).GetBasisPoints())
	case *promotionv1.Promotion_Bundle:
		return bundleSaving(benefit.Bundle, lines)
	}
	return 0
}

// share rounds down to the minor unit, so a store never gives more than it promises.
func share(sum int64, basisPoints int32) int64 {
	return part(sum, int64(min(max(basisPoints, 0), fullShare)), fullShare)
}

// part returns sum * of / whole, rounded down. The product has 128 bits. It requires 0 <= of <= whole and 0 < whole.
func part(sum, of, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(sum), uint64(of))
	quotient, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(quotient)
}

// stepReached returns the tier with the highest subtotal that sum reaches; nil when there is none.
func stepReached(t *promotionv1.Tiered, sum int64) *promotionv1.Tier {
	var reached *promotionv1.Tier
	for _, step := range t.GetTiers() {
		at := step.GetSubtotal().GetAmountMinor()
		if at <= sum && (reached == nil || at > reached.GetSubtotal().GetAmountMinor()) {
			reached = step
		}
	}
	return reached
}

// freeUnits returns the price of the free units: the cheapest units, for each full group as many as a group has free. It sets the
// share of each line in shares, unless shares is nil.
func freeUnits(x *promotionv1.BuyXGetY, lines []*line, shares []int64) int64 {
	_, units := totals(lines)
	group := int64(x.GetBuyQuantity()) + int64(x.GetGetQuantity())
	if group <= 0 {
		return 0
	}
	free := units / group * int64(x.GetGetQuantity())
	var s int64
	for _, l := range lines {
		n := min(free, l.quantity)
		s = add(s, times(l.price, n))
		if shares != nil {
			shares[l.at] = times(l.price, n)
		}
		free -= n
	}
	return s
}

// missingParts returns the number of products of a set that no line has; zero for a nil set.
func missingParts(set *promotionv1.Bundle, lines []*line) int64 {
	var n int64
	for _, id := range set.GetProductIds() {
		if !slices.ContainsFunc(lines, func(l *line) bool { return l.productID == id }) {
			n++
		}
	}
	return n
}

// bundleSaving forms as many sets as the lines contain, from the most expensive units first, which favours the shopper. It returns
// the sum of their savings. A set that costs more than its parts is not formed.
func bundleSaving(set *promotionv1.Bundle, lines []*line) int64 {
	piles := make([][]line, len(set.GetProductIds()))
	for i, id := range set.GetProductIds() {
		for _, l := range slices.Backward(lines) {
			if l.productID == id {
				piles[i] = append(piles[i], *l)
			}
		}
	}
	var s int64
	for {
		parts, sets, ok := takeSets(piles)
		if !ok || parts <= set.GetPrice().GetAmountMinor() {
			return s
		}
		s = add(s, times(parts-set.GetPrice().GetAmountMinor(), sets))
	}
}

// takeSets removes as many equal sets as possible from the tops of the piles, and returns the cost of the parts of one. It reports
// false when a pile is empty.
func takeSets(piles [][]line) (parts, sets int64, ok bool) {
	for i, pile := range piles {
		if len(pile) == 0 {
			return 0, 0, false
		}
		parts = add(parts, pile[0].price)
		if i == 0 || pile[0].quantity < sets {
			sets = pile[0].quantity
		}
	}
	for i := range piles {
		piles[i][0].quantity -= sets
		if piles[i][0].quantity == 0 {
			piles[i] = piles[i][1:]
		}
	}
	return parts, sets, len(piles) > 0
}
