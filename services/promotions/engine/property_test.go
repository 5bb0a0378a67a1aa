package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/promotions/engine/enginetest"
)

// TestProperties holds for any cart and any promotions: a saving is never negative nor above what the qualifying items
// cost, no combination makes a total negative, a refusal says why, and neither the order in which promotions are stored
// nor that of the cart's items makes a difference.
func TestProperties(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		cart, promotions := randomCart(r), randomPromotions(r, 12)
		b := NewBasket(cart)
		for _, p := range promotions {
			if err := Check(p); err != nil {
				t.Fatalf("seed %d: the generator makes invalid promotions: %v", seed, err)
			}
		}
		o := Evaluate(promotions, b, Buyer{}, noon)
		for _, e := range o.Evaluations {
			checkEvaluation(t, seed, b, e)
		}
		const highestFee = 1_000
		if saved := o.Combination.GetSaving().GetAmountMinor(); saved < 0 || saved > b.Subtotal().GetAmountMinor()+highestFee {
			t.Errorf("seed %d: %v saves %d on a cart of %v", seed, o.Combination.GetCodes(), saved, b.Subtotal())
		}
		r.Shuffle(len(promotions), func(i, j int) { promotions[i], promotions[j] = promotions[j], promotions[i] })
		r.Shuffle(len(cart.Items), func(i, j int) { cart.Items[i], cart.Items[j] = cart.Items[j], cart.Items[i] })
		again := Evaluate(promotions, NewBasket(cart), Buyer{}, noon)
		if diff := cmp.Diff(o, again, protocmp.Transform(), cmp.AllowUnexported(Outcome{})); diff != "" {
			t.Fatalf("seed %d: the order of promotions or items matters:\n%s", seed, diff)
		}
	}
}

// TestMoreItemsNeverSaveLess holds for a percentage of everything, whatever it asks for.
func TestMoreItemsNeverSaveLess(t *testing.T) {
	for seed := range uint64(2_000) {
		r := rand.New(rand.NewPCG(seed, 13))
		p := promo("P", percent(1+r.Int32N(10_000)), minimum(eur(r.Int64N(30_000))), minimumUnits(r.Int32N(8)))
		if r.IntN(2) == 0 {
			p.GetPercentOff().MaximumSaving = eur(r.Int64N(3_000))
		}
		cart := randomCart(r)
		before := Evaluate([]*promotionv1.Promotion{p}, NewBasket(cart), Buyer{}, noon)
		cart.Items = append(cart.Items, item("more", 1+r.Int32N(3), r.Int64N(20_000), "b9", "c9"))
		after := Evaluate([]*promotionv1.Promotion{p}, NewBasket(cart), Buyer{}, noon)
		if x, y := before.Combination.GetSaving().GetAmountMinor(), after.Combination.GetSaving().GetAmountMinor(); y < x {
			t.Fatalf("seed %d: saving fell from %d to %d by an item more: %v", seed, x, y, p)
		}
	}
}

// TestCombinationsOfTwentyAreExact compares with every legal subset of twenty stackable promotions.
func TestCombinationsOfTwentyAreExact(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 17))
		promotions := make([]*promotionv1.Promotion, maxExact)
		for i := range promotions {
			p := promo(fmt.Sprintf("P%02d", i), percent(1+r.Int32N(9_000)), scoped(randomScope(r)))
			p.Stackable = true
			for range 2 + r.IntN(4) {
				if other := r.IntN(maxExact); other != i {
					p.ExcludedCodes = append(p.ExcludedCodes, fmt.Sprintf("P%02d", other))
				}
			}
			promotions[i] = p
		}
		b := NewBasket(walkCart())
		for i := range b.lines { // as randomScope names them
			b.lines[i].productID, b.lines[i].brand, b.lines[i].categories = fmt.Sprintf("p%d", i), fmt.Sprintf("b%d", i), []string{fmt.Sprintf("c%d", i)}
		}
		o := Evaluate(promotions, b, Buyer{}, noon)
		all := candidates(o.Evaluations, b)
		var most value
		var try func(chosen []*candidate, i int)
		try = func(chosen []*candidate, i int) {
			if i == len(all) {
				if w := valueOf(chosen, b); w.exceeds(most) {
					most = w
				}
				return
			}
			try(chosen, i+1)
			for _, c := range chosen {
				if !Combinable(c.promotion, all[i].promotion) {
					return
				}
			}
			try(append(chosen[:len(chosen):len(chosen)], all[i]), i+1)
		}
		try(nil, 0)
		if got := o.Combination.GetSaving().GetAmountMinor(); got != most.saving {
			t.Errorf("seed %d: %v of %d save %d, the best subset %d", seed, o.Combination.GetCodes(), len(all), got, most.saving)
		}
	}
}

func checkEvaluation(t *testing.T, seed uint64, b Basket, e *promotionv1.Evaluation) {
	t.Helper()
	unspecified := e.GetRefusalReason() == promotionv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED
	if e.GetEligible() != unspecified || e.GetEligible() != (e.GetSaving() != nil) || e.GetExplanation() == "" {
		t.Errorf("seed %d: eligible, saving, reason and explanation do not agree: %v", seed, e)
	}
	sum, _ := totals(qualifying(e.GetPromotion(), b))
	if fee := e.GetPromotion().GetFreeShipping(); fee != nil {
		sum = fee.GetFee().GetAmountMinor()
	}
	if got := e.GetSaving().GetAmountMinor(); got < 0 || got > sum {
		t.Errorf("seed %d: saving %d of qualifying %d: %v", seed, got, sum, e)
	}
}

func randomCart(r *rand.Rand) *cartv1.Cart {
	cart := &cartv1.Cart{}
	for range r.IntN(6) {
		it := item(fmt.Sprintf("p%d", r.IntN(5)), 1+r.Int32N(4), 499*r.Int64N(40), fmt.Sprintf("b%d", r.IntN(3)), fmt.Sprintf("c%d", r.IntN(3)))
		it.Available = r.IntN(8) > 0
		cart.Items = append(cart.Items, it)
	}
	return cart
}

func randomPromotion(r *rand.Rand, code string) *promotionv1.Promotion {
	benefits := []enginetest.Option{
		percent(1 + r.Int32N(10000)),
		percentUpTo(1+r.Int32N(10000), r.Int64N(3000)),
		amountOff(eur(1 + r.Int64N(30000))),
		buyGet(1+r.Int32N(3), 1+r.Int32N(2)),
		freeShipping(eur(r.Int64N(1000))),
		tiered(r.Int64N(5000), 1+r.Int64N(5000), 5000+r.Int64N(20000), 1+r.Int64N(10000)),
		bundle(r.Int64N(20000), "p0", fmt.Sprintf("p%d", 1+r.IntN(4))),
	}
	p := promo(code, benefits[r.IntN(len(benefits))])
	if r.IntN(2) == 0 {
		p.Scope = &promotionv1.Scope{Categories: []string{fmt.Sprintf("C%d", r.IntN(4))}, ExcludeProductIds: []string{fmt.Sprintf("p%d", r.IntN(9))}}
	}
	if r.IntN(3) == 0 {
		p.MinimumSubtotal = eur(r.Int64N(30000))
	}
	if r.IntN(4) == 0 {
		p.MinimumQuantity = r.Int32N(6)
	}
	if r.IntN(3) == 0 {
		ends(noon.Add(time.Duration(r.IntN(3)-1) * time.Hour))(p)
	}
	return p
}
