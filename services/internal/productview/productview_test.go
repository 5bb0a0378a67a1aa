package productview_test

import (
	"encoding/json"
	"math"
	"slices"
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
		product  *catalogv1.Product
		variants []*catalogv1.Variant
		reason   string
		want     productview.View
	}{
		"several": {p, p.GetVariants()[:2], "is light", productview.View{
			ProductID: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel", Category: "Rain jackets",
			Price: "89.95 EUR", HighestPrice: "99.95 EUR", Options: map[string][]string{"size": {"S", "M"}}, Stock: 5,
			Details: details, Reason: "is light", URL: "https://shop.example/JKT-1",
		}},
		"one": {p, p.GetVariants()[2:], "", productview.View{
			ProductID: "JKT-1", Title: "Drizzle jacket", Brand: "Kestrel", Category: "Rain jackets",
			Price: "109.95 EUR", VariantID: "c", Options: map[string][]string{"size": {"XL"}}, Stock: 7,
			Details: details, URL: "https://shop.example/JKT-1",
		}},
		"a bare product": {&catalogv1.Product{ProductId: "P", Title: "Peg"}, []*catalogv1.Variant{{Price: eur(100)}}, "", productview.View{
			ProductID: "P", Title: "Peg", Price: "1.00 EUR", Options: map[string][]string{},
		}},
	} {
		if diff := cmp.Diff(c.want, productview.New(c.product, c.variants, c.reason)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEmptyFieldsAreLeftOutOfTheJSON(t *testing.T) {
	view := productview.New(&catalogv1.Product{ProductId: "P", Title: "Peg"}, []*catalogv1.Variant{{Price: eur(100)}}, "")
	got, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"product_id":"P","title":"Peg","price":"1.00 EUR","stock":0}`; string(got) != want {
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
