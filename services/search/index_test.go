package search

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
)

// backing is an implementation of the index. The zero value is that in memory.
type backing struct {
	client *weaviate.Client // of a cluster
}

// TestIndexInMemory and TestIndexInCluster are one suite: a search says the same whichever it goes by.
func TestIndexInMemory(t *testing.T) { backing{}.suite(t) }

func TestIndexInCluster(t *testing.T) {
	ix := backing{client: dialCluster(t, weaviatetest.Start(t, 1).URL())}
	ix.suite(t)
	t.Run("more than one answer holds", ix.testMoreThanOneAnswerHolds)
	t.Run("what was lost is filled in", ix.testWhatWasLostIsFilledIn)
	t.Run("a product that is written while it is found", ix.testAProductThatIsWrittenWhileItIsFound)
	t.Run("a search that is overtaken is made again", ix.testASearchThatIsOvertakenIsMadeAgain)
	t.Run("says what memory says", ix.testSaysWhatMemorySays)
}

func (ix backing) suite(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"search", ix.testSearch},
		{"modifiers", ix.testModifiers},
		{"marked presents come first", ix.testMarkedPresentsComeFirst},
		{"typos are near in length and name", ix.testTyposAreNearInLengthAndName},
		{"order", ix.testOrder},
		{"matching all words beats matching one", ix.testMatchingAllWordsBeatsMatchingOne},
		{"what is known to go together", ix.testWhatIsKnownToGoTogether},
		{"find similar", ix.testFindSimilar},
		{"queries are read in the language of the catalog", ix.testQueriesAreReadInTheLanguageOfTheCatalog},
		{"categories are named in the plural of their language", ix.testCategoriesAreNamedInThePluralOfTheirLanguage},
		{"catalog in two languages", ix.testCatalogInTwoLanguages},
		{"stray products in another language", ix.testStrayProductsInAnotherLanguage},
		{"stores have synonyms of their own", ix.testStoresHaveSynonymsOfTheirOwn},
		{"search tool knows the stores synonyms", ix.testSearchToolKnowsTheStoresSynonyms},
		{"what a product is comes before what it is for", ix.testWhatAProductIsComesBeforeWhatItIsFor},
		{"words meet however they are written", ix.testWordsMeetHoweverTheyAreWritten},
		{"captions say what a product is and sentences mention", ix.testCaptionsSayWhatAProductIsAndSentencesMention},
		{"a stray product makes no category", ix.testAStrayProductMakesNoCategory},
		{"filters counts and extremes are exact", ix.testFiltersCountsAndExtremesAreExact},
		{"filter", ix.testFilter},
		{"search products", ix.testSearchProducts},
		{"nothing found", ix.testNothingFound},
		{"search tool", ix.testSearchTool},
		{"legs that took part are named", ix.testLegsThatTookPartAreNamed},
		{"meaning adds only where words are unsure", ix.testMeaningAddsOnlyWhereWordsAreUnsure},
		{"vectors follow the products", ix.testVectorsFollowTheProducts},
		{"search goes on without legs that fail", ix.testSearchGoesOnWithoutLegsThatFail},
		{"search tool says what is merely near", ix.testSearchToolSaysWhatIsMerelyNear},
		{"writes are seen by every replica", ix.testWritesAreSeenByEveryReplica},
		{"stores do not see each other", ix.testStoresDoNotSeeEachOther},
		{"missed changes are made up for", ix.testMissedChangesAreMadeUpFor},
		{"many replicas write at once", ix.testManyReplicasWriteAtOnce},
		{"updates are versioned and searched", ix.testUpdatesAreVersionedAndSearched},
		{"a forgotten write is forgotten by replicas too", ix.testAForgottenWriteIsForgottenByReplicasToo},
	} {
		t.Run(c.name, c.test)
	}
}

func dialCluster(t *testing.T, url string) *weaviate.Client {
	t.Helper()
	client, err := weaviate.New(url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// catalog is one replica's.
func (ix backing) catalog(t *testing.T, rdb redis.UniversalClient) *catalog {
	t.Helper()
	c := newCatalog(store{rdb: rdb}, newBleveIndex)
	if ix.client != nil {
		c.cluster = newCluster(c.store, ix.client, nil, slog.New(slog.DiscardHandler))
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// view is a view of products, good until the test ends.
func (ix backing) view(t *testing.T, products []*catalogv1.Product) *view {
	t.Helper()
	if ix.client == nil {
		return testView(t, products)
	}
	c := ix.catalog(t, servicetest.Redis(t))
	for rest := products; len(rest) > 0; rest = rest[min(maxProductsABatch, len(rest)):] {
		put(t, c, "s1", rest[:min(maxProductsABatch, len(rest))]...)
	}
	var out *view
	if err := c.read(t.Context(), "s1", func(v *view) error { out = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// service is a service over the index.
func (ix backing) service(t *testing.T, cfg Config) *Service {
	t.Helper()
	cfg.Cluster = ix.client
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
