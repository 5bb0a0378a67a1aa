package weaviate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// recordOf is what a writer commits of a product.
func recordOf(t *testing.T, p *catalogv1.Product) *record {
	t.Helper()
	e := index.NewEntry(p)
	l, err := newRecord(e, index.Analyze(p, stemAll))
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

func TestSumsAreStatistics(t *testing.T) {
	m := held(t, "C")
	want, counted := index.NewStatistics(), make(map[string]*index.Entry)
	put := func(products ...*catalogv1.Product) {
		t.Helper()
		for _, p := range products {
			if old := counted[p.GetProductId()]; old != nil {
				want.Add(old, -1)
			}
			counted[p.GetProductId()] = index.NewEntry(p)
			want.Add(counted[p.GetProductId()], 1)
		}
		want.SetCurrency()
		batch := make(map[string]*record)
		for _, p := range products {
			batch[p.GetProductId()] = recordOf(t, p)
		}
		if err := m.commit(t.Context(), "C", batch); err != nil {
			t.Fatal(err)
		}
		got, _, err := m.statistics(t.Context(), "C")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(index.Statistics{})); diff != "" {
			t.Errorf("(-counted +sums):\n%s", diff)
		}
	}
	put(catalogtest.Outdoor()...)
	put(catalogtest.Wardrobe()...)
	changed := catalogtest.Outdoor()[:3]
	changed[0].Tags, changed[1].CategoryPath = []string{"gift"}, []string{"Bags | boxes", "Tote: bags"}
	put(changed...)
}

func TestOnlyOneHoldsALease(t *testing.T) {
	a := held(t, "C")
	b := a
	b.token = "b"
	take := func(m manifest, want bool) {
		t.Helper()
		if got, err := m.lease(t.Context(), "C"); got != want || err != nil {
			t.Errorf("%s takes the lease: %v, %v", m.token, got, err)
		}
	}
	take(b, false)
	if err := b.release(t.Context(), "C"); err != nil {
		t.Fatal(err)
	}
	if held, err := b.extend(t.Context(), "C"); held || err != nil {
		t.Errorf("b extends what a holds: %v, %v", held, err)
	}
	if held, err := a.extend(t.Context(), "C"); !held || err != nil {
		t.Errorf("a extends: %v, %v", held, err)
	}
	take(b, false)
	if err := a.release(t.Context(), "C"); err != nil {
		t.Fatal(err)
	}
	take(b, true)
	commit := a.commit(t.Context(), "C", map[string]*record{"P-1": recordOf(t, catalogtest.Thing("P-1", "lamp"))})
	for what, err := range map[string]error{
		"commit": commit, "reach": a.setPosition(t.Context(), "C", catalog.Position{Version: 1}), "forget": a.forget(t.Context(), "C"),
	} {
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("%s of a writer that was overtaken: %v", what, err)
		}
	}
}

// held is the manifest of a writer that holds the lease of a collection.
func held(t *testing.T, collection string) manifest {
	t.Helper()
	m := manifest{rdb: servicetest.Redis(t), storeID: "s1", token: "a"}
	if ok, err := m.lease(t.Context(), collection); !ok || err != nil {
		t.Fatalf("lease: %v, %v", ok, err)
	}
	return m
}

// An object is the product that the manifest says, and before schema 7 the one that it says itself.
func TestWhichProductsObjectsAre(t *testing.T) {
	m, p := held(t, "QuartetProducts7"), catalogtest.Thing("P-1", "lamp")
	if err := m.commit(t.Context(), "QuartetProducts7", map[string]*record{"P-1": recordOf(t, p), "P-2": recordOf(t, p)}); err != nil {
		t.Fatal(err)
	}
	if err := m.commit(t.Context(), "QuartetProducts7", absent([]string{"P-2"})); err != nil {
		t.Fatal(err)
	}
	hash := productHash(p)
	says := map[string]string{oldPropProduct: "P-1", oldPropHash: hash.String()}
	for collection, hits := range map[string][]weaviate.Hit{
		"QuartetProducts7": {{ID: objectID("s1", "P-2")}, {ID: objectID("s1", "P-1")}},
		"QuartetProducts6": {{}, {Text: says}},
	} {
		s := &storeIndex{manifest: m, collection: collection}
		got, err := s.identities(t.Context(), hits)
		if diff := cmp.Diff([]identity{{}, {hash: hash, productID: "P-1"}}, got, cmp.AllowUnexported(identity{})); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", collection, err, diff)
		}
	}
}

