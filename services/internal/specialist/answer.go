package specialist

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/mention"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// maxProducts bounds the products of an answer. More than six are a list, not advice.
const maxProducts = 6

// maxUnsupported bounds the unsupported claims that an answer quotes.
const maxUnsupported = 10

// compose makes the answer from the result of the loop, the findings of the tools, the claims of the text, and those that it lost.
func compose(turn *Turn, result *agentloop.Result, text string, claims, lost grounding.Claims) *specialistv1.Answer {
	unsupported := append(lost.Texts(maxUnsupported), claims.Rejected().Texts(maxUnsupported)...)
	f := turn.Findings
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &specialistv1.Answer{
		Text:         text,
		FinishReason: finishReason(result.FinishReason),
		Model:        result.Model,
		Usage:        usage.Of(result.Usage),
		Cost:         usage.CostOf(result.Cost),
		ModelCalls:   usage.Calls(result),
		Products:     mentioned(f.products, text),
		Promotion:    proposed(f.promotions, text),
		Passages:     f.passages,
		Evidence:     f.evidence(result, len(lost)+len(claims.Rejected())),

		OrderedProductIds: f.ordered,
		Claims:            int32(len(lost) + len(claims) - claims.Count(grounding.Undecided)), UnsupportedClaims: unsupported[:min(len(unsupported), maxUnsupported)],
		CheckedClaims: claims.Proto(), DroppedClaims: lost[:min(len(lost), maxUnsupported)].Proto(), Extension: f.extension,
	}
	if len(mentioned(f.compared.GetProducts(), text)) > 1 {
		a.Comparison = f.compared
	}
	f.setOrders(a)
	if p := a.GetPromotion(); p != nil {
		a.SuggestedActions = append(a.SuggestedActions, &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ApplyPromotion{
			ApplyPromotion: &specialistv1.ApplyPromotion{Code: p.GetCode(), AlsoCodes: p.GetAlsoCodes()},
		}})
	}
	for i, s := range a.GetSuggestedActions() {
		if h := s.GetHandOff(); h != nil {
			a.SuggestedActions[i] = f.handOff(h, turn.SubQuery)
		}
	}
	switch {
	case f.notMine == nil:
		a.ClarifyingQuestion = f.question
	case text == "":
		a.NotMine = f.notMine
	}
	for _, c := range result.Calls {
		a.ToolCalls = append(a.ToolCalls, toolCall(c))
	}
	if a.ClarifyingQuestion == nil && f.notMine == nil {
		a.ClarifyingQuestion = plainQuestion(a)
	}
	a.Confidence = confidence.Of(turn.SubQuery, a)
	return a
}

// mentioned returns the candidates that the text names, in the order of the text.
func mentioned(products []*specialistv1.ProductChoice, text string) []*specialistv1.ProductChoice {
	var out []*specialistv1.ProductChoice
	for _, m := range mention.Products(text, mention.Choices(products)) {
		if len(out) < maxProducts {
			out = append(out, products[m.Product])
		}
	}
	return out
}

// proposed returns the promotion that a text proposes: of those whose codes it all names, the one that saves most. A code that does
// not apply is no candidate, whatever the text says of it. The reason is the first sentence that names a code. Nil: none.
func proposed(candidates []*specialistv1.PromotionChoice, s string) *specialistv1.PromotionChoice {
	unnamed := func(code string) bool { return mention.Index(s, code) < 0 }
	best := most(slices.DeleteFunc(slices.Clone(candidates), func(p *specialistv1.PromotionChoice) bool {
		return unnamed(p.GetCode()) || slices.ContainsFunc(p.GetAlsoCodes(), unnamed)
	}))
	if best == nil {
		return nil
	}
	best = proto.CloneOf(best)
	for _, sentence := range text.SplitSentences(s) {
		if mention.Index(sentence, best.GetCode()) >= 0 {
			best.Reason = strings.TrimSpace(sentence)
			break
		}
	}
	return best
}

// most returns the first of the promotions that save most. Nil: there are none.
func most(promotions []*specialistv1.PromotionChoice) *specialistv1.PromotionChoice {
	var best *specialistv1.PromotionChoice
	for _, p := range promotions {
		if best == nil || p.GetSaving().GetAmountMinor() > best.GetSaving().GetAmountMinor() {
			best = p
		}
	}
	return best
}

// finishReason returns why an answer with a text ended.
func finishReason(r agentloop.FinishReason) specialistv1.FinishReason {
	switch r {
	case agentloop.FinishLength:
		return specialistv1.FinishReason_FINISH_REASON_LENGTH
	case agentloop.FinishError:
		return specialistv1.FinishReason_FINISH_REASON_ERROR
	case agentloop.FinishContentFilter:
		return specialistv1.FinishReason_FINISH_REASON_CONTENT_FILTER
	case agentloop.FinishMaxSteps:
		return specialistv1.FinishReason_FINISH_REASON_MAX_STEPS
	case agentloop.FinishBudget:
		return specialistv1.FinishReason_FINISH_REASON_BUDGET
	case agentloop.FinishDeadline, agentloop.FinishCanceled:
		return specialistv1.FinishReason_FINISH_REASON_DEADLINE
	}
	return specialistv1.FinishReason_FINISH_REASON_STOP
}

