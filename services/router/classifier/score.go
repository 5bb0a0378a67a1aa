package classifier

import (
	"math"
	"slices"
	"strings"
)

// evidence is what speaks for each specialist in a stretch of words.
type evidence struct {
	scores  []float64
	reasons []reason
	// explained counts the content words that some evidence rests on, of all.
	explained, all int
	// object is the noun phrase that a product question is about: words from object[0] to object[1]-1. Empty if equal.
	object [2]int
	signs  sign
	// leanings are how the words lean to each specialist, by the published examples and by the scores, and last to asking
	// for nothing, by examples alone. They are logarithms.
	leanings []float64
	// solid is the sum of what counts in full.
	solid float64
}

// reason is one piece of evidence in words.
type reason struct {
	specialist int
	text       string
}

// sign is a set of facts about a stretch of words that bear on how far its evidence can be trusted.
type sign uint16

const (
	newVerb  sign = 1 << iota // the shopper wants to do something that nobody published: "I'd like to swim with my boots"
	misled                    // a published word stands where it only describes another: "shipping tape"
	framed                    // the words ask for a product in so many words: "do you sell"
	named                     // the words only name a thing
	pointed                   // the words only ask about "it"
	inquired                  // the words ask a fact about a thing
	served                    // the words only ask for a service in general
)

func (g sign) has(f sign) bool { return g&f != 0 }

// best returns the strongest specialist, its score, and the score of the next one. Of equals, the product specialist
// comes last: a noun that it published is often just what another request is about.
func (e evidence) best(product int) (specialist int, score, next float64) {
	specialist = -1
	for i, s := range e.scores {
		if specialist >= 0 && (s < score || (s == score && specialist != product)) {
			next = max(next, s)
			continue
		}
		if specialist >= 0 {
			next = max(next, score)
		}
		specialist, score = i, s
	}
	return specialist, score, next
}

// why says in words what speaks for a specialist.
func (e evidence) why(specialist int) string {
	var texts []string
	for _, r := range e.reasons {
		if r.specialist == specialist {
			texts = append(texts, r.text)
		}
	}
	if len(texts) == 0 {
		return likeExamples
	}
	return strings.Join(texts, ", ")
}

// add adds a piece of evidence, once per reason.
func (e *evidence) add(specialist int, weight float64, text string) {
	r := reason{specialist, text}
	if specialist < 0 || slices.Contains(e.reasons, r) {
		return
	}
	e.scores[specialist] += weight
	if weight > 0 {
		e.reasons = append(e.reasons, r)
	}
}

// reach is how many words before a noun the verb is looked for that it may belong to.
const reach = 12

// maxScore bounds what a heap of weak words can come to.
const maxScore = 7

// What is worth how much beside the published words, whose weights go from 1 (weak) to 3 (almost certain).
const (
	foreign     = 0.2 // a product frame around another's subject: "do you have a return policy"
	namesThing  = 0.9 // "a kite for a beginner"
	asksOfThing = 0.8 // "does the stove need gas?"
	asksOfIt    = 0.9 // "does it float?"
	asksService = 0.7 // "can you carry it up?"
	slip        = 0.8 // part of a term's weight that counts when it was misspelt
)

// weigh scores the words from lo to hi-1.
func (s *splitter) weigh(lo, hi int) evidence {
	l := s.lexicon
	e := evidence{scores: make([]float64, len(l.names))}
	f := s.productFrame(lo, hi)
	covered := make([]bool, hi-lo)
	cover := func(from, to int) {
		for i := max(from, lo); i < min(to, hi); i++ {
			covered[i-lo] = true
		}
	}
	first, _ := slices.BinarySearchFunc(s.hits, lo, func(h hit, lo int) int { return h.from - lo })
	for _, h := range s.hits[first:] {
		if h.from >= hi {
			break
		}
		if h.to > hi || politeness(s.words[h.from:h.to]) || s.silent(h.from) {
			continue
		}
		weight := h.weight * s.share(h, f, lo, &e)
		if h.typo {
			weight *= slip
		}
		if e.add(h.specialist, weight, h.reason); weight > h.weight/2 {
			e.solid += weight
		}
		cover(h.from, h.to)
		if h.specialist == l.product && h.from >= f.object && h.from < f.end {
			f.end = max(f.end, h.to) // "sac à dos"
		}
	}
	e.object = [2]int{f.object, f.end}
	if f.own > 0 && l.product >= 0 && !s.silent(f.object) {
		e.add(l.product, f.own, "asks for a product")
		e.signs |= framed
		e.solid += f.own
		cover(f.from, f.end)
	}
	s.guessFromForm(&e, lo, hi)
	if e.signs.has(named) {
		cover(e.object[0], e.object[1])
	}
	s.survey(&e, covered, lo, hi)
	s.compare(&e, lo, hi)
	for i := range e.scores {
		e.scores[i] = min(e.scores[i], maxScore)
	}
	return e
}

