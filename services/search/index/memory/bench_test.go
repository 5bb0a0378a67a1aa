package memory

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// benchSizes are those of the public catalog and of a large store.
var benchSizes = []int{19_406, 200_000}

// BenchmarkIndex builds the view of a catalog: its entries and its index. docs/evaluation.md has the command.
func BenchmarkIndex(b *testing.B) {
	products := indextest.PublicProducts(b)
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			products := indextest.Grown(products, n)
			before := heap()
			var v *snapshot
			for b.Loop() {
				if v != nil {
					_ = v.index.Close()
				}
				v = benchView(b, products)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "products/s")
			b.ReportMetric((heap()-before)/(1<<20), "MB")
			_ = v.index.Close()
			runtime.KeepAlive(products)
		})
	}
}

// BenchmarkLoad builds the same view from an index that was saved.
func BenchmarkLoad(b *testing.B) {
	products := indextest.PublicProducts(b)
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := catalog.Change{Put: indextest.Grown(products, n)}
			backend := &Backend{newIndex: newWordIndex, logger: slog.New(slog.DiscardHandler), options: Options{Folder: b.TempDir()}}
			for i := -1; i < 0 || b.Loop(); i++ { // the first builds it
				s, err := backend.build(b.Context(), "s1", all, false)
				if err != nil {
					b.Fatal(err)
				}
				backend.work.Wait() // until it is saved
				_ = s.index.Close()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "products/s")
		})
	}
}

// BenchmarkUpdate writes one product again, as a change of its price or stock does.
func BenchmarkUpdate(b *testing.B) {
	products := indextest.PublicProducts(b)
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			products := indextest.Grown(products, n)
			v := benchView(b, products)
			for i := 0; b.Loop(); i++ {
				if _, err := v.apply(b.Context(), catalog.Change{Put: products[i%n : i%n+1]}); err != nil {
					b.Fatal(err)
				}
			}
			_ = v.index.Close()
		})
	}
}

// BenchmarkSearch puts the public queries to a catalog, one at a time.
func BenchmarkSearch(b *testing.B) {
	products, queries := indextest.PublicProducts(b), indextest.PublicQueries(b)
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := benchView(b, indextest.Grown(products, n))
			s := index.NewVocabulary(nil)
			runtime.GC()
			var durations []time.Duration
			for i := 0; b.Loop(); i++ {
				begun := time.Now()
				req := &catalogv1.SearchProductsRequest{Query: queries[i%len(queries)]}
				f, err := v.view().Search(b.Context(), v.view().Query(s, req.GetQuery()), index.Filter{}, req.GetSort())
				if err != nil {
					b.Fatal(err)
				}
				f.Response(req.GetSort(), 10, nil)
				durations = append(durations, time.Since(begun))
			}
			slices.Sort(durations)
			for _, q := range []int{50, 99} {
				at := durations[len(durations)*q/100]
				b.ReportMetric(float64(at)/float64(time.Millisecond), fmt.Sprintf("p%d-ms", q))
			}
			_ = v.index.Close()
		})
	}
}

// benchView is a catalog in memory as a replica builds it.
func benchView(b *testing.B, products []*catalogv1.Product) *snapshot {
	b.Helper()
	words, err := newWordIndex()
	if err != nil {
		b.Fatal(err)
	}
	if err := words.Update(b.Context(), products, nil); err != nil {
		b.Fatal(err)
	}
	v := newSnapshot(words)
	v.update(products, nil)
	if err := v.locate(); err != nil {
		b.Fatal(err)
	}
	return v
}

// heap returns the bytes that live on the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
