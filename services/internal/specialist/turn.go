package specialist

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Turn is one assignment in progress. Tools read its scope and add their results to its findings.
type Turn struct {
	// Scope says who is asking.
	Scope scope.Scope
	// SubQuery is the assignment in the shopper's words.
	SubQuery string
	// Message is the whole message that contains the assignment.
	Message string
	// Language is the language of the answer, a BCP 47 tag such as "de-AT". Empty: it is unknown.
	Language string
	// Now is the beginning of the turn in the store's time zone.
	Now time.Time
	// Cart is the shopper's cart as all specialists of the turn see it. Nil: the caller did not send it, so tools that need
	// it read it themselves. Tools must not modify it.
	Cart *cartv1.Cart
	// Findings collects typed results. Safe for concurrent use.
	*Findings

	// colleagues are the specialists that the assignment may be passed on to, sorted.
	colleagues []string
	// prompt to use, and what finds quotations of it.
	prompt *specialistv1.Prompt
	quotes *promptleak.Prompt
	// disabled maps tools that are switched off for the store to the reason.
	disabled map[string]string
	// prefetch reads while the model runs. Nil: nothing to read. See Prefetch.
	prefetch func(context.Context)
}

// Disabled reports whether a tool is switched off for the store. See Definition.DisabledTools.
func (t *Turn) Disabled(tool string) bool { return t.disabled[tool] != "" }

// Findings are the typed results of the tools of one turn. The answer carries them beside the text, so that prices and statuses
// come from data, not from a model. The zero value is empty and ready. All methods are safe for concurrent use.
type Findings struct {
	mu         sync.Mutex
	products   []*specialistv1.ProductChoice
	promotions []*specialistv1.PromotionChoice
	orders     []foundOrder
	passages   []*policyv1.Passage
	actions    []*specialistv1.SuggestedAction
	compared   *specialistv1.Comparison
	question   *specialistv1.ClarifyingQuestion
	notMine    *specialistv1.NotMine
	extension  *anypb.Any
	ordered    []string // products
	found      int
	empty      int
	near       int
	absent     int
}

// AddProducts adds candidates, best first. Candidates that the final text mentions become the answer's products. Of a product that
// was added before, the new choice counts only if it is of one variant and the earlier one is not: a later look-up asked for more.
func (f *Findings) AddProducts(products ...*specialistv1.ProductChoice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range products {
		same := func(q *specialistv1.ProductChoice) bool { return q.GetProductId() == p.GetProductId() }
		switch i := slices.IndexFunc(f.products, same); {
		case i < 0:
			f.products = append(f.products, p)
		case f.products[i].GetVariantId() == "" && p.GetVariantId() != "":
			f.products[i] = p
		}
	}
}

// AddPromotions adds promotions that the shopper could use now. The one that the final text proposes is the answer's, with the
// action to apply it. See proposed.
func (f *Findings) AddPromotions(candidates ...*specialistv1.PromotionChoice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.promotions = append(f.promotions, candidates...)
}

// AddOrder adds an order and its possible actions. Orders that the final text names are in the answer. An order that was added
// before becomes the last one.
func (f *Findings) AddOrder(o *orderv1.Order, possible *orderv1.OrderActions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = slices.DeleteFunc(f.orders, func(old foundOrder) bool { return old.order.GetOrderId() == o.GetOrderId() })
	f.orders = append(f.orders, foundOrder{o, possible})
}

// AddOrdered notes products that the customer has ordered, also of orders that the answer is not about.
func (f *Findings) AddOrdered(productIDs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range productIDs {
		if !slices.Contains(f.ordered, id) {
			f.ordered = append(f.ordered, id)
		}
	}
}

// AddPassages adds policy passages that the answer may quote.
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

// ReplaceAction puts an action in the place of one that was added before.
func (f *Findings) ReplaceAction(old, replacement *specialistv1.SuggestedAction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.actions, old); i >= 0 {
		f.actions[i] = replacement
	}
}

// SetComparison sets the products side by side; the last comparison counts. It is in the answer if the text names two of the products.
func (f *Findings) SetComparison(c *specialistv1.Comparison) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compared = c
}

// SetExtension sets typed data that no other field of an answer has; the last call counts.
func (f *Findings) SetExtension(extension *anypb.Any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extension = extension
}

// Near notes that a lookup found something, but nothing that has all that was asked for.
func (f *Findings) Near() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.near++
}

// Absent notes a lookup without results that shows that there is none: nothing has the number, or any of the words.
func (f *Findings) Absent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.empty++
	f.absent++
}

// Found notes the number of results of a lookup. Lookups without results lower the answer's confidence.
func (f *Findings) Found(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		f.found++
	} else {
		f.empty++
	}
}