// survey counts the words that are explained and notes verbs that are not.
func (s *splitter) survey(e *evidence, covered []bool, lo, hi int) {
	for i := lo; i < hi; i++ {
		if !s.words[i].content() || s.silent(i) {
			continue
		}
		e.all++
		switch {
		case covered[i-lo]:
			e.explained++
		case s.phrases[s.at[i]].verb:
			e.signs |= newVerb
		}
	}
}

// share returns the part of a hit's weight that counts, by the role that its words play in the message.
func (s *splitter) share(h hit, f productFrame, lo int, e *evidence) float64 {
	product := s.lexicon.product
	inFrame := f.own > 0 && h.from >= f.from && h.from < f.object
	switch at := s.at[h.to-1]; {
	case h.weight < 0:
		return 1
	case inFrame && h.specialist == product:
		return 0 // it is the frame that counts, by what its object is
	case inFrame && f.own > foreign && h.to <= f.object:
		return 0.2 // the "order" of "I want to order a tent"
	case at < 0:
		return 1
	default:
		part := s.modifies(h, s.phrases[at]) * s.describes(h, s.phrases[at]) * s.suffers(h, s.phrases[at], lo)
		if part < 0.5 {
			e.signs |= misled
		}
		return part
	}
}

// modifies damps a word that only describes the head of its phrase: the "shipping" of "shipping tape", but not that of
// "shipping costs".
func (s *splitter) modifies(h hit, p phrase) float64 {
	if s.language == english && h.to-h.from == 1 && h.from > p.lo && p.hi-p.lo >= 3 && doesAsk(s.words, p.lo) {
		return 0.4 // "does the piggy bank hold refund coins"
	}
	if h.to-h.from > 1 || h.from == p.head || p.verb || p.hi-p.lo == 1 {
		return 1
	}
	switch owner := s.owners[p.head]; {
	case s.words[p.head].is(aspect) || owner == h.specialist || h.specialist == s.lexicon.product:
		return 1
	case owner < 0 || owner == s.lexicon.product:
		return 0.25
	}
	return 0.5
}

// describes damps what follows a thing with "for" or "of", as the "shipping" of "a book about shipping", and what only
// says where something is, as the cart of "is anything in my cart on offer".
func (s *splitter) describes(h hit, p phrase) float64 {
	switch {
	case h.specialist == s.lexicon.product:
		return 1
	case p.of >= 0 && s.thingAt(s.phrases[p.of].head):
		return 0.4
	case s.placed(p):
		return 0.7
	}
	return 1
}

// placed reports whether a preposition stands before a phrase and its article.
func (s *splitter) placed(p phrase) bool {
	i := p.lo - 1
	if i > 0 && s.words[i].is(determiner|possessed) {
		i--
	}
	return i > 0 && s.words[i].is(preposition) && s.words[i].norm != "to"
}

// suffers damps what somebody else's verb is done to: the "discounted" of "can I return a discounted tent".
func (s *splitter) suffers(h hit, p phrase, lo int) float64 {
	lo = max(lo, h.from-reach)
	for i := lo; i < h.from; i++ {
		if s.words[i].is(imperative) && s.owners[i] >= 0 && s.owners[i] != h.specialist {
			return 0.6
		}
	}
	for i := s.at[h.to-1] - 1; i >= 0 && s.phrases[i].lo >= lo; i-- {
		if o := s.phrases[i]; o.verb && s.owners[o.lo] >= 0 && s.owners[o.lo] != h.specialist {
			return 0.6
		}
	}
	return 1
}

