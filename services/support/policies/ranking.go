package policies

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// Weights of the fields of a passage, and how much long passages are held back. BM25 itself is package retrieval's.
const (
	textWeight    = 1.0
	titleWeight   = 1.5
	sectionWeight = 2.0
	lengthShare   = 0.75
)

// preference lifts passages in the language that the caller prefers.
const preference = 2.0

// leading lifts the passage before all sections when a single word of the question is in any passage: who asks for "returns"
// wants the rule, not a detail of it.
const leading = 1.2

// nearEnough is the share of the best score below which a passage is not worth returning.
const nearEnough = 0.35

// passageIndex ranks the passages of a store by BM25 over their weighted fields. It is immutable and safe for
// concurrent use. A store has a few hundred passages at most.
type passageIndex struct {
	words    *lexicon
	entries  []entry
	length   float64                         // of the average passage, in terms
	postings map[string]map[string][]posting // by language and term, each in the order of the entries
	pairs    map[string]map[[2]string]bool   // terms that follow each other in some text, by language
	spelled  []string                        // words that a typo may have been meant to be
}

// entry is a passage in the index.
type entry struct {
	passage  *policyv1.Passage
	language string // that its terms are made for
	section  int    // terms of the section
	length   float64
}

// posting is how often an entry has a term.
type posting struct {
	at                   int // among the entries
	text, section, title int
}

func newPassageIndex(words *lexicon, policies []*policyv1.Policy) *passageIndex {
	x := &passageIndex{words: words, postings: make(map[string]map[string][]posting), pairs: make(map[string]map[[2]string]bool)}
	for _, p := range policies {
		lang := words.languageOf(languageTag(p))
		if x.postings[lang] == nil {
			x.postings[lang], x.pairs[lang] = make(map[string][]posting), make(map[[2]string]bool)
		}
		title := words.terms(p.GetTitle(), lang)
		for _, passage := range split(p) {
			text, section := words.terms(passage.GetText(), lang), words.terms(passage.GetSection(), lang)
			if passage.GetSection() == "" {
				section = title // a passage before all sections speaks for the whole document
			}
			x.add(entry{passage: passage, language: lang}, text, section, title)
			x.spelled = append(append(x.spelled, words.words(p.GetTitle())...), words.words(passage.GetSection())...)
		}
	}
	x.length = max(x.length/float64(max(len(x.entries), 1)), 1)
	x.sortSpelled()
	return x
}

// add adds a passage with the terms of its fields.
func (x *passageIndex) add(e entry, text, section, title map[string]int) {
	at, postings := len(x.entries), x.postings[e.language]
	of := func(term string) *posting {
		all := postings[term]
		if n := len(all); n == 0 || all[n-1].at != at {
			all = append(all, posting{at: at})
			postings[term] = all
		}
		return &all[len(all)-1]
	}
	for term, n := range text {
		of(term).text = n
		e.length += float64(n)
	}
	for term, n := range section {
		of(term).section = n
	}
	for term, n := range title {
		of(term).title = n
	}
	e.section = len(section)
	x.length += e.length
	x.entries = append(x.entries, e)
	x.words.addPairs(x.pairs[e.language], e.passage.GetText(), e.language)
}

// candidate is a passage that a search has found.
type candidate struct {
	at    int // among the entries
	score float64
	near  bool // in meaning, and by no word
}

