package classifier

import (
	"slices"
	"strings"
)

// group is a run of segments for one specialist: words from lo to hi-1.
type group struct {
	lo, hi     int
	specialist int
	reason     string
	// features are those of the least confident segment. Zero: no features decided.
	features features
	// maxConfidence bounds the confidence.
	maxConfidence float64
	// object is the noun phrase that the group is about, as the shopper wrote it. May be empty.
	object string
}

// minScore is the score below which a segment says nothing of a specialist.
const minScore = 0.5

// Margins in log odds over the next specialist that suffice where no keyword was found.
const (
	minSegmentMargin = 1   // for a segment among others
	minMessageMargin = 0.3 // for a message, which must go somewhere
)

// Confidences of assignments that no features decide. They only say whether a model should be asked.
const (
	greetingConfidence        = 0.95 // nothing but "hi"
	nothingAskedConfidence    = 0.8  // everything is quoted, negated or settled
	unreadableConfidence      = 0.6  // no word that can be read
	unknownQuestionConfidence = 0.3  // a question without a known word
	namedProductConfidence    = 0.6  // "a kite for a beginner" beside another request: nearly always a product
	fragmentConfidence        = 0.6  // unknown words beside a request
	bareNounConfidence        = 0.35 // an unknown noun alone: perhaps a product
	followUpConfidence        = 0.4  // depends on the history
)

const (
	// maxFollowUp is how many words a message has at most that refers to an earlier one.
	maxFollowUp = 8
	// maxLookBack is how many earlier messages are classified.
	maxLookBack = 4
	// longMessage is how many words a message has at most in which a segment that asks nothing may be a request.
	longMessage = 30
)

// decoder turns the scored segments of one message into assignments.
type decoder struct {
	segmenter
	text      string
	history   []string // earlier messages of the shopper, oldest first
	groups    []group
	pending   int    // first word of segments that wait for the next group, or -1
	single    bool   // the message is one segment
	narrative bool   // the message is long and asks something: segments that do not ask are background
	order     string // see orderNumber
	sought    bool   // order was looked for
	// unknownWords counts the content words without a score, unplacedSegments the segments without a group of their own.
	unknownWords, unplacedSegments int
	swallowedRequest               bool // a segment that asks has no group of its own
}

// decode splits a message and assigns its parts. The message must not be empty.
func decode(l *lexicon, in Input) Result {
	ws := splitWords(in.Message)
	d := &decoder{segmenter: newSegmenter(l, in.Message, ws), text: in.Message, history: in.History, pending: -1}
	segments := slices.DeleteFunc(d.segments(), d.isPoliteness)
	d.single = len(segments) == 1
	d.narrative = len(ws) > longMessage && slices.ContainsFunc(segments, d.isRequest)
	for i, c := range segments {
		d.unknownWords += c.content - c.known
		d.place(c, i == len(segments)-1)
	}
	d.placePending()
	if len(d.groups) == 0 {
		return d.greeting()
	}
	return d.result()
}

// isPoliteness reports whether a segment is politeness only: "hi there", "thanks in advance", "can you help me?".
func (d *decoder) isPoliteness(c segment) bool {
	polite := false
	for _, w := range d.words[c.lo:c.hi] {
		if w.content() || w.is(pronoun) {
			return false
		}
		polite = polite || w.is(greeting|filler|vagueNoun)
	}
	_, best, _ := c.top(d.lexicon.product)
	return polite && best < minScore
}

// greeting is the result for a message that asks for nothing.
func (d *decoder) greeting() Result {
	a := Assignment{
		Specialist: d.lexicon.names[d.lexicon.catchAll], SubQuery: strings.TrimSpace(d.text), Reason: "a greeting, or nothing to answer",
		Confidence: greetingConfidence,
	}
	if a.SubQuery == "" {
		a.SubQuery = d.text
	}
	if len(d.words) > 0 && len(d.history) > 0 {
		a.Confidence = followUpConfidence // "yes please" answers something
	}
	return Result{Assignments: []Assignment{a}, Confidence: a.Confidence, Terms: termsOf(d.words)}
}

