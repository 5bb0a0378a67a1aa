package weaviate

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// BenchmarkSearch puts ten kinds of queries to a cluster of one node, one at a time. docs/search.md has the command.
func BenchmarkSearch(b *testing.B) {
	usd := func(minor int64) *commonv1.Money { return &commonv1.Money{CurrencyCode: "USD", AmountMinor: minor} }
	kinds := []struct {
		name, query string
		filter      *catalogv1.Filter
		by          catalogv1.Sort
	}{
		{name: "one word", query: "notebook"},
		{name: "a word of a third", query: "black"},
		{name: "brand and type", query: "hp laserjet printer"},
		{name: "attributes", query: "kingston 8gb ddr4 ram"},
		{name: "misspelt", query: "keybord"},
		{name: "unknown", query: "xylophone"},
		{name: "sentence", query: "do you have a black usb cable for my printer"},
		{name: "filter", query: "printer", filter: &catalogv1.Filter{Brands: []string{"HP"}, MaxPrice: usd(20_000), InStock: true}},
		{name: "cheapest", query: "printer", by: catalogv1.Sort_SORT_PRICE_ASCENDING},
		{name: "no words", filter: &catalogv1.Filter{Brands: []string{"HP"}}},
	}
	for _, n := range []int{19_406, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			client, err := weaviate.New(weaviatetest.Start(b, 1).URL(), "")
			if err != nil {
				b.Fatal(err)
			}
			c := New(catalog.Store{Redis: servicetest.Redis(b)}, client, nil, slog.New(slog.DiscardHandler))
			b.Cleanup(func() { _ = c.Close(); client.Close() })
			begun := time.Now()
			for batch := range slices.Chunk(indextest.Grown(indextest.PublicProducts(b), n), 1_000) {
				if _, err := c.store.Put(b.Context(), "s1", batch); err != nil {
					b.Fatal(err)
				}
			}
			words := index.NewVocabulary(nil)
			read := func(query string, f *catalogv1.Filter, by catalogv1.Sort) {
				err := c.Read(b.Context(), "s1", nil, func(v *index.View) error {
					_, err := v.Search(b.Context(), v.Query(words, query), index.NewFilter(f), by)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			read("", nil, 0)
			b.Logf("%d products are written after %v", n, time.Since(begun).Round(time.Second))
			for _, k := range kinds {
				b.Run(k.name, func(b *testing.B) {
					var durations []time.Duration
					read(k.query, k.filter, k.by)
					for b.Loop() {
						begun := time.Now()
						read(k.query, k.filter, k.by)
						durations = append(durations, time.Since(begun))
					}
					slices.Sort(durations)
					for _, q := range []int{50, 99} {
						b.ReportMetric(float64(durations[len(durations)*q/100])/float64(time.Millisecond), fmt.Sprintf("p%d-ms", q))
					}
				})
			}
		})
	}
}
