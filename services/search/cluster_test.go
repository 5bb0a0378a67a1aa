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

// clusterCatalog is a catalog whose products are in the cluster at an address.
func clusterCatalog(t *testing.T, rdb redis.UniversalClient, url string) *catalog {
	t.Helper()
	client, err := weaviate.New(url, "")
	if err != nil {
		t.Fatal(err)
	}
	c := newCatalog(store{rdb: rdb}, nil)
	c.cluster = newCluster(c.store, client, testVocabulary(t), slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
		client.Close()
	})
	return c
}

func TestSmoke(t *testing.T) {
	url := weaviatetest.Start(t, 1).URL()
	c := clusterCatalog(t, servicetest.Redis(t), url)
	put(t, c, "s1", outdoor()...)
	expect(t, "boot", search(t, c, "s1", "hiking boot"), "BOOT-1")
	err := c.read(t.Context(), "s1", func(v *view) error {
		got := ids(t, v, "trail running shoes", &catalogv1.Filter{InStock: true, Options: map[string]string{"size": "42"}}, 0)
		t.Log(got, v.facts)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