// place puts a segment into the group that it belongs to, or lets it wait for the next one.
func (d *decoder) place(c segment, last bool) {
	product := d.lexicon.product
	specialist, best, _ := c.top(product)
	if d.narrative && best <= pronounWeight && d.pending >= 0 && d.isRequest(c) {
		// "Last month a banner said that there is a sale. Has it started?"
		if around := d.segment(max(d.pending, c.lo-maxVerbDistance), c.hi); around.solid > 1 {
			c.score = around.score
			specialist, best, _ = c.top(product)
		}
	}
	follows := len(d.groups) > 0 && d.pending < 0
	tells := best >= minScore && d.onlyTells(c, specialist)
	fragment := c.flags.has(bareName) && best <= bareNameWeight && follows && !d.requestsProduct(c)
	if likely, margin := c.mostLikely(); best < minScore && margin > minSegmentMargin && d.isRequest(c) {
		specialist, best, c.bySpecialist[likely] = likely, minScore, minScore
	}
	switch {
	case d.allIgnored(c) || fragment || d.isBackground(c):
		if follows && last || fragment {
			d.appendToLast(c)
			if g := &d.groups[len(d.groups)-1]; fragment {
				g.maxConfidence = min(g.maxConfidence, fragmentConfidence)
			}
		} else {
			d.postpone(c)
		}
	case d.single && len(d.history) > 0 && d.isFollowUp(c):
		d.pending = c.lo
	case d.single && specialist == product && c.flags&(productAsked|bareName|pronounAsked|factAsked) == 0 && d.isStatement(c):
		d.pending = c.lo // "you sent me the wrong colour"
	case best >= minScore && follows && (d.isAside(c, specialist, best) || tells && last || d.hardlyDiffers(c, specialist)):
		d.appendToLast(c)
	case best >= minScore && !(tells && !last):
		d.openGroup(c, specialist)
	case best < minScore && d.requestsProduct(c):
		d.openProductGroup(c)
	case best < minScore && follows && !(d.isStatement(c) && !last):
		d.appendToLast(c)
	default:
		d.postpone(c)
	}
}

// isBackground reports whether a segment only tells the story around a request.
func (d *decoder) isBackground(c segment) bool {
	const nearly = -1 // a story is told in more ways than there are examples of
	return (d.narrative || !d.single && c.backgroundMargin() > nearly) && !d.isRequest(c)
}

// hardlyDiffers reports whether a segment scores hardly more for its specialist than for the last group's.
func (d *decoder) hardlyDiffers(c segment, specialist int) bool {
	const hardly = 0.5
	before := d.groups[len(d.groups)-1].specialist
	return specialist != before && c.logOdds[specialist]-c.logOdds[before] < hardly
}

// postpone lets a segment wait for the next group.
func (d *decoder) postpone(c segment) {
	if d.pending < 0 {
		d.pending = c.lo
	}
	d.unplacedSegments++
}

// isFollowUp reports whether a message says little without the history: "even if I washed it?", "and in blue?",
// "something warmer maybe".
func (d *decoder) isFollowUp(c segment) bool {
	if c.flags&(bareName|pronounAsked) == 0 || c.hi-c.lo > maxFollowUp {
		return false
	}
	_, best, _ := c.top(d.lexicon.product)
	first := d.words[d.skipConnectors(c.lo, c.hi-1)]
	return best <= pronounWeight && (c.flags.has(pronounAsked) || first.is(vagueNoun|preposition|pronoun) || d.words[c.lo].is(conjunction))
}

// allIgnored reports whether all content words of a segment are ignored.
func (d *decoder) allIgnored(c segment) bool {
	if d.ignored == nil {
		return false
	}
	for i := c.lo; i < c.hi; i++ {
		if d.words[i].content() && !d.ignored[i] {
			return false
		}
	}
	return slices.Contains(d.ignored[c.lo:c.hi], true)
}

