package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveapi "github.com/blevesearch/bleve_index_api"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// wordIndex is a lexicalIndex by the bleve library, which keeps dictionaries and postings field by field. An evaluation
// reads them and scores the products by BM25F over all fields.
type wordIndex struct {
	idx     bleveapi.Index
	lengths [index.NumFields]lengths
	stems   map[*index.Language]map[string]string // of the words seen last
	// segments are the places of the products in each segment of the library's index, by its id. The library keeps the number of a
	// document in its segment, and drops a segment without documents.
	segments map[uint64][]*place
	places   []*place  // of all segments, by document
	scratch  sync.Pool // of *accumulators
}

// lengths has what the mean length of a field is made of. Products that were replaced or removed still count, which hardly
// moves the mean.
type lengths struct{ Products, Words int }

func (l lengths) mean() float64 { return float64(l.Words) / float64(max(1, l.Products)) }

const (
	// segmentSize bounds the products that are written at once, and with it the memory that this takes. They make one
	// segment of the index, and the fewer there are, the faster is a search.
	segmentSize = 20_000
	// stemsKept bounds the words whose stems are remembered, of each language.
	stemsKept = 100_000
)

// analysisQueue returns the workers that all indexes share.
var analysisQueue = sync.OnceValue(func() *bleveapi.AnalysisQueue { return bleveapi.NewAnalysisQueue(runtime.GOMAXPROCS(0)) })

// newWordIndex returns an empty index. It owns a goroutine until it is closed.
func newWordIndex() (lexicalIndex, error) { return openWordIndex(map[string]any{"path": ""}) }

// openWordIndex opens an index of the library by its configuration.
func openWordIndex(config map[string]any) (*wordIndex, error) {
	idx, err := scorch.NewScorch(scorch.Name, config, analysisQueue())
	if err == nil {
		err = idx.Open()
	}
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	b := &wordIndex{idx: idx, stems: make(map[*index.Language]map[string]string)}
	b.scratch.New = func() any { return &accumulators{phrase: make(map[uint32]part)} }
	return b, nil
}

// Update writes the removals together with the first products.
func (b *wordIndex) Update(_ context.Context, put []*catalogv1.Product, remove []string) error {
	batch := bleveapi.NewBatch()
	for _, id := range remove {
		batch.Delete(id)
	}
	for {
		n := min(segmentSize, len(put))
		for _, p := range put[:n] {
			batch.Update(b.document(p))
		}
		if err := b.idx.Batch(batch); err != nil {
			return fmt.Errorf("update index: %w", err)
		}
		if put = put[n:]; len(put) == 0 {
			return nil
		}
		batch.Reset()
	}
}

// document is a product as the library takes it.
func (b *wordIndex) document(p *catalogv1.Product) *document.Document {
	doc := document.NewDocument(p.GetProductId())
	for i, ws := range index.Analyze(p, b.stemAll) {
		if len(ws) == 0 {
			continue
		}
		b.lengths[i].Products++
		b.lengths[i].Words += len(ws)
		doc.AddField(&wordField{name: index.Fields[i].Name, words: ws})
	}
	return doc
}

// stemAll puts stems in place of the words.
func (b *wordIndex) stemAll(l *index.Language, ws []string) []string {
	if b.stems[l] == nil {
		b.stems[l] = make(map[string]string)
	}
	stems := b.stems[l]
	for i, w := range ws {
		s, ok := stems[w]
		if !ok {
			if len(stems) == stemsKept {
				clear(stems)
			}
			w = strings.Clone(w) // it is part of a long text
			s = l.Stem(w)
			stems[w] = s
		}
		ws[i] = s
	}
	return ws
}

// wordField is a field of stems. It implements the library's document.Field.
type wordField struct {
	name        string
	words       []string
	frequencies bleveapi.TokenFrequencies
}

// Analyze counts the words.
func (f *wordField) Analyze() {
	f.frequencies = make(bleveapi.TokenFrequencies, len(f.words))
	counted := make([]bleveapi.TokenFreq, 0, len(f.words))
	for _, w := range f.words {
		c := f.frequencies[w]
		if c == nil {
			counted = append(counted, bleveapi.TokenFreq{Term: []byte(w)})
			c = &counted[len(counted)-1]
			f.frequencies[w] = c
		}
		c.SetFrequency(c.Frequency() + 1)
	}
}

