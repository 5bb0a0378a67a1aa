package offline

import (
	"regexp"
	"slices"
	"strings"
)

// maxBullets is how many items of a list are named.
const maxBullets = 6

// render words one result by its shape.
func (w *writer) render(r result) string {
	switch v := r.value.(type) {
	case string:
		return sentence(v)
	case []any:
		return w.list("", items(v), r)
	case object:
		return w.object(v, r)
	}
	return sentence(scalar(r.value))
}

// member is a list inside a result.
type memberList struct {
	name  string
	items []object
}

func lists(o object) []memberList {
	var out []memberList
	for _, m := range o {
		if l, ok := m.value.([]any); ok && len(items(l)) > 0 {
			out = append(out, memberList{m.name, items(l)})
		}
	}
	return out
}

func items(list []any) []object {
	var out []object
	for _, e := range list {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func (w *writer) object(o object, r result) string {
	var parts []string
	if n := w.note(o); n != "" {
		parts = append(parts, sentence(n))
	}
	switch {
	case isOrder(o):
		return strings.Join(append(parts, w.order(o)), " ")
	case isOffer(o):
		return strings.Join(append(parts, w.offers([]object{o}, r)), " ")
	case isPassage(o):
		return strings.Join(append(parts, w.passages([]object{o})), "\n")
	}
	if text := w.nested(o, r); text != "" {
		return strings.Join(append(parts, text), " ")
	}
	inner := lists(o)
	if len(inner) == 0 {
		return strings.TrimSpace(strings.Join(append(parts, w.single(o)), " "))
	}
	for _, l := range inner {
		parts = append(parts, w.list(l.name, l.items, r))
	}
	var rest object
	for _, m := range o {
		if s := scalar(m.value); s != "" && !hidden(m.name) && s != "0" && w.matters(m.name) && !isOffer(inner[0].items[0]) && m.name != "total" && m.name != "count" && m.name != "query" {
			rest = append(rest, m)
		}
	}
	if text := w.facts(rest); text != "" && w.asksPrices() {
		parts = append([]string{text}, parts...)
	} else if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// matters reports whether a fact about a whole list is worth telling: prices only to those who ask for them.
func (w *writer) matters(name string) bool {
	if !strings.Contains(name, "price") {
		return true
	}
	if direction(w.c.question) != "" {
		return false // told already
	}
	return w.asksPrices()
}

var asksPricesRE = regexp.MustCompile(` (?:how much|prices?|range|cuesta|cuestan|precios?|wie viel|preis|preise|preisspanne|kostet|kosten|combien|prix) `)

func (w *writer) asksPrices() bool { return asksPricesRE.MatchString(flatten(w.c.question)) }

// single words an object without lists. Beside a note, a count of none says nothing.
func (w *writer) single(o object) string {
	if has(o, "title", "name") {
		return sentence(w.item(o))
	}
	return w.facts(slices.DeleteFunc(slices.Clone(o), func(m field) bool {
		return note(o) != "" && (scalar(m.value) == "0" || m.name == "total")
	}))
}

// nested words the object inside a result when it is the substance: {"order": {...}, "note": ...}.
func (w *writer) nested(o object, r result) string {
	var out []string
	for _, m := range o {
		inner, ok := m.value.(object)
		if !ok || !(isOrder(inner) || isOffer(inner) || isPassage(inner) || has(inner, "title", "name")) {
			continue
		}
		if has(inner, "title", "name") && !isOrder(inner) && !isOffer(inner) && !isPassage(inner) {
			out = append(out, sentence(w.item(inner)))
		} else {
			out = append(out, w.object(inner, r))
		}
	}
	for _, l := range lists(o) {
		if len(out) > 0 {
			out = append(out, w.list(l.name, l.items, r))
		}
	}
	return strings.Join(out, "\n")
}

func has(o object, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { v, ok := o.get(n); return ok && v != nil })
}

func isOrder(o object) bool {
	return scalarField(o, "order_id", "order_number", "order") != "" && has(o, "status", "state", "total", "tracking", "tracking_number")
}

func isOffer(o object) bool {
	return has(o, "saving", "savings", "eligible", "discount") && has(o, "code", "title", "name", "promotion")
}

func isPassage(o object) bool {
	return len(scalarField(o, "text", "passage", "excerpt", "answer", "content", "snippet", "quote")) >= 20 && !has(o, "price")
}

// list words a list by the shape of its first item.
func (w *writer) list(name string, list []object, r result) string {
	if len(list) == 0 {
		return ""
	}
	switch {
	case isOffer(list[0]):
		return w.offers(list, r)
	case isPassage(list[0]):
		return w.passages(list)
	case isOrder(list[0]):
		var out []string
		for _, o := range list[:min(len(list), 3)] {
			out = append(out, w.order(o))
		}
		return strings.Join(out, "\n")
	}
	return w.bullets(name, list, r)
}

var (
	// orderRE begins a sentence that tells the model what to do.
	orderRE = regexp.MustCompile(`(?i)^(?:say|tell|do not|don't|ask|call|use|never|answer|offer|mention|explain|look up|try|relay|name|apologi[sz]e|suggest|quote)\b`)
	// listRE begins a sentence that says of a list what its lead says too.
	listRE = regexp.MustCompile(`(?i)^(?:the|these) (?:products|items|results|ones) (?:listed|below|shown|here) (?:are|is)\b`)
	// thirdRE speaks of the reader as of somebody else.
	thirdRE = regexp.MustCompile(`(?i)\b(?:this|the) (?:customer|shopper|user) has\b`)
	ownRE   = regexp.MustCompile(`(?i)\b(?:this|the) (?:customer|shopper|user)['’]s\b`)
	whoRE   = regexp.MustCompile(`(?i)\b(?:this|the) (?:customer|shopper|user)\b`)
)

// note is what a result asks to relay, addressed to the reader and without what is meant for the model alone. Rules do not translate,
// so a note in another language than the answer's is not relayed.
func (w *writer) note(v any) string {
	if detect(note(v)) != w.lang {
		return ""
	}
	const semicolon = "\x00" // a note's sentences stay whole
	kept := slices.DeleteFunc(sentences(strings.ReplaceAll(note(v), ";", semicolon)), func(s string) bool {
		return orderRE.MatchString(s) || listRE.MatchString(s)
	})
	s := thirdRE.ReplaceAllString(strings.ReplaceAll(strings.Join(kept, " "), semicolon, ";"), "you have")
	return whoRE.ReplaceAllString(ownRE.ReplaceAllString(s, "your"), "you")
}