// thingAt reports whether the word at i may be the name of a thing that a store sells: nobody but the product specialist
// has published it.
func (s *splitter) thingAt(i int) bool {
	w := s.words[i]
	return w.norm[0] > '9' && !w.is(aspect) && (s.owners[i] < 0 || s.owners[i] == s.lexicon.product)
}

// habitShare is what leaning to a class by the examples is worth beside the scores. A naive model is too sure of itself: of
// 0.2 to 0.5 it was right most often on the tuned messages.
const habitShare = 0.3

// compare lets likeness to the published examples decide between specialists: the strongest score stays as high as it
// was, but who has it may change.
func (s *splitter) compare(e *evidence, lo, hi int) {
	n := len(e.scores)
	e.leanings = make([]float64, n+1)
	s.bearings.weigh(e.leanings, lo, hi, s.muted)
	strength := slices.Max(e.scores)
	for i := range e.leanings {
		e.leanings[i] *= habitShare
		if i < n {
			e.leanings[i] += e.scores[i]
		}
	}
	top := slices.Max(e.leanings[:n])
	for i := range e.scores {
		e.scores[i] = max(strength, 0) * math.Exp(e.leanings[i]-top)
	}
}

// favourite returns the specialist that the words lean to most, and how much more than to the next one.
func (e evidence) favourite() (specialist int, lead float64) {
	best, next := math.Inf(-1), math.Inf(-1)
	for i, x := range e.leanings[:len(e.scores)] {
		if x > best {
			specialist, best, next = i, x, best
		} else {
			next = max(next, x)
		}
	}
	return specialist, best - next
}

// story is how much more the words lean to asking for nothing than to any request.
func (e evidence) story() float64 {
	n := len(e.scores)
	return e.leanings[n] - slices.Max(e.leanings[:n])
}

// politeness reports whether the words are a greeting or the like, which says nothing of a request beside it.
func politeness(ws []word) bool {
	return !slices.ContainsFunc(ws, func(w word) bool { return !w.is(greeting|filler|pointer|subject) || w.is(possessed) })
}

// guessFromForm adds what the form of a clause says when no published word does: "does it float?" asks about a product,
// "can you carry it up?" for a service, and a mere name wants the thing.
func (s *splitter) guessFromForm(e *evidence, lo, hi int) {
	l := s.lexicon
	if lo == hi || l.product < 0 || s.language == foreigner || e.solid > 0.7 {
		return
	}
	start, asks := s.skipPreface(lo, hi)
	first := start
	for first < hi && (s.at[first] < 0 || s.silent(first)) {
		first++
	}
	if first < hi && s.phrases[s.at[first]].verb && s.words[hi-1].asked {
		for first++; first < hi && s.at[first] < 0; first++ { // "passt die Matratze ...?"
		}
	}
	noun := first < hi && !s.phrases[s.at[first]].verb && s.thingAt(s.phrases[s.at[first]].head)
	asks = asks || s.words[hi-1].asked || s.words[start].is(helper|asker)
	switch {
	case e.signs&framed == 0 && s.asksForSuch(start, hi):
		e.add(l.product, asksOfIt, "asks for a product")
		e.signs |= pointed
	case asks && s.howTo(start, hi):
		e.add(l.product, asksOfThing, "asks how to use a thing")
		e.signs |= inquired
	case asks && s.service(start, hi):
		e.add(l.catchAll, asksService, "asks for a service")
		e.signs |= served
	case asks && slices.ContainsFunc(s.words[start:hi], func(w word) bool { return w.is(pointer) && !w.is(determiner) }):
		e.add(l.product, asksOfIt, "asks about a product")
		e.signs |= pointed
	case asks && noun && s.aboutThing(start, first):
		e.add(l.product, asksOfThing, "asks about a thing")
		e.signs |= inquired
		s.name(e, first, hi)
	case e.signs&framed == 0 && (noun && s.thing(start, hi) || s.wish(start, hi)):
		weight := namesThing
		if e.signs.has(misled) {
			weight += namesThing // which is why another's words are there
		}
		if !slices.ContainsFunc(s.words[start:hi], func(w word) bool { return !w.content() }) {
			weight += namesThing // "kayak", "green tent"
		}
		e.add(l.product, weight, "names a thing")
		e.signs |= named
		s.name(e, first, hi)
	}
}

