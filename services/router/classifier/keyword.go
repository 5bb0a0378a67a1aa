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
	weight  float64
	logOdds float64
	own     bool // a store added it
}

// Log odds for a weight of 1. What specialists of the model publish only helps the weights that were fitted beside it; what a
// store adds must outweigh them: 3, almost certain, is odds of 60 to 1.
const (
	publishedLogOdds = 0.4
	ownLogOdds       = 1.4
)

// maxKeywordWeight bounds the weight of a keyword on both sides of zero.
const maxKeywordWeight = 5

func newKeyword(label int, k *specialistv1.Keyword, logOdds float64) keyword {
	out := keyword{term: text.OneLine(k.GetTerm()), label: label}
	if w := k.GetWeight(); !math.IsNaN(w) {
		out.weight = min(max(w, -maxKeywordWeight), maxKeywordWeight)
		out.logOdds = logOdds * out.weight
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

// ownKeywords returns a store's keywords. Those of unknown specialists are left out.
func ownKeywords(own []*routerv1.RoutingKeyword, names []string) keywords {
	ks := keywords{}
	for _, o := range own {
		k := newKeyword(slices.Index(names, o.GetSpecialist()), o.GetKeyword(), ownLogOdds)
		if k.own = true; k.label >= 0 && len(k.stems) > 0 {
			ks[k.stems[0]] = append(ks[k.stems[0]], k)
		}
	}
	return ks
}

// match is a keyword in a message: the words from lo to hi-1.
type match struct {
	lo, hi int
	keyword
}

// find returns the keywords of a message. What overlaps with a store's own does not count.
func find(message string, ws []word, published, own keywords) []match {
	var out []match
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = stem(text.Fold(message[w.start:w.end]))
	}
	for i := range ws {
		for _, ks := range []keywords{published, own} {
			for _, k := range ks[stems[i]] {
				if hi := i + len(k.stems); hi <= len(ws) && slices.Equal(k.stems, stems[i:hi]) {
					out = append(out, match{i, hi, k})
				}
			}
		}
	}
	all := slices.Clone(out)
	return slices.DeleteFunc(out, func(m match) bool {
		return !m.own && slices.ContainsFunc(all, func(o match) bool { return o.own && o.lo < m.hi && m.lo < o.hi })
	})
}

// within returns the matches that begin in a clause.
func within(c clause, matches []match) []match {
	return slices.DeleteFunc(slices.Clone(matches), func(m match) bool { return m.lo < c.lo || m.lo >= c.hi })
}
