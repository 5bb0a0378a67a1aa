package router

// productFrame is a frame found in the words: the frame itself, and the noun phrase that it asks for.
type productFrame struct {
	from, object, end int
	own               float64
}

// productFrame returns the strongest product frame with an object between lo and hi, or one with own == 0.
func (s *splitter) productFrame(lo, hi int) productFrame {
	var found productFrame
	ws := s.words
	for i := lo; i < hi; i++ {
		f, ok := matchAt(frames, ws[:hi], i)
		if !ok || f.own <= found.own {
			continue
		}
		after := i + len(f.words)
		if f.own == picks && i > lo && ws[i-1].is(preposition) {
			continue // "by what carrier"
		}
		if f.words[0] == "got" && i > lo && ws[i-1].norm != "you" && !ws[i-1].is(linker|filler|greeting) {
			continue // "I never got a mail"
		}
		if ws[i].norm == "what" && len(f.words) == 1 && after < hi && !ws[after].content() {
			continue // "what is X" asks for a fact, "what X do you have" for products
		}
		object, end := nounPhrase(ws, after, hi)
		if ws[i].norm == "what" && len(f.words) == 1 && end < hi && !ws[end].is(helper) {
			continue // "what happens if ..."
		}
		if object == end || s.phrases[s.at[object]].verb {
			continue
		}
		if f.own == picks && end+2 < hi && ws[end].is(helper) && ws[end+1].is(subject) && ws[end+2].content() {
			continue // "what data do you keep", unlike "what tents do you have"
		}
		if own := s.asks(f.own, object, end); own > found.own {
			found = productFrame{from: i, object: object, end: end, own: own}
		}
	}
	return found
}

// asks returns what a frame says for the product specialist by its object: much less when that is another's subject.
func (s *splitter) asks(own float64, object, end int) float64 {
	p := s.phrases[s.at[object]]
	owner := s.owners[p.head]
	if s.words[p.head].is(aspect) && owner < 0 {
		for i := p.lo; i < p.hi; i++ {
			owner = max(owner, s.owners[i])
		}
		if owner < 0 {
			return foreign
		}
	}
	if owner >= 0 && owner != s.lexicon.product {
		return foreign
	}
	return own
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
