package search

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

func TestMain(m *testing.M) {
	// bleve starts its workers when it is imported.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func text(name, value string) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Text{Text: value}}
}

func flag(name string, value bool) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Flag{Flag: value}}
}

func quantity(name string, value float64, unit string) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Number{Number: value}, Unit: unit}
}

func variant(id string, price int64, stock int32, options ...string) *catalogv1.Variant {
	v := &catalogv1.Variant{VariantId: id, Price: eur(price), Stock: stock, Options: map[string]string{}}
	for i := 0; i+1 < len(options); i += 2 {
		v.Options[options[i]] = options[i+1]
	}
	return v
}

// sizes makes a variant for each size, all of one price. Sizes in soldOut have no stock.
func sizes(price int64, from, to int, soldOut ...int) []*catalogv1.Variant {
	var out []*catalogv1.Variant
	for n := from; n <= to; n++ {
		stock := int32(3)
		for _, s := range soldOut {
			if s == n {
				stock = 0
			}
		}
		out = append(out, variant(fmt.Sprintf("s%d", n), price, stock, "size", fmt.Sprint(n), "colour", "slate"))
	}
	return out
}

// outdoor is a small catalog of invented products.
func outdoor() []*catalogv1.Product {
	return []*catalogv1.Product{
		{
			ProductId: "SHOE-1", Title: "Kestrel Ridge trail running shoe", Brand: "Kestrel",
			CategoryPath: []string{"Footwear", "Trail running shoes"}, Tags: []string{"trail running", "cushioned"},
			Attributes: []*catalogv1.Attribute{flag("waterproof", false), quantity("weight", 290, "g"), text("gender", "unisex")},
			Variants:   sizes(11995, 38, 47, 42), ComplementIds: []string{"SOCK-1", "LAMP-1"},
			Url: "https://shop.example/SHOE-1",
		},
		{
			ProductId: "SHOE-2", Title: "Moorhen Dash trail running shoe", Brand: "Moorhen",
			CategoryPath: []string{"Footwear", "Trail running shoes"}, Tags: []string{"trail running", "light"},
			Attributes: []*catalogv1.Attribute{flag("waterproof", true), quantity("weight", 250, "g"), text("gender", "women")},
			Variants:   sizes(8995, 36, 42),
		},
		{
			ProductId: "BOOT-1", Title: "Kestrel Fell hiking boot", Brand: "Kestrel", Description: "Not a running shoe.",
			CategoryPath: []string{"Footwear", "Hiking boots"}, Tags: []string{"hiking", "waterproof"},
			Variants: sizes(15995, 39, 46),
		},
		{
			ProductId: "SOCK-1", Title: "Moorhen trail sock", Brand: "Moorhen",
			CategoryPath: []string{"Clothing", "Socks"}, Tags: []string{"trail running"},
			Attributes: []*catalogv1.Attribute{text("material", "merino wool")},
			Variants:   []*catalogv1.Variant{variant("m", 1495, 20, "size", "M"), variant("l", 1495, 0, "size", "L")},
		},
		{
			ProductId: "TENT-1", Title: "Heronry Vale 2 tent", Brand: "Heronry",
			CategoryPath: []string{"Camping", "Tents"}, Tags: []string{"camping", "hiking"},
			Attributes: []*catalogv1.Attribute{quantity("persons", 2, "")},
			Variants:   []*catalogv1.Variant{variant("moss", 28995, 4, "colour", "moss green")},
		},
		{
			ProductId: "TENT-2", Title: "Heronry Manor 6 tent", Brand: "Heronry",
			CategoryPath: []string{"Camping", "Tents"}, Tags: []string{"camping", "family"},
			Variants: []*catalogv1.Variant{variant("std", 57995, 1)},
		},
		{
			ProductId: "PEG-1", Title: "Tent pegs, set of ten", Brand: "Heronry", Description: "For every tent.",
			CategoryPath: []string{"Camping", "Tent spares"}, Tags: []string{"camping"},
			Variants: []*catalogv1.Variant{variant("std", 995, 50)},
		},
		{
			ProductId: "LAMP-1", Title: "Glowworm 300 headlamp", Brand: "Glowworm",
			CategoryPath: []string{"Equipment", "Headlamps & lanterns"}, Tags: []string{"trail running", "camping"},
			Variants: []*catalogv1.Variant{variant("std", 3995, 0)},
		},
		{
			ProductId: "LAMP-2", Title: "Glowworm camp lantern", Brand: "Glowworm",
			CategoryPath: []string{"Equipment", "Headlamps & lanterns"}, Tags: []string{"camping"},
			Variants: []*catalogv1.Variant{variant("std", 2995, 7)},
		},
		{
			ProductId: "PACK-1", Title: "Heronry Stile 30 backpack", Brand: "Heronry",
			CategoryPath: []string{"Bags", "Backpacks"}, Tags: []string{"hiking"},
			Attributes: []*catalogv1.Attribute{quantity("capacity", 30, "l")},
			Variants:   []*catalogv1.Variant{variant("std", 9995, 6)},
		},
	}
}

