package grounding

import (
	"slices"
	"sync"
)

// rule is what a sentence of the store's documents likely says, of the things that its words name.
type rule struct {
	topic  string
	denied bool
	things []string // stems
}

// readRules sets how the rules of the documents are read: when a claim needs them, once.
func (s *subjects) readRules() {
	s.rules = sync.OnceValue(func() []rule {
		var out []rule
		for _, o := range s.documents {
			for i := 0; i < len(o.clauses); {
				sentence := sentenceOf(o.clauses, i)
				for label, p := range s.says(o, i, sentence, nil).likely {
					if a, isAssertion := meanings[label]; isAssertion && p >= minLikely {
						out = append(out, rule{a.topic, a.denied, thingsOf(sentence)})
					}
				}
				i += len(sentence)
			}
		}
		return out
	})
}

// judgeByRules compares what a sentence says of things that are no subjects, such as worn goods, with the documents.
func (s *subjects) judgeByRules(a assertion, sentence []clause) Verdict {
	if s.rules == nil {
		return Undecided
	}
	things := thingsOf(sentence)
	v := Undecided
	for _, r := range s.rules() {
		if r.topic != a.topic || !sharesWord(things, r.things) {
			continue
		}
		if r.denied == a.denied {
			return Supported
		}
		v = Contradicted
	}
	return v
}

// thingsOf returns the stems of the words of content that are in no phrase of the table of concepts, and so name what it is about.
func thingsOf(sentence []clause) []string {
	var out []string
	for _, c := range sentence {
		for _, w := range c.words {
			if isContent(w.Text) && !isNumeral(w) && len(conceptsOf([]string{w.Text})) == bareConcepts {
				out = append(out, stemOf(w.Text))
			}
		}
	}
	return slices.Compact(out)
}

// bareConcepts is how many marks conceptsOf returns for words without a concept.
const bareConcepts = 3
