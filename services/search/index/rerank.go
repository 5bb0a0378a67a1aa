package index

import (
	"hash/fnv"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
)

const (
	// bestSize is how many products are ranked that may lack words of the query.
	bestSize = 200
)

// GramCounts counts in how many of some products each character n-gram is. The zero value has counted none.
type GramCounts struct {
	products int
	having   map[string]int
}

const (
	// gramSample is the part of all products that is counted, one in so many, by the hash of the id.
	gramSample = 8
	// leastSample is how many products must be counted for the rarity of an n-gram to be that among them.
	leastSample = 100
)

// NewGramCounts returns the counts of a sample that a backend keeps elsewhere.
func NewGramCounts(products int, having map[string]int) *GramCounts {
	return &GramCounts{products: products, having: having}
}

// InSample reports whether a product is one of those that are counted.
func InSample(productID string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(productID)) // never fails
	return h.Sum32()%gramSample == 0
}

// Grams are the character n-grams of what names a product.
func Grams(p *catalogv1.Product) map[string]bool {
	grams := make(map[string]bool)
	for _, w := range nameWords(p) {
		retrieval.Grams(w, func(gram string) { grams[gram] = true })
	}
	return grams
}

// Add counts a product if it is one of the sample. Products that are removed or replaced still count, which hardly matters.
func (g *GramCounts) Add(p *catalogv1.Product) {
	if !InSample(p.GetProductId()) {
		return
	}
	if g.having == nil {
		g.having = make(map[string]int)
	}
	g.products++
	for gram := range Grams(p) {
		g.having[gram]++
	}
}

// Features are what a linear model orders products by.
type Features [numFeatures]float64

const (
	// wordsFeature is the score by words (BM25F), in parts of the highest.
	wordsFeature = iota
	// gramsFeature is BM25 over character n-grams of what names the product, in parts of the highest.
	gramsFeature
	// readingFeature is the place among the products that meet the query, as in reciprocal rank fusion: 1 for the first, 0 for those that
	// do not meet it.
	readingFeature
	numFeatures
)

const (
	// readingRank is how slowly places lose worth.
	readingRank = 60
	// gramsLength is b of BM25.
	gramsLength = 0.75
)

// Score is the sum of the features by their weights.
func (f Features) Score(weights Features) float64 {
	var sum float64
	for i, w := range weights {
		sum += w * f[i]
	}
	return sum
}

// Rerank orders the hits that meet the query, which are in order, together with the best products by words. Those of the latter that do
// not meet it are marked as loose.
func Rerank(q Query, strict []Hit, best []Candidate, f Filter, counts *GramCounts) []Hit {
	// Those that meet the query and come late in that order stay behind, unless vectors bring them forward.
	behind := slices.Clone(strict[min(bestSize, len(strict)):])
	for i := range behind {
		behind[i].Score = 0
	}
	ranked, features := candidates(q, strict, best, f, counts)
	for i := range ranked {
		ranked[i].Score = features[i].Score(Weights)
	}
	slices.SortStableFunc(ranked, func(a, b Hit) int {
		return Compare(a.Entry, a.Score, b.Entry, b.Score)
	})
	return append(ranked, behind...)
}

// candidates are the products that [Rerank] orders, with their features.
func candidates(q Query, strict []Hit, best []Candidate, f Filter, counts *GramCounts) ([]Hit, []Features) {
	ranked := slices.Clone(strict[:min(bestSize, len(strict))])
	loose := make(map[string]bool, len(best))
	for _, c := range best {
		loose[c.ID()] = true
	}
	for _, h := range strict { // of a large catalog far more than the best
		delete(loose, h.ID())
	}
	for _, c := range best {
		if !loose[c.ID()] {
			continue
		}
		if variants := f.Admit(c.Entry); len(variants) > 0 {
			ranked = append(ranked, Hit{Candidate: c, Variants: variants, Loose: true})
		}
	}
	words, grams := make([]float64, len(ranked)), q.gramScores(ranked, counts)
	for i, h := range ranked {
		words[i] = h.Match.Score
	}
	scale(words)
	scale(grams)
	features := make([]Features, len(ranked))
	for i, h := range ranked {
		features[i][wordsFeature], features[i][gramsFeature] = words[i], grams[i]
		if !h.Loose {
			features[i][readingFeature] = readingRank / float64(readingRank+i)
		}
	}
	return ranked, features
}

// scale divides by the highest, if there is one above zero.
func scale(scores []float64) {
	if len(scores) == 0 {
		return
	}
	if highest := slices.Max(scores); highest > 0 {
		for i := range scores {
			scores[i] /= highest
		}
	}
}

// Grams are the character n-grams of the terms, each once.
func (q Query) Grams() []string {
	var out []string
	for _, t := range q.Terms {
		retrieval.Grams(t.Text, func(g string) { out = append(out, g) })
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gramScores are BM25 over character n-grams, whose rarity is that in the sample. They are zero without one: in small stores. By them words count that are inflected, misspelt, or
// parts of a compound.
func (q Query) gramScores(hits []Hit, counts *GramCounts) []float64 {
	out := make([]float64, len(hits))
	if counts == nil || counts.products < leastSample {
		return out
	}
	wanted := q.Grams()
	at := make(map[uint32]int, len(wanted))
	for i, g := range wanted {
		at[packGram(g)] = i
	}
	frequencies := make([][]int, len(hits))
	lengths := make([]int, len(hits))
	total := 0
	for n, h := range hits {
		grams := h.grams
		if grams == nil {
			grams = nameGrams(h.Product)
		}
		frequencies[n], lengths[n] = make([]int, len(wanted)), len(grams)
		for _, g := range grams {
			if i, ok := at[g]; ok {
				frequencies[n][i]++
			}
		}
		total += lengths[n]
	}
	mean := float64(total) / float64(max(1, len(hits)))
	rarity := make([]float64, len(wanted))
	for i, g := range wanted {
		rarity[i] = retrieval.IDF(float64(counts.products), float64(counts.having[g]))
	}
	for n := range hits {
		norm := retrieval.LengthNorm(gramsLength, float64(lengths[n])/max(1, mean))
		for i, f := range frequencies[n] {
			out[n] += rarity[i] * retrieval.Saturate(float64(f), norm)
		}
	}
	return out
}

// KeepGrams keeps the n-grams of what names the product in the entry, about 1 KB, so that searches do not cut it into n-grams again. Call it
// before others have the entry.
func (e *Entry) KeepGrams() { e.grams = nameGrams(e.Product) }

// nameGrams are the n-grams of what names a product, as often as they occur.
func nameGrams(p *catalogv1.Product) []uint32 {
	words := nameWords(p)
	length := 0
	for _, w := range words {
		retrieval.Grams(w, func(string) { length++ })
	}
	out := make([]uint32, 0, length)
	for _, w := range words {
		retrieval.Grams(w, func(g string) { out = append(out, packGram(g)) })
	}
	return out
}

// packGram is an n-gram as a number, which is its own: it has three or four bytes, none of them zero.
func packGram(g string) (n uint32) {
	for i := range len(g) {
		n = n<<8 | uint32(g[i])
	}
	return n
}

// nameWords are the words of what names a product: title, brand, categories, and the beginning of the description.
func nameWords(p *catalogv1.Product) []string {
	parts := append([]string{p.GetTitle(), p.GetBrand(), text.Head(p.GetDescription(), longestCaption)}, p.GetCategoryPath()...)
	for _, t := range p.GetTranslations() {
		parts = append(parts, t.GetTitle())
	}
	return catalog.Words(strings.Join(parts, " "))
}