// Name returns the name.
func (f *wordField) Name() string { return f.name }

// Options says that words are looked up, and nothing else is kept.
func (f *wordField) Options() bleveapi.FieldIndexingOptions { return bleveapi.IndexField }

// EncodedFieldType is that of text.
func (f *wordField) EncodedFieldType() byte { return 't' }

// AnalyzedLength returns the number of words.
func (f *wordField) AnalyzedLength() int { return len(f.words) }

// AnalyzedTokenFrequencies returns what Analyze counted.
func (f *wordField) AnalyzedTokenFrequencies() bleveapi.TokenFrequencies { return f.frequencies }

// Value returns nothing: the text is not kept.
func (f *wordField) Value() []byte { return nil }

// ArrayPositions returns nothing: a field is no array.
func (f *wordField) ArrayPositions() []uint64 { return nil }

// NumPlainTextBytes returns zero. The library uses it for statistics only.
func (f *wordField) NumPlainTextBytes() uint64 { return 0 }

// Size returns about the bytes that the field takes, for the library's statistics.
func (f *wordField) Size() int { return 100 * len(f.words) }

// Locate looks up the products of the segments that are new since the last call.
func (b *wordIndex) Locate(find func(id string) *place) error {
	reader, err := b.idx.Reader()
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	defer reader.Close()
	segments := reader.(*scorch.IndexSnapshot).Segments()
	located := make(map[uint64][]*place, len(segments))
	all := make([][]*place, len(segments))
	unknown := len(segments) != len(b.segments)
	for i, s := range segments {
		places, ok := b.segments[s.Id()]
		if !ok {
			unknown = true
			if places, err = locate(s, find); err != nil {
				b.segments, b.places = nil, nil // Search fails, rather than finding other products
				return fmt.Errorf("read index: %w", err)
			}
		}
		located[s.Id()], all[i] = places, places
	}
	if unknown {
		b.segments, b.places = located, slices.Concat(all...)
	}
	return nil
}

// locate returns the places of all documents of a segment.
func locate(s *scorch.SegmentSnapshot, find func(id string) *place) ([]*place, error) {
	places := make([]*place, s.FullSize())
	errs := make([]error, len(places))
	inParallel(len(places), func(i int) {
		var id []byte
		if id, errs[i] = s.DocID(uint64(i)); errs[i] == nil {
			places[i] = find(string(id))
		}
	})
	return places, errors.Join(errs...)
}

// Close stops the index's goroutine and frees its memory.
func (b *wordIndex) Close() error { return b.idx.Close() }

// evaluation is one search in progress.
type evaluation struct {
	*accumulators
	ctx    context.Context
	index  *wordIndex
	reader bleveapi.IndexReader
	terms  []index.Term
}

// Search reads the postings of every form of each term.
func (b *wordIndex) Search(ctx context.Context, terms []index.Term) ([]index.Candidate, error) {
	reader, err := b.idx.Reader()
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	defer reader.Close()
	var documents int64 // with those that were replaced
	for _, segment := range reader.(*scorch.IndexSnapshot).Segments() {
		documents += segment.FullSize()
	}
	if documents != int64(len(b.places)) {
		return nil, fmt.Errorf("search index: %d documents are not located", documents-int64(len(b.places)))
	}
	s := b.scratch.Get().(*accumulators)
	defer func() {
		s.reset()
		b.scratch.Put(s)
	}()
	s.size(len(b.places))
	l := &evaluation{accumulators: s, ctx: ctx, index: b, reader: reader, terms: terms}
	if err := l.run(); err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	out := make([]index.Candidate, 0, len(l.docs))
	for _, doc := range l.docs {
		if p := b.places[doc]; p != nil {
			out = append(out, index.Candidate{Entry: p.Entry, Match: l.matches[doc]})
		}
	}
	return out, nil
}

