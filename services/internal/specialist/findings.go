package specialist

import (
	"sync"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Findings are the typed results that the tools of one turn left behind. Code carries them into the answer beside the
// text, so that no model retells them. The zero value is empty and ready; all methods are safe for concurrent use.
type Findings struct {
	mu        sync.Mutex
	products  []*specialistv1.ProductChoice
	seen      map[string]bool
	promotion *specialistv1.PromotionChoice
	order     *orderv1.Order
	possible  *orderv1.OrderActions
	passages  []*policyv1.Passage
	actions   []*specialistv1.SuggestedAction
	found     int
	empty     int
}

// AddProducts adds candidates, best first. Those that the final text names become the answer's products; a product that
// was added before is passed over.
func (f *Findings) AddProducts(products ...*specialistv1.ProductChoice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range products {
		if f.seen[p.GetProductId()] {
			continue
		}
		if f.seen == nil {
			f.seen = make(map[string]bool)
		}
		f.seen[p.GetProductId()] = true
		f.products = append(f.products, p)
	}
}

// SetPromotion sets the chosen promotion; the last choice counts.
func (f *Findings) SetPromotion(p *specialistv1.PromotionChoice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.promotion = p
}

// SetOrder sets the order that the answer is about, and what can be done with it; the last one counts.
func (f *Findings) SetOrder(o *orderv1.Order, possible *orderv1.OrderActions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order, f.possible = o, possible
}

// AddPassages adds policy passages that the answer may rest on.
func (f *Findings) AddPassages(passages ...*policyv1.Passage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passages = append(f.passages, passages...)
}

// AddActions adds what the backend could do next.
func (f *Findings) AddActions(actions ...*specialistv1.SuggestedAction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.actions = append(f.actions, actions...)
}

// Found notes how many things a look-up returned. Confidence is computed from these notes: look-ups that found nothing
// lower it.
func (f *Findings) Found(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		f.found++
	} else {
		f.empty++
	}
}