// find returns the passages that answer a question by its words, the best first, and whether the question has any words to go
// by. It returns none when no passage is about the question: a shared word by chance is not an answer.
func (x *passageIndex) find(question, language string) (found []candidate, asked bool) {
	content := x.mend(x.words.contentWords(question))
	if len(content) == 0 {
		return nil, false
	}
	hits, things := x.match(content)
	rarity, told := x.rarity(hits, len(content))
	for i, h := range hits {
		if h.answers(len(content), things) || h.entitled(x.entries[i]) {
			found = append(found, candidate{at: i, score: x.score(x.entries[i], h, rarity, told, language)})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	for i, c := range found {
		if c.score < nearEnough*found[0].score {
			return found[:i], true
		}
	}
	return found, true
}

// passages are the first of some candidates, as they are handed out.
func (x *passageIndex) passages(found []candidate, limit int) []*policyv1.Passage {
	var out []*policyv1.Passage
	for _, c := range found[:min(limit, len(found))] {
		p := proto.CloneOf(x.entries[c.at].passage)
		p.Score, p.NearInMeaning = c.score, c.near
		out = append(out, p)
	}
	return out
}

// score is BM25 of one entry, lifted for the lead of a document and for the preferred language.
func (x *passageIndex) score(e entry, h hit, rarity []float64, told int, language string) float64 {
	var score float64
	norm := retrieval.LengthNorm(lengthShare, e.length/x.length)
	for w, frequency := range h.frequency {
		score += rarity[w] * retrieval.Saturate(frequency, norm)
	}
	if told == 1 && e.passage.GetSection() == "" {
		score *= leading
	}
	if language != "" && primary(language) == primary(e.passage.GetLanguage()) {
		score *= preference
	}
	return score
}

// hit is what an entry has of a question's words.
type hit struct {
	frequency []float64 // of each word, weighted by field and by how well the term stands for the word
	words     int       // that occur at all
	things    int       // of what the question names; all words of it occur
	topic     bool      // one of them names a topic
	topical   bool      // one of them names a topic and is in the title or the section
	section   []string  // terms of the section that they stand for, each once
	titled    bool      // the word that was counted last is in the title or the section
}

// entitled reports whether the question has all words of the title of the entry's section, and these are two or more.
func (h hit) entitled(e entry) bool {
	return h.words > 1 && len(h.section) > 1 && len(h.section) == e.section
}

// answers reports whether the entry is about a question of n words that name so many things. The topic of a title is enough, and so is the only
// word. Else half of the things must occur and at least two; a third of the words, if one of them names a topic.
func (h hit) answers(n, things int) bool {
	switch {
	case h.words == 0:
		return false
	case h.topical || n == 1:
		return true
	case h.topic:
		return 3*h.words >= n
	}
	return 2*h.things >= things && (h.things > 1 || h.words == n)
}

// match returns what each entry has of the words, and how many things these name.
func (x *passageIndex) match(content []meant) ([]hit, int) {
	hits, n := make([]hit, len(x.entries)), len(content)
	frequencies := make([]float64, len(hits)*n)
	for i := range hits {
		hits[i].frequency = frequencies[i*n : (i+1)*n]
	}
	for w, asked := range content {
		for lang := range x.postings {
			x.count(hits, w, asked, lang)
		}
	}
	things := x.things(content)
	for i := range hits {
		for _, words := range things {
			if !slices.Contains(hits[i].frequency[words[0]:words[1]], 0) {
				hits[i].things++
			}
		}
	}
	return hits, len(things)
}

// things divides the words of a question into the things that they name, each from a first word to before another. Words
// that follow each other in some passage too are one thing: a "sleeping bag" is neither a bag nor asleep.
func (x *passageIndex) things(content []meant) [][2]int {
	var out [][2]int
	for w := range content {
		if w > 0 && x.follows(content[w-1].word, content[w].word) {
			out[len(out)-1][1] = w + 1
			continue
		}
		out = append(out, [2]int{w, w + 1})
	}
	return out
}

// follows reports whether some passage has the words one after the other.
func (x *passageIndex) follows(first, second string) bool {
	for lang, pairs := range x.pairs {
		if pairs[[2]string{x.words.term(first, lang), x.words.term(second, lang)}] {
			return true
		}
	}
	return false
}

// count counts word w of the question in the entries of a language.
func (x *passageIndex) count(hits []hit, w int, asked meant, lang string) {
	variants, isTopic := x.words.variants(asked.word, lang)
	isTopic = isTopic && asked.sure
	for _, v := range variants {
		for _, p := range x.postings[lang][v.term] {
			h := &hits[p.at]
			h.frequency[w] += v.share * (textWeight*float64(p.text) + sectionWeight*float64(p.section) + titleWeight*float64(p.title))
			h.titled = h.titled || p.section+p.title > 0
			if p.section > 0 && !slices.Contains(h.section, v.term) {
				h.section = append(h.section, v.term)
			}
		}
	}
	for i := range hits {
		h := &hits[i]
		if x.entries[i].language != lang || h.frequency[w] == 0 {
			continue
		}
		h.words++
		h.topic = h.topic || isTopic
		h.topical = h.topical || isTopic && h.titled
		h.titled = false
		h.frequency[w] *= asked.share
	}
}

// rarity is the weight of each word: the fewer passages have it, the more it says. It also returns how many words some
// passage has.
func (x *passageIndex) rarity(hits []hit, words int) (weights []float64, told int) {
	weights = make([]float64, words)
	total := float64(len(hits))
	for w := range weights {
		var having float64
		for _, h := range hits {
			if h.frequency[w] > 0 {
				having++
			}
		}
		weights[w] = retrieval.IDF(total, having)
		if having > 0 {
			told++
		}
	}
	return weights, told
}