// The cluster, which is not there, is not asked again where the best products answer: all of them meet the constraint and the filter, or
// those under the filter are all that there are.
func TestTheBestProductsMayBeTheCandidates(t *testing.T) {
	p := &termMatches{index: &storeIndex{}, query: index.Query{Terms: []index.Term{{Text: "lamp", Head: true}}}, more: true}
	for _, l := range lamps(0, 2) {
		p.found = append(p.found, index.Candidate{Entry: index.NewEntry(l), Match: index.Match{Terms: 1, Strong: 1}})
	}
	mentions := index.Candidate{Entry: index.NewEntry(catalogtest.Thing("HOOK", "hook")), Match: index.Match{Terms: 1}}
	in, dear := index.NewFilter(&catalogv1.Filter{InStock: true}), index.NewFilter(&catalogv1.Filter{Brands: []string{"Dear"}})
	p.filter, p.filtered = dear.Message, []index.Candidate{p.found[0], mentions}
	for name, c := range map[string]struct {
		filter     index.Filter
		candidates int
		more       bool
		best       int
	}{
		"all pass":              {filter: in, candidates: 2, more: true, best: 2},
		"all under the filter":  {filter: dear, candidates: 1},
		"there is no condition": {candidates: 2, more: true, best: 2},
	} {
		found, more, err := p.Candidates(t.Context(), index.Constraint{Strong: 1}, c.filter, catalogv1.Sort_SORT_RELEVANCE)
		if len(found) != c.candidates || more != c.more || err != nil {
			t.Errorf("%s: %d candidates, more %v, error %v; want %d and %v", name, len(found), more, err, c.candidates, c.more)
		}
		if best, err := p.Best(t.Context(), c.filter, ranked); len(best) != c.best || err != nil {
			t.Errorf("%s: %d best, error %v; want %d", name, len(best), err, c.best)
		}
	}
}

// Half of the best products meet the constraint, and the cluster, which is not there, is not asked for others. In a large store they are
// fewer.
func TestEnoughOfTheBestProductsAreTheCandidates(t *testing.T) {
	for products, half := range map[int]int{manyProducts: ranked / 2, manyProducts + 1: rankedOfMany / 2} {
		p := &termMatches{query: index.Query{Terms: []index.Term{{Text: "lamp", Head: true}}}, more: true}
		p.index = &storeIndex{statistics: index.Statistics{Products: products}}
		for _, l := range lamps(0, half) {
			p.found = append(p.found, index.Candidate{Entry: index.NewEntry(l), Match: index.Match{Terms: 1, Strong: 1}})
		}
		p.found = append(p.found, index.Candidate{Entry: index.NewEntry(catalogtest.Thing("HOOK", "hook")), Match: index.Match{Terms: 1}})
		found, more, err := p.Candidates(t.Context(), index.Constraint{Strong: 1}, index.Filter{}, catalogv1.Sort_SORT_RELEVANCE)
		if len(found) != half || !more || err != nil {
			t.Errorf("%d products: %d candidates, more %v, error %v; want %d and more", products, len(found), more, err, half)
		}
	}
}

// What names a product weighs more than what is mentioned, and the thing itself most.
func TestATextRepeatsWhatWeighsMore(t *testing.T) {
	p := catalogtest.Thing("P-1", "blue lamp")
	p.CategoryPath, p.Brand, p.Tags, p.Attributes = []string{"Lamps"}, "", nil, nil
	p.Description = "It hangs from a hook. It may hang in any room that has a hook for it."
	got := tokenCounts(index.Analyze(p, stemAll))
	want := map[string]int{"blue": 3, "lamp": 4, "hook": 2, "+bluelamp": joinedTimes, "=lamp": 1}
	for token, n := range want {
		if got[token] != n {
			t.Errorf("%q is there %d times, want %d", token, got[token], n)
		}
	}
	if text := repeated(map[string]int{"b": 1, "a": 2}); text != "a a b" {
		t.Errorf("text %q", text)
	}
}

