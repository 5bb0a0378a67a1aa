package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/offer"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

const coupons = "Any discount codes?"

func versionOfAll(t *testing.T, specialists []*specialistv1.Specialist) string {
	t.Helper()
	v, err := offer.Version(specialists)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// asked is a request with specialists, and one that only names them.
func asked(t *testing.T, specialists []*specialistv1.Specialist) (full, named *routerv1.RouteRequest) {
	t.Helper()
	v := versionOfAll(t, specialists)
	return &routerv1.RouteRequest{Message: coupons, Specialists: specialists, SpecialistsVersion: v},
		&routerv1.RouteRequest{Message: coupons, SpecialistsVersion: v}
}

// specialistOf returns who got the message, or the reason of the refusal.
func specialistOf(t *testing.T, client routerv1.RouterServiceClient, req *routerv1.RouteRequest) string {
	t.Helper()
	got, err := collect(context.Background(), client, req)
	if err != nil {
		st := rpc.Status(err)
		if st.Code() != codes.FailedPrecondition {
			t.Fatalf("Route: %v", err)
		}
		return rpc.Reason(st)
	}
	return got[len(got)-1].GetAssignments()[0].GetSpecialist()
}

const unknown = "SPECIALISTS_UNKNOWN"

func TestSpecialistsAreSentOnce(t *testing.T) {
	full, named := asked(t, specialists())
	client, stop := serve(t, Config{})
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("before the specialists were sent: %s", got)
	}
	for range 2 {
		if got := specialistOf(t, client, full); got != "promotions" {
			t.Errorf("with them: %s", got)
		}
		if got := specialistOf(t, client, named); got != "promotions" {
			t.Errorf("without them: %s", got)
		}
	}
	named.Keywords = []*routerv1.RoutingKeyword{keyword("search", "discount codes", 5), keyword("promotions", "discount", 0)}
	if got := specialistOf(t, client, named); got != "search" {
		t.Errorf("with a store's keywords: %s", got)
	}
	named.Keywords = nil
	if got := specialistOf(t, client, named); got != "promotions" {
		t.Errorf("another store's message after that: %s", got)
	}
	stop()
	client, stop = serve(t, Config{})
	defer stop()
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("after a restart: %s", got)
	}
}

func TestNamedSpecialistsDecideAsThoseInTheRequest(t *testing.T) {
	full, named := asked(t, specialists()[1:]) // without one with a role of its own
	model := says(given("recommend", coupons))
	client, stop := serve(t, Config{Model: model, AlwaysAskModel: true})
	defer stop()
	var texts [2]string
	for i, req := range []*routerv1.RouteRequest{full, named} {
		got, err := collect(context.Background(), client, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			texts[i] += fmt.Sprintln(d.GetStage(), assignments(d), notes(d), d.GetCertainty())
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" || texts[0] == "" {
		t.Errorf("decisions (-in full +named):\n%s", diff)
	}
}

// A caller that sends a wrong version with its specialists changes nothing for other callers.
func TestAWrongVersionDoesNoHarm(t *testing.T) {
	full, named := asked(t, specialists())
	lying := &routerv1.RouteRequest{Message: coupons, SpecialistsVersion: full.GetSpecialistsVersion(),
		Specialists: []*specialistv1.Specialist{{Name: "intruder", Purpose: "Gets all.", Available: true}}}
	_, honest := asked(t, lying.GetSpecialists())
	client, stop := serve(t, Config{})
	defer stop()
	if got := specialistOf(t, client, lying); got != "intruder" {
		t.Errorf("what is sent with a wrong version: %s", got)
	}
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("the version that was claimed: %s", got)
	}
	if got := specialistOf(t, client, honest); got != "intruder" {
		t.Errorf("the version that it has: %s", got)
	}
	specialistOf(t, client, full)
	specialistOf(t, client, lying)
	if got := specialistOf(t, client, named); got != "promotions" {
		t.Errorf("the version that was claimed of what is there: %s", got)
	}
	bad := &routerv1.RouteRequest{Message: coupons, SpecialistsVersion: strings.Repeat("a", 65)}
	if _, err := collect(context.Background(), client, bad); rpc.Status(err).Code() != codes.InvalidArgument {
		t.Errorf("a version that can be none: %v", err)
	}
}

func TestWithoutAVersionNothingIsRemembered(t *testing.T) {
	c := newSpecialistCache()
	full, _ := asked(t, specialists())
	full.SpecialistsVersion = ""
	if _, err := c.forRequest(full); err != nil || c.sets.used.Len() != 0 {
		t.Errorf("%d are remembered, error %v", c.sets.used.Len(), err)
	}
	full, named := asked(t, []*specialistv1.Specialist{{Name: "search", Purpose: strings.Repeat("a", maxSetBytes), Available: true}})
	if _, err := c.forRequest(full); err != nil || c.sets.used.Len() != 0 {
		t.Errorf("%d large ones are remembered, error %v", c.sets.used.Len(), err)
	}
	if _, err := c.forRequest(named); err == nil {
		t.Error("a large one is known")
	}
}