// run scores all terms, and then where and how they stand.
func (l *evaluation) run() error {
	total, err := l.reader.DocCount()
	if err != nil {
		return err
	}
	rarity := make([]float64, len(l.terms))
	for i := range l.terms {
		if err := l.collectTerm(i); err != nil {
			return err
		}
		n := float64(len(l.term.docs))
		rarity[i] = retrieval.IDF(float64(total), n)
		l.addTerm(i, rarity[i])
	}
	for i, t := range l.terms {
		if t.Head {
			if err := l.addHeadBonus(i, index.HeadShare*rarity[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectTerm collects every form of term i, or else what looks like it.
func (l *evaluation) collectTerm(i int) error {
	l.term.reset()
	for _, f := range index.Expansions(l.terms, i) {
		if err := l.collect(f); err != nil {
			return err
		}
	}
	if len(l.term.docs) > 0 {
		return nil
	}
	for _, s := range l.terms[i].Correctable() {
		if err := l.collectFuzzy(s, retrieval.Typos(s)); err != nil {
			return err
		}
	}
	return nil
}

// collect collects one form.
func (l *evaluation) collect(f index.Expansion) error {
	switch {
	case f.Joined:
		err := l.postings(index.PairsField, f.Stems[0], func(doc uint32, _, _ float64) {
			l.form.add(doc, index.JoinedWeight, true)
		})
		l.addExpansion(f.Weight)
		return err
	case len(f.Stems) == 1:
		return l.collectStem(f.Stems[0], f.Weight, f.Strong)
	}
	return l.collectPhrase(f.Stems, f.Weight)
}

// collectStem collects a stem, from all fields or from the strong ones.
func (l *evaluation) collectStem(stem string, share float64, strong bool) error {
	for i, f := range index.Fields {
		if f.Weight == 0 || strong && !f.Strong {
			continue
		}
		err := l.postings(i, stem, func(doc uint32, frequency, length float64) {
			l.form.add(doc, f.TermWeight(frequency, length), f.Strong)
		})
		if err != nil {
			return err
		}
	}
	l.addExpansion(share)
	return nil
}

// collectPhrase collects the documents that have all the words in one field, and is worth the mean of them.
func (l *evaluation) collectPhrase(stems []string, share float64) error {
	for i, f := range index.Fields {
		if f.Weight > 0 {
			if err := l.collectPhraseIn(i, stems); err != nil {
				return err
			}
		}
	}
	l.addExpansion(share)
	return nil
}

// collectPhraseIn collects the documents that have all the stems in a field.
func (l *evaluation) collectPhraseIn(field int, stems []string) error {
	f := index.Fields[field]
	clear(l.phrase)
	for n, s := range stems {
		err := l.postings(field, s, func(doc uint32, frequency, length float64) {
			if p := l.phrase[doc]; p.words == n {
				l.phrase[doc] = part{n + 1, p.worth + f.TermWeight(frequency, length)/float64(len(stems))}
			}
		})
		if err != nil || len(l.phrase) == 0 {
			return err
		}
	}
	for doc, p := range l.phrase {
		if p.words == len(stems) {
			l.form.add(doc, p.worth, f.Strong)
		}
	}
	return nil
}

// collectFuzzy collects the words in strong fields that differ in at most n letters, not in the first one. Among all words
// of all descriptions, one that looks alike is soon found.
func (l *evaluation) collectFuzzy(word string, n int) error {
	reader, ok := l.reader.(bleveapi.IndexReaderFuzzy)
	if !ok {
		return nil
	}
	seen := make(map[string]bool)
	for _, f := range index.Fields {
		if f.Weight == 0 || !f.Strong {
			continue
		}
		near, err := dictionary(reader.FieldDictFuzzy(f.Name, word, n, string([]rune(word)[:1])))
		if err != nil {
			return err
		}
		for _, w := range near {
			if seen[w] || retrieval.HasDigit(w) {
				continue
			}
			seen[w] = true
			if err := l.collectStem(w, index.TypoShare, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// dictionary reads all entries.
func dictionary(d bleveapi.FieldDict, err error) (terms []string, _ error) {
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

// addExpansion takes the form at hand into the term: of several forms that a product has, the best counts.
func (l *evaluation) addExpansion(share float64) {
	for _, doc := range l.form.docs {
		w := l.form.weight[doc]
		w = share * retrieval.Saturate(w, 1)
		l.term.add(doc, max(0, w-l.term.weight[doc]), l.form.strong[doc])
	}
	l.form.reset()
}

// addTerm takes term i into the matches.
func (l *evaluation) addTerm(i int, rarity float64) {
	for _, doc := range l.term.docs {
		m := &l.matches[doc]
		if m.Terms == 0 {
			l.docs = append(l.docs, doc)
		}
		m.Terms = m.Terms.Add(i)
		if l.term.strong[doc] {
			m.Strong = m.Strong.Add(i)
		}
		m.Score += rarity * l.term.weight[doc]
	}
}

// addHeadBonus adds the bonus to matches that are, by their title, what term i or a synonym says.
func (l *evaluation) addHeadBonus(i int, bonus float64) error {
	for _, s := range l.terms[i].HeadStems() {
		err := l.postings(index.HeadField, s, func(doc uint32, _, _ float64) { l.form.add(doc, bonus, true) })
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

// postings hands on each document that has the stem in the field, how often, and the field's length there in mean
// lengths.
func (l *evaluation) postings(field int, stem string, take func(doc uint32, frequency, length float64)) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	reader, err := l.reader.TermFieldReader(l.ctx, []byte(stem), index.Fields[field].Name, true, true, false)
	if err != nil {
		return err
	}
	defer reader.Close()
	mean := l.index.lengths[field].mean()
	var doc bleveapi.TermFieldDoc
	for {
		d, err := reader.Next(doc.Reset())
		if err != nil || d == nil {
			return err
		}
		// The library keeps 1/sqrt(length).
		take(uint32(d.ID.Value()), float64(d.Freq), 1/(d.Norm*d.Norm*mean))
	}
}

// accumulator collects the weights of documents.
type accumulators struct {
	form, term accumulator     // the form of a term at hand, and the best of its forms so far
	phrase     map[uint32]part // of the form at hand, by document
	matches    []index.Match
	docs       []uint32 // with matches
}

// part is the beginning of a phrase.
type part struct {
	words int
	worth float64
}

// accumulator is what documents are worth.
type accumulator struct {
	weight []float64
	strong []bool
	docs   []uint32 // that are worth anything
}

func (t *accumulator) size(n int) {
	if len(t.weight) < n {
		t.weight, t.strong = make([]float64, n), make([]bool, n)
	}
}

func (t *accumulator) add(doc uint32, worth float64, strong bool) {
	if t.weight[doc] == 0 {
		t.docs = append(t.docs, doc)
	}
	t.weight[doc] += worth
	t.strong[doc] = t.strong[doc] || strong
}

func (t *accumulator) reset() {
	for _, doc := range t.docs {
		t.weight[doc], t.strong[doc] = 0, false
	}
	t.docs = t.docs[:0]
}

func (s *accumulators) size(n int) {
	s.form.size(n)
	s.term.size(n)
	if len(s.matches) < n {
		s.matches = make([]index.Match, n)
	}
}

func (s *accumulators) reset() {
	s.form.reset()
	s.term.reset()
	for _, doc := range s.docs {
		s.matches[doc] = index.Match{}
	}
	s.docs = s.docs[:0]
}

// lexicalIndex finds products in memory by words. It knows nothing of filters, prices or stock: those are evaluated
// over everything that it returns, so that counts and extremes are exact.
//
// Search may be called concurrently; Update never runs beside another call.
type lexicalIndex interface {
	// Update adds or replaces products and removes others. Removing what is not there succeeds.
	Update(ctx context.Context, put []*catalogv1.Product, remove []string) error
	// Locate finds the places of the products by their ids. It must be called before the first Search after an Update, also after one
	// that has failed. find is called concurrently.
	Locate(find func(id string) *place) error
	// Search returns every product that has at least one of the terms, in no particular order.
	Search(ctx context.Context, terms []index.Term) ([]index.Candidate, error)
	// Close frees what the index holds. It is called once, after the last Search.
	Close() error
}
