// Package indextest is the conformance suite of the backends in package index.
package indextest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// suite is what every backend must do.
type suite struct {
	// open makes a backend over a catalog. Its owner closes it.
	open func(t *testing.T, s catalog.Store) index.Backend
	// most bounds the products of large catalogs. Zero: there is no bound.
	most int
}

// Run has backends that open makes do what every backend must.
func Run(t *testing.T, most int, open func(t *testing.T, s catalog.Store) index.Backend) {
	x := suite{open: open, most: most}
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"search", x.testSearch},
		{"sizes", x.testSizes},
		{"modifiers", x.testModifiers},
		{"the word colour orders and excludes none", x.testTheWordColourOrdersAndExcludesNone},
		{"words that exclude nothing are not known", x.testWordsThatExcludeNothingAreNotKnown},
		{"marked gifts come first", x.testMarkedGiftsComeFirst},
		{"what the query negates is not asked for", x.testWhatTheQueryNegatesIsNotAskedFor},
		{"typos are near in length and name", x.testTyposAreNearInLengthAndName},
		{"order", x.testOrder},
		{"matching all words beats matching one", x.testMatchingAllWordsBeatsMatchingOne},
		{"what is known to go together", x.testWhatIsKnownToGoTogether},
		{"find similar", x.testFindSimilar},
		{"reasons in the shopper's language", x.testReasonsInTheShoppersLanguage},
		{"queries are read in the language of the catalog", x.testQueriesAreReadInTheLanguageOfTheCatalog},
		{"categories are named in the plural of their language", x.testCategoriesAreNamedInThePluralOfTheirLanguage},
		{"English queries to catalogs in other languages", x.testEnglishQueriesToOtherCatalogs},
		{"brands are not translated", x.testBrandsAreNotTranslated},
		{"translated words are found as they are written", x.testTranslatedWordsAreFoundAsTheyAreWritten},
		{"catalog in two languages", x.testCatalogInTwoLanguages},
		{"translated products", x.testTranslatedProducts},
		{"stray products in another language", x.testStrayProductsInAnotherLanguage},
		{"stores have synonyms of their own", x.testStoresHaveSynonymsOfTheirOwn},
		{"what a product is comes before what it is for", x.testWhatAProductIsComesBeforeWhatItIsFor},
		{"words meet however they are written", x.testWordsMeetHoweverTheyAreWritten},
		{"single letters are words", x.testSingleLettersAreWords},
		{"captions say what a product is and sentences mention", x.testCaptionsSayWhatAProductIsAndSentencesMention},
		{"a stray product makes no category", x.testAStrayProductMakesNoCategory},
		{"filters counts and extremes are exact", x.testFiltersCountsAndExtremesAreExact},
		{"filter", x.testFilter},
		{"writes are seen by every replica", x.testWritesAreSeenByEveryReplica},
		{"stores do not see each other", x.testStoresDoNotSeeEachOther},
		{"missed changes are made up for", x.testMissedChangesAreMadeUpFor},
		{"many replicas write at once", x.testManyReplicasWriteAtOnce},
		{"updates are versioned and searched", x.testUpdatesAreVersionedAndSearched},
		{"a forgotten write is forgotten by replicas too", x.testAForgottenWriteIsForgottenByReplicasToo},
	} {
		t.Run(c.name, c.test)
	}
}

// Replica is a program's catalog and its backend.
type Replica struct {
	Catalog catalog.Store
	index.Backend
}

