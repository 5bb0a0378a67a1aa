package search

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// bleveIndex is an Index in memory. The library keeps dictionaries and postings, field by field; lookup.go reads them and
// reckons what they are worth, over all fields together.
type bleveIndex struct {
	idx     bleve.Index
	lengths [numFields]lengths
	stems   map[*language]map[string]string // of the words seen last
	// ids are the product ids by document, as far as they were asked for since the last update.
	ids  []atomic.Pointer[string]
	pool sync.Pool // of *scratch
}

// lengths tells the mean length of a field, of the products that have it. What was replaced or removed still counts:
// the mean hardly moves for it.
type lengths struct{ products, words int }

func (l lengths) mean() float64 { return float64(l.words) / float64(max(1, l.products)) }

const (
	// segmentSize bounds the products that are written at once, and with it the memory that this takes. They make one
	// segment of the index, and the fewer there are, the faster is a search.
	segmentSize = 20_000
	// stemsKept bounds the words whose stems are remembered, of each language.
	stemsKept = 100_000
)

// newBleveIndex returns an empty index. It owns a goroutine until it is closed.
func newBleveIndex() (Index, error) {
	idx, err := bleve.NewUsing("", bleve.NewIndexMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	b := &bleveIndex{idx: idx, stems: make(map[*language]map[string]string)}
	b.pool.New = func() any { return new(scratch) }
	return b, nil
}

// Update writes the removals together with the first products.
func (b *bleveIndex) Update(_ context.Context, put []*catalogv1.Product, remove []string) error {
	writer, err := b.idx.Advanced()
	if err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	b.ids = make([]atomic.Pointer[string], len(b.ids)+len(put))
	batch := index.NewBatch()
	for _, id := range remove {
		batch.Delete(id)
	}
	for {
		n := min(segmentSize, len(put))
		for _, p := range put[:n] {
			batch.Update(b.document(p))
		}
		if err := writer.Batch(batch); err != nil {
			return fmt.Errorf("update index: %w", err)
		}
		if put = put[n:]; len(put) == 0 {
			return nil
		}
		batch.Reset()
	}
}

// document is a product as the library takes it.
func (b *bleveIndex) document(p *catalogv1.Product) *document.Document {
	doc := document.NewDocument(p.GetProductId())
	for i, ws := range partsOf(p, b.stemAll) {
		if len(ws) == 0 {
			continue
		}
		b.lengths[i].products++
		b.lengths[i].words += len(ws)
		doc.AddField(&wordField{name: fields[i].name, words: ws})
	}
	return doc
}

// stemAll puts stems in place of the words.
func (b *bleveIndex) stemAll(l *language, ws []string) []string {
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
			s = l.stem(w)
			stems[w] = s
		}
		ws[i] = s
	}
	return ws
}

// wordField is a field that was taken apart already. It implements the library's document.Field.
type wordField struct {
	name        string
	words       []string
	frequencies index.TokenFrequencies
}

// Analyze counts the words.
func (f *wordField) Analyze() {
	f.frequencies = make(index.TokenFrequencies, len(f.words))
	counted := make([]index.TokenFreq, 0, len(f.words))
	for _, w := range f.words {
		c := f.frequencies[w]
		if c == nil {
			counted = append(counted, index.TokenFreq{Term: []byte(w)})
			c = &counted[len(counted)-1]
			f.frequencies[w] = c
		}
		c.SetFrequency(c.Frequency() + 1)
	}
}

// Name returns the name.
func (f *wordField) Name() string { return f.name }

// Options says that words are looked up, and nothing else is kept.
func (f *wordField) Options() index.FieldIndexingOptions { return index.IndexField }

// EncodedFieldType is that of text.
func (f *wordField) EncodedFieldType() byte { return 't' }

// AnalyzedLength returns the number of words.
func (f *wordField) AnalyzedLength() int { return len(f.words) }

// AnalyzedTokenFrequencies returns what Analyze counted.
func (f *wordField) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.frequencies }

// Value returns nothing: the text is not kept.
func (f *wordField) Value() []byte { return nil }

// ArrayPositions returns nothing: a field is no array.
func (f *wordField) ArrayPositions() []uint64 { return nil }

// NumPlainTextBytes returns zero: nobody asks for it.
func (f *wordField) NumPlainTextBytes() uint64 { return 0 }

// Size returns about the bytes that the field takes, for the library's statistics.
func (f *wordField) Size() int { return 100 * len(f.words) }

// id returns the product id of a document.
func (b *bleveIndex) id(reader index.IndexReader, doc uint32) (string, error) {
	if id := b.ids[doc].Load(); id != nil {
		return *id, nil
	}
	id, err := reader.ExternalID(index.NewIndexInternalID(nil, uint64(doc)))
	if err != nil {
		return "", err
	}
	b.ids[doc].Store(&id)
	return id, nil
}

// Close stops the index's goroutine and frees its memory.
func (b *bleveIndex) Close() error { return b.idx.Close() }
