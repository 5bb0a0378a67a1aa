package router

import (
	"math"
	"slices"
	"strings"
)

// evidence is what speaks for each specialist in a stretch of words.
type evidence struct {
	scores  []float64
	reasons [][]string
	// explained counts the content words that some evidence rests on, of all.
	explained, all int
	// object is the noun phrase that a product question is about: words from object[0] to object[1]-1. Empty if equal.
	object [2]int
	// denied is true when the shopper says of something published that it is not wanted.
	denied bool
	// verb is true when the shopper wants to do something that nobody published: "I'd like to swap my boots".
	verb bool
	// typo is true when a term was recognised in spite of a slip.
	typo bool
}

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

// maxScore bounds what a heap of weak words can come to.
const maxScore = 7

// weigh scores the words from lo to hi-1 of a message with the hits found in it, sorted.
func (l *lexicon) weigh(ws []word, hits []hit, lo, hi int) evidence {
	e := evidence{scores: make([]float64, len(l.names)), reasons: make([][]string, len(l.names))}
	covered := make([]bool, hi-lo)
	denied := deniedWords(ws[lo:hi])
	f := findProductFrame(ws, lo, hi)
	inner := make([]hit, 0, 8)
	first, _ := slices.BinarySearchFunc(hits, lo, func(h hit, lo int) int { return h.from - lo })
	for _, h := range hits[first:] {
		if h.from >= hi {
			break
		}
		if h.to > hi || politeness(ws[h.from:h.to]) {
			continue
		}
		if denied[h.from-lo] {
			e.denied = e.denied || h.weight > 0
			continue
		}
		inner = append(inner, h)
	}
	own := l.frameWeight(f, ws, inner)
	for _, h := range inner {
		if h.specialist == l.product && h.from >= f.object && h.from < f.end {
			f.end = max(f.end, h.to) // "sac à dos"
		}
	}
	e.object = [2]int{f.object, f.end}
	for i, h := range inner {
		l.count(&e, h, h.weight*l.damping(f, own, ws, inner, i, hi))
		for j := h.from; j < h.to; j++ {
			covered[j-lo] = true
		}
	}
	if own > 0 && l.product >= 0 && !denied[f.from-lo] {
		e.scores[l.product] += own
		e.reasons[l.product] = append(e.reasons[l.product], "asks for a product")
		for j := f.from; j < f.end; j++ {
			covered[j-lo] = true
		}
	}
	l.compareExamples(&e, ws[lo:hi])
	l.askAbout(&e, ws[lo:hi])
	for i := lo; i < hi; i++ {
		if ws[i].content() && !denied[i-lo] {
			e.all++
			if covered[i-lo] {
				e.explained++
			} else {
				e.verb = e.verb || verbAt(ws, lo, i)
			}
		}
	}
	for i := range e.scores {
		e.scores[i] = min(e.scores[i], maxScore)
	}
	return e
}

// verbAt reports whether the word at i must be a verb: after "to", or after "can I".
func verbAt(ws []word, lo, i int) bool {
	if i == lo || ws[i].gap != gapNone || ws[i].norm[0] <= '9' {
		return false
	}
	before := ws[i-1]
	return before.norm == "to" || i-1 > lo && before.is(subject) && !before.is(pointer) && ws[i-2].is(helper)
}

// count adds one hit to the evidence, once per term.
func (l *lexicon) count(e *evidence, h hit, weight float64) {
	if slices.Contains(e.reasons[h.specialist], h.reason) {
		return
	}
	if h.typo {
		weight *= 0.8
		e.typo = true
	}
	e.scores[h.specialist] += weight
	if weight > 0 {
		e.reasons[h.specialist] = append(e.reasons[h.specialist], h.reason)
	}
}

// sameSentence is what having all the words of a published example, and no others, is worth.
const sameSentence = 3