// name makes the phrase of the word at i what the evidence is about, if nothing else is.
func (s *splitter) name(e *evidence, i, hi int) {
	if e.object[0] == e.object[1] && i < hi {
		p := s.phrases[s.at[i]]
		e.object = [2]int{p.lo, min(p.hi, hi)}
	}
}

// wish reports whether words ask for a thing by what it is for: "something to keep my coffee hot".
func (s *splitter) wish(lo, hi int) bool {
	switch s.words[lo].norm {
	case "something", "anything", "algo", "etwas":
		return hi-lo > 2
	}
	return false
}

// skipPreface moves lo past joints, what is muted, and "can you tell me" and the like, and reports whether the last was
// there.
func (s *splitter) skipPreface(lo, hi int) (start int, asks bool) {
	for i := lo; s.muted != nil && i < hi-1; i++ {
		if s.muted[i] {
			lo = i + 1
		}
	}
	lo = s.skipLead(lo, hi-1)
	for i := lo; i < min(hi-1, lo+5); i++ {
		f, ok := matchAt(prefaces, s.words[:hi], i)
		next := i + len(f.words)
		if !ok || next >= hi {
			continue
		}
		if w := s.words[next]; f.own > 0 || w.norm == "the" || w.is(asker|helper|condition|subject) {
			return next, true
		}
	}
	return lo, false
}

// silent reports whether the word at i is muted.
func (s *splitter) silent(i int) bool { return s.muted != nil && s.muted[i] }

// howTo reports whether a question asks how something that is not the shopper's is done: "how do I descale the kettle".
func (s *splitter) howTo(lo, hi int) bool {
	switch s.words[lo].norm {
	case "how", "wie", "como", "comment":
	default:
		return false
	}
	for i := lo + 2; i < hi; i++ {
		if s.at[i] >= 0 && s.words[i-1].is(determiner) && !s.words[i-1].is(possessed) {
			return s.thingAt(s.phrases[s.at[i]].head)
		}
	}
	return false
}

// service reports whether a question asks what the shopper or the store may do: "can you ...", "do I have to ...".
func (s *splitter) service(lo, hi int) bool {
	for i := lo; i < min(hi, lo+4); i++ {
		switch s.words[i].norm {
		case "ich", "wir", "je":
			return s.words[lo].is(asker)
		case "if", "happens":
			return s.words[lo].norm == "what"
		case "does":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pointer)
		case "can", "could", "may", "will", "would", "should", "do", "did", "kann", "konnen", "konnt", "darf", "puedo", "podeis",
			"pueden", "puis", "pouvez", "peut":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pointer) && s.words[i+1].norm != "man"
		}
	}
	return false
}

// asksForSuch reports whether words ask for a product without naming it: "do you have one?", "haben Sie so etwas?".
func (s *splitter) asksForSuch(lo, hi int) bool {
	f, ok := matchAt(frames, s.words[:hi], lo)
	if !ok || f.own < has {
		return false
	}
	i := lo + len(f.words)
	if i == hi || s.words[i].is(pointer) && !s.words[i].is(determiner) {
		return true
	}
	return hi-i < 4 && !slices.ContainsFunc(s.words[i:hi], func(w word) bool { return w.content() || w.is(possessed|vague) })
}

// aboutThing reports whether a question's first noun is a thing that it asks about: "how long does the lamp ...".
func (s *splitter) aboutThing(start, first int) bool {
	switch s.words[start].norm {
	case "who", "where", "wheres", "when", "why", "donde", "cuando", "wo", "wann", "warum", "quand", "pourquoi":
		return false
	}
	if first == start || s.words[first-1].is(possessed) {
		return false
	}
	return !s.placed(s.phrases[s.at[first]]) && s.thingAt(s.phrases[s.at[first]].head) && !s.phrases[s.at[first]].verb
}