// openGroup adds a segment with a score of its own: to the last group if that has the same specialist, else as a new one.
func (d *decoder) openGroup(c segment, specialist int) {
	f := c.features(d.lexicon.product)
	if n := len(d.groups) - 1; n >= 0 && d.groups[n].specialist == specialist {
		g := &d.groups[n]
		_, best, next := c.top(d.lexicon.product)
		if clear := next < 0.3*best; clear == (f.logit() < g.features.logit()) {
			f = g.features // a clear segment does not lower the group's confidence, and an unclear one does not raise it
		}
		d.extendTo(g, c.hi)
		g.features = f
		if g.object == "" {
			g.object = d.object(c)
		}
		return
	}
	g := group{lo: c.lo, hi: c.hi, specialist: specialist, features: f, maxConfidence: 1, reason: c.reasons(specialist), object: d.object(c)}
	d.groups = append(d.groups, d.withPending(g))
}

// extendTo lets a group end at hi. That includes pending segments.
func (d *decoder) extendTo(g *group, hi int) { g.hi, d.pending = hi, -1 }

// withPending puts the pending segments before a group.
func (d *decoder) withPending(g group) group {
	if d.pending >= 0 {
		g.lo = d.pending
	}
	d.extendTo(&g, g.hi)
	return g
}

// appendToLast adds a segment without a score of its own to the last group.
func (d *decoder) appendToLast(c segment) {
	d.groups[len(d.groups)-1].hi = c.hi
	d.unplacedSegments++
	d.swallowedRequest = d.swallowedRequest || d.isRequest(c) && !d.allIgnored(c)
}

// isAside reports whether a segment asks about what was said before and names nothing itself, so that words like "how
// much" say little of its specialist: "do you deliver to the islands and how much does it cost?".
func (d *decoder) isAside(c segment, specialist int, best float64) bool {
	const slight = 2.2
	return specialist == d.lexicon.product && best < slight && d.object(c) == "" && d.hasPronoun(group{lo: c.lo, hi: c.hi})
}

// placePending places the segments that still wait at the end.
func (d *decoder) placePending() {
	if d.pending < 0 {
		return
	}
	c := d.segment(d.pending, len(d.words))
	d.pending = -1
	if len(d.groups) > 0 {
		d.appendToLast(c)
		return
	}
	g := group{lo: c.lo, hi: c.hi}
	g.specialist, g.maxConfidence, g.reason = d.fallback(c)
	if g.reason == reasonExamples {
		c.bySpecialist[g.specialist] = max(c.bySpecialist[g.specialist], minScore)
		g.features = c.features(d.lexicon.product)
	}
	d.groups = append(d.groups, g)
}

// reasonExamples is the reason where only the examples speak for a specialist.
const reasonExamples = "resembles examples"

// fallback decides on a whole message without a known word.
func (d *decoder) fallback(c segment) (specialist int, confidence float64, reason string) {
	l, content := d.lexicon, 0
	if d.allIgnored(c) {
		return l.catchAll, nothingAskedConfidence, "asks for nothing that a store does"
	}
	unreadable := true
	for _, w := range d.words[c.lo:c.hi] {
		if w.content() {
			content++
			unreadable = unreadable && (gibberish(w.norm) || w.norm[0] <= '9')
		}
	}
	if content == 0 && slices.ContainsFunc(d.words[c.lo:c.hi], func(w word) bool { return w.is(greeting) }) {
		return l.catchAll, greetingConfidence, "politeness"
	}
	if unreadable && content > 0 {
		return l.catchAll, unreadableConfidence, "nothing that can be read"
	}
	for n := len(d.history); n > max(0, len(d.history)-maxLookBack); n-- {
		before := decode(l, Input{Message: d.history[n-1]})
		if a := before.Assignments[len(before.Assignments)-1]; before.Confidence > followUpConfidence {
			return slices.Index(l.names, a.Specialist), followUpConfidence, "follows up on the message before"
		}
	}
	if likely, margin := c.mostLikely(); margin > minMessageMargin {
		return likely, 1, reasonExamples
	}
	if l.product >= 0 && !d.isStatement(c) && d.isBareNoun(c.lo, c.hi) {
		return l.product, bareNounConfidence, "may name a product"
	}
	return l.catchAll, unknownQuestionConfidence, "fits no other specialist"
}

