package classifier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// A store's lexicon shares what does not change, and finds what one that is compiled from all keywords finds.
func TestAStoresLexiconIsThatOfAllKeywords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	base := newLexicon(four)
	for range 20 {
		var keywords []*routerv1.RoutingKeyword
		for range 1 + rnd.IntN(40) {
			s := four[rnd.IntN(len(four))]
			term := s.GetKeywords()[rnd.IntN(len(s.GetKeywords()))].GetTerm()
			switch rnd.IntN(4) {
			case 0:
				term = fmt.Sprint("gondola", rnd.IntN(9))
			case 1:
				term += " gondola"
			}
			name := four[rnd.IntN(len(four))].GetName()
			if rnd.IntN(10) == 0 {
				name = "background"
			}
			keywords = append(keywords, &routerv1.RoutingKeyword{
				Specialist: name, Keyword: &specialistv1.Keyword{Term: term, Weight: float64(rnd.IntN(9) - 3)},
			})
		}
		got, want := base.withKeywords(keywords), newLexicon(withOwn(keywords))
		stems := map[string]bool{}
		for _, k := range append(slices.Clone(base.keywords), want.keywords...) {
			for _, stem := range k.stems {
				stems[stem] = true
			}
		}
		compare := cmp.Options{cmp.AllowUnexported(keyword{}), cmpopts.EquateEmpty()}
		for stem := range stems {
			if diff := cmp.Diff(want.startingWith(stem), got.startingWith(stem), compare); diff != "" {
				t.Fatalf("keywords with %q (-compiled from all +shared):\n%s", stem, diff)
			}
			if got.isKnown(stem) != want.isKnown(stem) {
				t.Fatalf("%q is known: %v, want %v", stem, got.isKnown(stem), want.isKnown(stem))
			}
			if len(stem) >= minTypo {
				if diff := cmp.Diff(want.similarTo(stem), got.similarTo(stem), compare); diff != "" {
					t.Fatalf("corrections of %q (-compiled from all +shared):\n%s", stem, diff)
				}
			}
		}
	}
}

// withOwn returns the four with a store's keywords before their own, less those with the same stems.
func withOwn(keywords []*routerv1.RoutingKeyword) []*specialistv1.Specialist {
	all := specialists()
	stems := func(k *specialistv1.Keyword) []string {
		out, _ := newKeyword(0, k)
		return out.stems
	}
	for _, s := range all {
		var own []*specialistv1.Keyword
		for _, k := range keywords {
			if k.GetSpecialist() == s.GetName() {
				own = append(own, k.GetKeyword())
			}
		}
		rest := slices.DeleteFunc(slices.Clone(s.GetKeywords()), func(k *specialistv1.Keyword) bool {
			return slices.ContainsFunc(own, func(o *specialistv1.Keyword) bool { return slices.Equal(stems(o), stems(k)) })
		})
		s.Keywords = append(own, rest...)
	}
	return all
}
