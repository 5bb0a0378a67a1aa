package search

import (
	"strings"
	"testing"
)

// What rows tell is asked of the cluster and need not be looked at here, in whatever language a query is.
func TestRowsTellTheSynonymsOfEveryLanguage(t *testing.T) {
	told, asked := newPhrases(), 0
	for l, x := range testVocabulary(t).lexicons {
		for word := range x.synonyms {
			q := x.parse(word, languages)
			var forms [][]form
			for i := range q.terms {
				forms = append(forms, formsOf(q.terms, i))
				for _, f := range forms[i] {
					if len(f.stems) > 1 {
						asked++
					}
				}
			}
			if w := newTermWheres(forms, told); w.rough != 0 {
				t.Errorf("%s: rows do not tell all that %q means", l.tag, word)
			}
		}
	}
	if asked == 0 {
		t.Error("no synonym has two words")
	}
	own := []form{{stems: strings.Fields("gig bag")}}
	if w := newTermWheres([][]form{own}, told); !w.rough.Has(0) || !w.guesses(need{atLeast: 1}) || w.guesses(need{}) {
		t.Errorf("a phrase of one store alone is taken for one that rows tell: %+v", w)
	}
}
