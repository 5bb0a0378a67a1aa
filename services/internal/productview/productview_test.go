package productview_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
)

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func variant(id, size string, price int64, stock int32) *catalogv1.Variant {
	return &catalogv1.Variant{VariantId: id, Options: map[string]string{"size": size}, Price: eur(price), Stock: stock}
}

func jacket(variants ...*catalogv1.Variant) *catalogv1.Product {
	return &catalogv1.Product{
		ProductId: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel", CategoryPath: []string{"Clothing", "Rain jackets"},
		Url: "https://shop.example/JKT-1", Variants: variants,
		Attributes: []*catalogv1.Attribute{
			{Name: "waterproof", Value: &catalogv1.Attribute_Flag{Flag: true}},
			{Name: "weight", Value: &catalogv1.Attribute_Number{Number: 289.5}, Unit: "g"},
			{Name: "layers", Value: &catalogv1.Attribute_Number{Number: 3}},
			{Name: "fabric", Value: &catalogv1.Attribute_Text{Text: "nylon"}},
		},
	}
}

func TestModelReadsOnlyTheGivenVariants(t *testing.T) {
	p := jacket(variant("a", "M", 9995, 2), variant("b", "S", 8995, 3), variant("c", "XL", 10995, 7))
	const details = "waterproof yes; weight 289.5 g; layers 3; fabric nylon"
	for name, c := range map[string]struct {
		item productview.Item
		want productview.View
	}{
		"several": {productview.Item{Product: p, Variants: p.GetVariants()[:2], Reason: "is light"}, productview.View{
			ProductID: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel",
			Price: "89.95 EUR", HighestPrice: "99.95 EUR", Options: map[string][]string{"size": {"S", "M"}}, Stock: 5,
			Variants: []string{"M: 99.95 EUR", "S: 89.95 EUR"}, Details: details, Reason: "is light",
		}},
		"one": {productview.Item{Product: p, Variants: p.GetVariants()[2:]}, productview.View{
			ProductID: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel",
			Price: "109.95 EUR", VariantID: "c", Options: map[string][]string{"size": {"XL"}}, Stock: 7, Details: details,
		}},
		"a bare product": {productview.Item{
			Product: &catalogv1.Product{ProductId: "P", Title: "Peg"}, Variants: []*catalogv1.Variant{{Price: eur(100)}},
		}, productview.View{ProductID: "P", Title: "Peg", Price: "1.00 EUR", Options: map[string][]string{}}},
	} {
		if diff := cmp.Diff([]productview.View{c.want}, productview.List([]productview.Item{c.item})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestViewsLeaveOutWhatTheTitleSays(t *testing.T) {
	p := jacket(variant("a", "M", 9995, 2))
	for _, tt := range []struct{ title, brand, category string }{
		{"Drizzle", "Kestrel", "Rain jackets"},
		{"Kestrel Drizzle", "", "Rain jackets"},
		{"Kestrel Drizzle jacket", "", ""},
		{"Drizzle rain shell by KESTREL", "", ""},
	} {
		p.Title = tt.title
		v := productview.List([]productview.Item{{Product: p, Variants: p.GetVariants()}})[0]
		if v.Brand != tt.brand || v.Category != tt.category {
			t.Errorf("%q: brand %q, category %q; want %q, %q", tt.title, v.Brand, v.Category, tt.brand, tt.category)
		}
	}
}

func TestSizesInARowAreARange(t *testing.T) {
	var variants []*catalogv1.Variant
	for _, size := range []string{"45", "38", "36", "37", "39", "41", "42", "S", "43.5"} {
		variants = append(variants, variant(size, size, 9995, 1))
	}
	got := productview.List([]productview.Item{{Product: jacket(variants...), Variants: variants}})[0].Options["size"]
	if diff := cmp.Diff([]string{"36–39", "41", "42", "43.5", "45", "S"}, got); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// Of many products each gets less room; what was asked about stays.
func TestFactsThatWereNotAskedAboutGoFirst(t *testing.T) {
	p := jacket(variant("a", "M", 9995, 2))
	for _, name := range []string{"season", "lining", "sleeves", "cuffs", "seams", "colour", "hem", "hood", "pockets", "packs into"} {
		p.Attributes = append(p.Attributes, &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Text{Text: "something of some length"}})
	}
	items := []productview.Item{{Product: p, Variants: p.GetVariants()}}
	if all := productview.List(items, "jackets")[0].Details; !strings.HasSuffix(all, "packs into something of some length") {
		t.Errorf("one product has not all of its details: %s", all)
	}
	items = slices.Repeat(items, 5)
	views := productview.List(items, "jackets with pockets")
	if d := views[4].Details; !strings.HasPrefix(d, "pockets something of some length; waterproof yes") || strings.Contains(d, "packs into") {
		t.Errorf("one product of five has the details %q", d)
	}
	if data, _ := json.Marshal(views); len(data) > 2_010 {
		t.Errorf("five products are %d bytes", len(data))
	}
}

// TestModelReadsWhatMakesItRight checks what a model needs so as not to sell a children's bag to an adult.
func TestModelReadsWhatMakesItRight(t *testing.T) {
	p := jacket(variant("a", "M", 9995, 2))
	p.Variants[0].ListPrice = eur(12000)
	p.AgeGroup, p.Audience = catalogv1.AgeGroup_AGE_GROUP_KIDS, "beginners"
	p.Rating = &catalogv1.Rating{Average: 4.56, Count: 128}
	p.Description = strings.Repeat("Sheds rain,\nand packs small. ", 40)
	item := productview.Item{Product: p, Variants: p.GetVariants()}
	v := productview.List([]productview.Item{item})[0]
	if v.For != "kids beginners" || v.ListPrice != "120.00 EUR" || v.Rating != "4.6 of 5 (128)" {
		t.Errorf("for %q, list price %q, rating %q", v.For, v.ListPrice, v.Rating)
	}
	if n := len(v.About); n < 500 || n > 600 || !strings.HasPrefix(v.About, "Sheds rain, and packs small. Sheds") || !strings.HasSuffix(v.About, "…") {
		t.Errorf("the description of one product is %d bytes: %q", n, v.About)
	}
	for _, v := range productview.List(slices.Repeat([]productview.Item{item}, 5)) {
		if data, _ := json.Marshal(v); len(data) > 400 || v.About == "" {
			t.Errorf("one of five has %d bytes and is about %q", len(data), v.About)
		}
	}
	if c := productview.Choice(p, p.GetVariants(), ""); c.GetListPrice().GetAmountMinor() != 12000 || c.GetRating().GetCount() != 128 ||
		c.GetAgeGroup() != p.GetAgeGroup() || c.GetAudience() != "beginners" {
		t.Errorf("the card lacks something: %v", c)
	}
}

func TestTextsInTheShoppersLanguage(t *testing.T) {
	p := &catalogv1.Product{Title: "Boot", Description: "Warm.", Translations: []*catalogv1.LocalizedText{
		{Language: "pt", Title: "Bota", Description: "Quente."}, {Language: "pt-BR", Title: "Botina"},
	}}
	for tag, want := range map[string]string{"pt": "Bota Quente.", "pt-PT": "Bota Quente.", "pt-br": "Botina Warm.", "de": "Boot Warm.", "": "Boot Warm."} {
		if l := productview.Localized(p, tag); l.GetTitle()+" "+l.GetDescription() != want {
			t.Errorf("%q: %q, want %q", tag, l.GetTitle()+" "+l.GetDescription(), want)
		}
	}
}

func TestEmptyFieldsAreLeftOutOfTheJSON(t *testing.T) {
	items := []productview.Item{{Product: &catalogv1.Product{ProductId: "P", Title: "Peg"}, Variants: []*catalogv1.Variant{{Price: eur(100)}}}}
	got, err := json.Marshal(productview.List(items))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"product_id":"P","title":"Peg","price":"1.00 EUR","stock":0}]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChoice(t *testing.T) {
	p := jacket(variant("a", "M", 9995, math.MaxInt32), variant("b", "S", 8995, 3))
	for name, c := range map[string]struct {
		variants []*catalogv1.Variant
		want     *specialistv1.ProductChoice
	}{
		"several variants leave the choice open, and stock stays a number that fits": {p.GetVariants(), &specialistv1.ProductChoice{
			ProductId: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel", Price: eur(8995), Stock: math.MaxInt32, Reason: "is light",
			Url: "https://shop.example/JKT-1",
		}},
		"one variant is the choice": {p.GetVariants()[1:], &specialistv1.ProductChoice{
			ProductId: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel", VariantId: "b", Options: map[string]string{"size": "S"},
			Price: eur(8995), Stock: 3, Reason: "is light", Url: "https://shop.example/JKT-1",
		}},
	} {
		if diff := cmp.Diff(c.want, productview.Choice(p, c.variants, "is light"), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestExtremePrices(t *testing.T) {
	variants := []*catalogv1.Variant{variant("a", "M", 300, 1), variant("b", "S", 100, 1), variant("c", "L", 200, 1)}
	if got := productview.Lowest(variants).GetAmountMinor(); got != 100 {
		t.Errorf("lowest %d, want 100", got)
	}
	if got := productview.Highest(variants).GetAmountMinor(); got != 300 {
		t.Errorf("highest %d, want 300", got)
	}
}

func TestNaturalOrder(t *testing.T) {
	for name, want := range map[string][]string{
		"numbers by value":      {"9", "10", "42.5", "100"},
		"numbers with units":    {"50 g", "100 g", "250 g"},
		"without a space":       {"0.7l", "1.1l", "10l"},
		"units of one kind":     {"500 g", "1 kg", "1,5 kg"},
		"units of other kinds":  {"10 g", "9 pieces"},
		"ranges by their start": {"5-7", "36-38", "39-41"},
		"words with a number":   {"set 10", "set 2"},
		"letter sizes by size":  {"XXS", "xs", "S", "M", "L", "XL", "XXL"},
		"other words by letter": {"blue", "moss", "slate"},
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, productview.Naturally)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
