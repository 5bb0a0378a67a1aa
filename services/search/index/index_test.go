package index

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
)

func TestMostRestrictiveCondition(t *testing.T) {
	var all []*Entry
	for _, p := range catalogtest.Outdoor() {
		all = append(all, NewEntry(p))
	}
	for name, c := range map[string]struct {
		filter *catalogv1.Filter
		kept   []string
		want   string
	}{
		"the one condition": {&catalogv1.Filter{Brands: []string{"Nobody"}}, nil, "brands"},
		"the condition that alone is in the way": {
			&catalogv1.Filter{Categories: []string{"Tents"}, MaxPrice: catalogtest.Eur(100), InStock: true}, nil, "max_price",
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
			if got := NewFilter(c.filter).MostRestrictive(all, c.kept...); got != c.want {
				t.Errorf("blamed %q, want %q", got, c.want)
			}
		})
	}
}

func TestNextToDrop(t *testing.T) {
	lamp := func(id string, cents int64, attributes ...*catalogv1.Attribute) *Entry {
		p := catalogtest.Thing(id, "lamp")
		p.Variants[0].Price, p.Attributes = catalogtest.Eur(cents), attributes
		return NewEntry(p)
	}
	waterproof := map[string]string{"waterproof": "true"}
	for name, c := range map[string]struct {
		entries []*Entry
		filter  *catalogv1.Filter
		want    string
	}{
		"an attribute, although more are too dear": {
			[]*Entry{lamp("cheap", 900), lamp("a", 5000, catalogtest.Flag("waterproof", true)), lamp("b", 5000, catalogtest.Flag("waterproof", true))},
			&catalogv1.Filter{MaxPrice: catalogtest.Eur(1000), Attributes: waterproof}, "attributes.waterproof",
		},
		"the price, where an attribute is not enough": {
			[]*Entry{lamp("dear", 5000, catalogtest.Flag("waterproof", true))},
			&catalogv1.Filter{MaxPrice: catalogtest.Eur(1000), Attributes: waterproof}, "max_price",
		},
		"being in stock, never": {[]*Entry{lamp("x", 900)}, &catalogv1.Filter{InStock: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewFilter(c.filter).NextToDrop(c.entries); got != c.want {
				t.Errorf("drops %q, want %q", got, c.want)
			}
		})
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
		"the brand at the end":       {qualified("Kettle Kestrel", "Kestrel"), []string{"kettle"}},
		"the brand at the beginning": {qualified("Case Logic camera case", "Case Logic"), []string{"case"}},
		"the brand as a part":        {qualified("Kestrel - tea kettle", "Kestrel"), []string{"kettle"}},
		"the brand and a model":      {qualified("Kestrel KX200, kettle", "Kestrel"), []string{"kettle"}},
		"the brand begins a word":    {qualified("Kestrels", "Kestrel"), []string{"kestrels"}},
		"the brand in between":       {qualified("Phone 13 Kestrel case", "Kestrel"), []string{"case"}},
		"without its own quality":    {qualified("Kettle matt", "", catalogtest.Text("finish", "matt")), []string{"kettle"}},
		"its type is no quality":     {qualified("Steel kettle", "", catalogtest.Text("product type", "kettle")), []string{"kettle"}},
		"a long text is no quality":  {qualified("Steel kettle", "", catalogtest.Text("use", "put the kettle on a plate")), []string{"kettle"}},
		"a broad word and the other": {qualified("Kestrel tea set", "Kestrel"), []string{"tea", "set"}},
		"the next part":              {qualified("KX-200 (black), kettle", ""), []string{"kettle"}},
		"none":                       {qualified("KX200", ""), nil},
	} {
		if diff := cmp.Diff(c.want, titleHead(c.product, LanguageOf(c.product), wordsOf(attributeTexts(c.product)))); diff != "" {
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

func TestLanguageOfAProduct(t *testing.T) {
	for name, c := range map[string]struct {
		product *catalogv1.Product
		want    string
	}{
		"English":                     {catalogtest.Outdoor()[0], "en"},
		"a bare name":                 {catalogtest.Thing("P", "Kestrel K-200"), "en"},
		"one German word":             {catalogtest.Thing("P", "Kestrel Rucksack Damen"), "en"},
		"two German words":            {catalogtest.Thing("P", "Kestrel Wanderstiefel Damen"), "de"},
		"a bare German name":          {catalogtest.Thing("P", "Kestrel Wasserkocher Edelstahl 1,7 l"), "de"},
		"a bare French name":          {catalogtest.Thing("P", "Kestrel bouilloire inox 1,7 l"), "fr"},
		"a bare Spanish name":         {catalogtest.Thing("P", "Kestrel hervidor de acero inoxidable"), "es"},
		"German words in English":     {catalogtest.Described("P", "The Wanderstiefel Damen", "A boot for you and your friends.", "Boots"), "en"},
		"words that English has, too": {catalogtest.Thing("P", "Tennis buggy boots, mug, pull on"), "en"},
		"Italian":                     {catalogtest.Described("P", "Giacca Chiurlo", "Protegge dalla pioggia e si ripiega nella sua tasca.", "Giacche"), "it"},
		"Dutch":                       {catalogtest.Described("P", "Jas Wulp", "Houdt je droog en past in een kleine zak.", "Jassen"), "nl"},
		"Portuguese":                  {catalogtest.Described("P", "Casaco Maçarico", "Protege da chuva e cabe num bolso, não pesa mais do que uma maçã.", "Casacos"), "pt"},
		"nothing":                     {&catalogv1.Product{}, "en"},
	} {
		if diff := cmp.Diff(c.want, LanguageOf(c.product).Tag); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeadNounByLanguage(t *testing.T) {
	tongue := map[string]*Language{}
	for _, l := range Languages {
		tongue[l.Tag] = l
	}
	v := NewVocabulary(nil)
	for query, want := range map[string][2]string{
		"gelbe Regenjacke Damen":              {"de", "regenjacke"},
		"Zelt für zwei":                       {"de", "zelt"},
		"petite veste jaune pour la pluie":    {"fr", "veste"},
		"sac à dos rouge":                     {"fr", "sac"},
		"pequeña tienda amarilla de campaña":  {"es", "tienda"},
		"yellow rain jacket men":              {"en", "jacket"},
		"je cherche des chaussures de marche": {"fr", "chaussures"},
	} {
		q := v.Parse(query, tongue[want[0]], English)
		if q.Head < 0 || q.Terms[q.Head].Text != want[1] || q.Language().Tag != want[0] {
			t.Errorf("%q: %s, term %d of %v, want %v", query, q.Language().Tag, q.Head, q.Terms, want)
		}
	}
	for title, want := range map[string][2]string{
		"Gelbe Regenjacke, wasserdicht":    {"de", "regenjacke"},
		"Veste jaune légère":               {"fr", "veste"},
		"Tienda amarilla para dos":         {"es", "tienda"},
		"Kestrel chaussures de marche":     {"fr", "chaussures"},
		"Yellow rain jacket for the hills": {"en", "jacket"},
	} {
		p := catalogtest.Thing("P", title)
		p.Brand = "Kestrel"
		if got := titleHead(p, tongue[want[0]], wordsOf(attributeTexts(p))); !slices.Equal(got, []string{want[1]}) {
			t.Errorf("%q is a %v, want %q", title, got, want[1])
		}
	}
}

func TestTermsHaveTheStemsOfEachLanguage(t *testing.T) {
	german, french := Languages[1], Languages[2]
	for word, want := range map[string][]string{
		"bonnets": {"bonnet", "bonet"},
		"mäntel":  {"mantel", "mäntel"},
		"l'hiver": {"l'hiv", "hiv"},
		"42":      {"42"},
	} {
		if got := (Term{Languages: []*Language{german, french}}).Stems(word); !slices.Equal(got, want) {
			t.Errorf("the stems of %q are %q, want %q", word, got, want)
		}
	}
}

func TestStemsLeaveNumbersAndShortWordsAlone(t *testing.T) {
	for _, l := range Languages[1:] {
		for _, word := range []string{"es", "xl", "kx2000es", "42", "30", ""} {
			if got := l.Stem(word); got != word {
				t.Errorf("%s: the stem of %q is %q", l.Tag, word, got)
			}
		}
	}
}

func TestFuse(t *testing.T) {
	word, near := Hit{Candidate: Candidate{Entry: &Entry{}}}, Hit{Candidate: Candidate{Entry: &Entry{}}, VectorOnly: true}
	for name, c := range map[string]struct {
		hits []Hit
		near []Similarity
		want []float64
	}{
		"one leg":     {[]Hit{word, word}, nil, []float64{1. / 61, 1. / 62}},
		"both agree":  {[]Hit{word, word}, []Similarity{{Hit: 0}, {Hit: 1}}, []float64{2. / 61, 2. / 62}},
		"one each":    {[]Hit{word, near}, []Similarity{{Hit: 1}}, []float64{1. / 61, 1. / 61}},
		"both beat":   {[]Hit{word, word, near}, []Similarity{{Hit: 2}, {Hit: 1}}, []float64{2. / 62, 1. / 61, 1. / 61}},
		"no leg's":    {[]Hit{near}, nil, []float64{}},
		"nothing":     {nil, nil, []float64{}},
		"far is left": {slices.Repeat([]Hit{near}, MaxNeighbours+5), farther(MaxNeighbours + 5), rrf(MaxNeighbours)},
	} {
		got := []float64{}
		for _, h := range fuse(c.hits, c.near) {
			got = append(got, h.Score)
		}
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: scores %v, want %v", name, got, c.want)
		}
	}
}

func farther(n int) (out []Similarity) {
	for i := range n {
		out = append(out, Similarity{Hit: i})
	}
	return out
}

func rrf(n int) (out []float64) {
	for i := range n {
		out = append(out, 1/float64(61+i))
	}
	return out
}

func TestNamesOfCategoriesAreEqual(t *testing.T) {
	for name, pair := range map[string][2]string{
		"plural":         {CategoryKey("Tents"), CategoryKey("tent")},
		"plural in -ies": {CategoryKey("Accessories"), CategoryKey("accessory")},
		"separator":      {CategoryKey("trail-running shoe"), CategoryKey("Trail running shoes")},
	} {
		if pair[0] != pair[1] || pair[0] == "" {
			t.Errorf("%s: %q and %q differ", name, pair[0], pair[1])
		}
	}
	if CategoryKey("Tents") == CategoryKey("Tent spares") {
		t.Error("different categories fold to one")
	}
}

// Neighbours are one word where a query may have that word.
func TestNeighboursThatQueriesMayJoin(t *testing.T) {
	p := &catalogv1.Product{ProductId: "P-1", Title: "GTX 1080 flash light, 30 l, 500 lumen, a mop"}
	got := Analyze(p, func(_ *Language, ws []string) []string { return ws })[PairsField]
	if want := []string{"gtx1080", "flashlight", "light30", "lumena"}; !slices.Equal(got, want) {
		t.Errorf("pairs %q, want %q", got, want)
	}
}
