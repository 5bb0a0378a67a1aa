package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

const (
	// ranked is how many products a query of the cluster returns: those that the replica ranks, counts and filters by variant. Most of a
	// query's time goes into reading them, 30 µs each at 20,000 products and 54 at 200,000, so it is rankedOfMany in stores of more than
	// manyProducts. With fewer, nDCG@10 is 0.003 lower at most, and recall@100 0.03.
	ranked       = 200
	rankedOfMany = 100
	manyProducts = 50_000
	// commonShare is the part of all products above which a word is common.
	commonShare = 0.1
	// mostMet is how many products are asked for that meet the words of a query, unless half of the best ones do.
	mostMet = 100
	// settled is how many products a search by price wants whose place is sure. A product's lowest price in the cluster may be that
	// of a variant that the filter does not admit.
	settled = 20
	// maxPages bounds the queries for that.
	maxPages = 5
)

// storeIndex is the index.Index of a store in a cluster, as one read sees it. The cluster finds the best products by words,
// filters and vectors. They come from Redis, and are checked and ranked here.
type storeIndex struct {
	backend    *Backend
	manifest   manifest
	collection string
	version    int64 // of the catalog that the collection has
	statistics index.Statistics
	means      [index.NumFields]float64
	stems      *stemCache
}

// Products reads Redis, and asks the cluster for identifiers that are written in another case.
func (s *storeIndex) Products(ctx context.Context, ids []string) ([]*index.Entry, error) {
	out := make([]*index.Entry, len(ids))
	exact := make([]string, len(ids))
	for i, id := range ids {
		exact[i] = catalog.CleanID(id)
	}
	products, err := s.backend.store.Get(ctx, s.manifest.storeID, exact)
	if err != nil {
		return nil, err
	}
	var folded []string
	for i, p := range products {
		if p != nil {
			out[i] = index.NewEntry(p)
		} else if exact[i] != "" && !strings.ContainsAny(exact[i], " \t\n") {
			folded = append(folded, idFactKey(exact[i]))
		}
	}
	if len(folded) == 0 {
		return out, nil
	}
	objects, _, err := s.find(ctx, weaviate.Select{Where: weaviate.HasAny(propKeys, folded...)})
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]*index.Entry)
	for _, object := range objects {
		byKey[catalog.IDKey(object.ID())] = object.Entry
	}
	for i, id := range exact {
		if out[i] == nil {
			out[i] = byKey[catalog.IDKey(id)]
		}
	}
	return out, nil
}

// Variant implements index.Index.
func (s *storeIndex) Variant(ctx context.Context, key string) (*index.Entry, error) {
	objects, _, err := s.find(ctx, weaviate.Select{Where: weaviate.HasAny(propKeys, variantFactKey(key))})
	if err != nil {
		return nil, err
	}
	var found *index.Entry
	for _, object := range objects {
		if object.Variant(key) == nil {
			continue // it was written meanwhile
		}
		if found != nil {
			return nil, nil
		}
		found = object.Entry
	}
	return found, nil
}

// ranked is how many products the store's queries return.
func (s *storeIndex) ranked() int {
	if s.statistics.Products > manyProducts {
		return rankedOfMany
	}
	return ranked
}

// find returns the first products that a query finds, up to its limit or as many as are ranked. With more, there may be others.
func (s *storeIndex) find(ctx context.Context, q weaviate.Select) (found []*document, more bool, err error) {
	q.Limit, q.RankedBy = cmp.Or(q.Limit, s.ranked()), rankedBy(s.collection)
	hits, err := s.hits(ctx, q)
	if err != nil {
		return nil, false, err
	}
	found, err = s.documents(ctx, hits)
	return found, len(hits) == q.Limit, err
}

// hits are the objects that a query finds.
func (s *storeIndex) hits(ctx context.Context, q weaviate.Select) ([]weaviate.Hit, error) {
	q.Properties = identifiedBy(s.collection)
	return s.backend.client.Find(ctx, s.collection, tenant(s.manifest.storeID), q)
}

