package router

import (
	"math"
	"slices"
	"strconv"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Names with a meaning of their own. A deployment may lack either.
const (
	// catchAllName gets greetings, nonsense and whatever fits nobody; without it, the last specialist does.
	catchAllName = "support"
	// productName gets questions for products that nobody has published a word about; without it, the catch-all does.
	productName = "search"
)

const maxWeight = 5

// entry is a published term.
type entry struct {
	reason     string // the term in quotes
	stems      []string
	specialist int
	weight     float64
}

// lexicon is what the specialists of a request publish, made ready for matching. It is immutable.
type lexicon struct {
	names    []string
	catchAll int
	product  int                 // -1: there is none
	byStem   map[string][]entry  // by first stem, longest first
	similar  map[string][]string // stems of five letters and more by their first two letters, for slips of the finger
	known    map[string]bool
	examples [][][]string // per specialist and example, its content stems, sorted
}

// newLexicon compiles the specialists' keywords and examples.
func newLexicon(specialists []*specialistv1.Specialist) *lexicon {
	l := &lexicon{
		byStem: map[string][]entry{}, similar: map[string][]string{}, known: map[string]bool{},
		catchAll: len(specialists) - 1, product: -1,
	}
	for i, s := range specialists {
		l.names = append(l.names, s.GetName())
		switch s.GetName() {
		case catchAllName:
			l.catchAll = i
		case productName:
			l.product = i
		}
		for _, k := range s.GetKeywords() {
			l.add(i, k)
		}
		var examples [][]string
		for _, e := range s.GetExamples() {
			examples = append(examples, contentStems(splitWords(e)))
		}
		l.examples = append(l.examples, examples)
	}
	for _, entries := range l.byStem {
		slices.SortStableFunc(entries, func(a, b entry) int { return len(b.stems) - len(a.stems) })
	}
	return l
}

func (l *lexicon) add(specialist int, k *specialistv1.Keyword) {
	weight := k.GetWeight()
	ws := splitWords(k.GetTerm())
	if len(ws) == 0 || math.IsNaN(weight) || weight == 0 {
		return
	}
	e := entry{reason: strconv.Quote(strings.TrimSpace(k.GetTerm())), specialist: specialist, weight: min(max(weight, -maxWeight), maxWeight)}
	for _, w := range ws {
		e.stems = append(e.stems, w.stem)
		if l.known[w.stem] {
			continue
		}
		l.known[w.stem] = true
		if len(w.stem) >= 5 && w.content() {
			l.similar[w.stem[:2]] = append(l.similar[w.stem[:2]], w.stem)
		}
	}
	same := slices.IndexFunc(l.byStem[e.stems[0]], func(o entry) bool {
		return o.specialist == specialist && slices.Equal(o.stems, e.stems)
	})
	switch {
	case same < 0:
		l.byStem[e.stems[0]] = append(l.byStem[e.stems[0]], e)
	case math.Abs(weight) > math.Abs(l.byStem[e.stems[0]][same].weight):
		l.byStem[e.stems[0]][same] = e // "return" and "returns" are one term
	}
}

// contentStems returns the distinct stems of the words that carry meaning, sorted.
func contentStems(ws []word) []string {
	stems := make([]string, 0, len(ws))
	for _, w := range ws {
		if w.content() {
			stems = append(stems, w.stem)
		}
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// hit is a term found in a message: words from to to-1.
type hit struct {
	*entry
	from, to int
	typo     bool
}

// find returns all terms in the words, none of which lies inside a longer one.
func (l *lexicon) find(ws []word) []hit {
	var hits []hit
	stems, typos := l.corrected(ws)
	for i := range ws {
		entries := l.byStem[stems[i]]
		longest := 0
		for j := range entries {
			e := &entries[j]
			if len(e.stems) < longest {
				break // entries are sorted: what follows lies inside the longest
			}
			to, found := e.at(ws, stems, i)
			if !found {
				continue
			}
			longest = len(e.stems)
			typo := slices.Contains(typos[i:to], true)
			hits = append(hits, hit{entry: e, from: i, to: to, typo: typo})
		}
	}
	return withoutInner(hits)
}

// at reports whether the term stands at word i, and where it ends. A pronoun may part two words: "send it back".
func (e *entry) at(ws []word, stems []string, i int) (to int, found bool) {
	to = i + len(e.stems)
	if len(e.stems) == 2 && to < len(ws) && ws[i+1].is(pointer) && stems[to] == e.stems[1] {
		return to + 1, ws[i+1].gap == gapNone && ws[to].gap == gapNone
	}
	if to > len(ws) || !slices.Equal(e.stems, stems[i:to]) {
		return to, false
	}
	for _, w := range ws[i+1 : to] {
		if w.gap == gapHard {
			return to, false
		}
	}
	return to, true
}

// corrected returns the words' stems, where a word unknown to all is replaced by the one published word that is a slip
// of the finger away.
func (l *lexicon) corrected(ws []word) (stems []string, typo []bool) {
	stems, typo = make([]string, len(ws)), make([]bool, len(ws))
	for i, w := range ws {
		stems[i] = w.stem
		if len(w.stem) < 5 || l.known[w.stem] || !w.content() {
			continue
		}
		for _, s := range l.similar[w.stem[:2]] {
			if oneEdit(w.stem, s) {
				stems[i], typo[i] = s, true
				break
			}
		}
	}
	return stems, typo
}

// withoutInner drops the hits that lie inside a longer one: "return policy" beats "return", whoever published them.
// Hits must be sorted by from.
func withoutInner(hits []hit) []hit {
	kept := hits[:0]
	end := 0 // of the hit that reaches farthest
	var reach hit
	for _, h := range hits {
		if h.to <= end && h.to-h.from < reach.to-reach.from {
			continue
		}
		if h.to > end {
			end, reach = h.to, h
		}
		kept = append(kept, h)
	}
	return kept
}

// likeness returns how much of the words' meaning one of the specialist's examples has, 0 to 1. What is less than a half
// may come back as 0.
func (l *lexicon) likeness(specialist int, stems []string) float64 {
	best := 0.0
	for _, example := range l.examples[specialist] {
		longer := max(len(example), len(stems))
		if shorter := min(len(example), len(stems)); shorter == 0 || 2*shorter < longer {
			continue // can not be half alike
		}
		best = max(best, float64(common(example, stems))/float64(longer))
	}
	return best
}

// common counts what two sorted lists share.
func common(a, b []string) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n, i, j = n+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}
