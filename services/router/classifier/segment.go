package classifier

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// segment is a span of a message that asks for, or says, one thing: the words from lo to hi-1.
type segment struct {
	lo, hi int
	score
}

// segmenter splits a message into scored segments.
type segmenter struct {
	lexicon *lexicon
	words   []word
	matches []match // sorted by from
	// owners has for each word the specialist whose keyword stands there, or -1.
	owners []int
	// inside marks the words after the first of a keyword. No segment begins there.
	inside []bool
	// phrases are the message's noun phrases; at has for each word the index of its phrase, or -1.
	phrases []nounPhrase
	at      []int
	// ignored marks the words that ask for nothing. Nil: none.
	ignored  []bool
	language language
	examples exampleScores
}

func newSegmenter(l *lexicon, text string, ws []word) segmenter {
	lang := resolveLanguage(text, ws)
	s := segmenter{
		lexicon: l, words: ws, matches: l.find(ws, lang), owners: make([]int, len(ws)), inside: make([]bool, len(ws)),
		ignored: ignoredWords(text, ws), language: lang, examples: l.model.scores(ws, l.redefined),
	}
	s.phrases, s.at = findNounPhrases(ws, s.ignored, lang)
	weights := make([]float64, len(ws))
	for i := range s.owners {
		s.owners[i] = -1
	}
	for _, h := range s.matches {
		for i := h.from; i < h.to; i++ {
			s.inside[i] = s.inside[i] || i > h.from
			if h.weight > weights[i] {
				s.owners[i], weights[i] = h.specialist, h.weight
			}
		}
	}
	return s
}

// segments returns the segments of the message in order. Every word but connectors belongs to exactly one.
func (s *segmenter) segments() []segment {
	var cs []segment
	for lo := 0; lo < len(s.words); {
		hi := lo + 1
		for hi < len(s.words) && s.words[hi].gap != gapHard {
			hi++
		}
		cs = s.split(cs, lo, hi)
		lo = hi
	}
	return cs
}

// split appends the segments of one sentence.
func (s *segmenter) split(cs []segment, lo, hi int) []segment {
	for i := lo + 1; i < hi; i++ {
		if s.inside[i] {
			continue
		}
		right := i
		for right < hi && s.isConnector(right) {
			right++
		}
		joined := right > i
		if right == hi || (!joined && s.words[i].gap != gapComma && !s.runsOn(lo, i, hi)) {
			continue
		}
		if s.areSeparate(lo, i, right, hi, joined) {
			cs = s.appendSegments(cs, lo, i)
			lo, i = right, right
		}
	}
	return s.appendSegments(cs, lo, hi)
}

// appendSegments appends a span that no mark and no connector divides, split where naive Bayes finds two requests for
// different specialists: "do you sell harps my parcel is not here yet".
func (s *segmenter) appendSegments(cs []segment, lo, hi int) []segment {
	cut := s.examples.split(lo, hi, func(i int) bool {
		return s.inside[i] || s.ignored != nil || s.words[i-1].is(conjunction)
	})
	if cut == 0 {
		return append(cs, s.segment(lo, hi))
	}
	cs = s.appendSegments(cs, lo, cut)
	for cut < hi-1 && s.isConnector(cut) {
		cut++
	}
	return s.appendSegments(cs, cut, hi)
}

func (s *segmenter) segment(lo, hi int) segment {
	return segment{lo: lo, hi: hi, score: s.score(lo, hi)}
}

// runsOn reports whether a question begins at i without a mark or a connector before it: "got any bats are they on sale".
func (s *segmenter) runsOn(lo, i, hi int) bool {
	if s.language != english || i+2 >= hi || !s.words[i].is(auxiliary) || !s.words[i-1].content() || s.phrases[s.at[i-1]].verb {
		return false
	}
	next := s.words[i+1]
	if !next.is(subject) && next.norm != "they" || next.norm == "that" {
		return false
	}
	lo = max(lo, i-maxVerbDistance)
	if slices.ContainsFunc(s.words[lo:i], func(w word) bool { return w.is(questionWord) }) {
		return false // "how heavy is it"
	}
	return s.productRequest(lo, i).weight > otherSubject || s.words[lo].is(auxiliary)
}

