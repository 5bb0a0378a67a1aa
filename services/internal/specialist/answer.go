package specialist

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/mention"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// maxProducts bounds the products of an answer. More than six are a list, not advice.
const maxProducts = 6

// compose makes the answer from the result of the loop, the findings of the tools, and the verdict on the text's claims.
func compose(turn *Turn, result *agentloop.Result, text string, verdict grounding.Verdict) *specialistv1.Answer {
	f := turn.Findings
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &specialistv1.Answer{
		Text:         text,
		Confidence:   f.signals(result, verdict).confidence(),
		FinishReason: finishReason(result.FinishReason),
		Model:        result.Model,
		Usage:        usage(result.Usage),
		Products:     mentioned(f.products, text),
		Promotion:    f.promotion,
		Passages:     f.passages,

		Claims: int32(verdict.Claims), UnsupportedClaims: verdict.Texts,
	}
	f.setOrders(a)
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
	if c := result.Cost; c != nil {
		a.Cost = &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
	}
	for _, c := range result.Calls {
		a.ToolCalls = append(a.ToolCalls, toolCall(c))
	}
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

func usage(u agentloop.Usage) *commonv1.Usage {
	return &commonv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
		ReasoningOutputTokens: u.ReasoningTokens, ModelCalls: int32(u.ModelCalls), Estimated: u.Estimated,
	}
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

// signals describe how an answer came about. The zero value is an answer without lookups.
type signals struct {
	found, empty int // look-ups that returned something, or nothing
	calls        int // of tools
	failed       int // calls that came to an error
	repaired     int // calls whose arguments had to be repaired
	truncated    bool
	unsupported  int // claims of the text without evidence
	finish       agentloop.FinishReason
}

// signals gathers what the findings, the call log and the text's claims say. It wants the lock.
func (f *Findings) signals(result *agentloop.Result, verdict grounding.Verdict) signals {
	e := signals{
		found: f.found, empty: f.empty, calls: len(result.Calls), finish: result.FinishReason,
		unsupported: verdict.Unsupported,
	}
	for _, c := range result.Calls {
		if c.Error != "" {
			e.failed++
		}
		if c.RepairedFrom != "" {
			e.repaired++
		}
		e.truncated = e.truncated || c.Cut
	}
	return e
}

// confidence is how far an answer can be trusted, from 0 to 1, computed from evidence alone:
//
//	base    0.95 look-ups found something, and none came back empty
//	        0.85 some did and some did not
//	        0.7  no look-up was needed
//	        0.5  all look-ups came back empty, or every tool call failed
//	minus   0.1  for each failed tool call, at most 0.3
//	        0.05 for each tool call whose arguments had to be repaired, at most 0.1
//	        0.05 when the model did not see all of a result, for its size
//	times   0.8  when the limit of steps or the budget came before the model was done
//	        0.6  when the answer was cut short: by its length, the deadline, or the provider
//	        0.4 when a claim in the text has no evidence. One is enough: of the recorded replies with one, most are bad,
//	        whatever the share is
//
// docs/turn.md has the same table.
func (e signals) confidence() float64 {
	c := e.base() - 0.1*float64(min(e.failed, 3)) - 0.05*float64(min(e.repaired, 2))
	if e.truncated {
		c -= 0.05
	}
	switch {
	case wasCut(e.finish):
		c *= 0.6
	case e.finish != agentloop.FinishStop:
		c *= 0.8
	}
	if e.unsupported > 0 {
		c *= 0.4
	}
	return c
}

// wasCut reports whether a run ended before its text did.
func wasCut(r agentloop.FinishReason) bool {
	return r != agentloop.FinishStop && r != agentloop.FinishMaxSteps && r != agentloop.FinishBudget
}

func (e signals) base() float64 {
	switch {
	case e.found > 0 && e.empty > 0:
		return 0.85
	case e.found > 0:
		return 0.95
	case e.empty > 0, e.failed > 0 && e.failed == e.calls:
		return 0.5
	}
	return 0.7
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
	if p := f.promotion; p != nil {
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
