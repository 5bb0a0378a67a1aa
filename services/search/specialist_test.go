package search

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// callTool runs search_catalog on the outdoor store as a model would.
func callTool(t *testing.T, arguments string) (searchResult, error) {
	t.Helper()
	return backendUnderTest{}.callTool(t, arguments)
}

func (ix backendUnderTest) callTool(t *testing.T, arguments string, more ...*catalogv1.Product) (searchResult, error) {
	t.Helper()
	service := ix.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
	indextest.Put(t, service.store, "s1", append(catalogtest.Outdoor(), more...)...)
	turn := &specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}}
	tool := service.tools(turn)[0]
	value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: arguments})
	if err != nil {
		return searchResult{}, err
	}
	return value.(searchResult), nil
}

func TestNoProductIsAbsentOnlyIfTheCatalogLacksEveryWord(t *testing.T) {
	for _, tt := range []struct {
		asked, language, query, note string
		absent                       bool
	}{
		{"do you sell kayaks?", "en", "kayaks", `Nothing in the catalog matches "kayaks". The store sells`, true},
		{"Verkauft ihr Kajaks?", "de", "kayak", `Nothing in the catalog matches "kayak". The store sells`, true}, // a model's word
		{"Verkauft ihr Kajaks?", "de", "Kajaks", `Nothing in the catalog matches "kayak". The store sells`, false},
		{"a waterproof kayak with a paddle", "en", "waterproof kayak paddle", `"waterproof kayak paddle"; some products match only "waterproof".`, false},
		{"is QX-2211 late?", "en", "QX-2211 late", `Nothing in the catalog matches "qx 2211 late"`, false}, // perhaps an order's number
		{"a tent", "en", "tent", "", false},
	} {
		service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
		indextest.Put(t, service.store, "s1", catalogtest.Outdoor()...)
		turn := &specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, SubQuery: tt.asked, Language: tt.language, Findings: &specialist.Findings{}}
		got, err := servicetest.Run[searchResult](t.Context(), t, service.tools(turn), catalogTool, `{"query":"`+tt.query+`"}`)
		if err != nil || !strings.Contains(got.Note, tt.note) {
			t.Errorf("%s, %q: note %q, %v; want %q", tt.asked, tt.query, got.Note, err, tt.note)
		}
		kept, err := json.Marshal(turn.Findings)
		if err != nil {
			t.Fatal(err)
		}
		if is := strings.Contains(string(kept), `"absent":1`); is != tt.absent {
			t.Errorf("%s, %q: absent %v, want %v; %s", tt.asked, tt.query, is, tt.absent, kept)
		}
	}
}

// Bottles have a capacity to choose, backpacks one that they are described by.
func (ix backendUnderTest) testAnOptionOfSomeIsAnAttributeOfOthers(t *testing.T) {
	bottle := catalogtest.Thing("BOTTLE-1", "Steel bottle")
	bottle.Variants[0].Options = map[string]string{"capacity": "0.5 l"}
	for capacity, want := range map[string]int{"30 l": 1, "90 l": 0} {
		got, err := ix.callTool(t, `{"query":"backpack","options":{"capacity":"`+capacity+`"}}`, bottle)
		if err != nil || got.Total != want || len(got.Products) == 0 || got.Products[0].ProductID != "PACK-1" {
			t.Errorf("%s: %+v, %v", capacity, got, err)
		}
	}
}

