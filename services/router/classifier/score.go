package classifier

import (
	"math"
	"slices"
	"strings"
)

// score is how a span of words scores for each specialist, and the features that the decision needs.
type score struct {
	bySpecialist []float64
	evidence     []evidence
	// known counts the content words that a score comes from, content all of them.
	known, content int
	// object is the noun phrase that a product question is about: words from object[0] to object[1]-1. Empty if equal.
	object [2]int
	flags  spanFlags
	// logOdds combines naive Bayes and keyword scores for each specialist. The last one is of the background class, which
	// asks for nothing.
	logOdds []float64
	// solid is the sum of the weights that were hardly damped.
	solid float64
}

// evidence is a reason that speaks for a specialist.
type evidence struct {
	specialist int
	text       string
}

// spanFlags is a set of facts about a span that bear on how far its score can be trusted.
type spanFlags uint16

const (
	unknownVerb  spanFlags = 1 << iota // a verb that no specialist published: "I'd like to swim with my boots"
	describing                         // a keyword only modifies another word: "shipping tape"
	productAsked                       // the words ask for a product: "do you sell"
	bareName                           // the words only name a product
	pronounAsked                       // the words only ask about "it"
	factAsked                          // the words ask a fact about a product
	serviceAsked                       // the words only ask for a service in general
)

func (g spanFlags) has(f spanFlags) bool { return g&f != 0 }