func TestSetsShareWhatIsCompiledOfEqualDescriptions(t *testing.T) {
	c := newSpecialistCache()
	a := specialists()
	first, _ := c.build(a)
	if again, _ := c.build(specialists()); again.base != first.base {
		t.Error("equal descriptions were compiled again")
	}
	away := specialists()
	away[0].Available, away[0].Purpose = false, "Another purpose."
	if set, _ := c.build(away); set.base != first.base {
		t.Error("the availability and the purpose of a specialist are compiled")
	}
	own := []*routerv1.RoutingKeyword{keyword("search", "gondola", 1)}
	if first.classifier(own) != first.classifier(slices.Clone(own)) || first.classifier(own) == first.classifier(nil) {
		t.Error("a store with keywords has not one classifier of its own")
	}
	if first.classifier([]*routerv1.RoutingKeyword{keyword("support", "gondola", 1)}) == first.classifier(own) {
		t.Error("keywords for another specialist make the same classifier")
	}
	for what, change := range map[string]func(s *specialistv1.Specialist){
		"a weight":   func(s *specialistv1.Specialist) { s.Keywords[0].Weight++ },
		"an example": func(s *specialistv1.Specialist) { s.Examples = s.Examples[1:] },
		"where an example ends": func(s *specialistv1.Specialist) {
			s.Examples = append([]string{s.Examples[0] + s.Examples[1]}, s.Examples[2:]...)
		},
		"a name": func(s *specialistv1.Specialist) { s.Name = "find" },
	} {
		b := specialists()
		change(b[0])
		if set, _ := c.build(b); set.base == first.base {
			t.Errorf("%s does not change what is compiled", what)
		}
	}
}

// A set whose base is gone is asked for again, so that sets keep no base in memory.
func TestASetGoesWithItsBase(t *testing.T) {
	c := newSpecialistCache()
	full, named := asked(t, specialists()[:1])
	if _, err := c.forRequest(full); err != nil {
		t.Fatal(err)
	}
	if _, err := c.forRequest(named); err != nil {
		t.Fatal(err)
	}
	for i := range maxBases {
		c.build([]*specialistv1.Specialist{{Name: fmt.Sprint("other", i), Purpose: "Other."}})
	}
	if _, err := c.forRequest(named); err == nil {
		t.Error("the set is known without its base")
	}
	if _, err := c.forRequest(full); err != nil {
		t.Error(err)
	}
	if _, err := c.forRequest(named); err != nil {
		t.Error(err)
	}
}

// Each of a thousand stores with keywords of its own is compiled once, however many of its messages come at a time.
func TestAThousandStoresAreCompiledOnceEach(t *testing.T) {
	const stores, messages = 1000, 3
	c := newSpecialistCache()
	set, _ := c.build(specialists())
	var got [stores][messages]*classifier.Classifier
	ask := func() {
		var wg sync.WaitGroup
		for i := range stores {
			for j := range messages {
				wg.Go(func() {
					got[i][j] = set.classifier([]*routerv1.RoutingKeyword{keyword("promotions", fmt.Sprintf("word%d of the store", i), 3)})
				})
			}
		}
		wg.Wait()
	}
	ask()
	first := got
	ask()
	seen := map[*classifier.Classifier]bool{}
	for i := range stores {
		seen[first[i][0]] = true
		for j := range messages {
			if first[i][j] != first[i][0] || got[i][j] != first[i][0] {
				t.Fatalf("store %d was compiled more than once", i)
			}
		}
	}
	if len(seen) != stores {
		t.Errorf("%d stores have %d classifiers", stores, len(seen))
	}
	in := classifier.Input{Message: "do I get word7 of the store?"}
	if own := first[7][0].Classify(in).Assignments[0].Specialist; own != "promotions" {
		t.Errorf("its own words go to %s", own)
	}
}

func TestTheCacheBuildsAKeyOnceAndHoldsNoLockMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[int](10)
		built := 0
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if v := c.getOrBuild("slow", func() int { built++; <-release; return 7 }); v != 7 {
					t.Errorf("got %d", v)
				}
			})
		}
		synctest.Wait()
		if v := c.getOrBuild("other", func() int { return 1 }); v != 1 {
			t.Errorf("another key got %d", v)
		}
		close(release)
		wg.Wait()
		if built != 1 {
			t.Errorf("built %d times", built)
		}
	})
}

func TestTheCacheDropsWhatWasNotUsedForLongest(t *testing.T) {
	c := newCache[int](3)
	for i, key := range []string{"a", "b", "c"} {
		c.put(key, i)
	}
	c.get("a")
	c.put("c", 7)
	c.put("d", 3)
	if _, ok := c.get("b"); ok || c.used.Len() != 3 || len(c.byKey) != 3 {
		t.Errorf("%v is kept", c.byKey)
	}
	for key, want := range map[string]int{"a": 0, "c": 7, "d": 3} {
		if v, ok := c.get(key); !ok || v != want {
			t.Errorf("%s is %d, %v", key, v, ok)
		}
	}
}

func keyword(specialist, term string, weight float64) *routerv1.RoutingKeyword {
	return &routerv1.RoutingKeyword{Specialist: specialist, Keyword: &specialistv1.Keyword{Term: term, Weight: weight}}
}

func TestAStoreAddsKeywords(t *testing.T) {
	const message = "how much is a bean stamp?"
	cases := []struct {
		name, message string
		keywords      []*routerv1.RoutingKeyword
		want          string
		source        routerv1.DecisionSource
		notes         []string
	}{
		{"without", message, nil, "a1 search: " + message, byFallback, []string{"NO_MODEL: no model is configured; the classifier decided"}},
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

// BenchmarkNewBase compiles what the four specialists publish; the first message of a deployment waits for it.
func BenchmarkNewBase(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newSpecialistCache().build(four)
	}
}

// BenchmarkNewStore compiles a store's keywords; the first message of a store waits for it.
func BenchmarkNewStore(b *testing.B) {
	for _, n := range []int{10, maxKeywords} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			set, _ := newSpecialistCache().build(four)
			var keywords []*routerv1.RoutingKeyword
			for i := range n {
				keywords = append(keywords, keyword(four[i%4].GetName(), fmt.Sprintf("word%d of the store", i), 2))
			}
			b.ReportAllocs()
			for b.Loop() {
				set.base.WithKeywords(keywords)
			}
		})
	}
}
