package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

// titled makes a catalog of titles, numbered from 1.
func titled(titles ...string) []*catalogv1.Product {
	var out []*catalogv1.Product
	for i, title := range titles {
		out = append(out, thing(fmt.Sprintf("P-%d", i+1), title))
	}
	return out
}

func (ix backing) testWhatAProductIsComesBeforeWhatItIsFor(t *testing.T) {
	black := thing("P-3", "Kestrel kettle matt")
	black.Attributes = []*catalogv1.Attribute{text("finish", "matt")}
	for name, c := range map[string]struct {
		query    string
		products []*catalogv1.Product
		want     []string
	}{
		"the thing before its accessory":  {"kettle", titled("Kettle stand", "Big old grey steel stove top kettle"), []string{"P-2", "P-1"}},
		"an accessory that was asked for": {"kettle stand", titled("Kettle", "Kettle stand", "Stand for a kettle"), []string{"P-2", "P-3"}},
		"a quality of the product's own":  {"kettle", append(titled("Kettle base", "Kettle lid"), black), []string{"P-3", "P-1", "P-2"}},
		"a synonym is the thing too":      {"sofa", titled("Couch cover", "Long blue corner couch"), []string{"P-2", "P-1"}},
		"the word before its synonym":     {"sofa", titled("Blue couch", "Blue sofa"), []string{"P-2", "P-1"}},
		"neighbours before words apart":   {"river salmon", titled("A river with good salmon", "Wild river salmon and good"), []string{"P-2", "P-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(t, ix.view(t, c.products), c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func (ix backing) testWordsMeetHoweverTheyAreWritten(t *testing.T) {
	for name, c := range map[string]struct{ query, title string }{
		"two words for one":      {"flash light", "Small flashlight"},
		"one word for two":       {"flashlight", "Small flash light"},
		"a number and its unit":  {"32gb card", "Card 32 GB"},
		"a unit and its number":  {"32 gb card", "Card 32GB"},
		"a model number":         {"kx2000zm4", "Headset KX-2000ZM4"},
		"part of a model number": {"2000zm4", "Headset KX-2000ZM4"},
		"a typo":                 {"hedset", "Headset"},
	} {
		products := append(titled(c.title), thing("OTHER", "Garden hose"))
		if got := ids(t, ix.view(t, products), c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, []string{"P-1"}) {
			t.Errorf("%s: %q finds %v, want %q", name, c.query, got, c.title)
		}
	}
}

func (ix backing) testCaptionsSayWhatAProductIsAndSentencesMention(t *testing.T) {
	caption, sentence := thing("P-1", "Kestrel K-200"), thing("P-2", "Kestrel K-300")
	caption.Description = "Compact kettle, steel, 1.7 l"
	sentence.Description = "A toaster. Goes with every kettle."
	got := ids(t, ix.view(t, []*catalogv1.Product{sentence, caption}), "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if !slices.Equal(got, []string{"P-1"}) {
		t.Errorf("got %v, want the kettle alone", got)
	}
}

func (ix backing) testAStrayProductMakesNoCategory(t *testing.T) {
	var products []*catalogv1.Product
	for i := range 20 {
		products = append(products, thing(fmt.Sprintf("P-%d", i), "Steel kettle"))
	}
	products[0].CategoryPath = []string{"Kettles"}
	v := ix.view(t, products)
	if got := len(ids(t, v, "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)); got != 20 {
		t.Errorf("%d kettles, want all 20", got)
	}
	for _, p := range products[:5] {
		p.CategoryPath = []string{"Kettles"}
	}
	if got := len(ids(t, ix.view(t, products), "kettle", nil, catalogv1.Sort_SORT_UNSPECIFIED)); got != 5 {
		t.Errorf("%d kettles, want those of the category", got)
	}
}

func TestTitleHead(t *testing.T) {
	qualified := func(title, brand string, attributes ...*catalogv1.Attribute) *catalogv1.Product {
		return &catalogv1.Product{Title: title, Brand: brand, Attributes: attributes}
	}
	for name, c := range map[string]struct {
		product *catalogv1.Product
		want    []string
	}{
		"the last word":              {qualified("Steel kettle", ""), []string{"kettle"}},
		"before the comma":           {qualified("Steel kettle, with a lid", ""), []string{"kettle"}},
		"before a preposition":       {qualified("Cover for kettles", ""), []string{"cover"}},
		"a hyphen is none":           {qualified("In-ear phones", ""), []string{"phones"}},
		"without a colour":           {qualified("Kettle black", ""), []string{"kettle"}},
		"without a measure":          {qualified("Kettle 1.7 litres", ""), []string{"kettle"}},
		"without a model number":     {qualified("Kettle KX200", ""), []string{"kettle"}},
		"without the brand":          {qualified("Kettle by Kestrel", "Kestrel"), []string{"kettle"}},
		"without its own quality":    {qualified("Kettle matt", "", text("finish", "matt")), []string{"kettle"}},
		"its type is no quality":     {qualified("Steel kettle", "", text("product type", "kettle")), []string{"kettle"}},
		"a long text is no quality":  {qualified("Steel kettle", "", text("use", "put the kettle on a plate")), []string{"kettle"}},
		"a broad word and the other": {qualified("Kestrel tea set", "Kestrel"), []string{"tea", "set"}},
		"the next part":              {qualified("KX-200 (black), kettle", ""), []string{"kettle"}},
		"none":                       {qualified("KX200", ""), nil},
	} {
		if diff := cmp.Diff(c.want, titleHead(c.product, languageOf(c.product), wordsOf(attributeTexts(c.product)))); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", name, c.product.GetTitle(), diff)
		}
	}
}

func TestIsCaption(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             true,
		"Compact USB keyboard, black":  true,
		"Kettle, 1.7 l":                true,
		"Not a kettle.":                false,
		"Good. Strong":                 false,
		"Hot water in no time!":        false,
		fmt.Sprintf("%0201d", 0):       false,
		"a kettle of 0.7 l and a lid ": true,
	} {
		if got := isCaption(text); got != want {
			t.Errorf("isCaption(%q) = %v", text, got)
		}
	}
}