// Each stem of a product is in one property that filters look into: all of them in the two that conditions ask for. Before schema 8 the
// texts were filtered.
func TestFiltersFindEachStemOnce(t *testing.T) {
	p := catalogtest.Thing("P-1", "blue lamp")
	p.Description = "It hangs from a hook. It may hang in any room that has a hook for the lamp."
	o := newObject("s1", index.NewEntry(p), index.Analyze(p, stemAll))
	strong, weak := strings.Fields(o.Properties[propStrong].(string)), strings.Fields(o.Properties[propWeak].(string))
	for _, token := range slices.Compact(strings.Fields(o.Properties[propWords].(string))) {
		if slices.Contains(strong, token) == slices.Contains(weak, token) && token[0] != '=' {
			t.Errorf("%q is not in one of %q and %q", token, strong, weak)
		}
	}
	for _, property := range properties() {
		if property.Name == propWords && (property.Filterable || !property.Searchable) {
			t.Error("the texts that the cluster ranks by have an index for filters, or none to rank by")
		}
		if property.Name == propRating && property.Ranged {
			t.Error("there is an index for filters by rating, of which there are none")
		}
	}
	if now, before := weakIn(collectionPrefix+"8"), weakIn(collectionPrefix+"7V12345678"); now != propWeak || before != propWords {
		t.Errorf("conditions ask for %q, before schema 8 for %q", now, before)
	}
}

// A fill that goes on meets all products again that it has written: the cluster, which is not there, is not asked, and the products are
// not taken apart.
func TestWhatIsWrittenIsNotPreparedAgain(t *testing.T) {
	w := &writer{Backend: &Backend{}, manifest: held(t, "C"), collection: "C"}
	products, records := lamps(0, 100), make(map[string]*record)
	for _, p := range products {
		records[p.GetProductId()] = recordOf(t, p)
	}
	if err := w.commit(t.Context(), "C", records); err != nil {
		t.Fatal(err)
	}
	put := testing.AllocsPerRun(5, func() {
		if err := w.put(t.Context(), products); err != nil {
			t.Error(err)
		}
	})
	prepare := testing.AllocsPerRun(5, func() {
		for _, p := range products {
			if _, _, _, err := w.prepare(p, make(map[string]bool)); err != nil {
				t.Error(err)
			}
		}
	})
	if put > prepare/2 {
		t.Errorf("%v allocations, to prepare them takes %v", put, prepare)
	}
}

func TestStemsAreKeptForAVersion(t *testing.T) {
	m, kept := held(t, "C"), new(stemCache)
	for i, c := range []struct {
		stem    string // that is added before
		version int64
		want    string
	}{{"lamp", 1, "[lamp]"}, {"loft", 1, "[lamp]"}, {"lid", 2, "[lamp lid loft]"}} {
		if err := m.addStems(t.Context(), "C", map[string]bool{c.stem: true, "kettl": true}); err != nil {
			t.Fatal(err)
		}
		if got, err := kept.of(t.Context(), m, "C", c.version, "l"); fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("read %d: %v, error %v; want %s", i, got, err, c.want)
		}
	}
}

func TestWithinEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
		want bool
	}{
		{"kettl", "kettl", 0, true}, {"kettl", "ketl", 1, true}, {"kettl", "kettel", 1, true}, {"kettl", "kittl", 1, true},
		{"kettl", "ketlt", 1, false}, {"kettl", "ketlt", 2, true}, {"kettl", "ket", 1, false}, {"größ", "gross", 1, false},
		{"größ", "grüß", 1, true}, {"", "ab", 2, true},
	} {
		if withinEdits(c.a, c.b, c.n) != c.want || withinEdits(c.b, c.a, c.n) != c.want {
			t.Errorf("%q and %q differ in at most %d: want %v", c.a, c.b, c.n, c.want)
		}
	}
}

// Rarity among all products, not among the best 200, is what words are weighed by.
func TestTheSampleIsCounted(t *testing.T) {
	m, counts := held(t, "C"), make(map[string]int)
	var sampled []*catalogv1.Product
	for _, p := range lamps(0, 100) {
		if index.InSample(p.GetProductId()) {
			sampled = append(sampled, p)
			count(counts, p, index.Analyze(p, stemAll))
		}
	}
	if err := m.countSample(t.Context(), "C", counts); err != nil {
		t.Fatal(err)
	}
	got, err := m.sample(t.Context(), "C", []string{countedProducts, countedStem("lamp"), "lamp", "xyl"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{countedProducts: len(sampled), countedStem("lamp"): len(sampled), "lamp": len(sampled)}
	if diff := cmp.Diff(want, got); diff != "" || len(sampled) == 0 {
		t.Errorf("counts of %d products (-want +got):\n%s", len(sampled), diff)
	}
	p := termMatches{index: &storeIndex{statistics: index.Statistics{Products: 800}}, have: []int{200}, more: true, sample: got}
	p.score.expansions = [][]index.Expansion{{{Stems: []string{"lamp"}, Weight: 1}}}
	if n := p.having(0); n != 800 {
		t.Errorf("about %v products have a word that all of the sample have, want 800", n)
	}
}
