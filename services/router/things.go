package router

import (
	"slices"
	"strings"
)

// Not every clause asks in words. Some only name what is wanted, "a kite for a beginner", and are a request like any
// other; some only tell, "I bought a tent last week", and belong to the request beside them.

// backdrop reports whether a clause only tells of the shopper's things, so that the request is yet to come: "I bought a
// tent last week."
func (r *ruler) backdrop(c clause, specialist int) bool {
	return specialist == r.lexicon.product && r.tells(c) && c.object[0] == c.object[1]
}

// tells reports whether a clause is a statement: it asks nothing, and begins with a pronoun or with "my", or has a verb
// of the past.
func (r *ruler) tells(c clause) bool {
	first := r.words[c.lo]
	states := first.is(subject|possessed|pointer) && !first.is(helper|opens)
	states = states || slices.ContainsFunc(r.words[c.lo:c.hi], func(w word) bool { return w.is(told) })
	if !states || first.is(asker) || first.is(helper) && c.lo+1 < c.hi && r.words[c.lo+1].is(pointer|determiner) {
		return false
	}
	for i := c.lo; i < c.hi; i++ {
		if w := r.words[i]; w.is(asker|verbFirst|imperative) && w.norm != "que" && w.norm != "was" {
			return false
		}
	}
	return !strings.Contains(excerpt(r.text, r.words, c.hi-1, c.hi), "?")
}

// asks reports whether a clause has the form of a request: a question, an order or a wish.
func (r *ruler) asks(c clause) bool {
	if r.words[c.hi-1].asked {
		return true
	}
	if r.sentenceAsks(c.hi) && !r.tells(c) && !r.words[c.lo].is(preposition) && !r.leans(c.lo, c.hi) {
		return true
	}
	start, prefaced := r.skipPreface(c.lo, c.hi)
	first, next := r.words[start], word{}
	if start+1 < c.hi {
		next = r.words[start+1]
	}
	switch {
	case prefaced, first.is(imperative), first.is(verbFirst):
		return true
	case first.is(asker) && next.is(helper), first.is(helper) && next.is(subject|pointer|determiner|possessed):
		return true
	}
	for i := c.lo; i < c.hi; i++ {
		if f, ok := matchAt(frames, r.words[:c.hi], i); ok && f.own >= seeks && len(f.words) > 1 {
			return true
		}
		if _, ok := matchAt(wishes, r.words[:c.hi], i); ok {
			return true
		}
	}
	return false
}

// sentenceAsks reports whether the sentence that the word at i is in, or that ends before it, is a question.
func (s *splitter) sentenceAsks(i int) bool {
	for i--; i < len(s.words); i++ {
		if s.words[i].asked {
			return true
		}
		if i+1 < len(s.words) && s.words[i+1].gap == gapHard {
			return false
		}
	}
	return false
}

// maxThing is how many words with a meaning a thing's name has at most, with all that is said of it.
const maxThing = 8

// thing reports whether the words from lo to hi-1 only name something: they have no verb and no subject, and do not
// begin with "my", "for" or "if". A verb may be a noun behind an article.
func (s *splitter) thing(lo, hi int) bool {
	lo = s.skipLead(lo, hi)
	if lo == hi || s.words[lo].is(possessed|preposition|condition|asker) {
		return false
	}
	for i := lo + 1; i+1 < hi; i++ {
		if s.words[i].norm == "that" && s.words[i-1].content() {
			hi = i // "a rug that does not slide"
		}
	}
	open := s.indefinite(lo, hi)
	var named, last word
	content := 0
	for i := lo; i < hi; i++ {
		w := s.words[i]
		switch {
		case w.norm == "here" || w.norm == "hier" || w.is(told):
			return false
		case !w.is(asker|helper|verbFirst|imperative|subject|pointer) || w.is(determiner|preposition):
		case w.is(helper) && !w.is(verbFirst):
			return false
		case i > lo && s.words[i-1].is(determiner|possessed|preposition), open && w.is(pointer):
		case i > lo && w.is(asker) && s.words[i-1].content(): // "my dad who fishes"
		default:
			return false
		}
		if w.content() {
			if s.phrases[s.at[i]].verb {
				return false
			}
			content++
			last = w
			if len(w.norm) > 2 && w.norm[0] > '9' && !gibberish(w.norm) {
				named = w
			}
		} else if w.is(vague) && i > lo {
			if content == 0 {
				return false // "a problem with the website"
			}
			last = w
		}
	}
	return named.norm != "" && content <= maxThing && !last.is(vague)
}

// skipLead returns the first word that is more than a joint or politeness.
func (s *splitter) skipLead(lo, hi int) int {
	for lo < hi && s.words[lo].is(linker|leadIn|filler|greeting) {
		lo++
	}
	return lo
}

// indefinite reports whether a noun phrase that can only be news begins at i: "a kite", "two kites", "something warm".
func (s *splitter) indefinite(i, hi int) bool {
	if i+1 >= hi {
		return false
	}
	switch w := s.words[i].norm; w {
	case "a", "an", "some", "ein", "eine", "einen", "un", "una", "unos", "unas", "une", "des":
		return s.words[i+1].content()
	case "something", "anything", "algo", "etwas", "two", "three", "four", "dos", "tres", "zwei", "drei", "deux", "trois":
		return true
	}
	return false
}

// wants reports whether a clause without evidence is nevertheless a request, for what it names. After another request
// it must be clear that this is no detail of it.
func (r *ruler) wants(c clause) bool {
	if r.alone || r.lexicon.product < 0 || !r.thing(c.lo, c.hi) {
		return false
	}
	lo := r.skipLead(c.lo, c.hi)
	return len(r.groups) == 0 || r.indefinite(lo, c.hi) || r.words[c.lo].is(linker|leadIn)
}

// pushThing gives a clause that only names something to the product specialist.
func (r *ruler) pushThing(c clause) {
	g := group{lo: c.lo, hi: c.hi, specialist: r.lexicon.product, atMost: unsureThing, reason: "names a thing"}
	lo := r.skipLead(c.lo, c.hi)
	for lo+1 < c.hi && r.words[lo].is(determiner) {
		lo++
	}
	end := lo
	for end < c.hi && (end == lo || r.words[end].content()) {
		end++
	}
	g.object = r.text[r.words[lo].start:r.words[end-1].end]
	if n := len(r.groups) - 1; n >= 0 && r.groups[n].specialist == g.specialist {
		r.widen(&r.groups[n], g.hi)
		r.groups[n].atMost = min(r.groups[n].atMost, g.atMost)
		return
	}
	r.groups = append(r.groups, r.withPending(g))
}

// adds reports whether what stands right of a joint only names a thing that what stands left of it is not about: "where
// is my order and a kite for a beginner". A list goes on where the left part ends with a thing, too.
func (s *splitter) adds(lo, mid, right, hi int) bool {
	if s.lexicon.product < 0 || !s.indefinite(right, hi) || !s.thing(right, hi) {
		return false
	}
	if i := s.lastContent(lo, mid); i < 0 || s.owners[i] < 0 || s.owners[i] == s.lexicon.product {
		return false
	}
	r := s.weigh(right, hi)
	specialist, score, _ := r.best(s.lexicon.product)
	return score < weak || specialist == s.lexicon.product
}
