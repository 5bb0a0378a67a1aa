package specialist

import (
	"fmt"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/money"
)

// checkClaims checks the claims of an answer's text against what the assignment gave the model and what the tools returned.
// At the end of a text that was cut, half a claim may stand, so the last word is left out.
func checkClaims(turn *Turn, req *specialistv1.AnswerRequest, messages []agentloop.Message, text string, wasCut bool) grounding.Claims {
	if wasCut {
		text = text[:strings.LastIndexAny(text, " \n")+1]
	}
	return newEvidence(turn, req, messages).Check(text)
}

// newEvidence returns what the claims of an answer may rest on.
func newEvidence(turn *Turn, req *specialistv1.AnswerRequest, messages []agentloop.Message) *grounding.Evidence {
	var e grounding.Evidence
	for _, m := range messages {
		if m.Role == agentloop.RoleTool {
			e.AddResult(m.ToolCallID, unfenced(m.Text))
		}
	}
	e.AddText(req.GetSubQuery())
	if m := req.GetMessage(); m != req.GetSubQuery() {
		e.AddText(m)
	}
	e.AddText(req.GetSummary())
	for _, m := range req.GetHistory() {
		e.AddText(m.GetText())
	}
	e.AddText(givenData(turn, req))
	return &e
}

// unfenced returns a tool's message without the lines that fence the result in: the id of a call supports nothing.
func unfenced(text string) string {
	_, inner, _ := strings.Cut(text, "\n")
	if end := strings.LastIndex(inner, "\n</"); end >= 0 {
		return inner[:end]
	}
	return inner
}

// givenData writes out what the assignment gives beside texts: the products that were shown, the cart, the store's name, the
// date.
func givenData(turn *Turn, req *specialistv1.AnswerRequest) string {
	var b strings.Builder
	for _, p := range req.GetShownProducts() {
		fmt.Fprintln(&b, p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice()))
	}
	cart := turn.Cart
	for _, item := range cart.GetItems() {
		fmt.Fprintln(&b, item.GetProductId(), item.GetVariantId(), item.GetTitle(), item.GetOptions(), item.GetQuantity())
		if price := item.GetUnitPrice(); price != nil {
			total := &commonv1.Money{AmountMinor: price.GetAmountMinor() * int64(item.GetQuantity()), CurrencyCode: price.GetCurrencyCode()}
			fmt.Fprintln(&b, money.Text(price), money.Text(total))
		}
	}
	fmt.Fprintln(&b, len(cart.GetItems()), money.Text(cart.GetSubtotal()))
	fmt.Fprintln(&b, req.GetStoreName())
	fmt.Fprintln(&b, today(turn.Now))
	for _, why := range turn.disabled {
		fmt.Fprintln(&b, why)
	}
	return b.String()
}
