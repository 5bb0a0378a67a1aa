package classifier

import (
	"regexp"
	"strings"
)

// A specialist reads a sub-query without the rest of the message. So what "it" stands for is added in brackets, after the
// shopper's own words: "can I return it opened? (about: tents)".

// object returns what a segment is about, as the shopper wrote it: the object of its product pattern, or else the product
// specialist's keywords in it with the words around them.
func (r *decoder) object(c segment) string {
	lo, hi := c.object[0], c.object[1]
	if lo == hi {
		lo, hi = r.productWords(c)
	}
	if lo == hi {
		return ""
	}
	return r.text[r.words[lo].start:r.words[hi-1].end]
}

// productWords returns the last run of content words with a keyword of the product specialist and none of another.
func (r *decoder) productWords(c segment) (lo, hi int) {
	for i := c.lo; i < c.hi; {
		end, bareName := i, false
		for end < c.hi && r.words[end].content() && (end == i || r.words[end].gap == gapNone) {
			owner := r.owners[end]
			if owner >= 0 && owner != r.lexicon.product {
				break
			}
			bareName = bareName || owner >= 0
			end++
		}
		if bareName {
			lo, hi = i, end
		}
		i = max(end, i+1)
	}
	return lo, hi
}

// antecedent returns what the pronouns in group i stand for, or "" if it has none or names the thing itself.
func (r *decoder) antecedent(i int, text string) string {
	g := r.groups[i]
	if r.namesOrder(g) && r.lacksOrder(text) {
		return "order " + r.orderNumber()
	}
	if g.object != "" || !r.hasPronoun(g) {
		return ""
	}
	for j := i - 1; j >= 0; j-- {
		if about := r.groups[j].object; about != "" {
			if strings.Contains(strings.ToLower(text), strings.ToLower(about)) {
				return ""
			}
			return about
		}
	}
	if i > 0 && r.lacksOrder(text) {
		return "order " + r.orderNumber()
	}
	return ""
}

// lacksOrder reports whether there is an order number in the message and not in a part of it.
func (r *decoder) lacksOrder(part string) bool {
	order := r.orderNumber()
	return order != "" && !strings.Contains(part, order)
}

// hasPronoun reports whether a group has a pronoun that stands for something said before.
func (r *decoder) hasPronoun(g group) bool {
	for i := g.lo; i < g.hi; i++ {
		w := r.words[i]
		next := word{}
		if i+1 < g.hi {
			next = r.words[i+1]
		}
		switch {
		case spanishClitic(w.norm):
			return true
		case w.norm == "sie" && i > g.lo && r.words[i-1].is(subject):
			return true
		case w.is(determiner) && infinitive(next.norm) && len(w.norm) <= 3:
			return true // "la retourner"
		case !w.is(pronoun) || next.norm == "possible" || next.norm == "take":
		case w.norm == "that" || w.norm == "this" || w.norm == "es" || w.norm == "c" || w.norm == "esta":
			if next.norm == "" {
				return true
			}
		case !next.content() || w.norm == "it" || w.norm == "them" || w.norm == "lo" || w.norm == "ihn":
			return true
		}
	}
	return false
}

// spanishClitic reports whether a folded word is an infinitive with a pronoun, as in "devolverla".
func spanishClitic(s string) bool {
	for _, ending := range [...]string{"rlo", "rla", "rlos", "rlas"} {
		if len(s) > 6 && strings.HasSuffix(s, ending) {
			return true
		}
	}
	return false
}

// infinitive reports whether a folded word looks like a French verb.
func infinitive(s string) bool {
	return len(s) > 5 && (strings.HasSuffix(s, "yer") || strings.HasSuffix(s, "ner") || strings.HasSuffix(s, "ger") ||
		strings.HasSuffix(s, "rer") || strings.HasSuffix(s, "dre"))
}

// orderNouns are the stems of words for an order and a parcel.
var orderNouns = map[string]bool{
	"order": true, "purchas": true, "packag": true, "parcel": true, "shipment": true, "pedido": true, "paquet": true,
	"bestellung": true, "paket": true, "sendung": true, "command": true, "colis": true,
}

// orderNumberPattern finds what may be the number of an order.
var orderNumberPattern = regexp.MustCompile(`(?i)#?\b(?:[a-z]{1,4}-?)?\d{3,12}(?:-\d{1,6})?\b`)

// orderNumber returns the first order number of the message: one with '#' or letters in front, or close behind a word
// for an order. Empty: there is none. It is looked for once.
func (r *decoder) orderNumber() string {
	if !r.sought {
		r.order, r.sought = r.findOrder(), true
	}
	return r.order
}

func (r *decoder) findOrder() string {
	for i, w := range r.words {
		if !hasOrderDigits(w.norm) {
			continue
		}
		lo, hi := r.words[max(0, i-1)].start, r.words[min(i+1, len(r.words)-1)].end
		if lo > 0 && r.text[lo-1] == '#' {
			lo--
		}
		for _, m := range orderNumberPattern.FindAllStringIndex(r.text[lo:hi], -1) {
			from, to := lo+m[0], lo+m[1]
			if from >= w.end || to <= w.start {
				continue
			}
			if r.text[from] == '#' {
				return r.text[from+1 : to]
			}
			first := i
			if from < w.start {
				first = i - 1 // "QT-10031"
			}
			for j := max(0, first-3); j < first; j++ {
				if orderNouns[r.words[j].stem] {
					return r.text[from:to]
				}
			}
		}
	}
	return ""
}

// hasOrderDigits reports whether a word may hold the digits of an order number.
func hasOrderDigits(norm string) bool {
	return strings.IndexFunc(norm, func(r rune) bool { return r >= '0' && r <= '9' }) >= 0 && len(norm) >= 3
}

// namesOrder reports whether a group names an order after an article or a pronoun: "that order".
func (r *decoder) namesOrder(g group) bool {
	for i := g.lo + 1; i < g.hi; i++ {
		if orderNouns[r.words[i].stem] && r.words[i-1].is(determiner|pronoun|possessive) {
			return true
		}
	}
	return false
}