// compareExamples adds what likeness to the published examples is worth: little, unless it is nearly the same sentence.
func (l *lexicon) compareExamples(e *evidence, ws []word) {
	stems := contentStems(ws)
	if len(stems) < 2 {
		return
	}
	for i := range l.names {
		if like := l.likeness(i, stems); like >= 0.5 {
			if e.scores[i] += like * like; like > 0.9 {
				e.scores[i] += sameSentence
			}
			e.reasons[i] = append(e.reasons[i], "resembles an example")
		}
	}
}

// asksAbout is what a question such as "does it float?" says for the product specialist when nothing else is known.
const asksAbout = 0.9

// askAbout adds asksAbout where it applies.
func (l *lexicon) askAbout(e *evidence, ws []word) {
	if l.product < 0 || len(ws) == 0 || slices.Max(e.scores) > 0.5 {
		return
	}
	points := slices.ContainsFunc(ws, func(w word) bool { return w.is(pointer) })
	says := slices.ContainsFunc(ws, word.content)
	asks := ws[0].is(helper|asker) || slices.ContainsFunc(ws, func(w word) bool { return w.norm == "whether" || w.norm == "ob" })
	if points && says && asks {
		e.scores[l.product] += asksAbout
		e.reasons[l.product] = append(e.reasons[l.product], "asks about a product")
	}
}

// productFrame is a frame found in the words: the frame itself, and the noun phrase that it asks for.
type productFrame struct {
	from, object, end int
	own               float64
}

// findProductFrame returns the strongest product frame with an object between lo and hi, or one with own == 0.
func findProductFrame(ws []word, lo, hi int) productFrame {
	var found productFrame
	for i := lo; i < hi; i++ {
		f, ok := matchAt(frames, ws[:hi], i)
		if !ok || f.own <= found.own {
			continue
		}
		after := i + len(f.words)
		if f.own == picks && after < hi && ws[after].is(helper) && ws[i].norm == "what" {
			continue // "what is X" asks for a fact, "what X do you have" for products
		}
		if object, end := nounPhrase(ws, after, hi); object < end {
			found = productFrame{from: i, object: object, end: end, own: f.own}
		}
	}
	return found
}

// maxNounPhrase is the longest noun phrase in words.
const maxNounPhrase = 6