// catalog is that of one program over a Redis that others may use too.
func (x suite) catalog(t *testing.T, rdb redis.UniversalClient) *Replica {
	t.Helper()
	s := catalog.Store{Redis: rdb}
	n := &Replica{Catalog: s, Backend: x.open(t, s)}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// view is a view of products, good until the test ends.
func (x suite) view(t *testing.T, products []*catalogv1.Product) *index.View {
	t.Helper()
	n := x.catalog(t, servicetest.Redis(t))
	return ViewOf(t, n.Catalog, n.Backend, products)
}

// ViewOf writes products and returns a view of them, good until the backend is closed.
func ViewOf(t *testing.T, s catalog.Store, b index.Backend, products []*catalogv1.Product) *index.View {
	t.Helper()
	for rest := products; len(rest) > 0; rest = rest[min(writeBatchSize, len(rest)):] {
		Put(t, s, "s1", rest[:min(writeBatchSize, len(rest))]...)
	}
	var out *index.View
	if err := b.Read(t.Context(), "s1", nil, func(v *index.View) error { out = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

const writeBatchSize = 1_000

func TestVocabulary(t *testing.T) *index.Vocabulary {
	t.Helper()
	return index.NewVocabulary(nil)
}

func Put(t *testing.T, s catalog.Store, storeID string, products ...*catalogv1.Product) int64 {
	t.Helper()
	version, err := s.Put(t.Context(), storeID, products)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// HitIDs runs a search over the view and returns the ids of its hits.
func HitIDs(t *testing.T, v *index.View, text string, f *catalogv1.Filter, by catalogv1.Sort) []string {
	t.Helper()
	result, err := v.Search(context.Background(), v.Query(TestVocabulary(t), text), index.NewFilter(f), by)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range result.Counted() {
		out = append(out, h.ID())
	}
	return out
}

// Search returns the ids that a replica finds for the words.
func Search(t *testing.T, b index.Backend, storeID, words string) []string {
	t.Helper()
	var out []string
	err := b.Read(t.Context(), storeID, nil, func(v *index.View) error {
		out = HitIDs(t, v, words, nil, catalogv1.Sort_SORT_UNSPECIFIED)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func Expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// ForgetChanges makes the catalog forget what has changed in the partitions of products.
func ForgetChanges(t *testing.T, s catalog.Store, storeID string, productIDs ...string) {
	t.Helper()
	for _, id := range productIDs {
		if err := s.Redis.Del(t.Context(), catalog.KeysOf(storeID, id).Changes).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Redis forgets the last writes when it is killed before they are on disk, or before its replica has them.
func (x suite) testAForgottenWriteIsForgottenByReplicasToo(t *testing.T) {
	rdb := servicetest.Redis(t)
	writer, reader := x.catalog(t, rdb), x.catalog(t, rdb)
	kept := Put(t, writer.Catalog, "s1", catalogtest.Thing("P-1", "old lamp"))
	forgotten := Put(t, writer.Catalog, "s1", catalogtest.Thing("P-2", "red lamp"))
	Expect(t, "before", Search(t, reader, "s1", "lamp"), "P-1", "P-2")
	keys := catalog.KeysOf("s1", "P-2")
	before, err := rdb.XRange(t.Context(), keys.Changes, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		rdb.XDel(t.Context(), keys.Changes, before[len(before)-1].ID).Err(),
		rdb.HDel(t.Context(), keys.Products, "P-2").Err(),
		rdb.Del(t.Context(), keys.Version).Err(),
		rdb.Set(t.Context(), catalog.VersionKey("s1"), kept, 0).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for time.Now().UnixMilli() <= forgotten { // no server is up again within a millisecond
	}
	Put(t, writer.Catalog, "s1", catalogtest.Thing("P-3", "blue lamp"))
	Expect(t, "after", Search(t, reader, "s1", "lamp"), "P-3", "P-1")
}

// What both implementations of the index must do, beside what the tests of ranks, filters and tools say.

// SearchSorted returns the ids that a replica finds for the words, in order of id.
func SearchSorted(t *testing.T, b index.Backend, storeID, words string) []string {
	t.Helper()
	out := Search(t, b, storeID, words)
	slices.Sort(out)
	return out
}

// entryOf is the product of an identifier as a model may write it. Nil: there is none.
func entryOf(t *testing.T, v *index.View, id string) *index.Entry {
	t.Helper()
	es, err := v.Index.Products(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return es[0]
}

// title is that of a product, by an identifier as a model may write it. Empty: there is none.
func title(t *testing.T, c *Replica, storeID, id string) (out string) {
	t.Helper()
	err := c.Read(t.Context(), storeID, nil, func(v *index.View) error {
		es, err := v.Index.Products(t.Context(), []string{id})
		if err == nil && es[0] != nil {
			out = es[0].Product.GetTitle()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func Remove(t *testing.T, s catalog.Store, storeID, id string) {
	t.Helper()
	if deleted, err := s.Remove(t.Context(), storeID, id); err != nil || !deleted {
		t.Fatalf("remove %s: %v, %v", id, deleted, err)
	}
}

func (x suite) testWritesAreSeenByEveryReplica(t *testing.T) {
	rdb := servicetest.Redis(t)
	a, b := x.catalog(t, rdb), x.catalog(t, rdb)
	Put(t, a.Catalog, "s1", catalogtest.Thing("P-1", "green lamp"))
	Expect(t, "written by the other", SearchSorted(t, b, "s1", "lamp"), "P-1")
	Put(t, b.Catalog, "s1", catalogtest.Thing("P-2", "red lamp"), catalogtest.Thing("P-1", "green chair"))
	Expect(t, "by its old name", SearchSorted(t, a, "s1", "lamp"), "P-2")
	Expect(t, "by its new name", SearchSorted(t, a, "s1", "chair"), "P-1")
	dearer := catalogtest.Thing("P-2", "red lamp")
	dearer.Variants[0].Price, dearer.Tags = catalogtest.Eur(900), []string{"indoor"}
	Put(t, a.Catalog, "s1", dearer)
	err := b.Read(t.Context(), "s1", nil, func(v *index.View) error {
		cheap := &catalogv1.Filter{MaxPrice: catalogtest.Eur(500)}
		Expect(t, "at its old price", HitIDs(t, v, "lamp", cheap, catalogv1.Sort_SORT_UNSPECIFIED))
		Expect(t, "at the price of another", HitIDs(t, v, "", cheap, catalogv1.Sort_SORT_UNSPECIFIED), "P-1")
		if v.Statistics.Products != 2 || v.Statistics.Tags["indoor"] != 1 {
			t.Errorf("facts %+v", v.Statistics)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := title(t, a, "s1", "[#p-1]"); got != "green chair" {
		t.Errorf("P-1 by an identifier in another case is %q", got)
	}
	Remove(t, a.Catalog, "s1", "P-2")
	Expect(t, "deleted by the other", SearchSorted(t, b, "s1", "lamp"))
	Expect(t, "all that is left", SearchSorted(t, b, "s1", ""), "P-1")
	Put(t, b.Catalog, "s1", catalogtest.Thing("P-2", "red lamp"))
	Expect(t, "back again", SearchSorted(t, a, "s1", "lamp"), "P-2")
	Remove(t, a.Catalog, "s1", "P-1")
	Remove(t, a.Catalog, "s1", "P-2")
	Expect(t, "nothing left", SearchSorted(t, b, "s1", ""))
}

func (x suite) testStoresDoNotSeeEachOther(t *testing.T) {
	c := x.catalog(t, servicetest.Redis(t))
	Put(t, c.Catalog, "s1", catalogtest.Thing("P-1", "green lamp"))
	Put(t, c.Catalog, "s.1", catalogtest.Thing("P-1", "red lamp"), catalogtest.Thing("P-2", "lamp"))
	Expect(t, "the first store", SearchSorted(t, c, "s1", "lamp"), "P-1")
	Expect(t, "the second store", SearchSorted(t, c, "s.1", ""), "P-1", "P-2")
	if got := title(t, c, "s.1", "P-1"); got != "red lamp" {
		t.Errorf("P-1 of the second store is %q", got)
	}
	if got := title(t, c, "s1", "P-2"); got != "" {
		t.Errorf("the first store has %q of the second", got)
	}
	Expect(t, "an unknown store", SearchSorted(t, c, "s3", "lamp"))
	Expect(t, "an unknown store, everything", SearchSorted(t, c, "s3", ""))
}

func (x suite) testMissedChangesAreMadeUpFor(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, c *Replica){
		"when the changes were trimmed": func(t *testing.T, c *Replica) {
			Put(t, c.Catalog, "s1", catalogtest.Thing("P-2", "red lamp"), catalogtest.Thing("P-9", "lamp"))
			Remove(t, c.Catalog, "s1", "P-9")
			Remove(t, c.Catalog, "s1", "P-0")
			Put(t, c.Catalog, "s1", catalogtest.Thing("P-3", "blue chair"))
			ForgetChanges(t, c.Catalog, "s1", "P-0", "P-2", "P-3", "P-9")
		},
		"when the store was lost and filled again": func(t *testing.T, c *Replica) {
			version, err := c.Catalog.Version(t.Context(), "s1")
			if err := errors.Join(err, c.Catalog.Redis.FlushDB(t.Context()).Err()); err != nil {
				t.Fatal(err)
			}
			for time.Now().UnixMilli() <= version { // nobody loses and fills a store within a millisecond
			}
			Put(t, c.Catalog, "s1", catalogtest.Thing("P-1", "old lamp"), catalogtest.Thing("P-2", "red lamp"))
		},
		"when the version went backwards": func(t *testing.T, c *Replica) {
			Put(t, c.Catalog, "s1", catalogtest.Thing("P-2", "red lamp"))
			Remove(t, c.Catalog, "s1", "P-0")
			if err := c.Catalog.Redis.Set(t.Context(), catalog.VersionKey("s1"), 7, 0).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := servicetest.Redis(t)
			writer, reader := x.catalog(t, rdb), x.catalog(t, rdb)
			Put(t, writer.Catalog, "s1", catalogtest.Thing("P-1", "old lamp"), catalogtest.Thing("P-0", "dim lamp"))
			Expect(t, "before", SearchSorted(t, reader, "s1", "lamp"), "P-0", "P-1")
			harm(t, writer)
			Expect(t, "after", SearchSorted(t, reader, "s1", "lamp"), "P-1", "P-2")
		})
	}
}

func (x suite) testManyReplicasWriteAtOnce(t *testing.T) {
	rdb := servicetest.Redis(t)
	catalogs := []*Replica{x.catalog(t, rdb), x.catalog(t, rdb), x.catalog(t, rdb)}
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 8 {
				id := fmt.Sprintf("P-%d-%d", w, i)
				Put(t, catalogs[w].Catalog, "s1", catalogtest.Thing(id, "lamp"), catalogtest.Thing("SHARED", fmt.Sprintf("shade %d %d", w, i)))
				if got := Search(t, catalogs[(w+i)%3], "s1", "lamp"); !slices.Contains(got, id) {
					t.Errorf("%s is not seen after its write: %v", id, got)
				}
			}
		})
	}
	wg.Wait()
	for i, c := range catalogs {
		if got := len(Search(t, c, "s1", "lamp")); got != 24 {
			t.Errorf("replica %d finds %d products, want 24", i, got)
		}
		Expect(t, "a product that all have written", Search(t, c, "s1", "shade"), "SHARED")
	}
	err := catalogs[0].Read(t.Context(), "s1", nil, func(v *index.View) error {
		if v.Statistics.Products != 25 || v.Statistics.Categories["thing"] != "Things" || v.Statistics.CategoryProducts["thing"] != 25 {
			t.Errorf("facts %+v", v.Statistics)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (x suite) testUpdatesAreVersionedAndSearched(t *testing.T) {
	rdb := servicetest.Redis(t)
	writer, reader := x.catalog(t, rdb), x.catalog(t, rdb)
	version := Put(t, writer.Catalog, "s1", catalogtest.MarkedDown(), catalogtest.Thing("P-2", "red lamp"))
	inStock := func() []string {
		var out []string
		err := reader.Read(t.Context(), "s1", nil, func(v *index.View) error {
			out = HitIDs(t, v, "lamp", &catalogv1.Filter{InStock: true}, catalogv1.Sort_SORT_PRICE_ASCENDING)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	Expect(t, "before", inStock(), "P-2", "P-1")
	update := func(above int64, updates ...*catalogv1.VariantUpdate) int64 {
		t.Helper()
		version, refused, err := writer.Catalog.Update(t.Context(), "s1", updates)
		if err != nil || len(refused) > 0 || version <= above {
			t.Errorf("version %d, refused %v, %v; want a version above %d", version, refused, err, above)
		}
		return version
	}
	version = update(version, catalogtest.Stocks("P-2", "std", 0))
	Expect(t, "sold out", inStock(), "P-1")
	if same := update(-1, catalogtest.Stocks("P-2", "std", 0)); same != 0 {
		t.Errorf("an update that changes nothing made version %d, which replicas have to catch up with", same)
	}
	version = update(version, catalogtest.Stocks("P-2", "std", 0), catalogtest.Stocks("P-1", "b", 9), catalogtest.Priced("P-1", "a", catalogtest.Eur(1), nil))
	update(version, catalogtest.Stocks("P-2", "std", 1))
	Expect(t, "back, and dearer than the other now", inStock(), "P-1", "P-2")
}

// CountingEmbedder counts the texts that it was given.
type CountingEmbedder struct{ Texts atomic.Int64 }

func (e *CountingEmbedder) Query(context.Context, string) (embed.Vector, error) {
	return embed.Vector{1}, nil
}

func (e *CountingEmbedder) Documents(_ context.Context, texts []string) ([]embed.Vector, error) {
	e.Texts.Add(int64(len(texts)))
	return slices.Repeat([]embed.Vector{{1}}, len(texts)), nil
}
