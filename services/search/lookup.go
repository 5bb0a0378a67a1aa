package search

import (
	"context"
	"fmt"
	"math"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// lookup is one search under way.
type lookup struct {
	*scratch
	ctx    context.Context
	index  *bleveIndex
	reader index.IndexReader
	terms  []Term
}

// Search reads the postings of every form of each term.
func (b *bleveIndex) Search(ctx context.Context, terms []Term) ([]Match, error) {
	source, err := b.idx.Advanced()
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	reader, err := source.Reader()
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	defer reader.Close()
	s := b.pool.Get().(*scratch)
	defer func() {
		s.reset()
		b.pool.Put(s)
	}()
	s.size(len(b.ids))
	l := &lookup{scratch: s, ctx: ctx, index: b, reader: reader, terms: terms}
	if err := l.run(); err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	out := make([]Match, len(l.docs))
	for i, doc := range l.docs {
		out[i] = l.matches[doc]
		if out[i].ProductID, err = b.id(reader, doc); err != nil {
			return nil, fmt.Errorf("search index: %w", err)
		}
	}
	return out, nil
}

// run scores all terms, and then where and how they stand.
func (l *lookup) run() error {
	total, err := l.reader.DocCount()
	if err != nil {
		return err
	}
	rarity := make([]float64, len(l.terms))
	for i := range l.terms {
		if err := l.forms(i); err != nil {
			return err
		}
		n := float64(len(l.term.docs))
		rarity[i] = math.Log(1 + (float64(total)-n+0.5)/(n+0.5))
		l.take(i, rarity[i])
	}
	for i, t := range l.terms {
		if t.Head {
			if err := l.heads(i, headShare*rarity[i]); err != nil {
				return err
			}
		}
		if i > 0 {
			if err := l.neighbours(i, pairShare*(rarity[i-1]+rarity[i])/2); err != nil {
				return err
			}
		}
	}
	return nil
}

// forms collects every form of term i, or else what looks like it.
func (l *lookup) forms(i int) error {
	l.term.reset()
	for _, f := range formsOf(l.terms, i) {
		if err := l.collect(f); err != nil {
			return err
		}
	}
	if len(l.term.docs) > 0 {
		return nil
	}
	for _, s := range l.terms[i].doubtful() {
		if err := l.lookalikes(s, retrieval.Typos(s)); err != nil {
			return err
		}
	}
	return nil
}

// collect collects one form.
func (l *lookup) collect(f form) error {
	switch {
	case f.joined:
		err := l.postings(pairsField, f.stems[0], func(doc uint32, _, _ float64) {
			l.form.add(doc, joinedWorth, true)
		})
		l.fold(f.share)
		return err
	case len(f.stems) == 1:
		return l.word(f.stems[0], f.share, f.strong)
	}
	return l.phrase(f.stems, f.share)
}

// word collects a stem, from all fields or from the strong ones.
func (l *lookup) word(stem string, share float64, strong bool) error {
	for i, f := range fields {
		if f.weight == 0 || strong && !f.strong {
			continue
		}
		err := l.postings(i, stem, func(doc uint32, frequency, length float64) {
			l.form.add(doc, f.worth(frequency, length), f.strong)
		})
		if err != nil {
			return err
		}
	}
	l.fold(share)
	return nil
}

// worth is BM25F's weight of a word in a field. The length is in mean lengths.
func (f field) worth(frequency, length float64) float64 {
	return f.weight * frequency / (1 - f.length + f.length*length)
}

// phrase collects the documents that have all the words in one field, and is worth the mean of them.
func (l *lookup) phrase(stems []string, share float64) error {
	for i, f := range fields {
		if f.weight > 0 {
			if err := l.phraseIn(i, stems); err != nil {
				return err
			}
		}
	}
	l.fold(share)
	return nil
}

// phraseIn collects the documents that have all the stems in a field.
func (l *lookup) phraseIn(field int, stems []string) error {
	type part struct {
		words int
		worth float64
	}
	f := fields[field]
	has := make(map[uint32]part)
	for n, s := range stems {
		err := l.postings(field, s, func(doc uint32, frequency, length float64) {
			if p := has[doc]; p.words == n {
				has[doc] = part{n + 1, p.worth + f.worth(frequency, length)/float64(len(stems))}
			}
		})
		if err != nil || len(has) == 0 {
			return err
		}
	}
	for doc, p := range has {
		if p.words == len(stems) {
			l.form.add(doc, p.worth, f.strong)
		}
	}
	return nil
}

// lookalikes collects the words in strong fields that differ in at most n letters, not in the first one. Among all words
// of all descriptions, one that looks alike is soon found.
func (l *lookup) lookalikes(word string, n int) error {
	reader, ok := l.reader.(index.IndexReaderFuzzy)
	if !ok {
		return nil
	}
	seen := make(map[string]bool)
	for _, f := range fields {
		if f.weight == 0 || !f.strong {
			continue
		}
		near, err := dictionary(reader.FieldDictFuzzy(f.name, word, n, string([]rune(word)[:1])))
		if err != nil {
			return err
		}
		for _, w := range near {
			if seen[w] {
				continue
			}
			seen[w] = true
			if err := l.word(w, typoShare, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// dictionary reads all entries.
func dictionary(d index.FieldDict, err error) (terms []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for {
		e, err := d.Next()
		if err != nil || e == nil {
			return terms, err
		}
		terms = append(terms, e.Term)
	}
}

// fold takes the form at hand into the term: of several forms that a product has, the best counts.
func (l *lookup) fold(share float64) {
	for _, doc := range l.form.docs {
		w := l.form.worth[doc]
		w = share * saturated(w)
		l.term.add(doc, max(0, w-l.term.worth[doc]), l.form.strong[doc])
	}
	l.form.reset()
}

// take takes term i into the matches.
func (l *lookup) take(i int, rarity float64) {
	for _, doc := range l.term.docs {
		m := &l.matches[doc]
		if m.Terms == 0 {
			l.docs = append(l.docs, doc)
		}
		m.Terms = m.Terms.Add(i)
		if l.term.strong[doc] {
			m.Strong = m.Strong.Add(i)
		}
		m.Score += rarity * l.term.worth[doc]
	}
}

// heads adds the bonus to matches that are, by their title, what term i or a synonym says.
func (l *lookup) heads(i int, bonus float64) error {
	for _, s := range l.terms[i].headStems() {
		err := l.postings(headField, s, func(doc uint32, _, _ float64) { l.form.add(doc, bonus, true) })
		if err != nil {
			return err
		}
	}
	for _, doc := range l.form.docs {
		if l.matches[doc].Terms != 0 {
			l.matches[doc].Score += bonus
		}
	}
	l.form.reset()
	return nil
}

// neighbours adds the bonus to matches where term i follows the one before.
func (l *lookup) neighbours(i int, bonus float64) error {
	for _, s := range l.terms[i].stems(l.terms[i-1].Text + l.terms[i].Text) {
		err := l.postings(pairsField, s, func(doc uint32, _, _ float64) { l.form.add(doc, bonus, true) })
		if err != nil {
			return err
		}
	}
	for _, doc := range l.form.docs {
		if m := &l.matches[doc]; m.Terms.Has(i-1) && m.Terms.Has(i) {
			m.Score += bonus
		}
	}
	l.form.reset()
	return nil
}

// postings hands on each document that has the stem in the field, how often, and the field's length there in mean
// lengths.
func (l *lookup) postings(field int, stem string, take func(doc uint32, frequency, length float64)) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	reader, err := l.reader.TermFieldReader(l.ctx, []byte(stem), fields[field].name, true, true, false)
	if err != nil {
		return err
	}
	defer reader.Close()
	mean := l.index.lengths[field].mean()
	var doc index.TermFieldDoc
	for {
		d, err := reader.Next(doc.Reset())
		if err != nil || d == nil {
			return err
		}
		// The library keeps 1/sqrt(length).
		take(uint32(d.ID.Value()), float64(d.Freq), 1/(d.Norm*d.Norm*mean))
	}
}
