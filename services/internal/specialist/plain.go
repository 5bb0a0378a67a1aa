package specialist

import (
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
)

// maxQuoted bounds the policy passages that are quoted without a model: the best ones come first.
const maxQuoted = 2

// plainly says what the tools found, without a model: titles, prices, codes and quotes, which are the same in every
// language. It is "" when they found nothing.
func (f *Findings) plainly() string {
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
	if o := f.order; o != nil {
		add(o.GetOrderId(), ": ", statusWords(o.GetStatus()))
	}
	for _, p := range f.passages[:min(len(f.passages), maxQuoted)] {
		add(p.GetPolicyTitle(), ": \"", strings.TrimSpace(p.GetText()), "\"")
	}
	return strings.Join(lines, "\n")
}

// statusWords is the name of a status in lower case: "partly shipped".
func statusWords(s orderv1.OrderStatus) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.String(), "ORDER_STATUS_"), "_", " "))
}
