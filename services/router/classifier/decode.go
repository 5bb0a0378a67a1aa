package classifier

import (
	"slices"
	"strings"
)

// draft is an assignment in the making.
type draft struct {
	specialist int
	text       string
	reason     string
	confidence float64
	// at is where in the message it begins, in bytes.
	at int
}

// ruling is what the rules make of a message.
type ruling struct {
	// drafts are in message order; never empty.
	drafts []draft
	// certainty is that of the least certain draft.
	certainty float64
	// traits are what that rests on. Zero where it is no matter of evidence.
	traits traits
	notes  []string
	words  []word // of the message
}

// group is a run of clauses for one specialist: words from lo to hi-1.
type group struct {
	lo, hi     int
	specialist int
	reason     string
	// traits are those of its least sure clause. Zero: there is no evidence.
	traits traits
	// atMost bounds the certainty.
	atMost float64
	// object is the noun phrase that the group is about, as the shopper wrote it. May be empty.
	object string
}

// weak is the score below which nothing is known of a clause.
const weak = 0.5

// How much more words must lean to one specialist than to the next where no published keyword speaks for any.
const (
	leastLead  = 1   // a clause among others
	leastGuess = 0.3 // a message that has to go somewhere
)

// Certainties that do not come from scores: how often such a guess is right is not known, only that it is or is not
// worth asking a model.
const (
	sureGreeting   = 0.95 // nothing but "hi"
	sureNothing    = 0.8  // all is quoted, settled or meant for a machine
	unsureQuestion = 0.3  // a question that no published word is in
	unsureThing    = 0.6  // "a kite for a beginner" beside another request: nearly always a product
	unsureRider    = 0.6  // words of which nothing is known, beside others
	unsureProduct  = 0.35 // a bare noun that nobody published: perhaps a product
	unsureFollow   = 0.4  // leans on the history
)

// Bounds of what is made of the history.
const (
	maxFollowUp = 8 // words of a message that may lean on what was said before
	maxLookBack = 4 // messages

	// longMessage is how many words a message has at most in which a clause that asks nothing may be a request.
	longMessage = 30
)

// ruler applies the rules to one message.
type ruler struct {
	splitter
	text    string
	history []string // what the shopper said before, the oldest first
	groups  []group
	pending int    // first word of clauses that wait for the next group, or -1
	alone   bool   // the message is one clause
	tale    bool   // the message is long, and asks: what does not ask in it is the story around
	order   string // see orderNumber
	sought  bool   // the order number was looked for
	// unknown counts the content words that no evidence rests on, unplaced the clauses that have no group of their own.
	unknown, unplaced int
	swallowed         bool // a clause that asks has no group of its own
}

// rule splits a message and assigns its parts. The message must not be empty.
func rule(l *lexicon, text string, history []string) ruling {
	ws := splitWords(text)
	r := &ruler{splitter: newSplitter(l, text, ws), text: text, history: history, pending: -1}
	clauses := slices.DeleteFunc(r.clauses(), r.noise)
	r.alone = len(clauses) == 1
	r.tale = len(ws) > longMessage && slices.ContainsFunc(clauses, r.asks)
	for i, c := range clauses {
		r.unknown += c.all - c.explained
		r.place(c, i == len(clauses)-1)
	}
	r.settlePending()
	if len(r.groups) == 0 {
		return r.greeting()
	}
	return r.ruling()
}

// noise reports whether a clause is politeness only: "hi there", "thanks in advance", "can you help me?".
func (r *ruler) noise(c clause) bool {
	polite := false
	for _, w := range r.words[c.lo:c.hi] {
		if w.content() || w.is(pointer) {
			return false
		}
		polite = polite || w.is(greeting|filler|vague)
	}
	_, score, _ := c.best(r.lexicon.product)
	return polite && score < weak
}

// greeting is the ruling for a message that asks for nothing.
func (r *ruler) greeting() ruling {
	d := draft{
		specialist: r.lexicon.catchAll, text: strings.TrimSpace(r.text), reason: "a greeting, or nothing to answer",
		confidence: sureGreeting,
	}
	if d.text == "" {
		d.text = r.text
	}
	if len(r.words) > 0 && len(r.history) > 0 {
		d.confidence = unsureFollow // "yes please" answers something
	}
	return ruling{drafts: []draft{d}, certainty: d.confidence, words: r.words}
}

