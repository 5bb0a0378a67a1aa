package output

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// maxExtension is the largest extension of an answer in bytes: turns are recorded with it.
const maxExtension = 64 << 10

// Event checks an event of a specialist, in place. The pieces of a text are left alone: a Stream checks them.
func (p *Policy) Event(ev *specialistv1.AnswerResponse) {
	if ev.GetTextDelta() != nil {
		return
	}
	Clean(ev)
	if a := ev.GetAnswer(); a != nil {
		p.answer(a)
	}
}

// Decision checks a decision of the router, in place. A sub-query keeps the shopper's addresses: a specialist may need them.
func (p *Policy) Decision(d *routerv1.RoutingDecision) {
	Clean(d)
	for _, a := range d.GetAssignments() {
		a.Reason = p.Text(a.GetReason())
	}
}

// answer checks the words of an answer, its addresses and its suggested actions.
func (p *Policy) answer(a *specialistv1.Answer) {
	a.Text = p.Reply(a.GetText())
	if q := a.GetClarifyingQuestion(); q != nil {
		q.Text = p.Text(q.GetText())
		q.QuickReplies = slices.DeleteFunc(q.GetQuickReplies(), func(s string) bool { return p.Text(s) != s })
	}
	if n := a.GetNotMine(); n != nil {
		n.Reason = p.Text(n.GetReason())
	}
	for i, claim := range a.GetUnsupportedClaims() {
		a.UnsupportedClaims[i] = p.Text(claim)
	}
	p.Dropped(a.GetDroppedClaims())
	if proto.Size(a.GetExtension()) > maxExtension {
		a.Extension = nil
	}
	p.claims(a)
	for _, c := range a.GetProducts() {
		p.product(c)
	}
	if c := a.GetComparison(); c != nil {
		p.comparison(c)
	}
	if c := a.GetPromotion(); c != nil {
		c.Title, c.Reason = p.Text(c.GetTitle()), p.Text(c.GetReason())
	}
	for _, passage := range a.GetPassages() {
		passage.Text, passage.Url = p.Text(passage.GetText()), p.page(passage.GetUrl())
	}
	p.order(a.GetOrder())
	for _, o := range a.GetOtherOrders() {
		p.order(o)
	}
	a.SuggestedActions = slices.DeleteFunc(a.GetSuggestedActions(), func(s *specialistv1.SuggestedAction) bool { return !allows(a, s) })
	for _, s := range a.GetSuggestedActions() {
		if h := s.GetHandOff(); h != nil {
			h.Reason, h.Summary = p.Text(h.GetReason()), p.Text(h.GetSummary())
		}
		if c := s.GetChangeOrder(); c != nil {
			c.NewAddress = p.Text(c.GetNewAddress())
			for _, item := range c.GetItems() {
				for name, value := range item.GetOptions() {
					item.Options[name] = p.Text(value)
				}
			}
		}
	}
}

// claims checks the words of an answer's claims, and gives them their places in the text as it is shown. Claims that are no longer
// in the text go.
func (p *Policy) claims(a *specialistv1.Answer) {
	shown, from := a.GetText(), 0
	a.CheckedClaims = slices.DeleteFunc(a.GetCheckedClaims(), func(c *specialistv1.Claim) bool {
		start := int(c.GetStart())
		if start < 0 || start > len(shown) || !strings.HasPrefix(shown[start:], c.GetText()) {
			at := strings.Index(shown[from:], c.GetText())
			start = from + at
			if at < 0 {
				return true
			}
		}
		from = start
		c.Start, c.End = int32(start), int32(start+len(c.GetText()))
		p.claim(c)
		return false
	})
}

// Dropped checks the words of claims that no text has, in place.
func (p *Policy) Dropped(claims []*specialistv1.Claim) {
	for _, c := range claims {
		Clean(c)
		c.Text = p.Text(c.GetText())
		p.claim(c)
	}
}

