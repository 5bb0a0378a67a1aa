package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

func keyword(specialist, term string, weight float64) *routerv1.RoutingKeyword {
	return &routerv1.RoutingKeyword{Specialist: specialist, Keyword: &specialistv1.Keyword{Term: term, Weight: weight}}
}

func TestAStoreExtendsTheLexicon(t *testing.T) {
	const message = "how much is a bean stamp?"
	cases := []struct {
		name, message string
		keywords      []*routerv1.RoutingKeyword
		want          string
		source        routerv1.DecisionSource
		notes         []string
	}{
		{"without", message, nil, "a1 search: " + message, byRules, nil},
		{"a phrase of its own", message, []*routerv1.RoutingKeyword{keyword("promotions", "Bean Stamps", 4), keyword("promotions", "how much", 3)},
			"a1 promotions: " + message, byRules, nil},
		{"a published word means something else here", "is there a coupon?", []*routerv1.RoutingKeyword{
			keyword("promotions", "coupons", 0), keyword("search", "coupon", 4)}, "a1 search: is there a coupon?", byRules, nil},
		{"for a specialist that is not there", "is there a coupon?", []*routerv1.RoutingKeyword{
			keyword("gifts", "coupon", 5), keyword("gifts", "wrapping", 5)}, "a1 promotions: is there a coupon?", byRules,
			[]string{`KEYWORDS_IGNORED: the store's keywords for "gifts" were ignored; there is no such specialist`}},
		{"nonsense", "is there a coupon?", []*routerv1.RoutingKeyword{nil, keyword("search", " ?", 5)},
			"a1 promotions: is there a coupon?", byRules,
			[]string{`KEYWORDS_IGNORED: the store's keywords for "" were ignored; there is no such specialist`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := request(c.message)
			req.Keywords = c.keywords
			got := route(t, Config{}, req)[0]
			if diff := cmp.Diff([]string{c.want}, assignments(got)); diff != "" || got.GetSource() != c.source {
				t.Errorf("source %v, assignments (-want +got):\n%s", got.GetSource(), diff)
			}
			if diff := cmp.Diff(c.notes, notes(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheModelIsToldAStoresWords(t *testing.T) {
	var system string
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		system = req.Messages[0].Text
		return "", errors.New("enough")
	}}
	req := request(terrace)
	req.Keywords = []*routerv1.RoutingKeyword{
		keyword("promotions", "bean stamps", 3), keyword("search", "stamps", -2), keyword("promotions", "stamp\ncard", 1),
	}
	route(t, Config{Model: model}, req)
	if !strings.Contains(system, `In this store also: "bean stamps", "stamp card"`+"\n") || strings.Contains(system, `"stamps"`) {
		t.Errorf("the prompt is\n%s", system)
	}
}

func TestLexiconsFollowWhatIsPublishedAndAreBounded(t *testing.T) {
	var c lexicons
	a := specialists()
	first := c.of(c.offer(a), nil)
	if c.of(c.offer(a), nil) != first {
		t.Error("the lexicon was compiled again")
	}
	own := c.of(c.offer(a), []*routerv1.RoutingKeyword{keyword("search", "gondola", 1)})
	if own.habits != first.habits {
		t.Error("the examples were learned again for a store with keywords")
	}
	if own == first || c.of(c.offer(a), []*routerv1.RoutingKeyword{keyword("search", "gondola", 1)}) != own {
		t.Error("a store with keywords has not a lexicon of its own")
	}
	if c.of(c.offer(a), []*routerv1.RoutingKeyword{keyword("support", "gondola", 1)}) == own {
		t.Error("keywords for another specialist did not change the lexicon")
	}
	a[0].Keywords[0].Weight++
	if c.of(c.offer(a), nil) == first {
		t.Error("another weight did not change the lexicon")
	}
	a[0].Examples = a[0].Examples[1:]
	if changed := c.of(c.offer(a), nil); changed == first || changed.habits == first.habits {
		t.Error("other examples did not change the lexicon")
	}
	for i := range maxLexicons + 10 {
		last := c.of(c.offer(a), []*routerv1.RoutingKeyword{keyword("search", fmt.Sprint("gondola", i), 1)})
		if len(c.byID) > maxLexicons || c.of(c.offer(a), []*routerv1.RoutingKeyword{keyword("search", fmt.Sprint("gondola", i), 1)}) != last {
			t.Fatalf("%d lexicons are kept, at most %d wanted and the last among them", len(c.byID), maxLexicons)
		}
	}
}

func BenchmarkNewLexicon(b *testing.B) {
	s := specialists()
	var keywords []*routerv1.RoutingKeyword
	for i := range maxKeywords {
		keywords = append(keywords, keyword(four[i%4].GetName(), fmt.Sprintf("word%d of the store", i), 2))
	}
	h := learn(s)
	b.ReportAllocs()
	for b.Loop() {
		newLexicon(extended(s, keywords), h)
	}
}
