package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// The oracle computes everything a second time in the plainest way: units in place of lines, all subsets in place of a
// search, floats nowhere. It shares with the engine only what the contract defines.

// unit is one unit of an item.
type unit struct {
	id, brand, category string
	price               int64
	line                int // of the cart
}

func unitsOf(p *promotionv1.Promotion, cart *cartv1.Cart) []unit {
	var units []unit
	for i, it := range cart.GetItems() {
		s := p.GetScope()
		lists := len(s.GetProductIds()) + len(s.GetCategories()) + len(s.GetBrands())
		in := lists == 0 || slices.Contains(s.GetProductIds(), it.GetProductId()) ||
			slices.ContainsFunc(s.GetCategories(), func(c string) bool { return strings.EqualFold(c, it.GetCategoryPath()[0]) }) ||
			slices.ContainsFunc(s.GetBrands(), func(b string) bool { return strings.EqualFold(b, it.GetBrand()) })
		if p.GetBundle() != nil && !slices.Contains(p.GetBundle().GetProductIds(), it.GetProductId()) {
			in = false
		}
		if !it.GetAvailable() || !in || slices.Contains(s.GetExcludeProductIds(), it.GetProductId()) {
			continue
		}
		for range it.GetQuantity() {
			units = append(units, unit{it.GetProductId(), it.GetBrand(), it.GetCategoryPath()[0], it.GetUnitPrice().GetAmountMinor(), i})
		}
	}
	slices.SortStableFunc(units, func(x, y unit) int { // of equal prices by product, then by quantity
		items := cart.GetItems()
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.id, y.id), cmp.Compare(items[x.line].GetQuantity(), items[y.line].GetQuantity()))
	})
	return units
}

func sumOf(units []unit) (sum int64) {
	for _, u := range units {
		sum += u.price
	}
	return sum
}

// slowSaving returns what a promotion saves, and false when it does not apply. It knows no groups and no limits.
func slowSaving(p *promotionv1.Promotion, cart *cartv1.Cart) (int64, bool) {
	units := unitsOf(p, cart)
	sum := sumOf(units)
	if p.GetEndTime() != nil && !p.GetEndTime().AsTime().After(noon) || len(units) == 0 ||
		sum < p.GetMinimumSubtotal().GetAmountMinor() || len(units) < int(p.GetMinimumQuantity()) {
		return 0, false
	}
	switch b := p.GetBenefit().(type) {
	case *promotionv1.Promotion_PercentOff:
		s := sum * int64(b.PercentOff.GetBasisPoints()) / 10_000
		if limit := b.PercentOff.GetMaximumSaving(); limit != nil && s > limit.GetAmountMinor() {
			s = limit.GetAmountMinor()
		}
		return s, true
	case *promotionv1.Promotion_AmountOff:
		return min(sum, b.AmountOff.GetAmount().GetAmountMinor()), true
	case *promotionv1.Promotion_BuyXGetY:
		buy, get := int(b.BuyXGetY.GetBuyQuantity()), int(b.BuyXGetY.GetGetQuantity())
		groups := len(units) / (buy + get)
		return sumOf(units[:groups*get]), groups > 0
	case *promotionv1.Promotion_FreeShipping:
		return b.FreeShipping.GetFee().GetAmountMinor(), true
	case *promotionv1.Promotion_Tiered:
		rate, applies := int64(0), false
		for _, t := range b.Tiered.GetTiers() {
			if sum >= t.GetSubtotal().GetAmountMinor() {
				rate, applies = int64(t.GetBasisPoints()), true
			}
		}
		return sum * rate / 10_000, applies
	case *promotionv1.Promotion_Bundle:
		return slowBundle(b.Bundle, units)
	}
	return 0, false
}

// slowBundle takes one set after the other, the dearest unit of each product first.
func slowBundle(set *promotionv1.Bundle, units []unit) (saved int64, applies bool) {
	for {
		var cost int64
		for _, id := range set.GetProductIds() {
			last := -1
			for i, u := range units {
				if u.id == id {
					last = i
				}
			}
			if last < 0 {
				return saved, applies
			}
			cost += units[last].price
			units = slices.Delete(units, last, last+1)
		}
		applies = true
		saved += max(0, cost-set.GetPrice().GetAmountMinor())
	}
}

// slowShares divides a saving among the lines of a cart: free units by what they are, all else by price, the cheapest
// line first, with what rounding leaves over passed on.
func slowShares(p *promotionv1.Promotion, saving int64, cart *cartv1.Cart) []int64 {
	shares := make([]int64, len(cart.GetItems()))
	units := unitsOf(p, cart)
	if x := p.GetBuyXGetY(); x != nil {
		for _, u := range units[:len(units)/int(x.GetBuyQuantity()+x.GetGetQuantity())*int(x.GetGetQuantity())] {
			shares[u.line] += u.price
		}
		return shares
	}
	sum := sumOf(units)
	var passed int64
	for i := 0; i < len(units) && sum > 0; i++ {
		before := saving * passed / sum
		passed += units[i].price
		shares[units[i].line] += saving*passed/sum - before
	}
	return shares
}