// documents returns the products of objects, in order. One that was written meanwhile is as it is now; only what the cluster knows
// is cached.
func (s *storeIndex) documents(ctx context.Context, hits []weaviate.Hit) ([]*document, error) {
	known, err := s.identities(ctx, hits)
	if err != nil {
		return nil, err
	}
	all := make([]*document, len(known))
	var ids []string
	var at []int
	for i, o := range known {
		if all[i] = s.backend.documents.get(o.hash); all[i] == nil && o.productID != "" {
			ids, at = append(ids, o.productID), append(at, i)
		}
	}
	products, err := s.backend.store.Get(ctx, s.manifest.storeID, ids)
	if err != nil {
		return nil, err
	}
	for n, p := range products {
		if p == nil {
			continue
		}
		d := newDocument(index.NewEntry(p))
		if hash := known[at[n]].hash; productHash(p) == hash {
			s.backend.documents.put(hash, d)
		}
		all[at[n]] = d
	}
	return slices.DeleteFunc(all, func(d *document) bool { return d == nil }), nil
}

// identities returns which products objects are.
func (s *storeIndex) identities(ctx context.Context, hits []weaviate.Hit) ([]identity, error) {
	if identifiedBy(s.collection) == nil {
		return s.manifest.identities(ctx, s.collection, hits)
	}
	out := make([]identity, len(hits))
	for i, h := range hits {
		out[i].productID = h.Text[oldPropProduct]
		out[i].hash, _ = uuid.Parse(h.Text[oldPropHash]) // a hash that is none is that of no product
	}
	return out, nil
}

// Match asks the cluster for the best products by the words of the query.
func (s *storeIndex) Match(ctx context.Context, q index.Query) (index.Matches, error) {
	p := &termMatches{index: s, query: q, more: true}
	p.expand()
	if len(q.Terms) == 0 {
		return p, nil
	}
	if err := p.fetch(ctx); err != nil {
		return nil, err
	}
	misspelt, err := p.correct(ctx)
	if err == nil && misspelt {
		p.setConditions()
		err = p.fetch(ctx)
	}
	return p, err
}

// termMatches are the best products of a query, and how to ask the cluster for others.
type termMatches struct {
	index      *storeIndex
	query      index.Query
	score      scorer
	conditions termConditions // that all products meet which have the terms
	sure       termConditions // that only such products meet
	found      []index.Candidate
	have       []int          // of each term: how many of those found have it
	sample     map[string]int // how many of the sample have what the query asks for
	more       bool           // the cluster has more than found
	// What under found last, by which filter.
	filter       *catalogv1.Filter
	filtered     []index.Candidate
	filteredMore bool
}

// expand sets the forms of the terms, and the conditions.
func (p *termMatches) expand() {
	p.score.terms, p.score.means = p.query.Terms, p.index.means
	for i, t := range p.query.Terms {
		p.score.expansions = append(p.score.expansions, index.Expansions(p.query.Terms, i))
		var head []string
		if t.Head {
			head = t.HeadStems()
		}
		p.score.heads = append(p.score.heads, head)
	}
	p.setConditions()
}

func (p *termMatches) setConditions() {
	weak := weakIn(p.index.collection)
	p.conditions, p.sure = newTermConditions(p.score.expansions, weak, true), newTermConditions(p.score.expansions, weak, false)
	for i, stems := range p.score.heads {
		for _, s := range stems {
			p.conditions.words[i] = append(p.conditions.words[i], headToken(s))
		}
	}
}

// words are the tokens of the terms that the cluster is to rank by.
func (p *termMatches) words(wanted func(term int) bool) []string {
	all := make(map[string]bool)
	for i, tokens := range p.conditions.words {
		if wanted(i) {
			for _, t := range tokens {
				all[t] = true
			}
		}
	}
	return sorted(all)
}

// allWords are the tokens of all terms.
func (p *termMatches) allWords() []string { return p.words(func(int) bool { return true }) }

// count reads how many of the sample have the n-grams and the stems of the query.
func (p *termMatches) count(ctx context.Context) (err error) {
	fields := append(p.query.Grams(), countedProducts)
	for _, forms := range p.score.expansions {
		for _, f := range forms {
			for _, s := range f.Stems {
				fields = append(fields, countedStem(s))
			}
		}
	}
	p.sample, err = p.index.manifest.sample(ctx, p.index.collection, fields)
	return err
}