// top returns the specialist with the highest score, that score, and the next highest. Of equals, the product specialist
// loses: its keywords are often only what another request is about.
func (e score) top(product int) (specialist int, score, next float64) {
	specialist = -1
	for i, s := range e.bySpecialist {
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

// reasons says in words what speaks for a specialist.
func (e score) reasons(specialist int) string {
	var texts []string
	for _, r := range e.evidence {
		if r.specialist == specialist {
			texts = append(texts, r.text)
		}
	}
	if len(texts) == 0 {
		return reasonExamples
	}
	return strings.Join(texts, ", ")
}

// add adds a weight for a specialist, once per reason.
func (e *score) add(specialist int, weight float64, text string) {
	r := evidence{specialist, text}
	if specialist < 0 || slices.Contains(e.evidence, r) {
		return
	}
	e.bySpecialist[specialist] += weight
	if weight > 0 {
		e.evidence = append(e.evidence, r)
	}
}

// maxVerbDistance is how many words before a noun its verb may stand.
const maxVerbDistance = 12

// maxScore bounds the sum of weak keywords.
const maxScore = 7

// Weights of what is no keyword. Keywords weigh from 1 (weak) to 3 (almost certain).
const (
	otherSubject   = 0.2 // a product pattern about another specialist's subject: "do you have a return policy"
	bareNameWeight = 0.9 // "a kite for a beginner"
	factWeight     = 0.8 // "does the stove need gas?"
	pronounWeight  = 0.9 // "does it float?"
	serviceWeight  = 0.7 // "can you carry it up?"
	typoWeight     = 0.8 // factor for a misspelt keyword
)

// score scores the words from lo to hi-1.
func (s *segmenter) score(lo, hi int) score {
	l := s.lexicon
	e := score{bySpecialist: make([]float64, len(l.names))}
	f := s.productRequest(lo, hi)
	covered := make([]bool, hi-lo)
	cover := func(from, to int) {
		for i := max(from, lo); i < min(to, hi); i++ {
			covered[i-lo] = true
		}
	}
	first, _ := slices.BinarySearchFunc(s.matches, lo, func(h match, lo int) int { return h.from - lo })
	for _, h := range s.matches[first:] {
		if h.from >= hi {
			break
		}
		if h.to > hi || politeness(s.words[h.from:h.to]) || s.isIgnored(h.from) {
			continue
		}
		weight := h.weight * s.roleWeight(h, f, lo, &e)
		if h.typo {
			weight *= typoWeight
		}
		if e.add(h.specialist, weight, h.evidence); weight > h.weight/2 {
			e.solid += weight
		}
		cover(h.from, h.to)
		if h.specialist == l.product && h.from >= f.object && h.from < f.end {
			f.end = max(f.end, h.to) // "sac à dos"
		}
	}
	e.object = [2]int{f.object, f.end}
	if f.weight > 0 && l.product >= 0 && !s.isIgnored(f.object) {
		e.add(l.product, f.weight, "asks for a product")
		e.flags |= productAsked
		e.solid += f.weight
		cover(f.from, f.end)
	}
	s.scoreForm(&e, lo, hi)
	if e.flags.has(bareName) {
		cover(e.object[0], e.object[1])
	}
	s.countContent(&e, covered, lo, hi)
	s.addNaiveBayes(&e, lo, hi)
	for i := range e.bySpecialist {
		e.bySpecialist[i] = min(e.bySpecialist[i], maxScore)
	}
	return e
}

// countContent counts the content words and flags unknown verbs.
func (s *segmenter) countContent(e *score, covered []bool, lo, hi int) {
	for i := lo; i < hi; i++ {
		if !s.words[i].content() || s.isIgnored(i) {
			continue
		}
		e.content++
		switch {
		case covered[i-lo]:
			e.known++
		case s.phrases[s.at[i]].verb:
			e.flags |= unknownVerb
		}
	}
}

// roleWeight returns the factor for a match by the role that its words have in the message.
func (s *segmenter) roleWeight(h match, f productRequest, lo int, e *score) float64 {
	product := s.lexicon.product
	inFrame := f.weight > 0 && h.from >= f.from && h.from < f.object
	switch at := s.at[h.to-1]; {
	case h.weight < 0:
		return 1
	case inFrame && h.specialist == product:
		return 0 // the pattern counts, by its object
	case inFrame && f.weight > otherSubject && h.to <= f.object:
		return 0.2 // the "order" of "I want to order a tent"
	case at < 0:
		return 1
	default:
		part := s.modifierWeight(h, s.phrases[at]) * s.complementWeight(h, s.phrases[at]) * s.objectWeight(h, s.phrases[at], lo)
		if part < 0.5 {
			e.flags |= describing
		}
		return part
	}
}

// modifierWeight damps a word that only modifies the head of its phrase, such as "shipping" in "shipping tape" but not in
// "shipping costs".
func (s *segmenter) modifierWeight(h match, p nounPhrase) float64 {
	if s.language == english && h.to-h.from == 1 && h.from > p.lo && p.hi-p.lo >= 3 && doesAsk(s.words, p.lo) {
		return 0.4 // "does the piggy bank hold refund coins"
	}
	if h.to-h.from > 1 || h.from == p.head || p.verb || p.hi-p.lo == 1 {
		return 1
	}
	switch owner := s.owners[p.head]; {
	case s.words[p.head].is(aspectNoun) || owner == h.specialist || h.specialist == s.lexicon.product:
		return 1
	case owner < 0 || owner == s.lexicon.product:
		return 0.25
	}
	return 0.5
}

// complementWeight damps what follows a product with "for" or "of", such as "shipping" in "a book about shipping", and
// what only says where something is, such as the cart in "is anything in my cart on offer".
func (s *segmenter) complementWeight(h match, p nounPhrase) float64 {
	switch {
	case h.specialist == s.lexicon.product:
		return 1
	case p.of >= 0 && s.mayBeProduct(s.phrases[p.of].head):
		return 0.4
	case s.followsPreposition(p):
		return 0.7
	}
	return 1
}

// followsPreposition reports whether a preposition stands before a phrase and its article.
func (s *segmenter) followsPreposition(p nounPhrase) bool {
	i := p.lo - 1
	if i > 0 && s.words[i].is(determiner|possessive) {
		i--
	}
	return i > 0 && s.words[i].is(preposition) && s.words[i].norm != "to"
}

// objectWeight damps the object of another specialist's verb, such as "discounted" in "can I return a discounted tent".
func (s *segmenter) objectWeight(h match, p nounPhrase, lo int) float64 {
	lo = max(lo, h.from-maxVerbDistance)
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

// mayBeProduct reports whether the word at i may name a product: no specialist but the product specialist has it as a
// keyword.
func (s *segmenter) mayBeProduct(i int) bool {
	w := s.words[i]
	return w.norm[0] > '9' && !w.is(aspectNoun) && (s.owners[i] < 0 || s.owners[i] == s.lexicon.product)
}

// naiveBayesWeight is the factor for naive Bayes log odds beside keyword scores. Naive Bayes is overconfident, because
// words that go together count as independent proofs.
const naiveBayesWeight = 0.3

// addNaiveBayes lets naive Bayes decide between specialists: the highest score stays as high as it was, but may become
// another specialist's.
func (s *segmenter) addNaiveBayes(e *score, lo, hi int) {
	n := len(e.bySpecialist)
	e.logOdds = make([]float64, n+1)
	s.examples.addTo(e.logOdds, lo, hi, s.ignored)
	strength := slices.Max(e.bySpecialist)
	for i := range e.logOdds {
		e.logOdds[i] *= naiveBayesWeight
		if i < n {
			e.logOdds[i] += e.bySpecialist[i]
		}
	}
	top := slices.Max(e.logOdds[:n])
	for i := range e.bySpecialist {
		e.bySpecialist[i] = max(strength, 0) * math.Exp(e.logOdds[i]-top)
	}
}

// mostLikely returns the specialist with the highest log odds, and its margin over the next one.
func (e score) mostLikely() (specialist int, margin float64) {
	best, next := math.Inf(-1), math.Inf(-1)
	for i, x := range e.logOdds[:len(e.bySpecialist)] {
		if x > best {
			specialist, best, next = i, x, best
		} else {
			next = max(next, x)
		}
	}
	return specialist, best - next
}

// backgroundMargin is the margin in log odds of the background class over the most likely specialist.
func (e score) backgroundMargin() float64 {
	n := len(e.bySpecialist)
	return e.logOdds[n] - slices.Max(e.logOdds[:n])
}

// politeness reports whether the words are a greeting or the like, which says nothing about a request beside it.
func politeness(ws []word) bool {
	return !slices.ContainsFunc(ws, func(w word) bool { return !w.is(greeting|filler|pronoun|subject) || w.is(possessive) })
}

// scoreForm scores the form of a segment when keywords say little: "does it float?" asks about a product, "can you carry
// it up?" for a service, and a bare name is a request for the product.
func (s *segmenter) scoreForm(e *score, lo, hi int) {
	l := s.lexicon
	if lo == hi || l.product < 0 || s.language == otherLanguage || e.solid > 0.7 {
		return
	}
	start, asks := s.skipPreface(lo, hi)
	first := start
	for first < hi && (s.at[first] < 0 || s.isIgnored(first)) {
		first++
	}
	if first < hi && s.phrases[s.at[first]].verb && s.words[hi-1].asked {
		for first++; first < hi && s.at[first] < 0; first++ { // "passt die Matratze ...?"
		}
	}
	noun := first < hi && !s.phrases[s.at[first]].verb && s.mayBeProduct(s.phrases[s.at[first]].head)
	asks = asks || s.words[hi-1].asked || s.words[start].is(auxiliary|questionWord)
	switch {
	case e.flags&productAsked == 0 && s.asksForSuch(start, hi):
		e.add(l.product, pronounWeight, "asks for a product")
		e.flags |= pronounAsked
	case asks && s.asksHowTo(start, hi):
		e.add(l.product, factWeight, "asks how to use a thing")
		e.flags |= factAsked
	case asks && s.asksForService(start, hi):
		e.add(l.catchAll, serviceWeight, "asks for a service")
		e.flags |= serviceAsked
	case asks && slices.ContainsFunc(s.words[start:hi], func(w word) bool { return w.is(pronoun) && !w.is(determiner) }):
		e.add(l.product, pronounWeight, "asks about a product")
		e.flags |= pronounAsked
	case asks && noun && s.asksAboutProduct(start, first):
		e.add(l.product, factWeight, "asks about a thing")
		e.flags |= factAsked
		s.setObject(e, first, hi)
	case e.flags&productAsked == 0 && (noun && s.isBareNoun(start, hi) || s.isWish(start, hi)):
		weight := bareNameWeight
		if e.flags.has(describing) {
			weight += bareNameWeight // which explains the other specialist's keyword
		}
		if !slices.ContainsFunc(s.words[start:hi], func(w word) bool { return !w.content() }) {
			weight += bareNameWeight // "kayak", "green tent"
		}
		e.add(l.product, weight, "names a thing")
		e.flags |= bareName
		s.setObject(e, first, hi)
	}
}

// setObject makes the phrase of the word at i the object, unless there is one.
func (s *segmenter) setObject(e *score, i, hi int) {
	if e.object[0] == e.object[1] && i < hi {
		p := s.phrases[s.at[i]]
		e.object = [2]int{p.lo, min(p.hi, hi)}
	}
}

// isWish reports whether words ask for a product by its use: "something to keep my coffee hot".
func (s *segmenter) isWish(lo, hi int) bool {
	switch s.words[lo].norm {
	case "something", "anything", "algo", "etwas":
		return hi-lo > 2
	}
	return false
}

// skipPreface moves lo past connectors, ignored words and prefaces such as "can you tell me". It reports whether there
// was a preface.
func (s *segmenter) skipPreface(lo, hi int) (start int, asks bool) {
	for i := lo; s.ignored != nil && i < hi-1; i++ {
		if s.ignored[i] {
			lo = i + 1
		}
	}
	lo = s.skipConnectors(lo, hi-1)
	for i := lo; i < min(hi-1, lo+5); i++ {
		f, ok := matchAt(prefacePatterns, s.words[:hi], i)
		next := i + len(f.words)
		if !ok || next >= hi {
			continue
		}
		if w := s.words[next]; f.weight > 0 || w.norm == "the" || w.is(questionWord|auxiliary|conditional|subject) {
			return next, true
		}
	}
	return lo, false
}

// isIgnored reports whether the word at i is ignored.
func (s *segmenter) isIgnored(i int) bool { return s.ignored != nil && s.ignored[i] }

// asksHowTo reports whether a question asks how to use a product: "how do I descale the kettle".
func (s *segmenter) asksHowTo(lo, hi int) bool {
	switch s.words[lo].norm {
	case "how", "wie", "como", "comment":
	default:
		return false
	}
	for i := lo + 2; i < hi; i++ {
		if s.at[i] >= 0 && s.words[i-1].is(determiner) && !s.words[i-1].is(possessive) {
			return s.mayBeProduct(s.phrases[s.at[i]].head)
		}
	}
	return false
}

// asksForService reports whether a question asks what the shopper or the store may do: "can you ...", "do I have to ...".
func (s *segmenter) asksForService(lo, hi int) bool {
	for i := lo; i < min(hi, lo+4); i++ {
		switch s.words[i].norm {
		case "ich", "wir", "je":
			return s.words[lo].is(questionWord)
		case "if", "happens":
			return s.words[lo].norm == "what"
		case "does":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pronoun)
		case "can", "could", "may", "will", "would", "should", "do", "did", "kann", "konnen", "konnt", "darf", "puedo", "podeis",
			"pueden", "puis", "pouvez", "peut":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pronoun) && s.words[i+1].norm != "man"
		}
	}
	return false
}

// asksForSuch reports whether words ask for a product without naming it: "do you have one?", "haben Sie so etwas?".
func (s *segmenter) asksForSuch(lo, hi int) bool {
	f, ok := matchAt(productPatterns, s.words[:hi], lo)
	if !ok || f.weight < haveWeight {
		return false
	}
	i := lo + len(f.words)
	if i == hi || s.words[i].is(pronoun) && !s.words[i].is(determiner) {
		return true
	}
	return hi-i < 4 && !slices.ContainsFunc(s.words[i:hi], func(w word) bool { return w.content() || w.is(possessive|vagueNoun) })
}

// asksAboutProduct reports whether a question's first noun is the product that it asks about: "how long does the lamp".
func (s *segmenter) asksAboutProduct(start, first int) bool {
	switch s.words[start].norm {
	case "who", "where", "wheres", "when", "why", "donde", "cuando", "wo", "wann", "warum", "quand", "pourquoi":
		return false
	}
	if first == start || s.words[first-1].is(possessive) {
		return false
	}
	return !s.followsPreposition(s.phrases[s.at[first]]) && s.mayBeProduct(s.phrases[s.at[first]].head) && !s.phrases[s.at[first]].verb
}
