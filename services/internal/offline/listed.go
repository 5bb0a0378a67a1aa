package offline

import (
	"regexp"
	"slices"
	"strings"
)

// materialRE finds what a prompt holds between tags that was said or shown before. It is no instruction, whatever it says.
var materialRE = regexp.MustCompile(`(?s)<(?:message|whole_message|user_message|unavailable|summary|notes|history|shown_[a-z_]+)>\n.*?\n</[a-z_]+>`)

// numberedRE finds an item of a numbered list in a prompt: an object after its number.
var numberedRE = regexp.MustCompile(`(?m)^\d{1,3}[.)][ \t]+(\{.*\})[ \t]*$`)

// listedIn returns the items of a numbered list in a prompt: what was shown before, in that order.
func listedIn(system string) []object {
	var out []object
	for _, m := range numberedRE.FindAllStringSubmatch(system, -1) {
		if v, ok := decode(m[1]); ok {
			if o, ok := v.(object); ok {
				out = append(out, o)
			}
		}
	}
	return out
}

// ordinals are words for a place in a list, from 0.
var ordinals = places(
	"first erste ersten erster erstes primero primera primer premier premiere",
	"second zweite zweiten zweiter zweites segundo segunda deuxieme seconde",
	"third dritte dritten dritter drittes tercero tercera tercer troisieme",
	"fourth vierte vierten vierter viertes cuarto cuarta quatrieme",
	"fifth funfte funften funfter funftes quinto quinta cinquieme",
	"sixth sechste sechsten sechster sechstes sexto sexta sixieme",
)

func places(lists ...string) map[string]int {
	out := map[string]int{}
	for i, list := range lists {
		for w := range set(list) {
			out[w] = i
		}
	}
	return out
}

var (
	lastWords   = set("last letzte letzten letzter letztes ultimo ultima dernier derniere")
	articles    = set("the el la los las der die das den dem le les")
	numberSigns = set("number no nummer nr numero")
	// otherThings have an order of their own: "the last week" is nothing in a list.
	otherThings = set("order purchase week month year night day time part question email message payment delivery package shipment code hand semana mes vez semaine mois fois woche monat mal")
)

// pointer finds where t points into a list of n items ("the second one", "number 2", "el último"), and the words that do so.
func pointer(t text, n int) (index int, at span, ok bool) {
	for i, w := range t.words {
		place, known := ordinals[w.norm]
		if lastWords[w.norm] {
			place, known = n-1, true
		}
		start, end := w.start, i+1
		one := end < len(t.words) && (t.words[end].norm == "one" || t.words[end].norm == "ones")
		switch {
		case known && i > 0 && articles[t.words[i-1].norm]:
			start = t.words[i-1].start
		case known && one:
		case numberSigns[w.norm] && end < len(t.words) && number(t.words[end].raw) != nil:
			place, end = int(*number(t.words[end].raw))-1, end+1
		default:
			continue
		}
		if one {
			end++
		} else if end < len(t.words) && isOtherThing(t.words[end]) {
			continue
		}
		if 0 <= place && place < n {
			return place, span{start, t.words[end-1].end}, true
		}
	}
	return 0, span{}, false
}

func isOtherThing(w word) bool {
	return otherThings[w.norm] || slices.ContainsFunc(w.gloss, func(g string) bool { return otherThings[g] })
}

// pointsAt returns the listed item that t speaks of, by its place or, if there is only one, by "it". Nil: none.
func (c *conversation) pointsAt(t text) (object, span) {
	if i, at, ok := pointer(t, len(c.listed)); ok {
		return c.listed[i], at
	}
	if len(c.listed) == 1 && hasPronoun(t) {
		return c.listed[0], span{}
	}
	return nil, span{}
}

// idOf returns the member of an item that names it, such as product_id, and what kind of thing it is: "product".
func idOf(item object) (id, kind string) {
	for _, m := range item {
		if ws := nameWords(m.name); len(ws) > 1 && ws[len(ws)-1] == "id" {
			return scalar(m.value), ws[0]
		}
	}
	return "", ""
}

// nameOf is the name of the listed item with this id; the id itself for any other.
func (c *conversation) nameOf(id string) string {
	for _, item := range c.listed {
		if own, _ := idOf(item); own == id {
			return orElse(scalarField(item, "title", "name"), id)
		}
	}
	return id
}

// deals reports whether a tool has to do with things of the item's kind.
func (p *profile) deals(item object) bool {
	_, kind := idOf(item)
	return kind != "" && p.bag.weigh(stem(kind)) > 0
}

// pointed is the member of the item that the question points at, "" when it points at none or the item has no such member.
func (f *filler) pointed(name string) string {
	for _, m := range f.item {
		if singular(m.name) == singular(name) {
			f.chosen = f.item
			return scalar(m.value)
		}
	}
	return ""
}

var takesIDRE = regexp.MustCompile(`(?i)\bids?\b`)

// called is what a search is to look for when the question points at an item: its id where the search takes one, else its
// name. It is "" when it points at none.
func (f *filler) called(p property) string {
	if id, _ := idOf(f.item); id != "" && takesIDRE.MatchString(p.Description) {
		return id
	}
	return strings.TrimSpace(scalarField(f.item, "title", "name"))
}