// Grams implements index.Matches.
func (p *termMatches) Grams() *index.GramCounts {
	return index.NewGramCounts(p.sample[countedProducts], p.sample)
}

// having is about how many products have term i: those found, or if there are more, as many as have its most frequent form, going by
// the sample. The cluster takes long to count them.
func (p *termMatches) having(i int) float64 {
	found := float64(p.have[i])
	if !p.more {
		return found
	}
	return max(found, p.share(i)*float64(p.index.statistics.Products))
}

// share is the part of all products that have the most frequent form of term i, going by the sample.
func (p *termMatches) share(i int) float64 {
	if p.sample[countedProducts] == 0 {
		return 0
	}
	most := 0
	for _, f := range p.score.expansions[i] {
		least := p.sample[countedStem(f.Stems[0])]
		for _, s := range f.Stems[1:] {
			least = min(least, p.sample[countedStem(s)])
		}
		if !f.Joined {
			most = max(most, least)
		}
	}
	return float64(most) / float64(p.sample[countedProducts])
}

// havingAll is the condition that products have all terms that are required, and about how many do, if each term is as frequent among
// those with the others. Words that are asked for together are mostly more frequent there.
func (p *termMatches) havingAll() (condition weaviate.Where, expected float64) {
	var all []weaviate.Where
	expected = float64(p.index.statistics.Products)
	for i, has := range p.conditions.has {
		if !slices.Contains(p.query.Optional, i) {
			all, expected = append(all, has), expected*p.share(i)
		}
	}
	if len(all) < 2 {
		return weaviate.Where{}, 0
	}
	return weaviate.All(all...), expected
}

// rankingWords are the tokens that rank products which have all terms. Common terms are left out, since they take the server the longest; the
// head noun stays. A product with none of the tokens is not found.
func (p *termMatches) rankingWords() []string {
	words := p.words(func(i int) bool { return i == p.query.Head || p.share(i) <= commonShare })
	if len(words) == 0 {
		return p.allWords()
	}
	return words
}

// fetch finds the best products: of those that have all terms, if they are enough. To rank all that have any takes longer, and those that
// have all would then be asked for again.
func (p *termMatches) fetch(ctx context.Context) error {
	if err := p.count(ctx); err != nil {
		return err
	}
	var documents []*document
	var err error
	p.more = false
	if condition, expected := p.havingAll(); expected >= float64(p.index.ranked()) {
		documents, p.more, err = p.index.find(ctx, weaviate.Select{Where: condition, Words: p.rankingWords()})
	}
	if err == nil && !p.more {
		documents, p.more, err = p.index.find(ctx, weaviate.Select{Words: p.allWords()})
	}
	if err != nil {
		return err
	}
	p.have = make([]int, len(p.query.Terms))
	p.score.rarity = make([]float64, len(p.query.Terms))
	for _, d := range documents {
		for i := range p.query.Terms {
			if p.score.has(d, i) {
				p.have[i]++
			}
		}
	}
	for i := range p.have {
		p.score.rarity[i] = retrieval.IDF(float64(p.index.statistics.Products), p.having(i))
	}
	p.found = p.candidates(documents, index.Constraint{MinTerms: 0})
	return nil
}

// candidates are those of the products that meet a constraint.
func (p *termMatches) candidates(documents []*document, n index.Constraint) []index.Candidate {
	var out []index.Candidate
	for _, d := range documents {
		var m index.Match
		if p.score.rarity != nil {
			m = p.score.match(d)
		}
		if !n.Met(p.query, d.Entry, m) {
			continue
		}
		out = append(out, index.Candidate{Entry: d.Entry, Match: m})
	}
	return out
}

