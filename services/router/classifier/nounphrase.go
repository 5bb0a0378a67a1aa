package classifier

import (
	"strings"
)

// nounPhrase is a noun phrase, or a verb in its place: the content words from lo to hi-1.
type nounPhrase struct {
	lo, hi int
	// head is the head word: "spring" in "return spring", "mesa" in "mesa plegable".
	head int
	// verb marks what the shopper wants to do: "return" in "can I return".
	verb bool
	// of is the phrase that this one modifies, as "garden" does in "a cart for the garden", or -1.
	of int
}

// findNounPhrases finds the noun phrases of a message: runs of content words without a gap. At has for each word the index
// of its phrase, or -1.
func findNounPhrases(ws []word, ignored []bool, lang language) (ps []nounPhrase, at []int) {
	at = make([]int, len(ws))
	for i := 0; i < len(ws); {
		at[i] = -1
		if !ws[i].content() {
			i++
			continue
		}
		p := nounPhrase{lo: i, hi: i + 1, of: -1, verb: isVerb(ws, i, lang)}
		for !p.verb && p.hi < len(ws) && ws[p.hi].content() && ws[p.hi].gap == gapNone && !isVerb(ws, p.hi, lang) &&
			(ignored == nil || ignored[p.hi] == ignored[i]) {
			p.hi++
		}
		if last := ws[p.hi-1].norm; lang == english && p.hi-p.lo > 1 && (doesAsk(ws, p.lo) || strings.HasSuffix(last, "ed") && len(last) > 5) {
			p.hi-- // the verb: "does the gift card expire", "has the parcel shipped"
		}
		p.head = headOf(ws, p.lo, p.hi, lang)
		if n := len(ps) - 1; n >= 0 && !ps[n].verb && complements(ws, ps[n].hi, p.lo) {
			p.of = n
		}
		for ; i < p.hi; i++ {
			at[i] = len(ps)
		}
		ps = append(ps, p)
	}
	return ps, at
}

// doesAsk reports whether "does" or the like stands before a noun phrase, so that a verb must follow.
func doesAsk(ws []word, lo int) bool {
	i := lo - 1
	if i > 0 && ws[i].is(determiner|possessive|pronoun) {
		i--
	}
	if i < 0 || (i > 0 && ws[i].gap == gapNone && !ws[i-1].is(conjunction|questionWord)) {
		return false
	}
	switch ws[i].norm {
	case "does", "do", "did", "will", "can", "could", "would":
		return true
	}
	return false
}

// headOf returns the head of a noun phrase, which is neither a number nor an adverb at the end.
func headOf(ws []word, lo, hi int, lang language) int {
	if lang&headFirst != 0 {
		for i := lo; i < hi; i++ {
			if ws[i].norm[0] > '9' {
				return i
			}
		}
		return lo
	}
	for i := hi - 1; i > lo; i-- {
		if ws[i].norm[0] > '9' && !strings.HasSuffix(ws[i].norm, "ly") {
			return i
		}
	}
	return lo
}

// isVerb reports whether the word at i must be a verb: after "can I", "not", or a "to" that is no direction, and at the
// start of an imperative such as "print your ...".
func isVerb(ws []word, i int, lang language) bool {
	w := ws[i]
	if w.norm[0] <= '9' {
		return false
	}
	if i == 0 || w.gap == gapHard {
		if i+1 == len(ws) || ws[i+1].gap != gapNone {
			return false
		}
		next := ws[i+1]
		return next.is(determiner|possessive|pronoun) || next.norm == "me" || next.norm == "all" || i+2 < len(ws) && ws[i+2].norm == "me"
	}
	if w.gap != gapNone {
		return false
	}
	before := ws[i-1]
	switch {
	case before.norm == "to":
		return i == 1 || !ws[i-2].content()
	case before.norm == "not" || before.is(auxiliary) && strings.HasSuffix(before.norm, "nt"):
		return true
	case before.is(subject) && lang&(english|french) != 0:
		return before.norm == "it" || !before.is(pronoun)
	case lang == german:
		last := i+1 == len(ws) || ws[i+1].gap != gapNone || ws[i+1].is(conjunction)
		return last && strings.HasSuffix(w.norm, "en") && !w.upper && before.content()
	}
	return false
}

