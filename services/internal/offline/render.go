package offline

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxBullets  = 6
	maxQuote    = 700 // bytes of a passage
	maxPassages = 2
)

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
	if n := note(o); n != "" {
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
	if total := scalarField(o, "total", "count", "total_count"); total != "" && w.speaks[stem("count")] > 0 {
		parts = append([]string{fmt.Sprintf(w.say.total, total)}, parts...)
	}
	var rest object
	for _, m := range o {
		if s := scalar(m.value); s != "" && !hidden(m.name) && s != "0" && !isOffer(inner[0].items[0]) && m.name != "total" && m.name != "count" && m.name != "query" {
			rest = append(rest, m)
		}
	}
	if text := w.facts(rest); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

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

func (w *writer) bullets(name string, list []object, r result) string {
	lead := w.lead(name, r)
	if dir := direction(w.c.question); dir != "" && amount(scalarField(list[0], "price", "cost", "total", "fare")) > 0 {
		best := extreme(list, dir)
		head := w.say.cheapest
		if dir == "desc" {
			head = w.say.dearest
		}
		lead = sentence(fmt.Sprintf(head, w.item(list[best])))
		list = slices.Delete(slices.Clone(list), best, best+1)
		list = list[:min(len(list), 3)]
		if len(list) == 0 {
			return lead
		}
		lead += " " + w.say.others
	}
	lines := []string{lead}
	for _, o := range list[:min(len(list), maxBullets)] {
		lines = append(lines, "- "+w.item(o))
	}
	return strings.Join(lines, "\n")
}

// extreme is the index of the item with the lowest or highest price, the first of equals.
func extreme(list []object, dir string) int {
	best := 0
	for i, o := range list {
		a, b := amount(scalarField(o, "price", "cost", "total", "fare")), amount(scalarField(list[best], "price", "cost", "total", "fare"))
		if a > 0 && (dir == "asc" && a < b || dir == "desc" && a > b) {
			best = i
		}
	}
	return best
}

func (w *writer) lead(name string, r result) string {
	args, _ := r.args.(object)
	for _, a := range args {
		if roleOf("", property{a.name, &schema{Type: "string"}}) == roleQuery && scalar(a.value) != "" && w.c.question.lang == english {
			return fmt.Sprintf(w.say.found, scalar(a.value))
		}
	}
	for _, b := range w.c.turn.results {
		if sameJSON(b.value, r.value) || consumed(b, r) == nil {
			continue
		}
		from := findings{results: []result{b}}
		if titles, ok := from.values("title"); ok {
			var names []string
			for _, t := range titles[:min(len(titles), 3)] {
				names = append(names, t.(string))
			}
			return fmt.Sprintf(w.say.forSubject, strings.Join(names, ", "))
		}
	}
	return w.say.foundPlain
}

// offers names the best offer that applies, or says why none does.
func (w *writer) offers(list []object, r result) string {
	for _, o := range list { // a code that was asked about is the answer, whether it applies or not
		if code := scalarField(o, "code"); code != "" && len(list) > 1 && indexName(w.c.question.lower, code) >= 0 {
			return w.offers([]object{o}, r)
		}
	}
	best, saving := -1, -1.0
	for i, o := range list {
		if s := amount(scalarField(o, "saving", "savings", "discount")); !refused(o) && s > saving {
			best, saving = i, s
		}
	}
	if best >= 0 {
		return w.offer(list[best])
	}
	var lines []string
	if note(r.value) == "" && len(list) > 1 {
		lines = append(lines, w.say.noOffers)
	}
	for _, o := range list[:min(len(list), 4)] {
		name := joinNonEmpty(" ", scalarField(o, "title", "name"), parenthesised(scalarField(o, "code")))
		if why := scalarField(o, "explanation", "missing", "reason", "why", "refusal", "description"); why != "" {
			lines = append(lines, "- "+fmt.Sprintf(w.say.noOffer, name, sentence(why)))
		} else {
			lines = append(lines, "- "+name)
		}
	}
	return strings.Join(lines, "\n")
}

func (w *writer) offer(o object) string {
	code, title := scalarField(o, "code"), scalarField(o, "title", "name", "promotion")
	head := title
	if code != "" {
		head = fmt.Sprintf(w.say.useCode, code, orElse(title, code))
	}
	if s := scalarField(o, "saving", "savings", "discount"); s != "" {
		head += ": " + fmt.Sprintf(w.say.saves, s)
	}
	out := []string{sentence(head)}
	for _, key := range []string{"explanation", "reason", "why", "description", "conditions"} {
		if v := scalarField(o, key); v != "" && !strings.Contains(head, v) {
			out = append(out, sentence(v))
			break
		}
	}
	if ends := scalarField(o, "ends", "end", "valid_until", "expires"); ends != "" && !strings.Contains(strings.Join(out, " "), ends) {
		out = append(out, sentence(capital(w.say.label("ends"))+": "+ends))
	}
	return strings.Join(out, " ")
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// passages quotes what fits the question best, in the words it is written in.
func (w *writer) passages(list []object) string {
	type ranked struct {
		item  object
		score float64
	}
	var all []ranked
	var bags []bag
	for _, o := range list {
		b := bag{}
		b.addText(passageText(o), 1)
		b.addText(passageTitle(o), 1.5)
		bags = append(bags, b)
	}
	for i, o := range list {
		all = append(all, ranked{o, w.speaks.overlap(bags[i], bags)})
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if a.score > b.score {
			return -1
		} else if a.score < b.score {
			return 1
		}
		return 0
	})
	var out []string
	for i, r := range all {
		if i == maxPassages || i > 0 && r.score < 0.7*all[0].score {
			break
		}
		text := w.excerpt(passageText(r.item))
		if title := passageTitle(r.item); title != "" {
			out = appendNew(out, fmt.Sprintf(w.say.passage, title, text))
		} else {
			out = appendNew(out, fmt.Sprintf(w.say.passagePlain, text))
		}
	}
	return strings.Join(out, "\n\n")
}

func passageText(o object) string {
	return scalarField(o, "text", "passage", "excerpt", "answer", "content", "snippet", "quote")
}

func passageTitle(o object) string {
	return scalarField(o, "policy_title", "policy", "title", "heading", "section", "source", "question", "name")
}

// excerpt keeps whole sentences of a long passage, from the one that fits the question best.
func (w *writer) excerpt(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuote {
		return text
	}
	all := sentences(text)
	best, score := 0, -1.0
	for i, s := range all {
		b := bag{}
		b.addText(s, 1)
		if v := w.speaks.overlap(b, []bag{b}); v > score {
			best, score = i, v
		}
	}
	out, size := []string{}, 0
	for _, s := range all[max(0, best-1):] {
		if size += len(s) + 1; size > maxQuote && len(out) > 1 {
			break
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}
