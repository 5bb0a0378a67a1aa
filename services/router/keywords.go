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
		merged := &specialistv1.Specialist{Name: s.GetName(), Examples: s.GetExamples(), Keywords: extra}
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

// maxLexicons bounds the lexicons kept: one for each set of specialists, and for each store with keywords of its own. With
// all keywords that a store may have, one takes less than 0.5 MiB, and about a millisecond to make again
// (BenchmarkNewLexicon).
const maxLexicons = 64

// lexicons remembers compiled lexicons by what they were compiled from. The zero value is ready.
type lexicons struct {
	once sync.Once
	seed maphash.Seed
	mu   sync.Mutex
	byID map[uint64]*lexicon
}

// of returns the lexicon of the specialists and a store's keywords.
func (c *lexicons) of(specialists []*specialistv1.Specialist, keywords []*routerv1.RoutingKeyword) *lexicon {
	c.once.Do(func() { c.seed = maphash.MakeSeed() })
	id := c.id(specialists, keywords)
	c.mu.Lock()
	l := c.byID[id]
	c.mu.Unlock()
	if l != nil {
		return l
	}
	l = newLexicon(extended(specialists, keywords))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID = map[uint64]*lexicon{}
	}
	for old := range c.byID {
		if len(c.byID) < maxLexicons {
			break
		}
		delete(c.byID, old) // any: which one is asked for next is not known
	}
	c.byID[id] = l
	return l
}

// id hashes all that a lexicon is made of.
func (c *lexicons) id(specialists []*specialistv1.Specialist, keywords []*routerv1.RoutingKeyword) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	text := func(s string) {
		maphash.WriteComparable(&h, len(s)) // so that where one text ends and the next begins counts
		h.WriteString(s)
	}
	keyword := func(k *specialistv1.Keyword) {
		text(k.GetTerm())
		maphash.WriteComparable(&h, math.Float64bits(k.GetWeight())) // bits, since a NaN never equals itself
	}
	maphash.WriteComparable(&h, len(specialists))
	for _, s := range specialists {
		text(s.GetName())
		maphash.WriteComparable(&h, len(s.GetKeywords()))
		for _, k := range s.GetKeywords() {
			keyword(k)
		}
		maphash.WriteComparable(&h, len(s.GetExamples()))
		for _, e := range s.GetExamples() {
			text(e)
		}
	}
	for _, k := range keywords {
		text(k.GetSpecialist())
		keyword(k.GetKeyword())
	}
	return h.Sum64()
}