// complements reports whether only "of", "for" or "about" and an article stand between two phrases.
func complements(ws []word, lo, hi int) bool {
	if lo >= hi || hi-lo > 2 || ws[lo].gap != gapNone || ws[hi].gap != gapNone {
		return false
	}
	switch ws[lo].norm {
	case "of", "for", "about", "de", "del", "d", "du", "des", "para", "sobre", "fur", "uber", "pour", "sur", "von", "vom":
		return hi-lo == 1 || ws[lo+1].is(determiner)
	}
	return false
}

// productRequest is a product pattern found in the words, which begins at from, and the noun phrase that it asks for: the
// words from object to end-1.
type productRequest struct {
	from, object, end int
	weight            float64
}

// productRequest returns the strongest product pattern with an object between lo and hi, or one of weight 0.
func (s *segmenter) productRequest(lo, hi int) productRequest {
	var found productRequest
	ws := s.words
	for i := lo; i < hi; i++ {
		f, ok := matchAt(productPatterns, ws[:hi], i)
		if !ok || f.weight <= found.weight {
			continue
		}
		after := i + len(f.words)
		if f.weight == whichWeight && i > lo && ws[i-1].is(preposition) {
			continue // "by what carrier"
		}
		if f.words[0] == "got" && i > lo && ws[i-1].norm != "you" && !ws[i-1].is(conjunction|filler|greeting) {
			continue // "I never got a mail"
		}
		if ws[i].norm == "what" && len(f.words) == 1 && after < hi && !ws[after].content() {
			continue // "what is X" asks for a fact, "what X do you have" for products
		}
		object, end := nounPhraseAt(ws, after, hi)
		if ws[i].norm == "what" && len(f.words) == 1 && end < hi && !ws[end].is(auxiliary) {
			continue // "what happens if ..."
		}
		if object == end || s.phrases[s.at[object]].verb {
			continue
		}
		if f.weight == whichWeight && end+2 < hi && ws[end].is(auxiliary) && ws[end+1].is(subject) && ws[end+2].content() {
			continue // "what data do you keep", unlike "what tents do you have"
		}
		if weight := s.patternWeight(f.weight, object, end); weight > found.weight {
			found = productRequest{from: i, object: object, end: end, weight: weight}
		}
	}
	return found
}

// patternWeight returns the weight of a product pattern by its object: little if that is another specialist's subject.
func (s *segmenter) patternWeight(weight float64, object, end int) float64 {
	p := s.phrases[s.at[object]]
	owner := s.owners[p.head]
	if s.words[p.head].is(aspectNoun) && owner < 0 {
		for i := p.lo; i < p.hi; i++ {
			owner = max(owner, s.owners[i])
		}
		if owner < 0 {
			return otherSubject
		}
	}
	if owner >= 0 && owner != s.lexicon.product {
		return otherSubject
	}
	return weight
}

// maxNounPhrase is the longest noun phrase in words.
const maxNounPhrase = 6

// nounPhraseAt returns the noun phrase that begins at from or after an article there: the words from object to end-1. It
// is empty if there is none, or if the phrase is the shopper's own ("my order") or vague ("a question").
func nounPhraseAt(ws []word, from, hi int) (object, end int) {
	i := from
	for ; i < hi && !ws[i].content(); i++ {
		w := ws[i]
		stands := w.is(pronoun) && (w.norm == "it" || i+1 >= hi || !ws[i+1].content())
		if stands || w.norm == "to" || w.is(possessive|questionWord|imperative|vagueNoun|conditional|conjunction|preposition) {
			return from, from
		}
	}
	object = i
	for i < hi && i-object < maxNounPhrase && (ws[i].content() || ws[i].norm == "of" || ws[i].norm == "de") {
		if i > object && ws[i].gap != gapNone {
			break
		}
		i++
	}
	for i > object && !ws[i-1].content() {
		i--
	}
	return object, i
}