// result turns the groups into assignments.
func (d *decoder) result() Result {
	out := Result{Confidence: 2, Terms: termsOf(d.words)}
	for i, g := range d.groups {
		lo, confidence := trimConnectors(d.words, g.lo, g.hi), g.maxConfidence
		f := d.withMessageFeatures(g.features)
		if g.features != (features{}) {
			confidence = min(confidence, f.confidence())
		}
		if confidence < out.Confidence {
			out.Confidence, out.features = confidence, f
		}
		a := Assignment{
			Specialist: d.lexicon.names[g.specialist], Reason: g.reason, Confidence: confidence, Start: d.words[lo].start,
			SubQuery: strings.TrimSpace(excerpt(d.text, d.words, lo, g.hi)),
		}
		if about := d.antecedent(i, a.SubQuery); about != "" && len(a.SubQuery)+len(about) < MaxMessage-12 {
			a.SubQuery += " (about: " + about + ")"
		}
		out.Assignments = append(out.Assignments, a)
	}
	out.OnlyNames = len(d.groups) == 1 && d.groups[0].specialist == d.lexicon.product && d.isBareNoun(0, len(d.words))
	if len(out.Assignments) > MaxAssignments {
		out.Assignments = Merge(out.Assignments)
		out.Notes = append(out.Notes, "many requests; requests for the same specialist were merged")
	}
	return out
}

// Not every segment asks in words. Some only name what is wanted, "a kite for a beginner", and are requests too. Others
// only tell something, "I bought a tent last week", and belong to the request beside them.

// onlyTells reports whether a segment only tells of the shopper's things, so that the request follows: "I bought a tent
// last week."
func (d *decoder) onlyTells(c segment, specialist int) bool {
	return specialist == d.lexicon.product && d.isStatement(c) && c.object[0] == c.object[1]
}

// isStatement reports whether a segment asks nothing, and begins with a pronoun or "my" or has a verb of the past.
func (d *decoder) isStatement(c segment) bool {
	first := d.words[c.lo]
	states := first.is(subject|possessive|pronoun) && !first.is(auxiliary|opens)
	states = states || slices.ContainsFunc(d.words[c.lo:c.hi], func(w word) bool { return w.is(pastVerb) })
	if !states || first.is(questionWord) || first.is(auxiliary) && c.lo+1 < c.hi && d.words[c.lo+1].is(pronoun|determiner) {
		return false
	}
	for i := c.lo; i < c.hi; i++ {
		if w := d.words[i]; w.is(questionWord|requestVerb|imperative) && w.norm != "que" && w.norm != "was" {
			return false
		}
	}
	return !strings.Contains(excerpt(d.text, d.words, c.hi-1, c.hi), "?")
}

// isRequest reports whether a segment has the form of a request: a question, an imperative or a wish.
func (d *decoder) isRequest(c segment) bool {
	if d.words[c.hi-1].asked {
		return true
	}
	if d.inQuestion(c.hi) && !d.isStatement(c) && !d.words[c.lo].is(preposition) && !d.isCondition(c.lo, c.hi) {
		return true
	}
	start, prefaced := d.skipPreface(c.lo, c.hi)
	first, next := d.words[start], word{}
	if start+1 < c.hi {
		next = d.words[start+1]
	}
	switch {
	case prefaced, first.is(imperative), first.is(requestVerb):
		return true
	case first.is(questionWord) && next.is(auxiliary), first.is(auxiliary) && next.is(subject|pronoun|determiner|possessive):
		return true
	}
	for i := c.lo; i < c.hi; i++ {
		if f, ok := matchAt(productPatterns, d.words[:c.hi], i); ok && f.weight >= needWeight && len(f.words) > 1 {
			return true
		}
		if _, ok := matchAt(wishPatterns, d.words[:c.hi], i); ok {
			return true
		}
	}
	return false
}

