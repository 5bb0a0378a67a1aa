package weaviate

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

var million = flag.Bool("million", false, "BenchmarkSearch also writes 1,000,000 products, which takes half an hour")

const (
	// putAtOnce is how many products the benchmark writes to Redis at once.
	putAtOnce = 1_000
	// fillTime bounds the fill, of which a read waits for a part only.
	fillTime = 3 * time.Hour
	// settleTime bounds how long the server is queried before it is measured, while it merges what was written. At 1,000,000 products that takes
	// it some minutes, and doubles the times of queries.
	settleTime = 30 * time.Minute
	// idleTime is how long it must be idle.
	idleTime = 5 * time.Second
)

// BenchmarkSearch puts ten kinds of queries to a cluster of one node, one at a time. The node has stores of all sizes, and each kind is put to one
// after the other, so that a machine that is slower at times slows all of them. docs/search.md has the command.
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
	sizes := []int{19_406, 200_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	nodes := weaviatetest.Start(b, 1, "GOMEMLIMIT=8GiB", "GOGC=400", "PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=5")
	client, err := weaviate.New(nodes.URL(), "")
	if err != nil {
		b.Fatal(err)
	}
	rdb, err := state.Open(b.Context(), redistest.Single(b))
	if err != nil {
		b.Fatal(err)
	}
	c := New(catalog.Store{Redis: rdb}, client, nil, slog.New(slog.DiscardHandler))
	b.Cleanup(func() { _ = c.Close(); client.Close(); _ = rdb.Close() })
	words := index.NewVocabulary(nil)
	read := func(n int, query string, f *catalogv1.Filter, by catalogv1.Sort) error {
		return c.Read(b.Context(), fmt.Sprint("s", n), nil, func(v *index.View) error {
			_, err := v.Search(b.Context(), v.Query(words, query), index.NewFilter(f), by)
			return err
		})
	}
	products := indextest.PublicProducts(b)
	for _, n := range sizes {
		for i := 0; i < n; i += putAtOnce {
			var batch []*catalogv1.Product
			for j := i; j < min(n, i+putAtOnce); j++ {
				batch = append(batch, indextest.GrownAt(products, j))
			}
			if _, err := c.store.Put(b.Context(), fmt.Sprint("s", n), batch); err != nil {
				b.Fatal(err)
			}
		}
		begun, server, replica := time.Now(), nodes.Node(0).ProcessorTime(), processorTime()
		for err = read(n, "", nil, 0); err != nil && time.Since(begun) < fillTime; err = read(n, "", nil, 0) {
			b.Logf("the fill goes on after %v", err)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d products are written after %v, with %v of the server's processor time and %v of the replica's", n,
			time.Since(begun).Round(time.Second), nodes.Node(0).ProcessorTime()-server, processorTime()-replica)
	}
	for begun, isIdle := time.Now(), false; err == nil && !isIdle && time.Since(begun) < settleTime; {
		for _, n := range sizes {
			for _, k := range kinds {
				err = errors.Join(err, read(n, k.query, k.filter, k.by))
			}
		}
		used := nodes.Node(0).ProcessorTime()
		time.Sleep(idleTime)
		isIdle = nodes.Node(0).ProcessorTime()-used < idleTime/10
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range kinds {
		for _, n := range sizes {
			b.Run(fmt.Sprint(k.name, "/", n), func(b *testing.B) {
				var durations []time.Duration
				server, replica := nodes.Node(0).ProcessorTime(), processorTime()
				for b.Loop() {
					begun := time.Now()
					if err := read(n, k.query, k.filter, k.by); err != nil {
						b.Fatal(err)
					}
					durations = append(durations, time.Since(begun))
				}
				each := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(len(durations)) }
				b.ReportMetric(each(nodes.Node(0).ProcessorTime()-server), "server-ms")
				b.ReportMetric(each(processorTime()-replica), "replica-ms")
				slices.Sort(durations)
				for _, q := range []int{50, 99} {
					b.ReportMetric(float64(durations[len(durations)*q/100])/float64(time.Millisecond), fmt.Sprintf("p%d-ms", q))
				}
			})
		}
	}
}

// processorTime is how long this program has used a processor.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // never fails for the program itself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
