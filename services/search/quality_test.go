package search

import (
	"fmt"
	"log/slog"
	"math"
	"testing"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	weaviateclient "github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
	"github.com/quartet-commerce/quartet/services/search/index/memory"
	"github.com/quartet-commerce/quartet/services/search/index/weaviate"
)

const (
	// queriesTaken and othersTaken are which part of the judged queries and of the other products are taken: one in so many.
	queriesTaken, othersTaken = 5, 40
	// mostBelow and mostRecallBelow are how far the cluster may be below the index in memory. Most of these products are judged, so more
	// than the 200 that the cluster ranks are relevant in part; among all products, recall differs by 0.01.
	mostBelow, mostRecallBelow = 0.01, 0.05
	// fills is how often the cluster is filled, for a mean: batches are written at the same time, and recall differs by 0.01 from one fill to
	// the next.
	fills = 3
)

// It takes some queries and 1,250 products, since a cluster takes minutes to write all. docs/search.md has the figures of all, and the
// command.
func TestTheClusterRanksAsWellAsTheIndexInMemory(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	client, err := weaviateclient.New(weaviatetest.Start(t, 1).URL(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var queries []evalsearch.Query
	judged := make(map[string]bool)
	for _, file := range []string{"chorus/judgments.csv", "search/dev.csv"} {
		all, err := evalsearch.Judgments(publicdata.Open(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(all); i += queriesTaken {
			queries = append(queries, all[i])
			for id := range all[i].Grades {
				judged[id] = true
			}
		}
	}
	var products []*catalogv1.Product
	for i, p := range indextest.PublicProducts(t) {
		if judged[p.GetProductId()] || i%othersTaken == 0 {
			products = append(products, p)
		}
	}
	s := catalog.Store{Redis: servicetest.Redis(t)}
	logger := slog.New(slog.DiscardHandler)
	var inMemory, recallInMemory, inCluster, recallInCluster float64
	for i := range fills {
		store := fmt.Sprint("s", i+1)
		indextest.Put(t, s, store, products...)
		if i == 0 {
			inMemory, recallInMemory = quality(t, memory.New(s, nil, logger, memory.Options{}), store, queries)
		}
		ndcg, recall := quality(t, weaviate.New(s, client, nil, logger), store, queries)
		inCluster, recallInCluster = inCluster+ndcg/fills, recallInCluster+recall/fills
	}
	says := fmt.Sprintf("%d queries to %d products: nDCG@10 %.3f in memory, %.3f in the cluster; recall@100 %.3f, %.3f",
		len(queries), len(products), inMemory, inCluster, recallInMemory, recallInCluster)
	t.Log(says)
	if inCluster < inMemory-mostBelow || recallInCluster < recallInMemory-mostRecallBelow {
		t.Error("the cluster ranks worse than the index in memory: " + says)
	}
}

// quality returns the means of nDCG@10 and of recall@100 in a store over the queries that have a relevant product, and closes the backend.
func quality(t *testing.T, b index.Backend, store string, queries []evalsearch.Query) (ndcg, recall float64) {
	t.Helper()
	words, n := index.NewVocabulary(nil), 0.0
	for _, q := range queries {
		var hits []evalsearch.Hit
		err := b.Read(t.Context(), store, nil, func(v *index.View) error {
			found, err := v.Search(t.Context(), v.Query(words, q.Text), index.Filter{}, catalogv1.Sort_SORT_UNSPECIFIED)
			for _, h := range found.Hits[:min(100, len(found.Hits))] {
				hits = append(hits, evalsearch.Hit{ProductID: h.ID()})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		gain := evalsearch.NDCG(hits, q.Grades, 10)
		if math.IsNaN(gain) {
			continue
		}
		ndcg, recall, n = ndcg+gain, recall+recallOf(hits, q.Grades), n+1
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return ndcg / n, recall / n
}

// recallOf is which part of the relevant products are hits.
func recallOf(hits []evalsearch.Hit, grades map[string]int) float64 {
	var relevant, found float64
	for _, grade := range grades {
		if grade > 0 {
			relevant++
		}
	}
	for _, h := range hits {
		if grades[h.ProductID] > 0 {
			found++
		}
	}
	return found / relevant
}
