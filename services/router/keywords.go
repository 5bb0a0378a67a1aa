package router

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

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

// strangers returns the names in a store's keywords that are none of the specialists', each once, in order.
func strangers(names []string, keywords []*routerv1.RoutingKeyword) []string {
	var out []string
	for _, k := range keywords {
		if name := k.GetSpecialist(); !slices.Contains(names, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Bounds of what is kept. There is a lexicon for each set of specialists, and for each store with keywords of its own;
// with all keywords that a store may have, one takes less than 0.5 MiB, and some milliseconds to make again
// (BenchmarkNewLexicon). Stores share the habits, of which there is one for each set of specialists: about 2 MiB, and about
// 20 ms to learn again (BenchmarkLearn).
const (
	maxLexicons = 64
	maxHabits   = 4
)

// lexicons remembers compiled lexicons, and habits, by what they were made from. The zero value is ready.
type lexicons struct {
	once   sync.Once
	seed   maphash.Seed
	making sync.Mutex // held while one is compiled
	mu     sync.Mutex // of the maps
	byID   map[uint64]*lexicon
	habits map[uint64]*habits
}

// offer works out what is needed of specialists whatever a store adds to them.
func (c *lexicons) offer(specialists []*specialistv1.Specialist) *offered {
	c.once.Do(func() { c.seed = maphash.MakeSeed() })
	examples := c.examplesID(specialists)
	o := &offered{specialists: specialists, examples: examples, words: c.wordsID(examples, specialists)}
	for _, s := range specialists {
		o.lines = append(o.lines, promptLine(s))
	}
	o.prompt, o.output = o.systemPrompt(nil), askedOutput(specialists)
	return o
}

// of returns the lexicon of the specialists and a store's keywords.
func (c *lexicons) of(o *offered, keywords []*routerv1.RoutingKeyword) *lexicon {
	id := c.id(o.words, keywords)
	if l, _ := c.find(id, o.examples); l != nil {
		return l
	}
	c.making.Lock()
	defer c.making.Unlock()
	l, h := c.find(id, o.examples)
	if l != nil {
		return l // a crowd makes it once
	}
	if h == nil {
		h = learn(o.specialists)
	}
	l = newLexicon(extended(o.specialists, keywords), h)
	l.redefined = redefined(keywords)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID, c.habits = map[uint64]*lexicon{}, map[uint64]*habits{}
	}
	keep(c.byID, id, l, maxLexicons)
	keep(c.habits, o.examples, h, maxHabits)
	return l
}

// find returns a lexicon and habits that there are, each nil if it is not.
func (c *lexicons) find(id, examples uint64) (*lexicon, *habits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id], c.habits[examples]
}

// keep puts a value into a map of at most most.
func keep[V any](m map[uint64]V, id uint64, v V, most int) {
	if _, there := m[id]; !there {
		for old := range m {
			if len(m) < most {
				break
			}
			delete(m, old) // any: which one is asked for next is not known
		}
	}
	m[id] = v
}

// examplesID hashes the examples of the specialists.
func (c *lexicons) examplesID(specialists []*specialistv1.Specialist) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	maphash.WriteComparable(&h, len(specialists))
	for _, s := range specialists {
		maphash.WriteComparable(&h, len(s.GetExamples()))
		for _, e := range s.GetExamples() {
			writeText(&h, e)
		}
	}
	return h.Sum64()
}

// wordsID hashes all that a lexicon is made of, a store's keywords aside. Examples is the hash of the examples.
func (c *lexicons) wordsID(examples uint64, specialists []*specialistv1.Specialist) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	maphash.WriteComparable(&h, examples)
	for _, s := range specialists {
		writeText(&h, s.GetName())
		maphash.WriteComparable(&h, len(s.GetKeywords()))
		for _, k := range s.GetKeywords() {
			writeKeyword(&h, k)
		}
	}
	return h.Sum64()
}

// id hashes all that a lexicon is made of. Words is the hash of what the specialists publish.
func (c *lexicons) id(words uint64, keywords []*routerv1.RoutingKeyword) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	maphash.WriteComparable(&h, words)
	for _, k := range keywords {
		writeText(&h, k.GetSpecialist())
		writeKeyword(&h, k.GetKeyword())
	}
	return h.Sum64()
}

func writeKeyword(h *maphash.Hash, k *specialistv1.Keyword) {
	writeText(h, k.GetTerm())
	maphash.WriteComparable(h, math.Float64bits(k.GetWeight())) // bits, since a NaN never equals itself
}

// writeText writes a text with its length, so that where one ends and the next begins counts.
func writeText(h *maphash.Hash, s string) {
	maphash.WriteComparable(h, len(s))
	h.WriteString(s)
}