// inQuestion reports whether the sentence that the word at i is in, or that ends before it, is a question.
func (s *segmenter) inQuestion(i int) bool {
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

// maxBareNoun is how many content words a bare noun has at most, with its modifiers.
const maxBareNoun = 8

// isBareNoun reports whether the words from lo to hi-1 only name something: they have no verb and no subject, and do not
// begin with "my", "for" or "if". A verb after an article counts as a noun.
func (s *segmenter) isBareNoun(lo, hi int) bool {
	lo = s.skipConnectors(lo, hi)
	if lo == hi || s.words[lo].is(possessive|preposition|conditional|questionWord) {
		return false
	}
	for i := lo + 1; i+1 < hi; i++ {
		if s.words[i].norm == "that" && s.words[i-1].content() {
			hi = i // "a rug that does not slide"
		}
	}
	open := s.isIndefinite(lo, hi)
	var name, last word
	content := 0
	for i := lo; i < hi; i++ {
		w := s.words[i]
		switch {
		case w.norm == "here" || w.norm == "hier" || w.is(pastVerb):
			return false
		case !w.is(questionWord|auxiliary|requestVerb|imperative|subject|pronoun) || w.is(determiner|preposition):
		case w.is(auxiliary) && !w.is(requestVerb):
			return false
		case i > lo && s.words[i-1].is(determiner|possessive|preposition), open && w.is(pronoun):
		case i > lo && w.is(questionWord) && s.words[i-1].content(): // "my dad who fishes"
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
				name = w
			}
		} else if w.is(vagueNoun) && i > lo {
			if content == 0 {
				return false // "a problem with the website"
			}
			last = w
		}
	}
	return name.norm != "" && content <= maxBareNoun && !last.is(vagueNoun)
}

// skipConnectors returns the first word that is no connector and no politeness.
func (s *segmenter) skipConnectors(lo, hi int) int {
	for lo < hi && s.words[lo].is(conjunction|leadIn|filler|greeting) {
		lo++
	}
	return lo
}

// isIndefinite reports whether an indefinite noun phrase begins at i: "a kite", "two kites", "something warm".
func (s *segmenter) isIndefinite(i, hi int) bool {
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

// requestsProduct reports whether a segment without a score is a request for what it names. After another request it must
// be clear that the segment is no detail of that one.
func (d *decoder) requestsProduct(c segment) bool {
	if d.single || d.lexicon.product < 0 || !d.isBareNoun(c.lo, c.hi) {
		return false
	}
	lo := d.skipConnectors(c.lo, c.hi)
	return len(d.groups) == 0 || d.isIndefinite(lo, c.hi) || d.words[c.lo].is(conjunction|leadIn)
}

// openProductGroup gives a segment that only names something to the product specialist.
func (d *decoder) openProductGroup(c segment) {
	g := group{lo: c.lo, hi: c.hi, specialist: d.lexicon.product, maxConfidence: namedProductConfidence, reason: "names a thing"}
	lo := d.skipConnectors(c.lo, c.hi)
	for lo+1 < c.hi && d.words[lo].is(determiner) {
		lo++
	}
	end := lo
	for end < c.hi && (end == lo || d.words[end].content()) {
		end++
	}
	g.object = d.text[d.words[lo].start:d.words[end-1].end]
	if n := len(d.groups) - 1; n >= 0 && d.groups[n].specialist == g.specialist {
		d.extendTo(&d.groups[n], g.hi)
		d.groups[n].maxConfidence = min(d.groups[n].maxConfidence, g.maxConfidence)
		return
	}
	d.groups = append(d.groups, d.withPending(g))
}

// addsProduct reports whether the words right of a connector name a product that the words left of it are not about:
// "where is my order and a kite for a beginner". After a product on the left, the right only continues a list.
func (s *segmenter) addsProduct(lo, mid, right, hi int) bool {
	if s.lexicon.product < 0 || !s.isIndefinite(right, hi) || !s.isBareNoun(right, hi) {
		return false
	}
	if i := s.lastContent(lo, mid); i < 0 || s.owners[i] < 0 || s.owners[i] == s.lexicon.product {
		return false
	}
	r := s.score(right, hi)
	specialist, best, _ := r.top(s.lexicon.product)
	return best < minScore || specialist == s.lexicon.product
}
