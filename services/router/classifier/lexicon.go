package classifier

import (
	"math"
	"slices"
	"strconv"
	"strings"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Names with a meaning of their own. A deployment may lack either.
const (
	// CatchAllName gets greetings, nonsense and whatever fits no other; without it, the last specialist does.
	CatchAllName = "support"
	// productName gets questions about products without a known word; without it, the catch-all does.
	productName = "search"
)

// maxWeight bounds the weight of a keyword, whatever its sign.
const maxWeight = 5

// keyword is a specialist's keyword, ready for matching.
type keyword struct {
	evidence    string // the keyword in quotes
	stems       []string
	corrections []string // the stems that a misspelt word may be corrected to
	specialist  int
	weight      float64
}

// newKeyword reports with ok whether the keyword can match. Its stems are set in any case.
func newKeyword(specialist int, k *specialistv1.Keyword) (out keyword, ok bool) {
	weight := k.GetWeight()
	out = keyword{
		evidence: strconv.Quote(strings.TrimSpace(k.GetTerm())), specialist: specialist, weight: min(max(weight, -maxWeight), maxWeight),
	}
	for _, w := range splitWords(k.GetTerm()) {
		out.stems = append(out.stems, w.stem)
		if len(w.stem) >= minTypo && w.content() {
			out.corrections = append(out.corrections, w.stem)
		}
	}
	return out, len(out.stems) > 0 && !math.IsNaN(weight) && weight != 0
}

// minTypo is how many letters a stem has at least that is compared with misspelt words. Shorter ones have too many
// neighbours.
const minTypo = 6

// index finds keywords. It is immutable once it is made.
type index struct {
	byStem  map[string][]keyword // by first stem, longest first
	similar map[string][]string  // corrections by their first two letters
	known   map[string]bool      // all stems
}

func newIndex(keywords []keyword) *index {
	x := &index{byStem: map[string][]keyword{}, similar: map[string][]string{}, known: map[string]bool{}}
	for _, k := range keywords {
		for _, stem := range k.stems {
			if !x.known[stem] && slices.Contains(k.corrections, stem) {
				x.similar[stem[:2]] = append(x.similar[stem[:2]], stem)
			}
			x.known[stem] = true
		}
		// Of two with the same stems, such as "return" and "returns", the stronger counts.
		same := slices.IndexFunc(x.byStem[k.stems[0]], func(o keyword) bool {
			return o.specialist == k.specialist && slices.Equal(o.stems, k.stems)
		})
		switch {
		case same < 0:
			x.byStem[k.stems[0]] = append(x.byStem[k.stems[0]], k)
		case math.Abs(k.weight) > math.Abs(x.byStem[k.stems[0]][same].weight):
			x.byStem[k.stems[0]][same] = k
		}
	}
	for _, keywords := range x.byStem {
		slices.SortStableFunc(keywords, func(a, b keyword) int { return len(b.stems) - len(a.stems) })
	}
	return x
}

// lexicon is what the specialists of a request publish, ready for matching. It is immutable.
type lexicon struct {
	names    []string
	catchAll int
	product  int // -1: there is none
	model    *naiveBayes
	keywords []keyword // of the specialists, in their order
	*index
	// own has the entries of index that a store's keywords change, an empty one for what is gone. Nil: the store has none.
	own *index
	// redefined are the stems that a store gives a meaning of its own. May be nil.
	redefined map[string]bool
}

// newLexicon compiles what the specialists publish.
func newLexicon(specialists []*specialistv1.Specialist) *lexicon {
	l := &lexicon{catchAll: len(specialists) - 1, product: -1, model: train(specialists)}
	for i, s := range specialists {
		l.names = append(l.names, s.GetName())
		switch s.GetName() {
		case CatchAllName:
			l.catchAll = i
		case productName:
			l.product = i
		}
		for _, published := range s.GetKeywords() {
			if k, ok := newKeyword(i, published); ok {
				l.keywords = append(l.keywords, k)
			}
		}
	}
	l.index = newIndex(l.keywords)
	return l
}

// withKeywords returns a lexicon with a store's keywords. They come before the specialists' own and replace those with
// the same stems. The lexicon shares all entries that do not change.
func (l *lexicon) withKeywords(keywords []*routerv1.RoutingKeyword) *lexicon {
	out := *l
	out.redefined = map[string]bool{}
	replaced := make([][][]string, len(l.names)) // by specialist
	var merged []keyword
	stems, prefixes := map[string]bool{}, map[string]bool{} // what changes
	for _, own := range keywords {
		specialist := slices.Index(l.names, own.GetSpecialist())
		k, ok := newKeyword(specialist, own.GetKeyword())
		if len(k.stems) == 1 {
			out.redefined[k.stems[0]] = true
		}
		if specialist < 0 {
			continue
		}
		if ok {
			merged = append(merged, k)
		}
		replaced[specialist] = append(replaced[specialist], k.stems)
		for _, stem := range k.stems {
			stems[stem] = true
			if len(stem) >= minTypo {
				prefixes[stem[:2]] = true
			}
		}
	}
	changes := func(stem string) bool { return stems[stem] || len(stem) >= minTypo && prefixes[stem[:2]] }
	for _, k := range l.keywords {
		same := slices.ContainsFunc(replaced[k.specialist], func(stems []string) bool { return slices.Equal(stems, k.stems) })
		if !same && slices.ContainsFunc(k.stems, changes) {
			merged = append(merged, k)
		}
	}
	slices.SortStableFunc(merged, func(a, b keyword) int { return a.specialist - b.specialist })
	all := newIndex(merged)
	out.own = &index{byStem: map[string][]keyword{}, similar: map[string][]string{}, known: map[string]bool{}}
	for stem := range stems {
		out.own.byStem[stem], out.own.known[stem] = all.byStem[stem], all.known[stem]
	}
	for prefix := range prefixes {
		out.own.similar[prefix] = all.similar[prefix]
	}
	return &out
}

// startingWith returns the keywords whose first stem is given, longest first.
func (l *lexicon) startingWith(stem string) []keyword {
	if l.own != nil {
		if keywords, changed := l.own.byStem[stem]; changed {
			return keywords
		}
	}
	return l.byStem[stem]
}

// isKnown reports whether a keyword has the stem.
func (l *lexicon) isKnown(stem string) bool {
	if l.own != nil {
		if known, changed := l.own.known[stem]; changed {
			return known
		}
	}
	return l.known[stem]
}

// similarTo returns the stems that a misspelt stem of at least two letters may be corrected to.
func (l *lexicon) similarTo(stem string) []string {
	if l.own != nil {
		if stems, changed := l.own.similar[stem[:2]]; changed {
			return stems
		}
	}
	return l.similar[stem[:2]]
}

// match is a keyword found in a message: the words from to to-1.
type match struct {
	*keyword
	from, to int
	typo     bool
}

// find returns all keywords in the words, none of which lies inside a longer one.
func (l *lexicon) find(ws []word, lang language) []match {
	var matches []match
	stems, typos := l.corrected(ws, lang)
	for i := range ws {
		keywords := l.startingWith(stems[i])
		longest := 0
		for j := range keywords {
			k := &keywords[j]
			if len(k.stems) < longest {
				break // the rest lies inside the longest
			}
			to, found := k.at(ws, stems, i)
			if !found {
				continue
			}
			longest = len(k.stems)
			typo := slices.Contains(typos[i:to], true)
			matches = append(matches, match{keyword: k, from: i, to: to, typo: typo})
		}
	}
	return withoutInner(matches)
}

// at reports whether the keyword stands at word i, and where it ends. A pronoun or an adverb may stand between two words:
// "send it back", "goes nicely with".
func (k *keyword) at(ws []word, stems []string, i int) (to int, found bool) {
	to = i + len(k.stems)
	if len(k.stems) == 2 && to < len(ws) && (ws[i+1].is(pronoun) || strings.HasSuffix(ws[i+1].norm, "ly")) && stems[to] == k.stems[1] {
		return to + 1, ws[i+1].gap == gapNone && ws[to].gap == gapNone
	}
	if len(k.stems) == 2 && particles[k.stems[1]] && i+1 < len(ws) && stems[i] == k.stems[0] {
		for j := i + 1; j < min(len(ws), i+maxApart) && ws[j].gap == gapNone; j++ {
			if stems[j] == k.stems[1] {
				return j + 1, true
			}
		}
	}
	if to > len(ws) || !slices.Equal(k.stems, stems[i:to]) {
		return to, false
	}
	for _, w := range ws[i+1 : to] {
		if w.gap == gapHard {
			return to, false
		}
	}
	return to, true
}

// particles may stand apart from their verbs: "send the lamp back", "kommt das Paket an".
var particles = map[string]bool{"back": true, "up": true, "an": true, "zuruck": true}

// maxApart is how many words such a keyword may span.
const maxApart = 7

// corrected returns the words' stems. An unknown word is replaced by a known one that is one typing error away, or by the
// known part of a German compound.
func (l *lexicon) corrected(ws []word, lang language) (stems []string, typo []bool) {
	stems, typo = make([]string, len(ws)), make([]bool, len(ws))
	for i, w := range ws {
		stems[i] = w.stem
		if len(w.stem) < minTypo || w.stem[0] == '<' || l.isKnown(w.stem) || !w.content() || w.senses != nil {
			continue
		}
		for _, s := range l.similarTo(w.stem) {
			if oneEdit(w.stem, s) {
				stems[i], typo[i] = s, true
				break
			}
		}
		if lang != german || typo[i] {
			continue
		}
		if part := l.compound(w); part != "" {
			stems[i] = part
		}
	}
	return stems, typo
}

// compound returns the known part of a German compound that says what it is: its end, as in "Trekkingrucksack", or its
// beginning where the end is only an aspect, as in "Lieferkosten". Empty: there is none.
func (l *lexicon) compound(w word) string {
	const shortest = 4 // letters of a part
	for i := 3; i+shortest <= len(w.stem); i++ {
		if head := w.stem[i:]; l.isKnown(head) && len(l.startingWith(head)) > 0 {
			return head
		}
		if head := w.norm[i:]; meanings[head] != nil && meanings[head].in(german)&aspectNoun != 0 {
			for _, first := range l.similarTo(w.stem) {
				if begin := strings.TrimSuffix(w.norm[:i], "s"); strings.HasPrefix(first, begin) && len(begin) >= shortest {
					return first
				}
			}
		}
	}
	return ""
}

// withoutInner drops the matches that lie inside a longer one: "return policy" beats "return", of any specialist. Matches
// must be sorted by from.
func withoutInner(matches []match) []match {
	kept := matches[:0]
	end := 0 // of the match that ends last
	var last match
	for _, h := range matches {
		if h.to <= end && h.to-h.from < last.to-last.from {
			continue
		}
		if h.to > end {
			end, last = h.to, h
		}
		kept = append(kept, h)
	}
	return kept
}