// place puts a clause into the group that it belongs to, or lets it wait for the next one.
func (r *ruler) place(c clause, last bool) {
	specialist, score, _ := c.best(r.lexicon.product)
	if r.tale && score <= asksOfIt && r.pending >= 0 && r.asks(c) {
		// "Last month a banner said that there is a sale. Has it started?"
		if around := r.clause(max(r.pending, c.lo-reach), c.hi); around.solid > 1 {
			c.evidence = around.evidence
			specialist, score, _ = c.best(r.lexicon.product)
		}
	}
	follows := len(r.groups) > 0 && r.pending < 0
	behind := score >= weak && r.backdrop(c, specialist)
	fragment := c.signs.has(named) && score <= namesThing && follows && !r.wants(c)
	if favourite, lead := c.favourite(); score < weak && lead > leastLead && r.asks(c) {
		specialist, score, c.scores[favourite] = favourite, weak, weak
	}
	switch {
	case r.mute(c) || fragment || r.background(c):
		if follows && last || fragment {
			r.extend(c)
			if g := &r.groups[len(r.groups)-1]; fragment {
				g.atMost = min(g.atMost, unsureRider)
			}
		} else {
			r.wait(c)
		}
	case r.alone && len(r.history) > 0 && r.leansBack(c):
		r.pending = c.lo
	case r.alone && specialist == r.lexicon.product && c.signs&(framed|named|pointed|inquired) == 0 && r.tells(c):
		r.pending = c.lo // "you sent me the wrong colour"
	case score >= weak && follows && (r.remark(c, specialist, score) || behind && last || r.stays(c, specialist)):
		r.extend(c)
	case score >= weak && !(behind && !last):
		r.open(c, specialist)
	case score < weak && r.wants(c):
		r.pushThing(c)
	case score < weak && follows && !(r.tells(c) && !last):
		r.extend(c)
	default:
		r.wait(c)
	}
}

// background reports whether a clause is the story around what the message asks.
func (r *ruler) background(c clause) bool {
	const nearly = -1 // a story is told in more ways than there are examples of
	return (r.tale || !r.alone && c.story() > nearly) && !r.asks(c)
}

// stays reports whether a clause speaks hardly more for its specialist than for that of the group before.
func (r *ruler) stays(c clause, specialist int) bool {
	const hardly = 0.5
	before := r.groups[len(r.groups)-1].specialist
	return specialist != before && c.leanings[specialist]-c.leanings[before] < hardly
}

// wait lets a clause wait for the next group.
func (r *ruler) wait(c clause) {
	if r.pending < 0 {
		r.pending = c.lo
	}
	r.unplaced++
}

// leansBack reports whether a message says little without what was said before: "even if I washed it?", "and in blue?",
// "something warmer maybe".
func (r *ruler) leansBack(c clause) bool {
	if c.signs&(named|pointed) == 0 || c.hi-c.lo > maxFollowUp {
		return false
	}
	_, score, _ := c.best(r.lexicon.product)
	first := r.words[r.skipLead(c.lo, c.hi-1)]
	return score <= asksOfIt && (c.signs.has(pointed) || first.is(vague|preposition|pointer) || r.words[c.lo].is(linker))
}

// mute reports whether all of a clause that says something is muted.
func (r *ruler) mute(c clause) bool {
	if r.muted == nil {
		return false
	}
	for i := c.lo; i < c.hi; i++ {
		if r.words[i].content() && !r.muted[i] {
			return false
		}
	}
	return slices.Contains(r.muted[c.lo:c.hi], true)
}

// open adds a clause with evidence of its own: to the last group if that has the same specialist, else as a new one.
func (r *ruler) open(c clause, specialist int) {
	sure := c.traits(r.lexicon.product)
	if n := len(r.groups) - 1; n >= 0 && r.groups[n].specialist == specialist {
		g := &r.groups[n]
		_, score, next := c.best(r.lexicon.product)
		if one := next < 0.3*score; one == (sure.believed() < g.traits.believed()) {
			sure = g.traits // one more sign of the same, and none of another, takes nothing away
		}
		r.widen(g, c.hi)
		g.traits = sure
		if g.object == "" {
			g.object = r.object(c)
		}
		return
	}
	g := group{lo: c.lo, hi: c.hi, specialist: specialist, traits: sure, atMost: 1, reason: c.why(specialist), object: r.object(c)}
	r.groups = append(r.groups, r.withPending(g))
}

// widen lets a group reach to hi, over the clauses that wait.
func (r *ruler) widen(g *group, hi int) { g.hi, r.pending = hi, -1 }