// correct adds to terms that no product has those that they may be, misspelt. It reports whether there are any.
func (p *termMatches) correct(ctx context.Context) (bool, error) {
	any := false
	for i, t := range p.query.Terms {
		if p.have[i] > 0 {
			continue
		}
		words := t.Correctable()
		if len(words) == 0 {
			continue
		}
		if p.more {
			there, err := p.ask(ctx, p.conditions.has[i])
			if err != nil {
				return false, err
			}
			if there[0] {
				continue
			}
		}
		for _, word := range words {
			near, err := p.index.similarStems(ctx, word, retrieval.Typos(word))
			if err != nil {
				return false, err
			}
			for _, other := range near {
				p.score.expansions[i] = append(p.score.expansions[i], index.Expansion{Stems: []string{other}, Weight: index.TypoShare, Strong: true})
				any = true
			}
		}
	}
	return any, nil
}

func (p *termMatches) ask(ctx context.Context, conditions ...weaviate.Where) ([]bool, error) {
	return p.index.backend.client.Any(ctx, p.index.collection, tenant(p.index.manifest.storeID), conditions...)
}

// Any looks among the best products, and asks the cluster for what they do not meet.
func (p *termMatches) Any(ctx context.Context, needs ...index.Constraint) ([]bool, error) {
	out := make([]bool, len(needs))
	var conditions []weaviate.Where
	var at []int
	for i, n := range needs {
		out[i] = slices.ContainsFunc(p.found, func(c index.Candidate) bool { return n.Met(p.query, c.Entry, c.Match) })
		if !out[i] && p.more && !n.Measures {
			conditions, at = append(conditions, p.sure.constraint(p.query, n)), append(at, i)
		}
	}
	if len(conditions) == 0 {
		return out, nil
	}
	met, err := p.ask(ctx, conditions...)
	for i, ok := range met {
		out[at[i]] = ok
	}
	return out, err
}

// Count counts among the best products.
func (p *termMatches) Count(_ context.Context, n index.Constraint) (int, error) {
	count := 0
	for _, c := range p.found {
		if n.Met(p.query, c.Entry, c.Match) {
			count++
		}
	}
	return count, nil
}

// under are the best products by words that pass a filter, and perhaps others. With more, the cluster has more.
func (p *termMatches) under(ctx context.Context, f index.Filter) (best []index.Candidate, more bool, err error) {
	condition := filterCondition(f)
	excluded := func(c index.Candidate) bool { return len(f.Admit(c.Entry)) == 0 }
	if !p.more || condition.None() || !slices.ContainsFunc(p.found, excluded) {
		return p.found, p.more, nil
	}
	if p.filter == nil || p.filter != f.Message {
		documents, more, err := p.index.find(ctx, weaviate.Select{Where: condition, Words: p.allWords()})
		if err != nil {
			return nil, false, err
		}
		p.filter, p.filtered, p.filteredMore = f.Message, p.candidates(documents, index.Constraint{}), more
	}
	return p.filtered, p.filteredMore, nil
}

// Candidates are those of the best products under the filter that meet the constraint, if the cluster has no more or they are enough.
// Otherwise it asks the cluster for the best that meet the constraint and the filter.
func (p *termMatches) Candidates(ctx context.Context, n index.Constraint, f index.Filter, by catalogv1.Sort) ([]index.Candidate, bool, error) {
	if n.ProductIDs != nil {
		return p.named(ctx, n)
	}
	if !n.NeedsNoTerm() && (!p.more || n.SimilarTo == nil && by <= catalogv1.Sort_SORT_RELEVANCE) {
		best, more, err := p.under(ctx, f)
		if err != nil {
			return nil, false, err
		}
		met := slices.DeleteFunc(slices.Clone(best), func(c index.Candidate) bool { return !n.Met(p.query, c.Entry, c.Match) })
		if !more || len(met) == len(best) || 2*len(met) >= p.index.ranked() {
			return met, more, nil
		}
	}
	q := weaviate.Select{
		Where: weaviate.All(p.conditions.constraint(p.query, n), filterCondition(f)), Words: p.allWords(),
	}
	switch {
	case n.SimilarTo != nil:
		q.Words = similarWords(n.SimilarTo, q.Words)
	case n.NeedsNoTerm():
		q.Words = nil
	case by <= catalogv1.Sort_SORT_RELEVANCE:
		q.Limit = mostMet
	}
	switch by {
	case catalogv1.Sort_SORT_PRICE_ASCENDING, catalogv1.Sort_SORT_PRICE_DESCENDING:
		return p.byPrice(ctx, q, n, f, by)
	case catalogv1.Sort_SORT_RATING:
		q.Words, q.Sort, q.Descending = nil, propRating, true
	}
	documents, more, err := p.index.find(ctx, q)
	return p.candidates(documents, n), more, err
}

