package grounding

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// Phrase is a sentence as somebody may say it in a reply, with placeholders for what it is about: {product}, {other}, {order}, {date},
// {code}, {percent} and {price}.
type Phrase struct {
	Language string // base of a BCP 47 tag
	// Supports is the fact that makes the sentence true: a key of facts, "action_claimed", "guaranteed", "no_action" or "none". A claim of an
	// action and a guarantee of a time of arrival are never true; "no_action" and "none" state nothing that evidence can deny.
	Supports string
	Text     string
}

// evidence is what the tool results of a phrase say.
type evidence struct {
	stock, otherStock int
	price, otherPrice string
	status            string
	canCancel         bool
	canReturn         bool
	delivery          string // of the store's documents
	isExpired         bool
	isMissing         bool      // an amount for the code
	day               time.Time // of arrival, and on which the code ends
}

var phraseDay = time.Date(2026, time.June, 21, 0, 0, 0, 0, time.UTC)

const (
	freeDelivery = "Shipping is free of charge for all orders within the country."
	paidDelivery = "Shipping costs 4.90 EUR for all orders within the country."
)

var plainEvidence = evidence{
	stock: 6, otherStock: 6, price: "89.00 EUR", otherPrice: "129.00 EUR", status: "processing", canCancel: true, canReturn: true, delivery: paidDelivery, day: phraseDay,
}

// fact is what makes a phrase true, and what makes it false.
type fact struct {
	subject   string // the placeholder of what it is about
	is, isNot func(*evidence)
}

func status(s string) func(*evidence) { return func(e *evidence) { e.status = s } }

func hasLeft(e *evidence) { e.canCancel, e.status = false, "shipped" }

// facts are by what a phrase supports.
var facts = map[string]fact{
	"in_stock":         {"{product}", func(e *evidence) { e.otherStock = 0 }, func(e *evidence) { e.stock, e.otherStock = 0, 6 }},
	"out_of_stock":     {"{product}", func(e *evidence) { e.stock, e.otherStock = 0, 6 }, func(e *evidence) { e.otherStock = 0 }},
	"cheaper":          {"{product}", func(*evidence) {}, func(e *evidence) { e.otherPrice = "59.00 EUR" }},
	"cheapest":         {"{product}", func(*evidence) {}, func(e *evidence) { e.otherPrice = "59.00 EUR" }},
	"shipped":          {"{order}", status("shipped"), status("processing")},
	"delivered":        {"{order}", status("delivered"), status("shipped")},
	"processing":       {"{order}", status("processing"), status("shipped")},
	"cancelled":        {"{order}", status("cancelled"), status("processing")},
	"refunded":         {"{order}", status("refunded"), status("processing")},
	"can_cancel":       {"{order}", func(*evidence) {}, hasLeft},
	"cannot_cancel":    {"{order}", hasLeft, func(*evidence) {}},
	"can_return":       {"{item}", status("delivered"), func(e *evidence) { e.status, e.canReturn = "delivered", false }},
	"cannot_return":    {"{item}", func(e *evidence) { e.status, e.canReturn = "delivered", false }, status("delivered")},
	"arrives":          {"{item}", status("shipped"), func(e *evidence) { e.status, e.day = "shipped", e.day.AddDate(0, 0, 3) }},
	"free_shipping":    {"", func(e *evidence) { e.delivery = freeDelivery }, func(*evidence) {}},
	"no_free_shipping": {"", func(*evidence) {}, func(e *evidence) { e.delivery = freeDelivery }},
	"code_valid":       {"{code}", func(*evidence) {}, func(e *evidence) { e.isExpired = true }},
	"code_expired":     {"{code}", func(e *evidence) { e.isExpired = true }, func(*evidence) {}},
	"code_not_met":     {"{code}", func(e *evidence) { e.isMissing = true }, func(*evidence) {}},
}

