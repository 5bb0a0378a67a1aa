package search

import (
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// BenchmarkSearchCatalog is one call of the tool in the demo store, as a specialist makes it.
func BenchmarkSearchCatalog(b *testing.B) {
	sets, err := demo.Load(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	if err != nil {
		b.Fatal(err)
	}
	service, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(b), Model: scripted.New()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = service.Close() })
	if _, err := service.catalog.store.put(b.Context(), "demo", sets[0].Products); err != nil {
		b.Fatal(err)
	}
	limit := 150.0
	known := specialist.NewOnce(service.catalog.versionOf("demo")) // as while the model thinks
	version := known.Get
	for name, in := range map[string]searchArgs{
		"words":        {Query: "trail running shoes"},
		"with options": {Query: "waterproof hiking boots", Options: map[string]any{"size": "42"}, MaxPrice: &limit},
		"a typo":       {Query: "slepeing bag"},
		"an id":        {Query: "TR-SHOE-005", Options: map[string]any{"size": "42"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				turn := &specialist.Turn{Scope: scope.Scope{StoreID: "demo"}, Findings: &specialist.Findings{}}
				if _, err := service.searchTool(b.Context(), turn, version, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
