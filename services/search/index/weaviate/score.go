package weaviate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// document is a product as the cache of this backend keeps it: with the stems of its fields and the n-grams of its name.
type document struct {
	*index.Entry
	stems   []fieldStem // by stem
	lengths [index.NumFields]int
}

// fieldStem is how often a field of a product has a stem.
type fieldStem struct {
	stem  string
	field uint8
	times uint8
}

func newDocument(e *index.Entry) *document {
	e.KeepGrams()
	s := &document{Entry: e}
	times := make(map[fieldStem]int)
	for f, stems := range index.Analyze(e.Product, stemAll) {
		s.lengths[f] = len(stems)
		for _, st := range stems {
			times[fieldStem{stem: st, field: uint8(f)}]++
		}
	}
	s.stems = make([]fieldStem, 0, len(times))
	for fs, n := range times {
		s.stems = append(s.stems, fieldStem{strings.Clone(fs.stem), fs.field, uint8(min(n, math.MaxUint8))})
	}
	slices.SortFunc(s.stems, func(a, b fieldStem) int {
		return cmp.Or(strings.Compare(a.stem, b.stem), cmp.Compare(a.field, b.field))
	})
	return s
}

// stemAll puts stems in place of the words.
func stemAll(l *index.Language, ws []string) []string {
	for i, w := range ws {
		ws[i] = l.Stem(w)
	}
	return ws
}

// of returns the fields that have a stem.
func (s *document) of(stem string) []fieldStem {
	at, _ := slices.BinarySearchFunc(s.stems, stem, func(fs fieldStem, stem string) int { return strings.Compare(fs.stem, stem) })
	end := at
	for end < len(s.stems) && s.stems[end].stem == stem {
		end++
	}
	return s.stems[at:end]
}

// has reports whether a field has a stem.
func (s *document) has(stem string, field int) bool {
	return slices.ContainsFunc(s.of(stem), func(fs fieldStem) bool { return int(fs.field) == field })
}

// scorer scores products by their stems, with the formula that the memory backend applies to postings.
type scorer struct {
	terms      []index.Term
	expansions [][]index.Expansion // of each term
	heads      [][]string          // stems of each term that is a head noun
	rarity     []float64           // of each term
	means      [index.NumFields]float64
}

// has reports whether a product has term i.
func (sc *scorer) has(s *document, i int) bool {
	return slices.ContainsFunc(sc.expansions[i], func(f index.Expansion) bool {
		_, _, ok := sc.expansion(s, f)
		return ok
	})
}

// match is what one product has of the terms.
func (sc *scorer) match(s *document) index.Match {
	var m index.Match
	for i := range sc.terms {
		var worth float64
		for _, f := range sc.expansions[i] {
			w, strong, ok := sc.expansion(s, f)
			if !ok {
				continue
			}
			worth = max(worth, f.Weight*retrieval.Saturate(w, 1))
			m.Terms = m.Terms.Add(i)
			if strong {
				m.Strong = m.Strong.Add(i)
			}
		}
		m.Score += sc.rarity[i] * worth
	}
	if m.Terms == 0 {
		return m
	}
	for i, stems := range sc.heads {
		if slices.ContainsFunc(stems, func(st string) bool { return s.has(st, index.HeadField) }) {
			m.Score += index.HeadShare * sc.rarity[i]
		}
	}
	return m
}

// expansion returns the weight of a product for one expansion, and whether a strong field has it.
func (sc *scorer) expansion(s *document, f index.Expansion) (worth float64, strong, ok bool) {
	if f.Joined {
		ok = s.has(f.Stems[0], index.PairsField)
		return index.JoinedWeight, ok, ok
	}
	var found [index.NumFields]int
	var sums [index.NumFields]float64
	for _, st := range f.Stems {
		for _, fs := range s.of(st) {
			field := index.Fields[fs.field]
			if field.Weight == 0 || f.Strong && !field.Strong {
				continue
			}
			found[fs.field]++
			length := float64(s.lengths[fs.field]) / max(1, sc.means[fs.field])
			sums[fs.field] += field.TermWeight(float64(fs.times), length) / float64(len(f.Stems))
		}
	}
	for i, n := range found {
		if n > 0 && n == len(f.Stems) {
			worth, ok = worth+sums[i], true
			strong = strong || index.Fields[i].Strong
		}
	}
	return worth, strong, ok
}
