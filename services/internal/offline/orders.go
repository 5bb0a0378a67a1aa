package offline

import (
	"fmt"
	"slices"
	"strings"
)

// orderTold are the members of an order that its sentences tell.
var orderTold = set("order_id order_number order id status state next_step placed items total tracking note carrier tracking_number tracking_url url estimated_delivery delivered asked paid_by returns possible not_possible")

// order tells one order in sentences: how it stands, where the parcel is, what happens next, what is in it. Who wants
// something done with it is told whether that is possible, and how it stands.
func (w *writer) order(o object) string {
	parcel := o
	if v, ok := o.get("tracking"); ok {
		if t, ok := v.(object); ok {
			parcel = t
		}
	}
	status := strings.ReplaceAll(scalarField(o, "status", "state"), "_", " ")
	head := fmt.Sprintf(w.say.orderIs, scalarField(o, "order_id", "order_number", "order"), w.say.label(status))
	if status == "" {
		head = capital(w.say.label("order")) + " " + scalarField(o, "order_id", "order_number", "order")
	}
	if carrier := scalarField(parcel, "carrier", "company"); carrier != "" {
		head += fmt.Sprintf(w.say.orderWith, carrier)
	}
	if number := scalarField(parcel, "tracking_number", "number", "tracking"); number != "" {
		head += " (" + w.say.label("tracking number") + " " + number + ")"
	}
	due, came := scalarField(parcel, "estimated_delivery", "expected", "eta"), scalarField(parcel, "delivered", "delivered_on")
	late := strings.Contains(scalarField(o, "next_step"), " late")
	switch {
	case came != "":
		head += fmt.Sprintf(w.say.orderCame, came)
	case due != "" && !late:
		head += fmt.Sprintf(w.say.orderDue, due)
	}
	if v, ok := o.get("asked"); ok && len(scalars(v)) > 0 {
		return strings.Join(append(scalars(v), sentence(head)), " ")
	}
	url := scalarField(parcel, "url", "tracking_url", "link")
	out := []string{sentence(head)}
	for _, s := range sentences(scalarField(o, "next_step")) {
		if !late && due != "" && strings.Contains(s, due) || url != "" && strings.Contains(strings.ToLower(s), "tracking") || strings.Contains(strings.ToLower(s), "has arrived") && came != "" {
			continue // said already, or said below
		}
		out = append(out, sentence(s))
	}
	out = append(out, w.orderItems(o))
	if url != "" && (came == "" || url != scalarField(o, "url")) {
		out = append(out, fmt.Sprintf(w.say.orderFollow, url))
	}
	out = append(out, w.otherFacts(o))
	return joinNonEmpty(" ", out...)
}

// orderItems tells what an order holds, when it was placed and what it came to.
func (w *writer) orderItems(o object) string {
	v, _ := o.get("items")
	list, _ := v.([]any)
	var things []string
	for _, item := range items(list) {
		things = append(things, strings.TrimSuffix(w.held(object{{"title", titleOf(item)}, {"quantity", orNil(item, "quantity")}, {"options", orNil(item, "options")}}), ", "))
	}
	var about []string
	if placed := scalarField(o, "placed", "date", "created"); placed != "" {
		about = append(about, fmt.Sprintf(w.say.orderPlaced, placed))
	}
	if total := scalarField(o, "total", "amount"); total != "" {
		about = append(about, w.say.label("total")+" "+total)
	}
	switch {
	case len(things) > 0 && len(about) > 0:
		return sentence(fmt.Sprintf(w.say.orderHas, strings.Join(things, ", ")+" ("+strings.Join(about, ", ")+")"))
	case len(things) > 0:
		return sentence(fmt.Sprintf(w.say.orderHas, strings.Join(things, ", ")))
	}
	return sentence(capital(strings.Join(about, ", ")))
}

// orNil is a member's value, nil without one.
func orNil(o object, name string) any {
	v, _ := o.get(name)
	return v
}

// otherFacts reads out what the sentences leave out.
func (w *writer) otherFacts(o object) string {
	rest := slices.DeleteFunc(slices.Clone(o), func(m field) bool { return orderTold[m.name] || hidden(m.name) })
	return w.facts(rest)
}