func (ix backendUnderTest) testSearchTool(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		want      []string // product ids
		total     int
		note      []string // parts of the note; none: no note
	}{
		"a plain search":       {`{"query":"trail running shoes"}`, []string{"SHOE-1", "SHOE-2"}, 2, nil},
		"sold out is left out": {`{"query":"trail running shoes","options":{"size":"42"}}`, []string{"SHOE-2"}, 1, nil},
		"sold out on request": {
			`{"query":"trail running shoes","options":{"size":"42"},"in_stock":false}`, []string{"SHOE-1", "SHOE-2"}, 2, nil,
		},
		"only sold out ones fit": {
			`{"query":"headlamp"}`, nil, 0, []string{"Sold out: Glowworm 300 headlamp."},
		},
		"sold out in a size, others as alternatives": {
			`{"query":"kestrel trail running shoes","brand":"Kestrel","options":{"size":"42"}}`, []string{"SHOE-1"}, 0,
			[]string{"Sold out in size 42: Kestrel Ridge trail running shoe. 1 product would fit if not in size 42. The products listed are the nearest alternatives"},
		},
		"a size that is not made": {
			`{"query":"trail running shoes","options":{"size":52}}`, []string{"SHOE-1", "SHOE-2"}, 0,
			[]string{"No trail running shoes in size 52; sizes in stock are 36 to 47. 2 products would fit otherwise. The products listed"},
		},
		"a budget too small": {
			`{"query":"tents","max_price":50}`, []string{"TENT-1", "TENT-2"}, 0,
			[]string{"No tents at or below 50.00 EUR; the lowest price is 289.95 EUR."},
		},
		"an option of other kinds of products": {
			`{"query":"tents","options":{"size":"42"}}`, []string{"TENT-1", "TENT-2"}, 2, []string{`None of these products has the option "size", so it was not checked.`},
		},
		"a brand that is not sold": {
			`{"query":"tents","brand":"Nobody"}`, []string{"TENT-1", "TENT-2"}, 0,
			[]string{"No tents by Nobody; there are some by Heronry."},
		},
		"a category that does not exist": {
			`{"query":"tents","category":"Alpine shelters"}`, []string{"TENT-1", "TENT-2"}, 2,
			[]string{`no category "Alpine shelters"`, `Nothing in the catalog matches "alpine", "shelters"`},
		},
		"a category by the end of its name": {`{"query":"","category":"running shoes"}`, []string{"SHOE-1", "SHOE-2"}, 2, nil},
		"a category as a path":              {`{"query":"","category":"Camping > Tents"}`, []string{"TENT-1", "TENT-2"}, 2, nil},
		"an attribute that is an option":    {`{"query":"tents","attributes":{"color":"green"}}`, []string{"TENT-1"}, 1, nil},
		"an option that is an attribute":    {`{"query":"shoes","options":{"waterproof":true}}`, []string{"SHOE-2"}, 1, nil},
		"a fact that nobody records": {
			`{"query":"tents","attributes":{"porch":"true"}}`, []string{"TENT-1", "TENT-2"}, 2,
			[]string{`does not record "porch"`},
		},
		"something the store lacks": {
			`{"query":"gaming laptop"}`, nil, 0,
			[]string{`Nothing in the catalog matches "gaming laptop".`, "Bags, Camping, Clothing, Equipment, Footwear"},
		},
		"the cheapest of a kind":      {`{"query":"tents","sort":"price_low_to_high","limit":1}`, []string{"TENT-1"}, 2, nil},
		"the dearest of a kind":       {`{"query":"tents","sort":"price_high_to_low","limit":1}`, []string{"TENT-2"}, 2, nil},
		"a product by its id":         {`{"query":"#tent-1"}`, []string{"TENT-1"}, 1, nil},
		"how many under a price":      {`{"query":"","max_price":40,"limit":1}`, []string{"LAMP-2"}, 3, nil},
		"a vague word beside a price": {`{"query":"light backpack","max_price":100}`, []string{"PACK-1"}, 1, nil},
		"a note names no more than it means": {
			`{"query":"kestrel hiking boots","max_price":50}`, []string{"BOOT-1"}, 0, []string{`Nothing for "kestrel hiking boots" at or below 50.00 EUR`},
		},
		"a note names the measure": {
			`{"query":"tent 4 people"}`, []string{"TENT-1", "TENT-2"}, 2, []string{`Nothing in the catalog matches "4 people"`},
		},
		"a word that other products have": {
			`{"query":"merino tents"}`, []string{"TENT-1", "TENT-2"}, 2, []string{`None of the products listed matches "merino"`},
		},
		"one word that is not known": {`{"query":"carbon tents"}`, []string{"TENT-1", "TENT-2"}, 2, []string{`Nothing in the catalog matches "carbon"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ix.callTool(t, c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, p := range got.Products {
				found = append(found, p.ProductID)
			}
			if c.total != 1 && !strings.Contains(c.arguments, `"limit"`) {
				slices.Sort(found)
			}
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Errorf("products (-want +got):\n%s", diff)
			}
			if got.Total != c.total {
				t.Errorf("total %d, want %d", got.Total, c.total)
			}
			for _, part := range c.note {
				if !strings.Contains(got.Note, part) {
					t.Errorf("note %q does not say %q", got.Note, part)
				}
			}
			if c.note == nil && got.Note != "" {
				t.Errorf("note %q, want none", got.Note)
			}
		})
	}
}

func TestSearchToolRefusesWithAdvice(t *testing.T) {
	for arguments, advice := range map[string]string{
		`{"query":"tents","sort":"cheapest"}`:              "price_low_to_high",
		`{"query":"tents","limit":50}`:                     "use 1 to 20",
		`{"query":"tents","min_price":50,"max_price":20}`:  "swap them",
		`{"query":"tents","max_price":-1}`:                 "zero or more",
		`{"query":"` + strings.Repeat("tent ", 300) + `"}`: "few words",
	} {
		if _, err := callTool(t, arguments); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("%.60s: error %v does not say %q", arguments, err, advice)
		}
	}
}

func TestSearchToolResultAsTheModelReadsIt(t *testing.T) {
	got, err := callTool(t, `{"query":"trail running shoes","options":{"size":"41"},"brand":"kestrel"}`)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "products": [
    {
      "product_id": "SHOE-1",
      "title": "Kestrel Ridge trail running shoe",
      "price": "119.95 EUR",
      "variant_id": "s41",
      "options": {
        "colour": [
          "slate"
        ],
        "size": [
          "41"
        ]
      },
      "stock": 3,
      "details": "waterproof no; weight 290 g; gender unisex"
    }
  ],
  "total": 1,
  "price_range": "119.95 EUR"
}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

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
	if _, err := service.store.Put(b.Context(), "demo", sets[0].Products); err != nil {
		b.Fatal(err)
	}
	limit := 150.0
	known := specialist.Memoise(func(ctx context.Context) (int64, error) { return service.store.Version(ctx, "demo") }) // as while the model thinks
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
				if _, err := service.searchTool(b.Context(), turn, version, bilingualArgs{searchArgs: in}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSearchToolInOtherLanguages calls the tool as models do in stores whose catalogs are not in English, or not in one language.
func TestSearchToolInOtherLanguages(t *testing.T) {
	coat := catalogtest.Described("COAT-1", "Dotterel coat", "A warm layer of wool for the coldest of days.", "Coats")
	mug := catalogtest.Described("MUG-1", "Enamel mug", "The mug is light and it does not break when you drop it.", "Mugs")
	german := catalogtest.German()
	for _, p := range german {
		p.ProductId += "-1" // words are no ids
	}
	for name, c := range map[string]struct {
		products       []*catalogv1.Product
		ask, arguments string
		want           []string
		languages      string // as the definition names them
	}{
		"the query is in the catalog's language": {german, "Do you have a coat?", `{"query":"Mantel"}`, []string{"MANTEL-1"}, "in German."},
		"the shopper's words count if the query's are unknown": {
			german, "Habt ihr einen Mantel?", `{"query":"coat"}`, []string{"MANTEL-1"}, "in German."},
		"the shopper's words do not count if the query's are known": {
			german, "Habt ihr einen Mantel?", `{"query":"Hose"}`, []string{"HOSE-1"}, "in German."},
		"the query is in English":  {german, "Do you have a coat?", `{"query":"coat"}`, []string{"MANTEL-1"}, "in German."},
		"a word that nobody knows": {german, "Do you have a zeppelin?", `{"query":"zeppelin"}`, nil, "in German."},
		"both languages of a catalog": {
			append(german, coat, mug), "Habt ihr einen Mantel?", `{"query":"Mantel","translation":"coat"}`, []string{"COAT-1", "MANTEL-1"},
			"in German and English."},
		"a translation that finds nothing": {
			append(german, coat, mug), "Habt ihr einen Mantel?", `{"query":"Mantel","translation":"overgarment"}`, []string{"MANTEL-1"},
			"in German and English."},
		"an English catalog": {[]*catalogv1.Product{coat, mug}, "Habt ihr einen Becher?", `{"query":"mug"}`, []string{"MUG-1"}, "in English."},
	} {
		t.Run(name, func(t *testing.T) {
			service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
			indextest.Put(t, service.store, "s1", c.products...)
			tools := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, SubQuery: c.ask, Findings: &specialist.Findings{}})
			service.fitTools(t.Context(), "s1", tools)
			if !strings.HasSuffix(tools[0].Description, " The catalog is "+c.languages) {
				t.Errorf("the description ends in %q", tools[0].Description)
			}
			if several := strings.Contains(string(tools[0].Parameters), "translation"); several != strings.Contains(c.languages, " and ") {
				t.Errorf("a translation is asked for: %v", several)
			}
			value, err := tools[0].Run(t.Context(), agentloop.ToolCall{Name: catalogTool, Arguments: c.arguments})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range value.(searchResult).Products {
				got = append(got, p.ProductID)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestSearchToolListsTheNearestWhenAWordIsUnknown(t *testing.T) {
	result, err := callTool(t, `{"query":"tent zeppelin"}`)
	if err != nil {
		t.Fatal(err)
	}
	if result.Total != 0 || len(result.Products) == 0 || !strings.Contains(result.Note, `the first not "zeppelin"`) {
		t.Errorf("%d in total, %d listed, note %q; want tents, not counted, and the word that they lack", result.Total, len(result.Products), result.Note)
	}
}

func TestSearchToolSaysThatNegationsAreNotChecked(t *testing.T) {
	kettle := catalogtest.Described("KETTLE-9", "Brine kettle", "It has a lid.", "Kettles")
	result, err := backendUnderTest{}.callTool(t, `{"query":"kettle without lid"}`, kettle)
	if err != nil {
		t.Fatal(err)
	}
	if want := `does not check "without lid"`; result.Total != 1 || !strings.Contains(result.Note, want) {
		t.Errorf("%d in total, note %q; want the kettle, and %q", result.Total, result.Note, want)
	}
}

func TestALookUpByIDSaysWhichOptionTheProductDoesNotHave(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"query":"SHOE-1","options":{"size":"99"}}`:      "It does not come in size 99; there is ",
		`{"query":"SHOE-1","options":{"fabric":"tweed"}}`: `does not record "fabric"`,
	} {
		result, err := callTool(t, arguments)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Products) != 1 || !strings.Contains(result.Note, want) {
			t.Errorf("%s: %d products, note %q; want one and %q", arguments, len(result.Products), result.Note, want)
		}
	}
}