// isConnector reports whether the word connects its neighbours: "and", or the "also" of "and also".
func (s *segmenter) isConnector(i int) bool {
	w := s.words[i]
	if _, ok := matchAt(productPatterns, s.words, i); ok || (i > 0 && w.norm == "y" && s.words[i-1].norm == "il") {
		return false // "y a-t-il", "il y a"
	}
	return w.is(conjunction) || (w.is(leadIn) && i > 0 && (w.gap == gapComma || s.words[i-1].is(conjunction)))
}

// areSeparate decides whether the words left (lo to mid-1) and right (right to hi-1) of a connector are two requests.
func (s *segmenter) areSeparate(lo, mid, right, hi int, joined bool) bool {
	if !s.hasContent(lo, mid) || s.isCondition(lo, mid) {
		return false
	}
	if s.opensRequest(right, hi, joined, s.words[mid].is(contrast)) {
		return true
	}
	end := s.nextConnector(right, hi)
	return s.addsProduct(lo, mid, right, end) || s.scoresDiffer(lo, mid, right, end) || s.topsDiffer(lo, mid, right, end)
}

// hasContent reports whether there is a content word or a keyword.
func (s *segmenter) hasContent(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if s.words[i].content() || s.owners[i] >= 0 {
			return true
		}
	}
	return false
}

// isCondition reports whether the words are a condition of what follows: "if it does not fit".
func (s *segmenter) isCondition(lo, hi int) bool {
	for i := lo; i < min(hi, lo+2); i++ {
		if s.words[i].is(conditional) {
			return true
		}
		if !s.words[i].is(conjunction | leadIn) {
			break
		}
	}
	return false
}

// opensRequest reports whether a request begins at i.
func (s *segmenter) opensRequest(i, hi int, joined, contrasted bool) bool {
	for i < hi && s.words[i].is(filler|leadIn) {
		i++
	}
	if i+1 < hi && (s.words[i].is(preposition) && s.words[i+1].is(questionWord) || s.words[i].norm == "s" && s.words[i+1].norm == "il") {
		i++
	}
	if i >= hi {
		return false
	}
	w, next := s.words[i], word{}
	if i+1 < hi {
		next = s.words[i+1]
	}
	switch {
	case w.is(questionWord) && next.is(subject) && !joined:
		return false // "the tent, which I bought last week, ..."
	case w.is(opens):
		return true
	case w.is(auxiliary):
		return next.is(subject|pronoun|determiner|possessive) || next.norm == "there" || next.norm == "n" ||
			joined && next.content() && s.language == english && i > 1 && s.words[i-1].gap == gapComma
	case joined && w.content() && next.is(subject) && next.gap == gapNone && s.language&(german|french) != 0:
		return true // "et livrez-vous", "und liefert ihr"
	case w.is(conditional) && joined:
		return slices.ContainsFunc(s.words[i+1:hi], func(w word) bool { return w.is(questionWord) })
	case w.is(subject) && joined && !contrasted:
		return s.hasContent(i, hi)
	}
	_, ok := matchAt(productPatterns, s.words[:hi], i)
	return ok
}

// nextConnector returns the next place where a sentence may be split.
func (s *segmenter) nextConnector(from, hi int) int {
	for i := from + 1; i < hi; i++ {
		if s.words[i].gap != gapNone || s.words[i].is(conjunction) {
			return i
		}
	}
	return hi
}

// maxContext is how many words on each side of a connector are scored.
const maxContext = 40

