package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// shelved is a product as the shelf of a cluster keeps it at hand: with what its words are worth.
type shelved struct {
	*entry
	version int64
	stems   []fieldStem // by stem
	lengths [numFields]int
}

// fieldStem is how often a field of a product has a stem.
type fieldStem struct {
	stem  string
	field uint8
	times uint8
}

func newShelved(e *entry, version int64) *shelved {
	s := &shelved{entry: e, version: version}
	times := make(map[fieldStem]int)
	for f, stems := range partsOf(e.product, stemAll) {
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
func stemAll(l *language, ws []string) []string {
	for i, w := range ws {
		ws[i] = l.stem(w)
	}
	return ws
}

// of returns the fields that have a stem.
func (s *shelved) of(stem string) []fieldStem {
	at, _ := slices.BinarySearchFunc(s.stems, stem, func(fs fieldStem, stem string) int { return strings.Compare(fs.stem, stem) })
	end := at
	for end < len(s.stems) && s.stems[end].stem == stem {
		end++
	}
	return s.stems[at:end]
}

// has reports whether a field has a stem.
func (s *shelved) has(stem string, field int) bool {
	return slices.ContainsFunc(s.of(stem), func(fs fieldStem) bool { return int(fs.field) == field })
}

// scorer reckons what products are worth to terms, as lookup does it over postings.
type scorer struct {
	terms  []Term
	forms  [][]form  // of each term
	rarity []float64 // of each term
	means  [numFields]float64
}

// match is what one product has of the terms.
func (sc *scorer) match(s *shelved) Match {
	m := Match{ProductID: s.id()}
	for i := range sc.terms {
		var worth float64
		for _, f := range sc.forms[i] {
			w, strong, ok := sc.form(s, f)
			if !ok {
				continue
			}
			worth = max(worth, f.share*saturated(w))
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
	for i, t := range sc.terms {
		if t.Head && slices.ContainsFunc(t.headStems(), func(st string) bool { return s.has(st, headField) }) {
			m.Score += headShare * sc.rarity[i]
		}
		if i > 0 && m.Terms.Has(i-1) && m.Terms.Has(i) &&
			slices.ContainsFunc(t.stems(sc.terms[i-1].Text+t.Text), func(st string) bool { return s.has(st, pairsField) }) {
			m.Score += pairShare * (sc.rarity[i-1] + sc.rarity[i]) / 2
		}
	}
	return m
}

// form tells what a product is worth to one form, and whether a strong field has it.
func (sc *scorer) form(s *shelved, f form) (worth float64, strong, ok bool) {
	if f.joined {
		ok = s.has(f.stems[0], pairsField)
		return joinedWorth, ok, ok
	}
	var found [numFields]int
	var sums [numFields]float64
	for _, st := range f.stems {
		for _, fs := range s.of(st) {
			field := fields[fs.field]
			if field.weight == 0 || f.strong && !field.strong {
				continue
			}
			found[fs.field]++
			length := float64(s.lengths[fs.field]) / max(1, sc.means[fs.field])
			sums[fs.field] += field.worth(float64(fs.times), length) / float64(len(f.stems))
		}
	}
	for i, n := range found {
		if n > 0 && n == len(f.stems) {
			worth, ok = worth+sums[i], true
			strong = strong || fields[i].strong
		}
	}
	return worth, strong, ok
}