// Best implements index.Matches by the best products under the filter.
func (p *termMatches) Best(ctx context.Context, f index.Filter, n int) ([]index.Candidate, error) {
	best, _, err := p.under(ctx, f)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(slices.Clone(best), func(c index.Candidate) bool { return c.Terms == 0 || len(f.Admit(c.Entry)) == 0 })
	slices.SortStableFunc(out, func(a, b index.Candidate) int { return cmp.Compare(b.Match.Score, a.Match.Score) })
	return out[:min(n, len(out))], nil
}

// byPrice finds products in the order of their prices, until the places of the first ones are sure.
func (p *termMatches) byPrice(
	ctx context.Context, q weaviate.Select, n index.Constraint, f index.Filter, by catalogv1.Sort,
) (out []index.Candidate, more bool, err error) {
	q.Words, q.Sort, q.Limit = nil, propLow, p.index.ranked()
	price := func(h index.Hit) int64 { return productview.Lowest(h.Variants).GetAmountMinor() }
	if q.Descending = by == catalogv1.Sort_SORT_PRICE_DESCENDING; q.Descending {
		q.Sort = propHigh
		price = func(h index.Hit) int64 { return -productview.Highest(h.Variants).GetAmountMinor() }
	}
	for range maxPages {
		var documents []*document
		if documents, more, err = p.index.find(ctx, q); err != nil || len(documents) == 0 {
			return out, more, err
		}
		out = append(out, p.candidates(documents, n)...)
		last := price(index.Hit{Variants: documents[len(documents)-1].Product.GetVariants()})
		sure := 0
		for _, h := range f.Hits(out) {
			if price(h) <= last {
				sure++
			}
		}
		if !more || sure >= settled {
			break
		}
		q.Offset, q.Limit = q.Offset+q.Limit, ranked
	}
	return out, more, nil
}

// named are the products of identifiers.
func (p *termMatches) named(ctx context.Context, n index.Constraint) ([]index.Candidate, bool, error) {
	products, err := p.index.backend.store.Get(ctx, p.index.manifest.storeID, n.ProductIDs)
	var documents []*document
	for _, product := range products {
		if product != nil {
			documents = append(documents, newDocument(index.NewEntry(product)))
		}
	}
	return p.candidates(documents, n), false, err
}

// similarWords are the words of the titles and tags of products, and some more.
func similarWords(of []*index.Entry, more []string) []string {
	words := make(map[string]bool)
	for _, w := range more {
		words[w] = true
	}
	for _, e := range of {
		for _, text := range append([]string{e.Product.GetTitle()}, e.Product.GetTags()...) {
			for _, w := range catalog.Words(text) {
				words[e.Language.Stem(w)] = true
			}
		}
	}
	return sorted(words)
}

// similarStems are stems that differ in at most n letters, not in the first one.
func (s *storeIndex) similarStems(ctx context.Context, word string, n int) ([]string, error) {
	all, err := s.stems.of(ctx, s.manifest, s.collection, s.version, string([]rune(word)[:1]))
	if err != nil {
		return nil, fmt.Errorf("similar words: %w", err)
	}
	var near []string
	for _, other := range all {
		if withinEdits(word, other, n) {
			near = append(near, other)
		}
	}
	return near, nil
}

// withinEdits reports whether two words differ in at most n letters that are changed, added or left out.
func withinEdits(a, b string, n int) bool {
	if d := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); max(d, -d) > n {
		return false
	}
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			change := diagonal
			if r != s {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)] <= n
}

// SimilarIDs implements index.Index. The cluster does not compare identifiers by their letters.
func (s *storeIndex) SimilarIDs(string) []string { return nil }
