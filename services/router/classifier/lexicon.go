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
	// CatchAllName gets greetings, nonsense and whatever fits nobody; without it, the last specialist does.
	CatchAllName = "support"
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
	similar  map[string][]string // stems of minTypo letters and more by their first two letters, for slips of the finger
	known    map[string]bool
	habits   *habits
	// redefined are the stems of the words that a store has its own idea of. May be nil.
	redefined map[string]bool
}

// newLexicon compiles the specialists' keywords. Habits is what their examples teach.
func newLexicon(specialists []*specialistv1.Specialist, h *habits) *lexicon {
	l := &lexicon{
		byStem: map[string][]entry{}, similar: map[string][]string{}, known: map[string]bool{},
		catchAll: len(specialists) - 1, product: -1, habits: h,
	}
	for i, s := range specialists {
		l.names = append(l.names, s.GetName())
		switch s.GetName() {
		case CatchAllName:
			l.catchAll = i
		case productName:
			l.product = i
		}
		for _, k := range s.GetKeywords() {
			l.add(i, k)
		}
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
		if len(w.stem) >= minTypo && w.content() {
			l.similar[w.stem[:2]] = append(l.similar[w.stem[:2]], w.stem)
		}
	}
	l.insert(e)
}

// minTypo is how many letters a stem has at least in which a slip is looked for: of shorter ones too many are neighbours.
const minTypo = 6

// insert adds an entry. Of two with the same stems, such as "return" and "returns", the stronger stays.
func (l *lexicon) insert(e entry) {
	same := slices.IndexFunc(l.byStem[e.stems[0]], func(o entry) bool {
		return o.specialist == e.specialist && slices.Equal(o.stems, e.stems)
	})
	switch {
	case same < 0:
		l.byStem[e.stems[0]] = append(l.byStem[e.stems[0]], e)
	case math.Abs(e.weight) > math.Abs(l.byStem[e.stems[0]][same].weight):
		l.byStem[e.stems[0]][same] = e
	}
}

// hit is a term found in a message: words from to to-1.
type hit struct {
	*entry
	from, to int
	typo     bool
}

// find returns all terms in the words, none of which lies inside a longer one.
func (l *lexicon) find(ws []word, lang language) []hit {
	var hits []hit
	stems, typos := l.corrected(ws, lang)
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

// at reports whether the term stands at word i, and where it ends. A pronoun or an adverb may part two words: "send it
// back", "goes nicely with".
func (e *entry) at(ws []word, stems []string, i int) (to int, found bool) {
	to = i + len(e.stems)
	if len(e.stems) == 2 && to < len(ws) && (ws[i+1].is(pointer) || strings.HasSuffix(ws[i+1].norm, "ly")) && stems[to] == e.stems[1] {
		return to + 1, ws[i+1].gap == gapNone && ws[to].gap == gapNone
	}
	if len(e.stems) == 2 && particles[e.stems[1]] && i+1 < len(ws) && stems[i] == e.stems[0] {
		for j := i + 1; j < min(len(ws), i+maxParted) && ws[j].gap == gapNone; j++ {
			if stems[j] == e.stems[1] {
				return j + 1, true
			}
		}
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

// particles part from their verbs: "send the lamp back", "kommt das Paket an".
var particles = map[string]bool{"back": true, "up": true, "an": true, "zuruck": true}

// maxParted is how many words such a term may span.
const maxParted = 7

// corrected returns the words' stems, where a word unknown to all is replaced by what it is known by: the published word
// that is a slip of the finger away, or the part of a German compound.
func (l *lexicon) corrected(ws []word, lang language) (stems []string, typo []bool) {
	stems, typo = make([]string, len(ws)), make([]bool, len(ws))
	for i, w := range ws {
		stems[i] = w.stem
		if len(w.stem) < minTypo || w.stem[0] == '<' || l.known[w.stem] || !w.content() || w.senses != nil {
			continue
		}
		for _, s := range l.similar[w.stem[:2]] {
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

// compound returns the published part of a German compound that says what it is: its end, as in "Trekkingrucksack", or
// its beginning where the end is only an aspect, as in "Lieferkosten". "" if there is none.
func (l *lexicon) compound(w word) string {
	const shortest = 4 // letters of a part
	for i := 3; i+shortest <= len(w.stem); i++ {
		if head := w.stem[i:]; l.known[head] && len(l.byStem[head]) > 0 {
			return head
		}
		if head := w.norm[i:]; meanings[head] != nil && meanings[head].in(german)&aspect != 0 {
			for _, first := range l.similar[w.stem[:2]] {
				if begin := strings.TrimSuffix(w.norm[:i], "s"); strings.HasPrefix(first, begin) && len(begin) >= shortest {
					return first
				}
			}
		}
	}
	return ""
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

// extended returns the specialists with a store's keywords among their own. A word of the store's takes the place of the
// specialist's own. Only what a lexicon is made of is copied.
func extended(specialists []*specialistv1.Specialist, keywords []*routerv1.RoutingKeyword) []*specialistv1.Specialist {
	if len(keywords) == 0 {
		return specialists
	}
	out := make([]*specialistv1.Specialist, len(specialists))
	for i, s := range specialists {
		extra := keywordsOf(s.GetName(), keywords)
		if len(extra) == 0 {
			out[i] = s
			continue
		}
		replaced := make([][]string, len(extra))
		for j, k := range extra {
			replaced[j] = termStems(k)
		}
		merged := &specialistv1.Specialist{Name: s.GetName(), Keywords: extra}
		for _, k := range s.GetKeywords() {
			stems := termStems(k)
			if !slices.ContainsFunc(replaced, func(r []string) bool { return slices.Equal(r, stems) }) {
				merged.Keywords = append(merged.Keywords, k)
			}
		}
		out[i] = merged
	}
	return out
}

// keywordsOf returns a store's keywords for one specialist.
func keywordsOf(name string, keywords []*routerv1.RoutingKeyword) []*specialistv1.Keyword {
	var out []*specialistv1.Keyword
	for _, k := range keywords {
		if k.GetSpecialist() == name {
			out = append(out, k.GetKeyword())
		}
	}
	return out
}

func termStems(k *specialistv1.Keyword) []string {
	ws := splitWords(k.GetTerm())
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = w.stem
	}
	return stems
}

// redefined returns the stems of the single words among a store's keywords.
func redefined(keywords []*routerv1.RoutingKeyword) map[string]bool {
	var stems map[string]bool
	for _, k := range keywords {
		if term := termStems(k.GetKeyword()); len(term) == 1 {
			if stems == nil {
				stems = map[string]bool{}
			}
			stems[term[0]] = true
		}
	}
	return stems
}
