package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxExamples = 3
	// maxValues is how many values of an option are worth reading out.
	maxValues = 5
)

// isGoods recognises what can be bought: it has a name and a price.
func isGoods(o object) bool { return has(o, "title", "name") && scalarField(o, "price") != "" }

// brief is an item's name and price.
func (w *writer) brief(o object) string {
	return joinNonEmpty(", ", titleOf(o), w.price(o))
}

func titleOf(o object) string {
	return scalarField(o, "title", "name", "label", "product", "headline", "summary")
}

// price is what an item costs, "from" the lowest price when there is a highest.
func (w *writer) price(o object) string {
	price := scalarField(o, priceNames...)
	if high := scalarField(o, "highest_price", "max_price", "price_max", "price_to"); high != "" && high != price {
		return fmt.Sprintf(w.say.from, price)
	}
	return price
}

// goods words an item on one line: name, price, the options and facts that were asked for, stock, what else to choose.
func (w *writer) goods(o object) string {
	asked, others := w.options(o)
	parts := append([]string{w.brief(o)}, asked...)
	for _, m := range o {
		text := w.value(m.value)
		switch {
		case text == "" || hidden(m.name) || spoken[m.name] || strings.Contains(m.name, "price"):
		case m.name == "details" || m.name == "description" || m.name == "attributes":
			parts = append(parts, w.askedFacts(text)...)
		case m.name == "rating" && !w.asksAbout("rating review"):
		case m.name == "stock" || m.name == "in_stock":
			parts = append(parts, w.stock(m.value))
		case m.name == "availability":
			parts = append(parts, text)
		default:
			parts = append(parts, w.say.label(m.name)+" "+text)
		}
	}
	line := strings.Join(parts, ", ")
	if len(others) > 0 {
		line += " (" + strings.Join(others, "; ") + ")"
	}
	if why := w.worthSaying(o); why != "" {
		line += ". " + strings.TrimSuffix(sentence(why), ".")
	}
	return line
}

// held words an item that the shopper has already: how many, which one, and its price.
func (w *writer) held(o object) string {
	title := titleOf(o)
	if n := scalarField(o, "quantity", "count"); n != "" && n != "1" {
		title = n + " × " + title
	}
	v, _ := o.get("options")
	return joinNonEmpty(", ", joinNonEmpty(" ", title, parenthesised(w.value(v))), w.price(o))
}

// spoken are members of goods that have a place of their own in the line.
var spoken = set("title name label product headline summary options reason why explanation url link about variants")

func (w *writer) stock(v any) string {
	switch text := scalar(v); {
	case text == "0" || v == false:
		return w.say.soldOut
	case v == true:
		return w.say.inStock
	case strings.Trim(text, "0123456789") == "":
		return text + " " + w.say.inStock
	default:
		return text
	}
}

// options words the options that were asked for, and apart from them those that leave a choice.
func (w *writer) options(o object) (asked, others []string) {
	v, _ := o.get("options")
	all, _ := v.(object)
	for _, m := range all {
		values := scalars(m.value)
		if at := slices.IndexFunc(values, func(v string) bool { return w.wants(m.name, v) }); at >= 0 {
			asked = append(asked, w.say.label(m.name)+" "+values[at])
			continue
		}
		if low, high, ok := run(values); ok {
			others = append(others, w.say.plural(m.name)+" "+fmt.Sprintf(w.say.upTo, low, high))
		} else if len(values) > 1 && len(values) <= maxValues {
			others = append(others, w.say.plural(m.name)+": "+strings.Join(values, ", "))
		}
	}
	return asked, others
}

// run recognises more numbers in a row than are worth reading out.
func run(values []string) (low, high string, ok bool) {
	last := 0.0
	for i, v := range values {
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || i > 0 && n <= last {
			return "", "", false
		}
		last = n
	}
	if len(values) < 4 {
		return "", "", false
	}
	return values[0], values[len(values)-1], true
}

// wants reports whether the shopper asked for this value of an option, in the question or through a call's arguments.
func (w *writer) wants(name, value string) bool {
	for _, p := range optionPairs(w.c.question) {
		if strings.EqualFold(p.value, value) && (singular(name) == p.key || p.key == "colour" && singular(name) == "color") {
			return true
		}
	}
	for _, r := range w.c.turn.results {
		args, _ := r.args.(object)
		for _, a := range args {
			chosen, _ := a.value.(object)
			if v, ok := chosen.get(name); ok && strings.EqualFold(scalar(v), value) {
				return true
			}
		}
	}
	return false
}

// factWords lead from the words of shoppers to the names of facts.
var factWords = synonymTable("weight light lightweight heavy heavier lighter weigh ultralight", "warm warmth cold temperature comfort limit", "volume litre liter capacity big large small", "person people sleep capacity adult",
	"material made fabric leather wool cotton fill", "battery runtime hour charge", "waterproof waterproofness rain watertight", "brightness lumen bright", "length long", "width wide narrow fit", "care wash washing", "power watt")

// askedFacts picks those facts of "waterproof no; weight 331 g" that the question is about.
func (w *writer) askedFacts(details string) []string {
	var out []string
	for fact := range strings.SplitSeq(details, ";") {
		fact = strings.TrimSpace(fact)
		name, value := fact, ""
		if at := strings.LastIndex(fact, " "); at > 0 {
			name, value = fact[:at], fact[at+1:]
		}
		if !w.compares() && !w.asksAbout(name) {
			continue
		}
		switch value {
		case w.say.yes, "yes", "true":
			out = append(out, w.say.label(name))
		case w.say.no, "no", "false":
			out = append(out, fmt.Sprintf(w.say.not, w.say.label(name)))
		default:
			out = append(out, fact)
		}
	}
	return out
}

// asksAbout reports whether the question names a fact.
func (w *writer) asksAbout(fact string) bool {
	for _, x := range split(fact) {
		s := stem(x.norm)
		if x.norm == "yes" || x.norm == "no" || stopWords[english][x.norm] || len(s) < 3 {
			continue
		}
		for _, q := range w.c.question.words {
			for _, g := range q.gloss {
				if stem(g) == s || slices.Contains(factWords[stem(g)], s) {
					return true
				}
			}
		}
	}
	return false
}

// worthSaying is an item's reason, unless it only repeats words of the question or of the item itself.
func (w *writer) worthSaying(o object) string {
	why := scalarField(o, "reason", "why", "explanation")
	if strings.HasPrefix(strings.ToLower(why), "match") {
		return ""
	}
	known := bag{}
	known.addText(titleOf(o), 1)
	for _, r := range w.c.turn.results {
		known.addText(queryOf(r)+" "+note(r.value), 1)
	}
	for _, x := range split(why) {
		if s := stem(x.norm); !stopWords[english][x.norm] && known.weigh(s) == 0 && w.speaks[s] < 1 {
			return why
		}
	}
	return ""
}