// cases returns the cases of a phrase: one that its evidence supports, and one whose evidence says the opposite.
func (p Phrase) cases(id string) ([]Case, error) {
	i := slices.IndexFunc(languages, func(l phrases) bool { return l.language == p.Language })
	if i < 0 {
		return nil, fmt.Errorf("language is %q, want en, de, fr or es", p.Language)
	}
	of, isFact := facts[p.Supports]
	text := p.Text
	if of.subject != "" && of.subject != "{item}" && !strings.Contains(text, of.subject) {
		text = of.subject + ": " + text
	}
	l := languages[i]
	values := map[string]string{
		"{date}": l.day(phraseDay), "{percent}": "15 %", "{price}": l.amount(plainEvidence.price),
		"{product}": "Orvane Lumo", "{other}": "Teskal Brin", "{order}": "QT-48213", "{code}": "LUMEN15",
	}
	message := l.message + " " + values["{percent}"] + ", " + values["{price}"]
	if p.Supports != "arrives" {
		message += ", " + values["{date}"]
	}
	for placeholder, value := range values {
		p.Text = strings.ReplaceAll(p.Text, placeholder, " ")
		text = strings.ReplaceAll(text, placeholder, value)
	}
	for _, c := range (&grounding.Evidence{Language: p.Language}).Check(p.Text) {
		if c.Kind != grounding.Statement && c.Kind != grounding.Action {
			message += ", " + c.Text // a value that the author made up
		}
	}
	for _, f := range grounding.Read(p.Text, p.Language).Facts { // also in words: "seven pieces"
		if f.IsNumber() {
			message += ", " + p.Text[f.Start:f.End]
		}
	}
	made := func(suffix, tool string, e evidence, wrong string) Case {
		c := Case{
			ID: id + suffix, Kind: p.Supports, Language: p.Language, Message: message, Payloads: e.payloads(tool), Text: text, Verdict: "honest",
		}
		if wrong != "" {
			c.Verdict, c.Wrong = "corrupted", wrong
		}
		return c
	}
	honest, changed := plainEvidence, plainEvidence
	switch p.Supports {
	case "action_claimed":
		return []Case{made("-c", "lookup_order", plainEvidence, text)}, nil
	case "guaranteed":
		hasLeft(&changed)
		return []Case{made("-c", "lookup_order", changed, text)}, nil
	case "no_action", "none":
		changed = evidence{0, 6, changed.price, "59.00 EUR", "delivered", false, false, freeDelivery, true, false, changed.day}
		return []Case{made("-h", "", honest, ""), made("-n", "", changed, "")}, nil
	}
	if !isFact {
		known := append(slices.Sorted(maps.Keys(facts)), "action_claimed", "guaranteed", "no_action", "none")
		return nil, fmt.Errorf("supports is %q, want one of %s", p.Supports, strings.Join(known, ", "))
	}
	of.is(&honest)
	of.isNot(&changed)
	tool := map[string]string{"{product}": "search_catalog", "{order}": "lookup_order", "{item}": "lookup_order", "{code}": "list_active_promotions"}[of.subject]
	return []Case{made("-h", tool, honest, ""), made("-c", tool, changed, text)}, nil
}

// payloads returns what a tool says, or what all say if none is named.
func (e evidence) payloads(tool string) []Payload {
	day := e.day.Format("2 January 2006")
	order := map[string]any{"order_id": "QT-48213", "status": e.status, "total": e.price, "items": []any{
		map[string]any{"product_id": "P-11", "title": "Orvane Lumo", "price": e.price},
	}, "asked": []string{
		sentenceThat("The order %s be cancelled", e.canCancel, "it has left already"),
		sentenceThat("Items %s be returned", e.canReturn, "the time for it has ended"),
	}}
	parcel := map[string]string{"tracking_number": "PL4471900382", "estimated_delivery": day}
	if e.status == "delivered" {
		parcel = map[string]string{"tracking_number": "PL4471900382", "delivered": day}
	}
	if e.status == "shipped" || e.status == "delivered" || e.status == plainEvidence.status {
		order["tracking"] = parcel
	}
	code := map[string]any{"code": "LUMEN15", "offer": "15% off all products", "eligible": true, "ends": day}
	if e.isExpired {
		code = map[string]any{"code": "LUMEN15", "offer": "15% off all products", "eligible": false, "refused": "expired", "explanation": "LUMEN15 ended on " + day + "."}
	}
	if e.isMissing {
		code = map[string]any{"code": "LUMEN15", "offer": "15% off all products", "eligible": false, "refused": "minimum_not_met", "missing": e.price, "ends": day}
	}
	var out []Payload
	for _, p := range []struct {
		tool   string
		result any
	}{
		{"search_catalog", map[string]any{"products": []any{
			map[string]any{"product_id": "P-11", "title": "Orvane Lumo", "price": e.price, "stock": e.stock},
			map[string]any{"product_id": "P-12", "title": "Teskal Brin", "price": e.otherPrice, "stock": e.otherStock},
		}}},
		{"lookup_order", map[string]any{"order": order}},
		{"list_active_promotions", map[string]any{"promotions": []any{code}}},
		{"search_policies", map[string]any{"passages": []any{
			map[string]string{"policy": "Delivery", "text": e.delivery + " Standard shipping takes 3 working days."},
		}}},
	} {
		if tool == "" || tool == p.tool {
			raw, err := json.Marshal(p.result)
			if err != nil {
				panic(err) // strings, numbers and booleans
			}
			out = append(out, Payload{Tool: p.tool, Result: raw})
		}
	}
	return out
}

// sentenceThat says whether something can be done, as the tools do.
func sentenceThat(clause string, can bool, why string) string {
	if can {
		return fmt.Sprintf(clause, "can") + "."
	}
	return fmt.Sprintf(clause, "cannot") + ": " + why + "."
}
