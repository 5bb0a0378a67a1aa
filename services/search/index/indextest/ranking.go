package indextest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
)

func (x suite) testFilter(t *testing.T) {
	shoe := &catalogv1.Product{
		ProductId: "P-1", Title: "Shoe", Brand: "Kestrel", CategoryPath: []string{"Footwear", "Trail running shoes"},
		Tags: []string{"Vegan"},
		Attributes: []*catalogv1.Attribute{
			catalogtest.Flag("waterproof", true), catalogtest.Flag("windproof", false), catalogtest.Text("material", "Merino wool"), catalogtest.Quantity("weight", 310, "g"),
			catalogtest.Text("gender", "unisex"),
		},
		Variants: []*catalogv1.Variant{
			catalogtest.Variant("a", 10000, 0, "size", "42", "colour", "Slate"),
			catalogtest.Variant("b", 12000, 5, "size", "42", "colour", "glacier blue"),
			catalogtest.Variant("c", 9000, 2, "size", "43", "colour", "Slate"),
		},
	}
	v := x.view(t, []*catalogv1.Product{shoe})
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
		"highest price is inclusive":         {&catalogv1.Filter{MaxPrice: catalogtest.Eur(10000)}, []string{"a", "c"}},
		"lowest price is inclusive":          {&catalogv1.Filter{MinPrice: catalogtest.Eur(10000)}, []string{"a", "b"}},
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
		"price, option and stock of one":     {&catalogv1.Filter{MaxPrice: catalogtest.Eur(11000), Options: pairs([]string{"size", "42"}), InStock: true}, nil},
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
			found, err := v.Search(t.Context(), index.Query{Head: -1}, index.NewFilter(c.filter), catalogv1.Sort_SORT_UNSPECIFIED)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range found.Hits {
				for _, v := range h.Variants {
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

func (x suite) testSearch(t *testing.T) {
	v := x.view(t, catalogtest.Outdoor())
	for name, c := range map[string]struct {
		query  string
		filter *catalogv1.Filter
		want   []string // in any order
	}{
		"all words, not one of them":          {"trail running shoes", nil, []string{"SHOE-1", "SHOE-2"}},
		"singular":                            {"trail running shoe", nil, []string{"SHOE-1", "SHOE-2"}},
		"chatter is no word":                  {"Do you have any trail running shoes in size 42 under 120 euros?", nil, []string{"SHOE-1", "SHOE-2"}},
		"a category is not what goes with it": {"tents", nil, []string{"TENT-1", "TENT-2"}},
		"what goes with it can be found":      {"tent pegs", nil, []string{"PEG-1"}},
		"the end of a category":               {"running shoes", nil, []string{"SHOE-1", "SHOE-2"}},
		"a category of several kinds":         {"lantern", nil, []string{"LAMP-2"}},
		"synonym of a word":                   {"rucksack", nil, []string{"PACK-1"}},
		"synonym of a phrase":                 {"sneakers", nil, []string{"SHOE-1", "SHOE-2"}},
		"phrase that is a synonym":            {"head torch", nil, []string{"LAMP-1"}},
		"typo":                                {"hedlamp", nil, []string{"LAMP-1"}},
		"number and unit":                     {"30l backpack", nil, []string{"PACK-1"}},
		"number that tells products apart":    {"2 person tent", nil, []string{"TENT-1"}},
		"people behind the thing":             {"tent 2 people", nil, []string{"TENT-1"}},
		"people in words":                     {"a two-person tent", nil, []string{"TENT-1"}},
		"people without a word for them":      {"tent for two", nil, []string{"TENT-1"}},
		"people are no thing":                 {"a tent for people", nil, []string{"TENT-1", "TENT-2"}},
		"men are not counted after a size":    {"running shoes size 42 men", nil, []string{"SHOE-1", "SHOE-2"}},
		"qualifiers behind the thing":         {"running shoes women waterproof", nil, []string{"SHOE-2"}},
		"what the store lacks":                {"gaming laptop", nil, nil},
		"one unknown word beside a known":     {"carbon tent", nil, []string{"TENT-1", "TENT-2"}},
		"brand":                               {"moorhen", nil, []string{"SHOE-2", "SOCK-1"}},
		"no words, a filter":                  {"", &catalogv1.Filter{Brands: []string{"Glowworm"}}, []string{"LAMP-1", "LAMP-2"}},
		"only chatter counts as no words":     {"anything cheap", &catalogv1.Filter{Brands: []string{"Glowworm"}}, []string{"LAMP-1", "LAMP-2"}},
		"words and a filter":                  {"trail running shoes", &catalogv1.Filter{InStock: true, Options: map[string]string{"size": "42"}}, []string{"SHOE-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := HitIDs(t, v, c.query, c.filter, catalogv1.Sort_SORT_UNSPECIFIED)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

// A size with a unit is what a product is, wherever it stands in the query. A bare size is a condition and no word.
func (x suite) testSizes(t *testing.T) {
	small, large := catalogtest.Thing("TV-1", "Vista television"), catalogtest.Thing("TV-2", "Vista television")
	shoe := catalogtest.Thing("SHOE-1", "Trail shoe")
	small.Variants[0].Options = map[string]string{"size": "55 inch"}
	large.Variants[0].Options = map[string]string{"size": "65 inch"}
	shoe.Variants[0].Options = map[string]string{"size": "65"}
	v := x.view(t, []*catalogv1.Product{small, large, shoe})
	for _, query := range []string{"television 65 inch", "65 inch television"} {
		got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED)
		if diff := cmp.Diff([]string{"TV-2"}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func (x suite) testModifiers(t *testing.T) {
	v := x.view(t, catalogtest.Wardrobe())
	for name, c := range map[string]struct {
		query string
		want  []string // in any order
	}{
		"what others have restricts":                  {"do you have down jackets?", []string{"DOWN-1"}},
		"a direction is no filling":                   {"jackets down to 20 euros", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a filling behind the thing":                  {"jackets of down", []string{"DOWN-1", "SYN-1"}},
		"a feature may be mentioned":                  {"jackets with a hood", []string{"DOWN-1", "SYN-1"}},
		"two modifiers that one product has":          {"waterproof squall jacket", []string{"RAIN-1"}},
		"two modifiers that none has together":        {"waterproof down jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a vague word leaves none out":                {"a light jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"several vague words leave none out":          {"good warm cosy jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a vague word alone selects":                  {"something warm", []string{"SYN-1"}},
		"a light that is a thing":                     {"camping light", []string{"LAMP-1"}},
		"weather asks for what withstands it":         {"something for a rainy hike", []string{"COVER-1"}},
		"what withstands weather does not ask for it": {"waterproof", []string{"COVER-1", "RAIN-1"}},
		"a present may be anything":                   {"camping gift", []string{"LAMP-1"}},
		"nothing but a present":                       {"birthday gift ideas", []string{"COVER-1", "DOWN-1", "LAMP-1", "NOTE-1", "RAIN-1", "SYN-1"}},
		"a gift card is none":                         {"gift card", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := HitIDs(t, v, c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

// "Colour" names an option of most products, and beside a noun a quality of a few.
func (x suite) testTheWordColourOrdersAndExcludesNone(t *testing.T) {
	product := func(id, title string) *catalogv1.Product {
		return catalogtest.Described(id, title, "It prints.", "Printers")
	}
	v := x.view(t, []*catalogv1.Product{product("GREY", "Brine laser printer"), product("COLOUR", "Fell colour laser printer")})
	for query, want := range map[string][]string{
		"colour laser printer": {"COLOUR", "GREY"}, "color laser printer": {"COLOUR", "GREY"}, "imprimante laser couleur": {"COLOUR", "GREY"},
		"impresora láser color": {"COLOUR", "GREY"}, "colour of the brine printer": {"GREY"}, "what colour is the brine printer": {"GREY"},
		"welche Farbe": {"GREY", "COLOUR"},
	} {
		if diff := cmp.Diff(want, HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

// A light jacket is no light laptop, and the store does not know of laptops.
func (x suite) testWordsThatExcludeNothingAreNotKnown(t *testing.T) {
	v := x.view(t, []*catalogv1.Product{catalogtest.Thing("JACKET", "Light jacket")})
	found, err := v.Search(t.Context(), v.Query(TestVocabulary(t), "light laptop"), index.NewFilter(nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	known, err := found.Known(t.Context())
	if err != nil || len(known) > 0 || len(found.Loose()) > 0 {
		t.Errorf("known are %v, near is %v, error %v; want none", known, found.Loose(), err)
	}
	for _, h := range found.Hits {
		if lacks := found.Lacks(h); !slices.Equal(lacks, []string{"laptop"}) {
			t.Errorf("%s lacks %v, want laptop", h.ID(), lacks)
		}
	}
}

func (x suite) testMarkedGiftsComeFirst(t *testing.T) {
	products := catalogtest.Wardrobe()
	products[3].Tags = append(products[3].Tags, "gift")
	v := x.view(t, products)
	got := HitIDs(t, v, "hiking gift", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if diff := cmp.Diff([]string{"COVER-1", "NOTE-1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := HitIDs(t, v, "gift", nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, []string{"COVER-1"}) {
		t.Errorf("gift: %v, want what is marked as one", got)
	}
}

func (x suite) testWhatTheQueryNegatesIsNotAskedFor(t *testing.T) {
	product := func(id, title, description string) *catalogv1.Product {
		return catalogtest.Described(id, title, description, "Kettles")
	}
	v := x.view(t, []*catalogv1.Product{
		product("LID", "Brine kettle with lid", "It boils water."), product("OPEN", "Dale kettle", "It boils water."), product("BARE", "Fell kettle without lid", "It boils water."),
	})
	for query, want := range map[string][]string{
		"kettle without lid": {"BARE", "LID", "OPEN"}, "Wasserkocher ohne Deckel": {"BARE", "LID", "OPEN"}, "kettle with lid": {"BARE", "LID"}, "without lid": {"BARE", "LID"},
	} {
		found, err := v.Search(t.Context(), v.Request(TestVocabulary(t), query), index.NewFilter(nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range found.Counted() {
			got = append(got, h.ID())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v meet it, want %v", query, got, want)
		}
	}
}

func (x suite) testTyposAreNearInLengthAndName(t *testing.T) {
	v := x.view(t, []*catalogv1.Product{
		{ProductId: "TEA-1", Title: "Bergamot tea", Description: "The petals are for show.", CategoryPath: []string{"Tea"},
			Variants: []*catalogv1.Variant{catalogtest.Variant("std", 100, 1)}},
		{ProductId: "POT-1", Title: "Stoneware teapot", Tags: []string{"shot", "packet"}, CategoryPath: []string{"Teaware"},
			Variants: []*catalogv1.Variant{catalogtest.Variant("std", 100, 1)}},
		catalogtest.Thing("CUP-1", "Stoneware cup quorl4th"),
	})
	for query, want := range map[string][]string{
		"quorlith": nil,       // a model's name has letters and digits
		"shoes":    nil,       // "show" and "shot" are other words
		"jacket":   nil,       // spelled right, and begins otherwise
		"petels":   nil,       // a description is no place for guesses
		"bergamto": {"TEA-1"}, // two letters of eight
		"teapt":    {"POT-1"},
		"tae":      nil, // too short to tell
	} {
		if diff := cmp.Diff(want, HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func (x suite) testOrder(t *testing.T) {
	v := x.view(t, catalogtest.Outdoor())
	for name, c := range map[string]struct {
		query string
		sort  catalogv1.Sort
		want  []string
	}{
		"cheapest first":             {"tents", catalogv1.Sort_SORT_PRICE_ASCENDING, []string{"TENT-1", "TENT-2"}},
		"dearest first":              {"tents", catalogv1.Sort_SORT_PRICE_DESCENDING, []string{"TENT-2", "TENT-1"}},
		"what is wished comes first": {"light trail running shoe", catalogv1.Sort_SORT_UNSPECIFIED, []string{"SHOE-2", "SHOE-1"}},
		"the brand named counts":     {"moorhen trail running shoe", catalogv1.Sort_SORT_UNSPECIFIED, []string{"SHOE-2"}},
		"without words by title":     {"", catalogv1.Sort_SORT_UNSPECIFIED, nil},
		"price over the whole store": {"", catalogv1.Sort_SORT_PRICE_ASCENDING, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := HitIDs(t, v, c.query, nil, c.sort)
			switch {
			case c.want != nil:
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			case len(got) != len(catalogtest.Outdoor()):
				t.Errorf("%d products, want all %d", len(got), len(catalogtest.Outdoor()))
			case c.sort == catalogv1.Sort_SORT_PRICE_ASCENDING && (got[0] != "PEG-1" || got[len(got)-1] != "TENT-2"):
				t.Errorf("cheapest is %s and dearest %s", got[0], got[len(got)-1])
			case c.sort == catalogv1.Sort_SORT_UNSPECIFIED && (got[0] != "LAMP-1" || got[len(got)-1] != "PEG-1"):
				t.Errorf("by title, %s is first and %s last", got[0], got[len(got)-1])
			}
		})
	}
}

func (x suite) testMatchingAllWordsBeatsMatchingOne(t *testing.T) {
	products := []*catalogv1.Product{
		{ProductId: "ALL", Title: "Blue wool cap", CategoryPath: []string{"Things"}, Variants: []*catalogv1.Variant{catalogtest.Variant("a", 100, 1)}},
		{ProductId: "ONE", Title: "Wool wool wool", Description: "wool", Tags: []string{"wool"}, CategoryPath: []string{"Wool"},
			Variants: []*catalogv1.Variant{catalogtest.Variant("a", 100, 1)}},
	}
	got := HitIDs(t, x.view(t, products), "blue wool cap", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if diff := cmp.Diff([]string{"ALL"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The staff chose SOCK-1 and then LAMP-1 to go with SHOE-1.
func (x suite) testWhatIsKnownToGoTogether(t *testing.T) {
	v := x.view(t, catalogtest.Outdoor())
	bought := func(pairs ...string) (out []*catalogv1.KnownComplement) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, &catalogv1.KnownComplement{ProductId: pairs[i], WithProductId: pairs[i+1], Relation: "often bought with"})
		}
		return out
	}
	title := func(id string) string { return entryOf(t, v, id).Product.GetTitle() }
	for name, c := range map[string]struct {
		anchors  []string
		relation catalogv1.Relation
		query    string
		filter   *catalogv1.Filter
		known    []*catalogv1.KnownComplement
		want     []string
		reason   string // of the first
	}{
		"it takes turns with the staff's choice": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", nil,
			bought("PEG-1", "SHOE-1"), []string{"SOCK-1", "PEG-1", "LAMP-1"}, "goes with " + title("SHOE-1")},
		"what both say comes first": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", nil,
			bought("lamp-1", "SHOE-1"), []string{"LAMP-1", "SOCK-1"}, "goes with and often bought with " + title("SHOE-1")},
		"of two anchors": {[]string{"SHOE-1", "TENT-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", &catalogv1.Filter{Brands: []string{"Glowworm"}},
			bought("LAMP-1", "TENT-1"), []string{"LAMP-1", "LAMP-2"}, "goes with " + title("SHOE-1") + ", often bought with " + title("TENT-1")},
		"what the shopper adds weighs more": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "headlamp", nil,
			bought("PEG-1", "SHOE-1"), []string{"LAMP-1", "SOCK-1", "PEG-1"}, "goes with " + title("SHOE-1")},
		"not what is excluded, gone, or of something else": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "",
			&catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"PEG-1"}},
			bought("PEG-1", "SHOE-1", "LAMP-1", "SHOE-1", "NOPE", "SHOE-1", "SHOE-1", "SHOE-1", "TENT-1", "BOOT-1", "TENT-1", "NOPE"),
			[]string{"SOCK-1"}, "goes with " + title("SHOE-1")},
		"not in place of an anchor": {[]string{"TENT-1"}, catalogv1.Relation_RELATION_ALTERNATIVE, "", nil,
			bought("PEG-1", "TENT-1"), []string{"TENT-2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.Related(t.Context(), c.anchors, c.relation, TestVocabulary(t).Parse(c.query), index.NewFilter(c.filter), c.known, "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.ID())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.reason != "" && found[0].Reason != c.reason {
				t.Errorf("reason %q, want %q", found[0].Reason, c.reason)
			}
		})
	}
}

func (x suite) testFindSimilar(t *testing.T) {
	v := x.view(t, catalogtest.Outdoor())
	complement, alternative := catalogv1.Relation_RELATION_COMPLEMENT, catalogv1.Relation_RELATION_ALTERNATIVE
	for name, c := range map[string]struct {
		anchors  []string
		relation catalogv1.Relation
		query    string
		filter   *catalogv1.Filter
		want     []string
	}{
		"the staff's choice in its order":       {[]string{"SHOE-1"}, complement, "", nil, []string{"SOCK-1", "LAMP-1"}},
		"the filter holds for the choice":       {[]string{"SHOE-1"}, complement, "", &catalogv1.Filter{InStock: true}, []string{"SOCK-1"}},
		"what is asked for needs no shared use": {[]string{"SOCK-1"}, complement, "tent pegs", nil, []string{"PEG-1", "LAMP-1", "SHOE-1", "SHOE-2"}},
		"what the shopper adds weighs":          {[]string{"SHOE-1"}, complement, "headlamp", nil, []string{"LAMP-1", "SOCK-1"}},
		"shared use in another category":        {[]string{"TENT-1"}, complement, "", &catalogv1.Filter{Brands: []string{"Glowworm", "Kestrel"}}, []string{"LAMP-2", "BOOT-1", "LAMP-1"}},
		"the same kind":                         {[]string{"TENT-1"}, alternative, "", nil, []string{"TENT-2"}},
		"never the anchors":                     {[]string{"TENT-1", "TENT-2"}, alternative, "", nil, nil},
		"never what is excluded":                {[]string{"SHOE-1"}, complement, "", &catalogv1.Filter{ExcludeProductIds: []string{"SOCK-1"}}, []string{"LAMP-1"}},
		"unknown anchors are passed over":       {[]string{"NOPE", "[tent-1]"}, alternative, "", nil, []string{"TENT-2"}},
		"only unknown anchors":                  {[]string{"NOPE"}, alternative, "", nil, nil},
		"complements first, then alternatives":  {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_UNSPECIFIED, "", nil, []string{"SOCK-1", "LAMP-1", "SHOE-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.Related(t.Context(), c.anchors, c.relation, TestVocabulary(t).Parse(c.query), index.NewFilter(c.filter), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.ID())
				if f.Reason == "" && c.query == "" {
					t.Errorf("%s has no reason", f.ID())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func (x suite) testWhatAProductIsComesBeforeWhatItIsFor(t *testing.T) {
	black := catalogtest.Thing("P-3", "Kestrel kettle matt")
	black.Attributes = []*catalogv1.Attribute{catalogtest.Text("finish", "matt")}
	for name, c := range map[string]struct {
		query    string
		products []*catalogv1.Product
		want     []string
	}{
		"the thing before its accessory":  {"kettle", catalogtest.Titled("Kettle stand", "Big old grey steel stove top kettle"), []string{"P-2", "P-1"}},
		"an accessory that was asked for": {"kettle stand", catalogtest.Titled("Kettle", "Kettle stand", "Stand for a kettle"), []string{"P-2", "P-3"}},
		"a quality of the product's own":  {"kettle", append(catalogtest.Titled("Kettle base", "Kettle lid"), black), []string{"P-3", "P-1", "P-2"}},
		"a synonym is the thing too":      {"sofa", catalogtest.Titled("Couch cover", "Long blue corner couch"), []string{"P-2", "P-1"}},
		"the word before its synonym":     {"sofa", catalogtest.Titled("Blue couch", "Blue sofa"), []string{"P-2", "P-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := HitIDs(t, x.view(t, c.products), c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func (x suite) testWordsMeetHoweverTheyAreWritten(t *testing.T) {
	for name, c := range map[string]struct{ query, title string }{
		"two words for one":      {"flash light", "Small flashlight"},
		"one word for two":       {"flashlight", "Small flash light"},
		"a number and its unit":  {"32gb card", "Card 32 GB"},
		"a unit and its number":  {"32 gb card", "Card 32GB"},
		"a model number":         {"kx2000zm4", "Headset KX-2000ZM4"},
		"part of a model number": {"2000zm4", "Headset KX-2000ZM4"},
		"a typo":                 {"hedset", "Headset"},
	} {
		products := append(catalogtest.Titled(c.title), catalogtest.Thing("OTHER", "Garden hose"))
		if got := HitIDs(t, x.view(t, products), c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, []string{"P-1"}) {
			t.Errorf("%s: %q finds %v, want %q", name, c.query, got, c.title)
		}
	}
}

func (x suite) testSingleLettersAreWords(t *testing.T) {
	products := catalogtest.Titled("Alkaline batteries C", "Alkaline batteries D")
	got := HitIDs(t, x.view(t, products), "d batteries", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if len(got) == 0 || got[0] != "P-2" {
		t.Errorf("got %v, want the D batteries first", got)
	}
}

func (x suite) testCaptionsSayWhatAProductIsAndSentencesMention(t *testing.T) {
	caption, sentence := catalogtest.Thing("P-1", "Kestrel K-200"), catalogtest.Thing("P-2", "Kestrel K-300")
	caption.Description = "Compact kettle, steel, 1.7 l"
	sentence.Description = "A toaster. Goes with every kettle."
	got := HitIDs(t, x.view(t, []*catalogv1.Product{sentence, caption}), "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if !slices.Equal(got, []string{"P-1"}) {
		t.Errorf("got %v, want the kettle alone", got)
	}
}

func (x suite) testAStrayProductMakesNoCategory(t *testing.T) {
	var products []*catalogv1.Product
	for i := range 20 {
		products = append(products, catalogtest.Thing(fmt.Sprintf("P-%d", i), "Steel kettle"))
	}
	products[0].CategoryPath = []string{"Kettles"}
	v := x.view(t, products)
	if got := len(HitIDs(t, v, "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)); got != 20 {
		t.Errorf("%d kettles, want all 20", got)
	}
	for _, p := range products[:5] {
		p.CategoryPath = []string{"Kettles"}
	}
	if got := len(HitIDs(t, x.view(t, products), "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)); got != 5 {
		t.Errorf("%d kettles, want those of the category", got)
	}
}

func (x suite) testReasonsInTheShoppersLanguage(t *testing.T) {
	v := x.view(t, catalogtest.Outdoor())
	for _, c := range []struct {
		language, anchor string
		relation         catalogv1.Relation
		known, want      string // the relation of a known complement, and the reason of the first product
	}{
		{"", "SHOE-1", catalogv1.Relation_RELATION_COMPLEMENT, "", "goes with Kestrel Ridge trail running shoe"},
		{"de-AT", "SHOE-1", catalogv1.Relation_RELATION_COMPLEMENT, "", "passt zu Kestrel Ridge trail running shoe"},
		{"es", "SHOE-1", catalogv1.Relation_RELATION_COMPLEMENT, "se compra con", "combina con y se compra con Kestrel Ridge trail running shoe"},
		{"fr-CA", "TENT-1", catalogv1.Relation_RELATION_ALTERNATIVE, "", "du même type que " + entryOf(t, v, "TENT-1").Product.GetTitle()},
		{"de", "TENT-1", catalogv1.Relation_RELATION_COMPLEMENT, "", "für denselben Zweck wie " + entryOf(t, v, "TENT-1").Product.GetTitle()},
		{"it", "SHOE-1", catalogv1.Relation_RELATION_COMPLEMENT, "", ""},
	} {
		var known []*catalogv1.KnownComplement
		if c.known != "" {
			known = append(known, &catalogv1.KnownComplement{ProductId: "SOCK-1", WithProductId: c.anchor, Relation: c.known})
		}
		found, err := v.Related(t.Context(), []string{c.anchor}, c.relation, index.Query{}, index.NewFilter(nil), known, c.language)
		if err != nil || len(found) == 0 {
			t.Fatal(c, found, err)
		}
		if found[0].Reason != c.want {
			t.Errorf("%q: reason %q, want %q", c.language, found[0].Reason, c.want)
		}
	}
}