// wardrobe is a catalog in which words of one query are met by products of several kinds.
func wardrobe() []*catalogv1.Product {
	jacket := func(id, title, description string, price int64, tags ...string) *catalogv1.Product {
		return &catalogv1.Product{
			ProductId: id, Title: title, Description: description, CategoryPath: []string{"Clothing", "Jackets"}, Tags: tags,
			Variants: []*catalogv1.Variant{variant("std", price, 3)},
		}
	}
	return []*catalogv1.Product{
		jacket("DOWN-1", "Fledge down jacket", "With a hood.", 18900, "down"),
		jacket("SYN-1", "Stoker synthetic jacket", "Warmer than down jackets once wet. With a hood.", 16900, "warm"),
		jacket("RAIN-1", "Squall jacket", "Sheds showers.", 7995, "waterproof"),
		{
			ProductId: "COVER-1", Title: "Pack cover", CategoryPath: []string{"Accessories"}, Tags: []string{"hiking", "waterproof"},
			Variants: []*catalogv1.Variant{variant("std", 1995, 3)},
		},
		{
			ProductId: "NOTE-1", Title: "Trail journal", CategoryPath: []string{"Accessories"}, Tags: []string{"hiking"},
			Variants: []*catalogv1.Variant{variant("std", 1795, 3)},
		},
		{
			ProductId: "LAMP-1", Title: "Glint light", Description: "Shows the way.", CategoryPath: []string{"Equipment"},
			Tags: []string{"camping"}, Variants: []*catalogv1.Variant{variant("std", 2995, 3)},
		},
	}
}

// testView is a view of products without Redis.
func testView(t *testing.T, products []*catalogv1.Product) *view {
	t.Helper()
	index, err := newBleveIndex()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	v := newView(index)
	if err := index.Update(t.Context(), products, nil); err != nil {
		t.Fatal(err)
	}
	v.take(products, nil)
	return v
}

func testVocabulary(t *testing.T) *vocabulary {
	t.Helper()
	return newVocabulary(nil)
}

func testCatalog(t *testing.T, rdb redis.UniversalClient) *catalog {
	t.Helper()
	c := newCatalog(store{rdb: rdb}, newBleveIndex)
	t.Cleanup(func() { _ = c.close() })
	return c
}

func put(t *testing.T, c *catalog, storeID string, products ...*catalogv1.Product) int64 {
	t.Helper()
	version, err := c.store.put(t.Context(), storeID, products)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// ids runs a search over the view and returns the ids of its hits.
func ids(t *testing.T, v *view, text string, f *catalogv1.Filter, by catalogv1.Sort) []string {
	t.Helper()
	result, err := v.search(context.Background(), v.query(testVocabulary(t), text), newFilter(f), by)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range result.hits {
		out = append(out, h.id())
	}
	return out
}