// scoresDiffer reports whether two spans clearly belong to different specialists, although the right one does not look
// like a request: "cheapest tent and return policy". The right one must not only continue a list, as in "a discount on
// tents and backpacks".
func (s *segmenter) scoresDiffer(lo, mid, right, end int) bool {
	const (
		clear  = 1.5 // without a verb
		slight = 0.8
	)
	if mid-lo <= 3 && s.words[lo].is(questionWord) && !s.hasQuestionVerb(lo+1, mid) {
		return false // "which bits and bobs ..."
	}
	l := s.score(max(lo, mid-maxContext), mid)
	r := s.score(right, min(end, right+maxContext))
	a, aScore, _ := l.top(s.lexicon.product)
	b, bScore, bNext := r.top(s.lexicon.product)
	needed := clear
	if s.hasQuestionVerb(right, min(end, right+maxContext)) {
		needed = slight
	}
	if a == b || aScore < 1 || bScore < needed || bScore-bNext < min(1, bScore) {
		return false
	}
	if i := s.lastContent(lo, mid); i >= 0 {
		last := s.owners[i]
		if last == b || (last < 0 && b == s.lexicon.product) {
			return false
		}
	}
	return true
}

// topsDiffer reports whether the most likely specialists left and right of a connector differ.
func (s *segmenter) topsDiffer(lo, mid, right, end int) bool {
	const (
		shortest = 3   // words on the right
		left     = 0.5 // margins in log odds: less on the left, which may be long
		onRight  = 1
	)
	if end-right < shortest {
		return false
	}
	l, r := s.score(max(lo, mid-maxContext), mid), s.score(right, min(end, right+maxContext))
	a, _ := l.mostLikely()
	b, _ := r.mostLikely()
	return a != b && l.logOdds[a]-l.logOdds[b] > left && r.logOdds[b]-r.logOdds[a] > onRight
}

// hasQuestionVerb reports whether there is a verb of a question.
func (s *segmenter) hasQuestionVerb(lo, hi int) bool {
	return slices.ContainsFunc(s.words[lo:hi], func(w word) bool { return w.is(auxiliary | requestVerb) })
}

func (s *segmenter) lastContent(lo, hi int) int {
	for i := hi - 1; i >= lo; i-- {
		if s.words[i].content() {
			return i
		}
	}
	return -1
}

// trimConnectors moves lo past "and", "also", "what about" and the like, unless nothing would be left.
func trimConnectors(ws []word, lo, hi int) int {
	i := lo
	for i < hi {
		_, ok := matchAt(productPatterns, ws[:hi], i)
		switch {
		case ok && ws[i].norm == "y":
			return i
		case i+2 < hi && (ws[i].norm == "what" || ws[i].norm == "how") && ws[i+1].norm == "about":
			i += 2
		case ws[i].is(conjunction|leadIn) && (ws[i].norm != "plus" || i > 0) || (ws[i].is(filler) && i+1 < hi && ws[i+1].gap != gapNone):
			i++
		default:
			return i
		}
	}
	return lo
}

// openers stand directly before a word and belong to it.
const openers = "¿¡\"“«'(#€$£"

// excerpt returns the words from lo to hi-1 as they stand in the text, with the marks that belong to them.
func excerpt(text string, ws []word, lo, hi int) string {
	start, end := ws[lo].start, len(text)
	floor := 0
	if lo > 0 {
		floor = ws[lo-1].end
	}
	for start > floor {
		r, n := utf8.DecodeLastRuneInString(text[floor:start])
		if !strings.ContainsRune(openers, r) {
			break
		}
		start -= n
	}
	if hi < len(ws) {
		end = ws[hi].start
	}
	tail := text[ws[hi-1].end:end]
	if cut := strings.IndexAny(tail, "\n\r¿¡"); cut >= 0 {
		tail = tail[:cut]
	}
	return text[start:ws[hi-1].end] + strings.TrimRight(tail, " \t,;:-–—(&+")
}
