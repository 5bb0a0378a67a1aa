package retrieval

// Index is an inverted index of texts in memory that are ranked by BM25. Terms may be words, stems or character n-grams; their
// frequencies may be weighted by fields. The zero value is empty. It is safe for concurrent use once it is filled.
type Index struct {
	postings map[string][]posting
	lengths  []float64
	total    float64
}

// posting is how often a text has a term.
type posting struct {
	text      int32
	frequency float32
}

// Add adds a text. The first one is number 0.
func (x *Index) Add(frequencies map[string]float64) {
	if x.postings == nil {
		x.postings = make(map[string][]posting)
	}
	var length float64
	for term, f := range frequencies {
		x.postings[term] = append(x.postings[term], posting{int32(len(x.lengths)), float32(f)})
		length += f
	}
	x.lengths = append(x.lengths, length)
	x.total += length
}

// Form is a term that stands for another with a share of its worth: 1 for the term itself.
type Form struct {
	Term  string
	Share float64
}

// Score adds BM25 of a term, which has any of the forms, to the scores of the texts. It returns the texts that have it, each once,
// and its rarity (IDF). b is that of LengthNorm.
func (x *Index) Score(scores []float64, b float64, forms ...Form) (having []int, rarity float64) {
	frequencies := make([]float64, len(x.lengths))
	for _, f := range forms {
		for _, p := range x.postings[f.Term] {
			if frequencies[p.text] == 0 {
				having = append(having, int(p.text))
			}
			frequencies[p.text] += f.Share * float64(p.frequency)
		}
	}
	n := float64(len(x.lengths))
	rarity = IDF(n, float64(len(having)))
	for _, i := range having {
		scores[i] += rarity * Saturate(frequencies[i], LengthNorm(b, x.lengths[i]*n/x.total))
	}
	return having, rarity
}

// Grams calls fn with the character n-grams of a word: its runs of three and four bytes, with a space at both ends. By them
// words meet that are inflected, misspelt, or parts of a compound.
func Grams(word string, fn func(gram string)) {
	word = " " + word + " "
	for n := 3; n <= 4; n++ {
		for i := range max(0, len(word)-n+1) {
			fn(word[i : i+n])
		}
	}
}
