package policies

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Weights of the fields of a passage. Its text weighs 1.
const (
	titleWeight   = 1.5
	sectionWeight = 2.0
)

const (
	// lengthShare is b of BM25.
	lengthShare = 0.5
	// gramsShare is the worth of the n-grams beside the words, each in parts of the rarity of all that the question has.
	gramsShare = 0.5
	// preference lifts passages in the language that the caller prefers.
	preference = 2.0
	// leading lifts the passage before all sections for a single word: who asks for "returns" wants the rule, not a detail.
	leading = 1.2
	// nearEnough is the share of the best score below which a passage is not worth returning.
	nearEnough = 0.2
	// leastMet is the share of the question's words that a passage has that answers the question. It is leastMetOnTopic if one of
	// them names the topic of its title or section.
	leastMet        = 0.6
	leastMetOnTopic = 0.33
)

// passageIndex ranks the passages of a store by BM25 over their weighted fields, by words and by character n-grams. It is
// immutable and safe for concurrent use. A store has a few hundred passages at most.
type passageIndex struct {
	lexicon      *lexicon
	entries      []entry
	languages    []string        // of the entries, each once
	words, grams retrieval.Index // of the entries, in their order; the terms of words begin with their language
}

// entry is a passage in the index.
type entry struct {
	passage  *policyv1.Passage
	language string          // that its terms are made for
	titles   map[string]bool // the terms of its title and section
}

func newPassageIndex(words *lexicon, policies []*policyv1.Policy) *passageIndex {
	x := &passageIndex{lexicon: words}
	for _, p := range policies {
		lang := words.languageOf(languageTag(p))
		if !slices.Contains(x.languages, lang) {
			x.languages = append(x.languages, lang)
		}
		for _, passage := range split(p) {
			x.add(passage, lang)
		}
	}
	return x
}

// add adds a passage. One before all sections speaks for the whole document: there, the title weighs as a section does.
func (x *passageIndex) add(p *policyv1.Passage, lang string) {
	e := entry{passage: p, language: lang, titles: make(map[string]bool)}
	words, grams := make(map[string]float64), make(map[string]float64)
	field := func(content string, weight float64, title bool) {
		for _, w := range x.lexicon.words(content) {
			if t := x.lexicon.term(w, lang); t != "" {
				words[lang+":"+t] += weight
				e.titles[lang+":"+t] = title || e.titles[lang+":"+t]
			}
			retrieval.Grams(text.Fold(w), func(g string) { grams[g] += weight })
		}
	}
	field(p.GetText(), 1, false)
	if p.GetSection() == "" {
		field(p.GetPolicyTitle(), titleWeight+sectionWeight, true)
	} else {
		field(p.GetSection(), sectionWeight, true)
		field(p.GetPolicyTitle(), titleWeight, true)
	}
	x.words.Add(words)
	x.grams.Add(grams)
	x.entries = append(x.entries, e)
}

// candidate is a passage that a search has found.
type candidate struct {
	at    int // among the entries
	score float64
}

// findings are what a search has found.
type findings struct {
	candidates []candidate // the best first
	asked      bool        // the question has words to go by
	certain    bool        // the best one has enough of them
}

// find ranks the passages by the words of a question. Without enough of them, the best may answer another question.
func (x *passageIndex) find(question, language string) findings {
	content := x.lexicon.contentWords(question)
	if len(content) == 0 || len(x.entries) == 0 {
		return findings{asked: len(content) > 0}
	}
	n := len(x.entries)
	scores, grams, met, onTopic := make([]float64, n), make([]float64, n), make([]int, n), make([]bool, n)
	var all, allGrams float64 // the rarity of all
	wanted := make(map[string]bool)
	for _, w := range content {
		forms, isTopic := x.forms(w)
		having, rarity := x.words.Score(scores, lengthShare, forms...)
		all += rarity
		for _, i := range having {
			met[i]++
			onTopic[i] = onTopic[i] || isTopic && slices.ContainsFunc(forms, func(f retrieval.Form) bool { return x.entries[i].titles[f.Term] })
		}
		retrieval.Grams(text.Fold(w), func(g string) { wanted[g] = true })
	}
	for _, g := range slices.Sorted(maps.Keys(wanted)) { // sums of floats depend on the order
		_, rarity := x.grams.Score(grams, lengthShare, retrieval.Form{Term: g, Share: 1})
		allGrams += rarity
	}
	asked := text.Language(question)
	for i, e := range x.entries {
		if asked != "" && asked != e.language {
			grams[i] = 0 // words of two languages look alike by chance
		}
	}
	out := findings{asked: true}
	for i, e := range x.entries {
		score := scores[i]/all + gramsShare*grams[i]/allGrams
		if len(content) == 1 && e.passage.GetSection() == "" {
			score *= leading
		}
		if language != "" && primary(language) == primary(e.passage.GetLanguage()) {
			score *= preference
		}
		if score > 0 {
			out.candidates = append(out.candidates, candidate{i, score})
		}
	}
	slices.SortStableFunc(out.candidates, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	if len(out.candidates) > 0 {
		best := out.candidates[0]
		out.candidates = slices.DeleteFunc(out.candidates, func(c candidate) bool { return c.score < nearEnough*best.score })
		share := float64(met[best.at]) / float64(len(content))
		out.certain = share >= leastMet || onTopic[best.at] && share >= leastMetOnTopic
	}
	return out
}

// forms are the terms that stand for a word of the question, in all languages of the documents, and whether it names a topic.
func (x *passageIndex) forms(word string) (all []retrieval.Form, isTopic bool) {
	for _, lang := range x.languages {
		variants, topic := x.lexicon.variants(word, lang)
		isTopic = isTopic || topic
		for _, v := range variants {
			all = append(all, retrieval.Form{Term: lang + ":" + v.term, Share: v.share})
		}
	}
	return all, isTopic
}

// passages are the first of some candidates, as they are handed out.
func (x *passageIndex) passages(found findings, limit int) []*policyv1.Passage {
	var out []*policyv1.Passage
	for _, c := range found.candidates[:min(limit, len(found.candidates))] {
		p := proto.CloneOf(x.entries[c.at].passage)
		p.Score, p.NearInMeaning = c.score, !found.certain
		out = append(out, p)
	}
	return out
}
