package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

func (ix backing) testFilter(t *testing.T) {
	shoe := &catalogv1.Product{
		ProductId: "P-1", Title: "Shoe", Brand: "Kestrel", CategoryPath: []string{"Footwear", "Trail running shoes"},
		Tags: []string{"Vegan"},
		Attributes: []*catalogv1.Attribute{
			flag("waterproof", true), flag("windproof", false), text("material", "Merino wool"), quantity("weight", 310, "g"),
			text("gender", "unisex"),
		},
		Variants: []*catalogv1.Variant{
			variant("a", 10000, 0, "size", "42", "colour", "Slate"),
			variant("b", 12000, 5, "size", "42", "colour", "glacier blue"),
			variant("c", 9000, 2, "size", "43", "colour", "Slate"),
		},
	}
	v := ix.view(t, []*catalogv1.Product{shoe})
	options := func(kv ...string) *catalogv1.Filter { return &catalogv1.Filter{Options: pairs(kv)} }
	attributes := func(kv ...string) *catalogv1.Filter { return &catalogv1.Filter{Attributes: pairs(kv)} }
	all := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		filter *catalogv1.Filter
		want   []string
	}{
		"no filter admits everything":        {nil, all},
		"category without case and plural":   {&catalogv1.Filter{Categories: []string{"trail running SHOE"}}, all},
		"any level of the category path":     {&catalogv1.Filter{Categories: []string{"footwear"}}, all},
		"another category":                   {&catalogv1.Filter{Categories: []string{"Running shoes"}}, nil},
		"one of several brands":              {&catalogv1.Filter{Brands: []string{"Other", "KESTREL"}}, all},
		"another brand":                      {&catalogv1.Filter{Brands: []string{"Other"}}, nil},
		"highest price is inclusive":         {&catalogv1.Filter{MaxPrice: eur(10000)}, []string{"a", "c"}},
		"lowest price is inclusive":          {&catalogv1.Filter{MinPrice: eur(10000)}, []string{"a", "b"}},
		"price in another currency":          {&catalogv1.Filter{MaxPrice: &commonv1.Money{AmountMinor: 99999, CurrencyCode: "USD"}}, nil},
		"option":                             {options("size", "42"), []string{"a", "b"}},
		"two options of one variant":         {options("size", "42", "colour", "slate"), []string{"a"}},
		"options of two variants":            {options("size", "43", "colour", "glacier blue"), nil},
		"option in another spelling":         {options("Color", "SLATE"), []string{"a", "c"}},
		"shade of a colour":                  {options("colour", "blue"), []string{"b"}},
		"size with its system":               {options("size", "EU 43"), []string{"c"}},
		"size that only begins alike":        {options("size", "4"), nil},
		"option that no variant has":         {options("length", "long"), nil},
		"in stock":                           {&catalogv1.Filter{InStock: true}, []string{"b", "c"}},
		"price, option and stock of one":     {&catalogv1.Filter{MaxPrice: eur(11000), Options: pairs([]string{"size", "42"}), InStock: true}, nil},
		"flag that is set":                   {attributes("waterproof", "true"), all},
		"flag that is set, in other words":   {attributes("Waterproof", "yes"), all},
		"flag that is not set":               {attributes("windproof", "true"), nil},
		"flag that shall not be set":         {attributes("windproof", "false"), all},
		"flag that is set but shall not be":  {attributes("waterproof", "false"), nil},
		"flag nobody recorded, shall not be": {attributes("studded", "false"), all},
		"tag in place of a flag":             {attributes("vegan", "true"), all},
		"tag as a value":                     {attributes("diet", "vegan"), all},
		"text without case":                  {attributes("material", "MERINO WOOL"), all},
		"whole words of a text":              {attributes("material", "merino"), all},
		"part of a word of a text":           {attributes("material", "mer"), nil},
		"number":                             {attributes("weight", "310"), all},
		"number with its unit":               {attributes("weight", "310 g"), all},
		"number with another unit":           {attributes("weight", "310 kg"), nil},
		"another number":                     {attributes("weight", "300"), nil},
		"unisex fits women":                  {attributes("gender", "women's"), all},
		"all attributes must hold":           {attributes("waterproof", "true", "material", "cotton"), nil},
		"excluded id":                        {&catalogv1.Filter{ExcludeProductIds: []string{"[p-1]"}}, nil},
		"another excluded id":                {&catalogv1.Filter{ExcludeProductIds: []string{"P-2"}}, all},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.search(t.Context(), query{head: -1}, newFilter(c.filter), catalogv1.Sort_SORT_UNSPECIFIED)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range found.hits {
				for _, v := range h.variants {
					got = append(got, v.GetVariantId())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
		})
	}
}

func pairs(kv []string) map[string]string {
	out := make(map[string]string)
	for i := 0; i+1 < len(kv); i += 2 {
		out[kv[i]] = kv[i+1]
	}
	return out
}

func TestBlame(t *testing.T) {
	v := testView(t, outdoor())
	for name, c := range map[string]struct {
		filter *catalogv1.Filter
		kept   []string
		want   string
	}{
		"the one condition": {&catalogv1.Filter{Brands: []string{"Nobody"}}, nil, "brands"},
		"the condition that alone is in the way": {
			&catalogv1.Filter{Categories: []string{"Tents"}, MaxPrice: eur(100), InStock: true}, nil, "max_price",
		},
		"the option by its name": {
			&catalogv1.Filter{Categories: []string{"Trail running shoes"}, Options: map[string]string{"size": "52"}}, nil, "options.size",
		},
		"two in the way: the one that refuses more": {
			&catalogv1.Filter{Brands: []string{"Heronry"}, Options: map[string]string{"size": "52"}, Attributes: map[string]string{"x": "y"}},
			nil, "options.size",
		},
		"nothing to blame":       {nil, nil, ""},
		"what is kept stays out": {&catalogv1.Filter{InStock: true}, []string{"in_stock"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newFilter(c.filter).blame(v.all(), c.kept...); got != c.want {
				t.Errorf("blamed %q, want %q", got, c.want)
			}
		})
	}
}
