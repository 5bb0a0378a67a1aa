package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	blevesearch "github.com/blevesearch/bleve/v2/search"
	blevequery "github.com/blevesearch/bleve/v2/search/query"
	index "github.com/blevesearch/bleve_index_api"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// field is one searched part of a product.
type field struct {
	name   string
	boost  float64
	strong bool // says what the product is, where a description merely mentions
	text   func(p *catalogv1.Product) string
}

// fields are searched in this order. The best field of a term counts whole, the others add a little.
var fields = [...]field{
	{"title", 3, true, func(p *catalogv1.Product) string { return p.GetTitle() }},
	{"category", 2.5, true, func(p *catalogv1.Product) string { return categoryText(p, false) }},
	{"brand", 2, true, func(p *catalogv1.Product) string { return p.GetBrand() }},
	{"tags", 2, true, func(p *catalogv1.Product) string { return strings.Join(p.GetTags(), " | ") }},
	{"attributes", 1.5, true, attributeText},
	{"section", 1, false, func(p *catalogv1.Product) string { return categoryText(p, true) }},
	{"description", 0.7, false, func(p *catalogv1.Product) string { return p.GetDescription() }},
}

const (
	// restShare is what a term's further fields add to its best one.
	restShare = 0.3
	// synonymShare is what a synonym is worth beside the word itself.
	synonymShare = 0.8
	// typoShare is what a word that was taken for a typo is worth.
	typoShare = 0.6
)

// bleveIndex is an Index in memory: BM25 over English stems.
type bleveIndex struct {
	idx bleve.Index
}