// withPending puts the clauses that wait before a group.
func (r *ruler) withPending(g group) group {
	if r.pending >= 0 {
		g.lo = r.pending
	}
	r.widen(&g, g.hi)
	return g
}

// extend adds a clause without evidence of its own to the last group.
func (r *ruler) extend(c clause) {
	r.groups[len(r.groups)-1].hi = c.hi
	r.unplaced++
	r.swallowed = r.swallowed || r.asks(c) && !r.mute(c)
}

// remark reports whether a clause asks something about what was said before and names nothing itself, so that words like
// "how much" say little of whom it is for: "do you deliver to the islands and how much does it cost?".
func (r *ruler) remark(c clause, specialist int, score float64) bool {
	const slight = 2.2
	return specialist == r.lexicon.product && score < slight && r.object(c) == "" && r.points(group{lo: c.lo, hi: c.hi})
}

// settlePending places what is left waiting at the end.
func (r *ruler) settlePending() {
	if r.pending < 0 {
		return
	}
	c := r.clause(r.pending, len(r.words))
	r.pending = -1
	if len(r.groups) > 0 {
		r.extend(c)
		return
	}
	g := group{lo: c.lo, hi: c.hi}
	g.specialist, g.atMost, g.reason = r.guess(c)
	if g.reason == likeExamples {
		c.scores[g.specialist] = max(c.scores[g.specialist], weak)
		g.traits = c.traits(r.lexicon.product)
	}
	r.groups = append(r.groups, g)
}

// likeExamples is the reason where nothing else speaks for a specialist.
const likeExamples = "resembles examples"

// guess decides on a whole message of which nothing is known.
func (r *ruler) guess(c clause) (specialist int, certainty float64, reason string) {
	l, content := r.lexicon, 0
	if r.mute(c) {
		return l.catchAll, sureNothing, "asks for nothing that a store does"
	}
	nonsense := true
	for _, w := range r.words[c.lo:c.hi] {
		if w.content() {
			content++
			nonsense = nonsense && (gibberish(w.norm) || w.norm[0] <= '9')
		}
	}
	if content == 0 && slices.ContainsFunc(r.words[c.lo:c.hi], func(w word) bool { return w.is(greeting) }) {
		return l.catchAll, sureGreeting, "politeness"
	}
	if nonsense && content > 0 {
		return l.catchAll, 0.6, "nothing that can be read"
	}
	for n := len(r.history); n > max(0, len(r.history)-maxLookBack); n-- {
		before := rule(l, r.history[n-1], nil)
		if d := before.drafts[len(before.drafts)-1]; before.certainty > unsureFollow {
			return d.specialist, unsureFollow, "follows up on the message before"
		}
	}
	if favourite, lead := c.favourite(); lead > leastGuess {
		return favourite, 1, likeExamples
	}
	if l.product >= 0 && !r.tells(c) && r.thing(c.lo, c.hi) {
		return l.product, unsureProduct, "may name a product"
	}
	return l.catchAll, unsureQuestion, "fits no other specialist"
}

// ruling turns the groups into drafts.
func (r *ruler) ruling() ruling {
	out := ruling{certainty: 2, words: r.words}
	for i, g := range r.groups {
		lo, sure := trimLead(r.words, g.lo, g.hi), g.atMost
		t := r.weighMessage(g.traits)
		if g.traits != (traits{}) {
			sure = min(sure, t.certainty())
		}
		if sure < out.certainty {
			out.certainty, out.traits = sure, t
		}
		d := draft{
			specialist: g.specialist, reason: g.reason, confidence: sure, at: r.words[lo].start,
			text: strings.TrimSpace(excerpt(r.text, r.words, lo, g.hi)),
		}
		if about := r.antecedent(i, d.text); about != "" && len(d.text)+len(about) < MaxMessage-12 {
			d.text += " (about: " + about + ")"
		}
		out.drafts = append(out.drafts, d)
	}
	if len(out.drafts) > MaxAssignments {
		out.drafts = gather(out.drafts)
		out.notes = append(out.notes, "many requests; those for one specialist were put together")
	}
	return out
}

// gather puts the drafts of each specialist together.
func gather(drafts []draft) []draft {
	var out []draft
	at := map[int]int{}
	for _, d := range drafts {
		i, seen := at[d.specialist]
		if !seen {
			at[d.specialist] = len(out)
			out = append(out, d)
			continue
		}
		out[i].text += "\n" + d.text
		out[i].confidence = min(out[i].confidence, d.confidence)
	}
	return out
}

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