// slowest tries every subset of the promotions that apply.
func slowest(promotions []*promotionv1.Promotion, cart *cartv1.Cart) (most int64) {
	var apply []*promotionv1.Promotion
	var shares [][]int64
	for _, p := range promotions {
		if s, ok := slowSaving(p, cart); ok {
			apply = append(apply, p)
			shares = append(shares, slowShares(p, s, cart))
		}
	}
	for set := range 1 << len(apply) {
		if legal(apply, set) {
			most = max(most, slowWorth(apply, shares, set, cart))
		}
	}
	return most
}

func legal(promotions []*promotionv1.Promotion, set int) bool {
	for i, p := range promotions {
		for j, q := range promotions {
			if i == j || set>>i&1 == 0 || set>>j&1 == 0 {
				continue
			}
			if !p.GetStackable() || slices.Contains(p.GetExcludedCodes(), q.GetCode()) {
				return false
			}
		}
	}
	return true
}

func slowWorth(promotions []*promotionv1.Promotion, shares [][]int64, set int, cart *cartv1.Cart) int64 {
	var saved, fee int64
	for i, p := range promotions {
		if set>>i&1 == 1 && p.GetFreeShipping() != nil {
			fee = max(fee, p.GetFreeShipping().GetFee().GetAmountMinor())
		}
	}
	for line, it := range cart.GetItems() {
		var off int64
		for i, p := range promotions {
			if set>>i&1 == 1 && p.GetFreeShipping() == nil {
				off += shares[i][line]
			}
		}
		saved += min(off, it.GetUnitPrice().GetAmountMinor()*int64(it.GetQuantity()))
	}
	return saved + fee
}

// What the engine says of 10,000 random carts is what the oracle says: for each promotion whether it applies and what it
// saves, and what the best legal combination saves; and that combination is legal, saves what is said of it, and has no
// code that could be left out.
func TestEngineAgreesWithBruteForceOn10000Carts(t *testing.T) {
	combined := 0
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 11))
		cart, promotions := randomCart(r), randomPromotions(r, 7)
		for _, p := range promotions {
			p.Scope = randomScope(r)
		}
		o := Evaluate(promotions, NewBasket(cart), Buyer{}, noon)
		for _, e := range o.Evaluations {
			saving, applies := slowSaving(e.GetPromotion(), cart)
			if e.GetEligible() != applies || e.GetSaving().GetAmountMinor() != saving && applies {
				t.Fatalf("seed %d: engine says %v, want it to apply: %v, and save %d", seed, e, applies, saving)
			}
		}
		if got, want := o.Combination.GetSaving().GetAmountMinor(), slowest(promotions, cart); got != want {
			t.Fatalf("seed %d: the best combination %v saves %d, by brute force %d", seed, o.Combination.GetCodes(), got, want)
		}
		if codes := o.Combination.GetCodes(); len(codes) > 1 {
			combined++
			checkCombination(t, seed, promotions, cart, codes)
		}
	}
	if combined < 2_000 {
		t.Errorf("only %d of the carts had a combination of several codes", combined)
	}
}

func checkCombination(t *testing.T, seed uint64, promotions []*promotionv1.Promotion, cart *cartv1.Cart, codes []string) {
	t.Helper()
	var chosen []*promotionv1.Promotion
	var shares [][]int64
	for _, p := range promotions {
		if slices.Contains(codes, p.GetCode()) {
			s, _ := slowSaving(p, cart)
			chosen, shares = append(chosen, p), append(shares, slowShares(p, s, cart))
		}
	}
	all := 1<<len(chosen) - 1
	if !legal(chosen, all) {
		t.Fatalf("seed %d: %v may not be combined", seed, codes)
	}
	for i, p := range chosen {
		if p.GetFreeShipping() != nil && p.GetFreeShipping().GetFee().GetAmountMinor() == 0 {
			continue // worth something, although nobody knows how much
		}
		if slowWorth(chosen, shares, all&^(1<<i), cart) >= slowWorth(chosen, shares, all, cart) {
			t.Fatalf("seed %d: %v saves as much without %s", seed, codes, p.GetCode())
		}
	}
}

// randomPromotions are n promotions, some of them stackable, some of those excluding each other.
func randomPromotions(r *rand.Rand, n int) []*promotionv1.Promotion {
	promotions := make([]*promotionv1.Promotion, n)
	for i := range promotions {
		p := randomPromotion(r, fmt.Sprintf("P%02d", i))
		p.Stackable = r.IntN(4) > 0
		for p.Stackable && r.IntN(3) == 0 {
			if other := r.IntN(n); other != i {
				p.ExcludedCodes = append(p.ExcludedCodes, fmt.Sprintf("P%02d", other))
			}
		}
		promotions[i] = p
	}
	return promotions
}

func randomScope(r *rand.Rand) *promotionv1.Scope {
	s := &promotionv1.Scope{}
	if r.IntN(3) == 0 {
		s.Categories = []string{fmt.Sprintf("C%d", r.IntN(4))}
	}
	if r.IntN(4) == 0 {
		s.Brands = []string{fmt.Sprintf("B%d", r.IntN(4))}
	}
	if r.IntN(4) == 0 {
		s.ProductIds = []string{fmt.Sprintf("p%d", r.IntN(5))}
	}
	if r.IntN(4) == 0 {
		s.ExcludeProductIds = []string{fmt.Sprintf("p%d", r.IntN(5))}
	}
	return s
}