func setDuration(a *specialistv1.Answer, d time.Duration) { a.Duration = durationpb.New(d) }

// evidence counts what the tools did. It wants the lock.
func (f *Findings) evidence(result *agentloop.Result, unsupported int) *specialistv1.Evidence {
	e := &specialistv1.Evidence{
		Found: int32(f.found), Empty: int32(f.empty), Near: int32(f.near), Absent: int32(f.absent), UnsupportedClaims: int32(unsupported),
	}
	for _, c := range result.Calls {
		if c.Error != "" {
			e.FailedCalls++
		}
		if c.RepairedFrom != "" {
			e.RepairedCalls++
		}
	}
	return e
}

// wasCut reports whether a run ended before its text did.
func wasCut(r agentloop.FinishReason) bool {
	return r != agentloop.FinishStop && r != agentloop.FinishMaxSteps && r != agentloop.FinishBudget
}

// maxQuotedPassages bounds the policy passages that are quoted without a model: the best ones come first.
const maxQuotedPassages = 2

// fallbackText says what the tools found, without a model: titles, prices, codes and quotes, which are the same in every
// language, and the status of an order. It is "" when they found nothing.
func (f *Findings) fallbackText(language string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	add := func(parts ...string) { lines = append(lines, "- "+strings.Join(parts, "")) }
	for _, p := range f.products[:min(len(f.products), maxProducts)] {
		if price := money.Text(p.GetPrice()); price != "" {
			add(p.GetTitle(), ", ", price)
		} else {
			add(p.GetTitle())
		}
	}
	if p := most(f.promotions); p != nil {
		add(p.GetCode(), ": ", p.GetTitle())
	}
	for _, o := range f.orders {
		if status := statusText(o.order.GetStatus(), language); status != "" {
			add(o.order.GetOrderId(), ": ", status)
		} else {
			add(o.order.GetOrderId())
		}
	}
	for _, p := range f.passages[:min(len(f.passages), maxQuotedPassages)] {
		add(p.GetPolicyTitle(), ": \"", strings.TrimSpace(p.GetText()), "\"")
	}
	return strings.Join(lines, "\n")
}

// statuses names the statuses of orders by language.
var statuses = map[string]map[orderv1.OrderStatus]string{
	"en": {
		orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT: "pending payment", orderv1.OrderStatus_ORDER_STATUS_PROCESSING: "processing",
		orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED: "partly shipped", orderv1.OrderStatus_ORDER_STATUS_SHIPPED: "shipped",
		orderv1.OrderStatus_ORDER_STATUS_DELIVERED: "delivered", orderv1.OrderStatus_ORDER_STATUS_CANCELLED: "cancelled",
		orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED: "return requested", orderv1.OrderStatus_ORDER_STATUS_RETURNED: "returned",
	},
	"de": {
		orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT: "Zahlung ausstehend", orderv1.OrderStatus_ORDER_STATUS_PROCESSING: "in Bearbeitung",
		orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED: "teilweise versandt", orderv1.OrderStatus_ORDER_STATUS_SHIPPED: "versandt",
		orderv1.OrderStatus_ORDER_STATUS_DELIVERED: "zugestellt", orderv1.OrderStatus_ORDER_STATUS_CANCELLED: "storniert",
		orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED: "Rückgabe beantragt", orderv1.OrderStatus_ORDER_STATUS_RETURNED: "zurückgegeben",
	},
	"es": {
		orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT: "pendiente de pago", orderv1.OrderStatus_ORDER_STATUS_PROCESSING: "en preparación",
		orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED: "enviado en parte", orderv1.OrderStatus_ORDER_STATUS_SHIPPED: "enviado",
		orderv1.OrderStatus_ORDER_STATUS_DELIVERED: "entregado", orderv1.OrderStatus_ORDER_STATUS_CANCELLED: "cancelado",
		orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED: "devolución solicitada", orderv1.OrderStatus_ORDER_STATUS_RETURNED: "devuelto",
	},
	"fr": {
		orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT: "en attente de paiement", orderv1.OrderStatus_ORDER_STATUS_PROCESSING: "en préparation",
		orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED: "expédiée en partie", orderv1.OrderStatus_ORDER_STATUS_SHIPPED: "expédiée",
		orderv1.OrderStatus_ORDER_STATUS_DELIVERED: "livrée", orderv1.OrderStatus_ORDER_STATUS_CANCELLED: "annulée",
		orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED: "retour demandé", orderv1.OrderStatus_ORDER_STATUS_RETURNED: "retournée",
	},
}

// statusText names a status in the shopper's language, or "" if there is no name in it.
func statusText(s orderv1.OrderStatus, language string) string {
	base, own := text.Written(language)
	if !own {
		return ""
	}
	return statuses[base][s]
}
