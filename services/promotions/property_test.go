package promotions

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// TestProperties holds for any cart and any promotions: a saving is never negative nor above what the qualifying items
// cost, a refusal says why, and the order in which promotions are stored makes no difference.
func TestProperties(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := newBasket(randomCart(r))
		promotions := make([]*promotionv1.Promotion, 12)
		for i := range promotions {
			promotions[i] = randomPromotion(r, fmt.Sprintf("P%02d", i))
			if err := checkPromotion(promotions[i]); err != nil {
				t.Fatalf("seed %d: the generator makes invalid promotions: %v", seed, err)
			}
		}
		o := evaluate(promotions, b, buyer{}, noon)
		for _, e := range o.evaluations {
			checkEvaluation(t, seed, b, e)
		}
		r.Shuffle(len(promotions), func(i, j int) { promotions[i], promotions[j] = promotions[j], promotions[i] })
		again := evaluate(promotions, b, buyer{}, noon)
		if diff := cmp.Diff(o, again, protocmp.Transform(), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Fatalf("seed %d: the order of promotions matters:\n%s", seed, diff)
		}
	}
}

func checkEvaluation(t *testing.T, seed uint64, b basket, e *promotionv1.Evaluation) {
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
		it := item(fmt.Sprintf("p%d", r.IntN(5)), 1+r.Int32N(4), r.Int64N(20000), fmt.Sprintf("b%d", r.IntN(3)), fmt.Sprintf("c%d", r.IntN(3)))
		it.Available = r.IntN(8) > 0
		cart.Items = append(cart.Items, it)
	}
	return cart
}

func randomPromotion(r *rand.Rand, code string) *promotionv1.Promotion {
	benefits := []option{
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
