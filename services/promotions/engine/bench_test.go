package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// BenchmarkEvaluate evaluates 100 promotions of all kinds, with their best combination, on a cart of 50 items. Of those that
// can be combined, about one in two excludes others.
func BenchmarkEvaluate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	cart := &cartv1.Cart{}
	for i := range 50 {
		cart.Items = append(cart.Items, item(fmt.Sprintf("p%d", i), 1+r.Int32N(4), r.Int64N(20_000), fmt.Sprintf("b%d", r.IntN(3)),
			"Goods", fmt.Sprintf("c%d", r.IntN(4))))
	}
	for _, stackable := range []int{20, 100} {
		promotions := randomPromotions(r, 100)
		for i, p := range promotions {
			p.Stackable = i < stackable
			p.EndTime = nil
		}
		b.Run(fmt.Sprintf("stackable=%d", stackable), func(b *testing.B) {
			var o Outcome
			for b.Loop() {
				o = Evaluate(promotions, NewBasket(cart), Buyer{}, noon)
			}
			b.ReportMetric(float64(countEligible(o.Evaluations)), "eligible")
			b.ReportMetric(float64(len(o.Combination.GetCodes())), "combined")
		})
	}
}

func countEligible(evaluations []*promotionv1.Evaluation) (n int) {
	for _, e := range evaluations {
		if e.GetEligible() {
			n++
		}
	}
	return n
}
