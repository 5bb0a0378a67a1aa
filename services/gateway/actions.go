package gateway

import (
	"cmp"
	"context"
	"math"
	"slices"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/mention"
)

// maxActions is how many suggested actions a reply has: a shop shows a button for each.
const maxActions = 4

// nameProducts keeps the products that the reply's text names, in the order of the text, and returns where it names them.
func nameProducts(r *gatewayv1.AskResponse) []int {
	var named []*specialistv1.ProductChoice
	var places []int
	for _, m := range mention.Products(r.GetText(), mention.Choices(r.GetProducts())) {
		named, places = append(named, r.Products[m.Product]), append(places, m.At)
	}
	r.Products = named
	return places
}

// nameOrders keeps the orders that the reply's text names. A text that names none is about all of them.
func nameOrders(r *gatewayv1.AskResponse) {
	named := slices.DeleteFunc(slices.Clone(r.GetOrders()), func(o *orderv1.Order) bool { return mentionOfOrder(r.GetText(), o) < 0 })
	if len(named) > 0 {
		r.Orders = named
	}
}

// choosePromotion returns the promotion that a reply proposes: of those that the text names, the one that saves most. Nil: the text
// names none, because the merge dropped the sentence or left it out.
func choosePromotion(text string, results []fanout.Result) *specialistv1.PromotionChoice {
	var best *specialistv1.PromotionChoice
	for _, result := range results {
		p := result.Answer.GetPromotion()
		if p != nil && namesCodes(text, p) && (best == nil || p.GetSaving().GetAmountMinor() > best.GetSaving().GetAmountMinor()) {
			best = p
		}
	}
	return best
}

// namesCodes reports whether a text names all codes of a promotion.
func namesCodes(text string, p *specialistv1.PromotionChoice) bool {
	return mention.Index(text, p.GetCode()) >= 0 &&
		!slices.ContainsFunc(p.GetAlsoCodes(), func(code string) bool { return mention.Index(text, code) < 0 })
}

// placedAction is a suggested action and where the text names what it is about.
type placedAction struct {
	*specialistv1.SuggestedAction
	at       int
	proposed bool // by a specialist
}

// suggestActions sets the actions of a reply, in the order of the text. Of what the specialists propose, those about something that
// the text names stay, and any handover. Each product that the text names can be added to the cart, if it is in stock and neither in
// the cart nor in an order that the turn has read or that is not delivered yet. If there are too many, those that no specialist proposed go first.
func suggestActions(ctx context.Context, r *gatewayv1.AskResponse, results []fanout.Result, places []int, run *fanout.Run) {
	var all []placedAction
	var handOff *specialistv1.SuggestedAction
	for _, result := range results {
		for _, a := range result.Answer.GetSuggestedActions() {
			if h := a.GetHandOff(); h != nil {
				if handOff == nil || handOff.GetHandOff().GetSummary() == "" && h.GetSummary() != "" {
					handOff = a
				}
				continue
			}
			at, ok := placeOf(r, places, a)
			if ok && !slices.ContainsFunc(all, func(b placedAction) bool { return sameSubject(a, b.SuggestedAction) }) {
				all = append(all, placedAction{a, at, true})
			}
		}
	}
	all = append(all, addToCart(ctx, r, all, places, run)...)
	slices.SortStableFunc(all, func(a, b placedAction) int { return cmp.Compare(a.at, b.at) })
	room := maxActions
	if handOff != nil {
		room--
	}
	for i := len(all) - 1; i >= 0 && len(all) > room; i-- {
		if !all[i].proposed {
			all = slices.Delete(all, i, i+1)
		}
	}
	for _, a := range all[:min(len(all), room)] {
		r.SuggestedActions = append(r.SuggestedActions, a.SuggestedAction)
	}
	if handOff != nil {
		r.SuggestedActions = append(r.SuggestedActions, handOff)
	}
}

// placeOf returns where the text names what an action is about. ok is false if it does not, or if the action cannot be taken.
func placeOf(r *gatewayv1.AskResponse, places []int, a *specialistv1.SuggestedAction) (at int, ok bool) {
	switch action := a.GetAction().(type) {
	case *specialistv1.SuggestedAction_AddToCart:
		i := slices.IndexFunc(r.GetProducts(), func(p *specialistv1.ProductChoice) bool {
			return p.GetProductId() == action.AddToCart.GetProductId() && p.GetStock() > 0
		})
		if i < 0 {
			return 0, false
		}
		return places[i], true
	case *specialistv1.SuggestedAction_ApplyPromotion:
		code := action.ApplyPromotion.GetCode()
		return mention.Index(r.GetText(), code), code != "" && code == r.GetPromotion().GetCode()
	case *specialistv1.SuggestedAction_StartReturn:
		return placeOfOrder(r, action.StartReturn.GetOrderId())
	case *specialistv1.SuggestedAction_ChangeOrder:
		return placeOfOrder(r, action.ChangeOrder.GetOrderId())
	}
	return 0, false
}

