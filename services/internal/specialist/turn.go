package specialist

import (
	"context"
	"sync"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Turn is one assignment being worked on. Tools read its scope and leave what they found in its findings.
type Turn struct {
	// Scope says who is asking.
	Scope scope.Scope
	// SubQuery is the assignment in the shopper's words.
	SubQuery string
	// Message is the whole message that the assignment is a part of.
	Message string
	// Cart is the shopper's cart as all specialists of the turn see it. Nil: the caller did not send it, so tools that need
	// it read it themselves. It must not be changed.
	Cart *cartv1.Cart
	// Findings collects typed results. Safe for concurrent use.
	*Findings

	// disabled holds the tools that are switched off for the store, and why.
	disabled map[string]string
	// prefetch is what to read while the model thinks. Nil: nothing. See Ahead.
	prefetch func(context.Context)
}

// Disabled reports whether a tool is switched off for the store, since it has no such system.
func (t *Turn) Disabled(tool string) bool { return t.disabled[tool] != "" }

// Findings are the typed results that the tools of one turn left behind. Code carries them into the answer beside the
// text, so that no model retells them. The zero value is empty and ready; all methods are safe for concurrent use.
type Findings struct {
	mu           sync.Mutex
	products     []*specialistv1.ProductChoice
	seen         map[string]bool
	promotion    *specialistv1.PromotionChoice
	order        *orderv1.Order
	orderActions *orderv1.OrderActions
	passages     []*policyv1.Passage
	actions      []*specialistv1.SuggestedAction
	found        int
	empty        int
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
	f.order, f.orderActions = o, possible
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