// nounPhrase returns the noun phrase that begins at from or behind an article there: words from object to end-1. It is
// empty if there is none, or if it is the shopper's own thing ("my order") or nothing in particular ("a question").
func nounPhrase(ws []word, from, hi int) (object, end int) {
	i := from
	for ; i < hi && !ws[i].content(); i++ {
		w := ws[i]
		stands := w.is(pointer) && (w.norm == "it" || i+1 >= hi || !ws[i+1].content())
		if stands || w.norm == "to" || w.is(possessed|asker|imperative|vague|condition|linker|preposition) {
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

// foreign is what a frame says for the product specialist when its object is another's subject.
const foreign = 0.2

// tolerates is the weight up to which another's word does not make the object another's subject.
func (f productFrame) tolerates() float64 {
	if f.own == sells {
		return 1 // "do you sell playing cards?", although somebody knows of cards
	}
	return 0
}

// frameWeight returns what a frame says for the product specialist: much less when its object is another's subject, as
// in "do you have a return policy".
func (l *lexicon) frameWeight(f productFrame, ws []word, hits []hit) float64 {
	if f.own == 0 {
		return 0
	}
	for _, h := range hits {
		if h.specialist == l.product || h.weight <= f.tolerates() || h.from < f.object || h.from >= f.end {
			continue
		}
		if !l.modifies(f, ws, h) {
			return foreign
		}
	}
	return f.own
}

// modifies reports whether a hit inside the frame's object only describes a noun that nobody published: the "shipping"
// of "shipping tape", the "card" of "card table", the "order" of "order of service cards".
func (l *lexicon) modifies(f productFrame, ws []word, h hit) bool {
	if h.from < f.object || h.to >= f.end || h.to-h.from > 1 {
		return false
	}
	last := ws[f.end-1]
	return last.content() && !l.owned(last, f.tolerates()) && !strings.HasSuffix(last.norm, "ly")
}

// owned reports whether a specialist other than the product one has published the word alone, with more than the weight.
func (l *lexicon) owned(w word, weight float64) bool {
	return slices.ContainsFunc(l.byStem[w.stem], func(e entry) bool {
		return len(e.stems) == 1 && e.specialist != l.product && e.weight > weight
	})
}

// damping returns the part of a hit's weight that counts.
func (l *lexicon) damping(f productFrame, own float64, ws []word, hits []hit, i, hi int) float64 {
	h := hits[i]
	switch {
	case h.weight < 0:
		return 1
	case h.specialist == l.product:
		return l.ownDamping(f, own, ws, h, hi)
	case own >= 0.5 && h.from >= f.from && h.from < f.object:
		return 0.2 // the "order" of "I want to order a tent"
	case own >= 0.5 && l.modifies(f, ws, h):
		return 0.2
	case l.describes(ws, hits, h, hi):
		return 0.5
	}
	return 1
}

// ownDamping is damping for the product specialist's own terms. Where one is a way of asking ("do you have") and not a
// product, it is the frame that counts, by what its object is. And products that follow another's subject are only what
// that is about: "a discount on tents".
func (l *lexicon) ownDamping(f productFrame, own float64, ws []word, h hit, hi int) float64 {
	if f.own > 0 && h.from >= f.from && h.to <= f.object {
		return 0
	}
	opener, ok := matchAt(frames, ws[:hi], h.from)
	if after := h.from + len(opener.words); ok && h.to <= after && after < hi && !ws[after].is(pointer) {
		return 0.2
	}
	if own == foreign && h.from >= f.end && h.to-h.from == 1 {
		return 0.5
	}
	return 1
}

// politeness reports whether the words are a greeting or the like, which says nothing of a request beside it.
func politeness(ws []word) bool {
	return !slices.ContainsFunc(ws, func(w word) bool { return !w.is(greeting|filler|pointer|subject) || w.is(possessed) })
}

// describes reports whether a single word stands between an article and a noun that nobody published, as in "the
// return spring".
func (l *lexicon) describes(ws []word, hits []hit, h hit, hi int) bool {
	if h.to-h.from > 1 || h.to >= hi || h.from == 0 || !ws[h.from-1].is(determiner) {
		return false
	}
	next := ws[h.to]
	return next.content() && next.norm[0] > '9' && !slices.ContainsFunc(hits, func(o hit) bool { return o.from == h.to })
}

// deniedWords marks the words that the shopper says not to be asking about.
func deniedWords(ws []word) []bool {
	denied := make([]bool, len(ws))
	for i := 0; i < len(ws); i++ {
		f, ok := matchAt(denials, ws, i)
		if !ok {
			continue
		}
		for i += len(f.words); i < len(ws) && !endsDenial(ws[i]); i++ {
			denied[i] = true
		}
	}
	return denied
}

func endsDenial(w word) bool {
	switch w.norm {
	case "only", "just", "nur", "solo", "seulement", "rather", "whether":
		return true
	}
	return w.is(linker | condition | contrast)
}

// certainty turns evidence into how likely the best specialist is right, 0 to 1. It grows with the strength of the
// best, its lead over the next, and the share of the words that the evidence rests on.
func (e evidence) certainty(product int) float64 {
	_, score, next := e.best(product)
	if score <= 0 {
		return 0
	}
	strength := 1 - math.Exp(-0.95*score)
	lead := min(1, (score-max(next, 0))/(0.7*score))
	coverage := 1.0
	if e.all > 0 {
		coverage = float64(e.explained) / float64(e.all)
	}
	c := strength * (0.5 + 0.5*lead) * (0.85 + 0.15*coverage)
	if e.typo {
		c *= 0.95
	}
	if e.verb {
		c *= 0.85
	}
	return c
}

// why says in words what speaks for a specialist.
func (e evidence) why(specialist int) string {
	if len(e.reasons[specialist]) == 0 {
		return "nothing speaks for another"
	}
	return strings.Join(e.reasons[specialist], ", ")
}
