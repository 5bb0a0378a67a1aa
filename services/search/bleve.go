package search

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
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
	stems   map[string]string // of the words seen last
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
	// stemsKept bounds the words whose stems are remembered.
	stemsKept = 100_000
)

// newBleveIndex returns an empty index. It owns a goroutine until it is closed.
func newBleveIndex() (Index, error) {
	idx, err := bleve.NewUsing("", bleve.NewIndexMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	b := &bleveIndex{idx: idx, stems: make(map[string]string)}
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
		text := []byte(strings.Join(ws, " "))
		doc.AddField(document.NewTextFieldCustom(fields[i].name, nil, text, index.IndexField, spaced{}))
	}
	return doc
}

// stemAll puts stems in place of the words.
func (b *bleveIndex) stemAll(ws []string) []string {
	for i, w := range ws {
		s, ok := b.stems[w]
		if !ok {
			if len(b.stems) == stemsKept {
				clear(b.stems)
			}
			s = stem(w)
			b.stems[w] = s
		}
		ws[i] = s
	}
	return ws
}

// spaced is the analyzer of text that was taken apart already: it cuts at spaces.
type spaced struct{}

// Analyze implements analysis.Analyzer.
func (spaced) Analyze(text []byte) analysis.TokenStream {
	n := 1 + bytes.Count(text, []byte(" "))
	tokens, out := make([]analysis.Token, n), make(analysis.TokenStream, n)
	start := 0
	for i := range tokens {
		end := len(text)
		if length := bytes.IndexByte(text[start:], ' '); length >= 0 {
			end = start + length
		}
		tokens[i] = analysis.Token{Term: text[start:end], Start: start, End: end, Position: i + 1}
		out[i] = &tokens[i]
		start = end + 1
	}
	return out
}

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