// placeOfOrder returns where the text names an order, by its id or one of its items. The text of a reply with one order is about
// that, whether it names it or not.
func placeOfOrder(r *gatewayv1.AskResponse, id string) (at int, ok bool) {
	i := slices.IndexFunc(r.GetOrders(), func(o *orderv1.Order) bool { return o.GetOrderId() == id })
	if i < 0 {
		return 0, false
	}
	if at = mentionOfOrder(r.GetText(), r.GetOrders()[i]); at >= 0 {
		return at, true
	}
	return math.MaxInt, len(r.GetOrders()) == 1
}

// mentionOfOrder returns where a text names an order, by its id or one of its items, or -1.
func mentionOfOrder(text string, o *orderv1.Order) int {
	if at := mention.Index(text, o.GetOrderId()); at >= 0 {
		return at
	}
	var items []mention.Product
	for _, item := range o.GetItems() {
		items = append(items, mention.Product{ID: item.GetProductId(), Title: item.GetTitle()})
	}
	if named := mention.Products(text, items); len(named) > 0 {
		return named[0].At
	}
	return -1
}

// sameSubject reports whether two actions are the same but for details: one button is enough.
func sameSubject(a, b *specialistv1.SuggestedAction) bool {
	switch {
	case a.GetAddToCart() != nil:
		return a.GetAddToCart().GetProductId() == b.GetAddToCart().GetProductId()
	case a.GetApplyPromotion() != nil:
		return b.GetApplyPromotion() != nil
	case a.GetStartReturn() != nil:
		return a.GetStartReturn().GetOrderId() == b.GetStartReturn().GetOrderId()
	}
	x, y := a.GetChangeOrder(), b.GetChangeOrder()
	return x.GetOrderId() == y.GetOrderId() && x.GetAction().GetKind() == y.GetAction().GetKind()
}

// addToCart returns an action for each product that the text names and that can be added to the cart, but for those that have one.
func addToCart(ctx context.Context, r *gatewayv1.AskResponse, there []placedAction, places []int, run *fanout.Run) []placedAction {
	if len(r.GetProducts()) == 0 {
		return nil
	}
	cart, none := run.Cart(ctx)
	if none {
		return nil
	}
	var out []placedAction
	for i, p := range r.GetProducts() {
		if p.GetStock() <= 0 || inCart(cart, p) || ordered(r, p) {
			continue
		}
		a := &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_AddToCart{
			AddToCart: &specialistv1.AddToCart{ProductId: p.GetProductId(), VariantId: p.GetVariantId(), Quantity: 1},
		}}
		if !slices.ContainsFunc(there, func(b placedAction) bool { return sameSubject(a, b.SuggestedAction) }) {
			out = append(out, placedAction{a, places[i], false})
		}
	}
	if len(out) == 0 {
		return nil
	}
	open := run.OpenOrders(ctx)
	return slices.DeleteFunc(out, func(a placedAction) bool { return hasProduct(open, a.GetAddToCart().GetProductId()) })
}

func inCart(cart *cartv1.Cart, p *specialistv1.ProductChoice) bool {
	return slices.ContainsFunc(cart.GetItems(), func(item *cartv1.CartItem) bool { return item.GetProductId() == p.GetProductId() })
}

// ordered reports whether a product is in an order that the turn has read.
func ordered(r *gatewayv1.AskResponse, p *specialistv1.ProductChoice) bool {
	for _, result := range r.GetResults() {
		if slices.Contains(result.GetAnswer().GetOrderedProductIds(), p.GetProductId()) {
			return true
		}
	}
	return hasProduct(r.GetOrders(), p.GetProductId())
}

func hasProduct(orders []*orderv1.Order, id string) bool {
	return slices.ContainsFunc(orders, func(o *orderv1.Order) bool {
		return slices.ContainsFunc(o.GetItems(), func(item *orderv1.OrderItem) bool { return item.GetProductId() == id })
	})
}