// newBleveIndex returns an empty index. It owns a goroutine until it is closed.
func newBleveIndex() (Index, error) {
	// The in-memory index that bleve offers by default counts no field lengths, which BM25 needs; scorch does.
	m, err := indexMapping()
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	idx, err := bleve.NewUsing("", m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	return &bleveIndex{idx: idx}, nil
}

// stems names the analyzer of all fields. It keeps stop words: which words say nothing is for the query to decide, and
// "down" says much about a jacket.
const stems = "stems"

func indexMapping() (*mapping.IndexMappingImpl, error) {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = stems
	text.Store, text.DocValues, text.IncludeTermVectors, text.IncludeInAll = false, false, false, false
	doc := bleve.NewDocumentStaticMapping()
	for _, f := range fields {
		doc.AddFieldMappingsAt(f.name, text)
	}
	m := bleve.NewIndexMapping()
	err := m.AddCustomAnalyzer(stems, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name,
		"token_filters": []string{en.PossessiveName, lowercase.Name, porter.Name},
	})
	if err != nil {
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	m.DefaultMapping = doc
	m.ScoringModel = index.BM25Scoring
	return m, nil
}

// Update writes one batch.
func (b *bleveIndex) Update(_ context.Context, put []*catalogv1.Product, remove []string) error {
	batch := b.idx.NewBatch()
	for _, id := range remove {
		batch.Delete(id)
	}
	for _, p := range put {
		doc := make(map[string]any, len(fields))
		for _, f := range fields {
			doc[f.name] = strings.Join(words(f.text(p)), " ")
		}
		if err := batch.Index(p.GetProductId(), doc); err != nil {
			return fmt.Errorf("index product %q: %w", p.GetProductId(), err)
		}
	}
	if err := b.idx.Batch(batch); err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	return nil
}

// Search looks each term up in each field.
func (b *bleveIndex) Search(ctx context.Context, terms []Term) (out []Match, err error) {
	ctx = context.WithValue(ctx, blevesearch.GetScoringModelCallbackKey, blevesearch.GetScoringModelCallbackFn(bm25))
	l, err := b.open()
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	defer func() { err = errors.Join(err, l.reader.Close()) }()
	found := make(map[string]*Match) // by the index's own ids
	for i, term := range terms {
		scores, err := l.term(ctx, term)
		if err != nil {
			return nil, fmt.Errorf("search index: %w", err)
		}
		for id, s := range scores {
			m := found[id]
			if m == nil {
				m = new(Match)
				found[id] = m
			}
			m.Score += s.value()
			m.Terms = append(m.Terms, i)
			if s.strong {
				m.Strong = append(m.Strong, i)
			}
		}
	}
	out = make([]Match, 0, len(found))
	for id, m := range found {
		if m.ProductID, err = l.reader.ExternalID(index.IndexInternalID(id)); err != nil {
			return nil, fmt.Errorf("search index: %w", err)
		}
		out = append(out, *m)
	}
	return out, nil
}

// lookup is one search of the index as it is at one moment. It reads what the index finds as it comes: bleve's own search
// makes room for as many hits as there are products, for each field of each term.
type lookup struct {
	reader  index.IndexReader
	mapping mapping.IndexMapping
	matches *blevesearch.SearchContext
}

func (b *bleveIndex) open() (*lookup, error) {
	idx, err := b.idx.Advanced()
	if err != nil {
		return nil, err
	}
	reader, err := idx.Reader()
	if err != nil {
		return nil, err
	}
	return &lookup{
		reader: reader, mapping: b.idx.Mapping(),
		matches: &blevesearch.SearchContext{DocumentMatchPool: blevesearch.NewDocumentMatchPool(poolSize, 0), IndexReader: reader},
	}, nil
}

// bm25 says how matches are scored.
func bm25() string { return index.BM25Scoring }

// poolSize is how many matches are held at a time: a few for each word of a query. More are made when that is too few.
const poolSize = 16

// termScore is how well one product meets one term.
type termScore struct {
	best, sum float64
	strong    bool
}

func (s termScore) value() float64 { return s.best + restShare*(s.sum-s.best) }

// term scores every product that has the term or a synonym of it, or else words that look like it.
func (l *lookup) term(ctx context.Context, term Term) (map[string]termScore, error) {
	scores := make(map[string]termScore)
	if err := l.collect(ctx, scores, fields[:], 1, l.match(term.Text, blevequery.MatchQueryOperatorOr)); err != nil {
		return nil, err
	}
	for _, alternative := range term.Alternatives {
		q := l.match(strings.Join(words(alternative), " "), blevequery.MatchQueryOperatorAnd)
		if err := l.collect(ctx, scores, fields[:], synonymShare, q); err != nil {
			return nil, err
		}
	}
	if len(scores) > 0 || term.Known || typos(term.Text) == 0 {
		return scores, nil
	}
	// Only what says what a product is: among all words of all descriptions, one that looks alike is soon found.
	q := bleve.NewMatchQuery(term.Text)
	q.SetFuzziness(typos(term.Text))
	q.SetPrefix(1)
	return scores, l.collect(ctx, scores, strongFields, typoShare, q)
}

// match is a query for words, to be run on field after field. One word is analysed here, once for all fields.
func (l *lookup) match(text string, operator blevequery.MatchQueryOperator) blevequery.FieldableQuery {
	if tokens := l.mapping.AnalyzerNamed(stems).Analyze([]byte(text)); len(tokens) == 1 {
		return bleve.NewTermQuery(string(tokens[0].Term))
	}
	q := bleve.NewMatchQuery(text)
	q.SetOperator(operator)
	return q
}

// strongFields are the fields that say what a product is.
var strongFields = slices.DeleteFunc(slices.Clone(fields[:]), func(f field) bool { return !f.strong })

// typos is how many letters of a word may be wrong: none in short words and numbers, where another word is near. The
// stem counts, for stems are what is compared.
func typos(word string) int {
	n := len([]rune(stem(word)))
	switch {
	case n < 5 || strings.ContainsAny(word, "0123456789"):
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// collect runs the query on each field of in and adds share of its scores, by the index's own ids.
func (l *lookup) collect(
	ctx context.Context, scores map[string]termScore, in []field, share float64, q blevequery.FieldableQuery,
) error {
	for _, f := range in {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.SetField(f.name)
		searcher, err := q.Searcher(ctx, l.reader, l.mapping, blevesearch.SearcherOptions{})
		if err != nil {
			return err
		}
		err = l.drain(searcher, func(id string, score float64) {
			s := scores[id]
			value := score * f.boost * share
			s.best = max(s.best, value)
			s.sum += value
			s.strong = s.strong || f.strong
			scores[id] = s
		})
		if err := errors.Join(err, searcher.Close()); err != nil {
			return err
		}
	}
	return nil
}

// drain reads a searcher to its end.
func (l *lookup) drain(searcher blevesearch.Searcher, each func(id string, score float64)) error {
	for {
		m, err := searcher.Next(l.matches)
		if err != nil || m == nil {
			return err
		}
		each(string(m.IndexInternalID), m.Score)
		l.matches.DocumentMatchPool.Put(m)
	}
}

// Close stops the index's goroutine and frees its memory.
func (b *bleveIndex) Close() error { return b.idx.Close() }

// categoryText joins the names of the category path, either those of one kind of thing ("Tents") or those of several
// ("Stoves & cookware"): a pot is found by the latter, but is not therefore a stove.
func categoryText(p *catalogv1.Product, several bool) string {
	var names []string
	for _, name := range p.GetCategoryPath() {
		if len(kinds(name)) > 1 == several {
			names = append(names, name)
		}
	}
	return strings.Join(names, " | ")
}

// attributeText is what attributes and options say in words. Sizes are left out: they would match every number in a
// query.
func attributeText(p *catalogv1.Product) string {
	var parts []string
	for _, a := range p.GetAttributes() {
		switch v := a.GetValue().(type) {
		case *catalogv1.Attribute_Text:
			parts = append(parts, v.Text)
		case *catalogv1.Attribute_Number:
			parts = append(parts, strconv.FormatFloat(v.Number, 'f', -1, 64)+" "+a.GetUnit())
		case *catalogv1.Attribute_Flag:
			if v.Flag {
				parts = append(parts, a.GetName())
			}
		}
	}
	seen := make(map[string]bool)
	for _, v := range p.GetVariants() {
		for name, value := range v.GetOptions() {
			if !seen[value] && fold(name) != "size" {
				seen[value] = true
				parts = append(parts, value)
			}
		}
	}
	return strings.Join(parts, " | ")
}
