package classifier

import (
	"math"
	"slices"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// keyword is a phrase that speaks for a label.
type keyword struct {
	term    string
	stems   []string
	label   int
	logOdds float64
}

// Log odds for a weight of 1. What specialists of the model publish only helps the weights that were fitted beside it; what a
// store adds must outweigh them: 3, almost certain, is odds of 60 to 1.
const (
	publishedLogOdds = 0.4
	ownLogOdds       = 1.4
)

// maxKeywordWeight bounds the weight of a keyword, whatever its sign.
const maxKeywordWeight = 5

func newKeyword(label int, k *specialistv1.Keyword, logOdds float64) keyword {
	out := keyword{term: text.OneLine(k.GetTerm()), label: label}
	if w := k.GetWeight(); !math.IsNaN(w) {
		out.logOdds = logOdds * min(max(w, -maxKeywordWeight), maxKeywordWeight)
	}
	for _, w := range text.Words(k.GetTerm()) {
		out.stems = append(out.stems, stem(w.Text))
	}
	return out
}

// keywords are found by their first stem.
type keywords map[string][]keyword

// published returns the keywords that specialists publish. Of those that are not known, no weights were fitted.
func published(specialists []*specialistv1.Specialist, known []string) keywords {
	ks := keywords{}
	for i, s := range specialists {
		logOdds := ownLogOdds
		if slices.Contains(known, s.GetName()) {
			logOdds = publishedLogOdds
		}
		for _, p := range s.GetKeywords() {
			if k := newKeyword(i, p, logOdds); len(k.stems) > 0 {
				ks[k.stems[0]] = append(ks[k.stems[0]], k)
			}
		}
	}
	return ks
}

func namesOf(specialists []*specialistv1.Specialist) []string {
	var names []string
	for _, s := range specialists {
		names = append(names, s.GetName())
	}
	return names
}

// with returns the keywords with those of a store, which replace keywords with the same label and stems. It also returns the
// single stems that the store gives a meaning of its own.
func (ks keywords) with(own []*routerv1.RoutingKeyword, names []string) (merged keywords, redefined map[string]bool) {
	merged, redefined = keywords{}, map[string]bool{}
	for first, all := range ks {
		merged[first] = all
	}
	for _, o := range own {
		k := newKeyword(slices.Index(names, o.GetSpecialist()), o.GetKeyword(), ownLogOdds)
		if len(k.stems) == 0 {
			continue
		}
		if len(k.stems) == 1 {
			redefined[k.stems[0]] = true
		}
		if k.label < 0 {
			continue
		}
		same := func(x keyword) bool { return x.label == k.label && slices.Equal(x.stems, k.stems) }
		merged[k.stems[0]] = append(slices.DeleteFunc(slices.Clone(merged[k.stems[0]]), same), k)
	}
	return merged, redefined
}

// priors returns what the keywords of each clause add to the log odds of each label; nil if there are no keywords. found is
// called with each keyword of a positive weight and its clause.
func (ks keywords) priors(message string, ws []word, cs []clause, labels int, found func(clause int, k keyword)) [][]float64 {
	if len(ks) == 0 {
		return nil
	}
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = stem(text.Fold(message[w.start:w.end]))
	}
	out := make([][]float64, len(cs))
	for i, c := range cs {
		out[i] = make([]float64, labels)
		for at := c.lo; at < c.hi; at++ {
			for _, k := range ks[stems[at]] {
				if at+len(k.stems) <= len(ws) && slices.Equal(k.stems, stems[at:at+len(k.stems)]) {
					out[i][k.label] += k.logOdds
					if k.logOdds > 0 {
						found(i, k)
					}
				}
			}
		}
	}
	return out
}