// claim checks the words around a claim.
func (p *Policy) claim(c *specialistv1.Claim) {
	c.Subject = p.Text(c.GetSubject())
	for _, source := range c.GetSources() {
		source.Value = p.Text(source.GetValue())
	}
}

// product checks the words and addresses of a product.
func (p *Policy) product(c *specialistv1.ProductChoice) {
	c.Title, c.Brand, c.Reason, c.Url = p.Text(c.GetTitle()), p.Text(c.GetBrand()), p.Text(c.GetReason()), p.page(c.GetUrl())
	c.Audience = p.Text(c.GetAudience())
	c.Tags = slices.DeleteFunc(c.GetTags(), func(tag string) bool { return p.Text(tag) != tag })
	c.ImageUrls = slices.DeleteFunc(c.GetImageUrls(), func(url string) bool { return p.page(url) == "" })
}

// comparison checks the words and addresses of a comparison.
func (p *Policy) comparison(c *specialistv1.Comparison) {
	for _, product := range c.GetProducts() {
		p.product(product)
	}
	for _, fact := range c.GetFacts() {
		fact.Name = p.Text(fact.GetName())
		for i, value := range fact.GetValues() {
			fact.Values[i] = p.Text(value)
		}
	}
}

// order checks the words and addresses of an order.
func (p *Policy) order(o *orderv1.Order) {
	for _, item := range o.GetItems() {
		item.Title = p.Text(item.GetTitle())
	}
	for _, f := range o.GetFulfilments() {
		f.Carrier, f.TrackingUrl = p.Text(f.GetCarrier()), p.page(f.GetTrackingUrl())
	}
}

// page returns the address of a page, or "" if replies may not link to it.
func (p *Policy) page(url string) string {
	if url == "" || p.allowsURL(url) {
		return url
	}
	return ""
}

// allows reports whether the typed results of an answer bear out an action that it suggests: it names the promotion that was chosen,
// a product that the answer has, or an action that the store allows for an order of the answer.
func allows(a *specialistv1.Answer, s *specialistv1.SuggestedAction) bool {
	switch action := s.GetAction().(type) {
	case *specialistv1.SuggestedAction_HandOff:
		return true
	case *specialistv1.SuggestedAction_ApplyPromotion:
		chosen, applied := a.GetPromotion(), action.ApplyPromotion
		return applied.GetCode() != "" && applied.GetCode() == chosen.GetCode() && slices.Equal(applied.GetAlsoCodes(), chosen.GetAlsoCodes())
	case *specialistv1.SuggestedAction_AddToCart:
		add := action.AddToCart
		return add.GetQuantity() > 0 && slices.ContainsFunc(a.GetProducts(), func(c *specialistv1.ProductChoice) bool {
			return c.GetProductId() == add.GetProductId() && (add.GetVariantId() == "" || add.GetVariantId() == c.GetVariantId())
		})
	case *specialistv1.SuggestedAction_StartReturn:
		return action.StartReturn.GetAction().GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN &&
			allowsForOrder(a, action.StartReturn.GetOrderId(), action.StartReturn.GetAction())
	case *specialistv1.SuggestedAction_ChangeOrder:
		return allowsForOrder(a, action.ChangeOrder.GetOrderId(), action.ChangeOrder.GetAction())
	}
	return false
}

func allowsForOrder(a *specialistv1.Answer, orderID string, action *orderv1.AllowedAction) bool {
	possible := a.GetOrderActions()
	if orderID != a.GetOrder().GetOrderId() {
		i := slices.IndexFunc(a.GetOtherOrders(), func(o *orderv1.Order) bool { return o.GetOrderId() == orderID })
		if i < 0 || i >= len(a.GetOtherOrderActions()) {
			return false
		}
		possible = a.GetOtherOrderActions()[i]
	}
	return orderID != "" &&
		slices.ContainsFunc(possible.GetAllowed(), func(allowed *orderv1.AllowedAction) bool { return proto.Equal(allowed, action) })
}
