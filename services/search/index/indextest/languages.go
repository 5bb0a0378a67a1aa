package indextest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
)

func (x suite) testQueriesAreReadInTheLanguageOfTheCatalog(t *testing.T) {
	for language, c := range map[string]struct {
		products []*catalogv1.Product
		queries  map[string][]string
	}{
		"de": {catalogtest.German(), map[string][]string{
			"Jacken":  {"JACKE"},
			"Jacke":   {"JACKE"},
			"Mäntel":  {"MANTEL"},
			"Maentel": {"MANTEL"},
			"Ich suche bitte eine günstige Hose unter 80 Euro": {"HOSE"},
			"rucksäcke":         {"SACK"},
			"Ranzen":            {"SACK"},
			"Kopflampen":        {"LAMPE"},
			"Stirnlmape":        {"LAMPE"},
			"Wanderstiefel":     {"SCHUH"},
			"Hase":              nil,
			"L4":                nil,
			"L3":                {"LAMPE"},
			"Hosen für Herren":  {"HOSE"},
			"Jacke für Regen":   {"JACKE"},
			"warmer Mantel":     {"MANTEL"},
			"Kiebitz Rucksack":  {"SACK"},
			"eine Kaffeemühle ": nil,
		}},
		"fr": {catalogtest.French(), map[string][]string{
			"vestes":                                {"VESTE"},
			"veste":                                 {"VESTE"},
			"vestes impermeables":                   {"VESTE"},
			"blouson":                               {"VESTE"},
			"je cherche une tente pour la montagne": {"TENTE"},
			"chaussure de randonnee":                {"PIED"},
			"souliers":                              {"PIED"},
			"lampes frontales":                      {"FRONT"},
			"gourdes moins de 30 euros":             {"GOURDE"},
			"bouteille d'acier":                     {"GOURDE"},
			"bonets":                                {"BONNET"},
			"chausures":                             {"PIED"},
			"F3":                                    nil,
			"ordinateur":                            nil,
		}},
		"es": {catalogtest.Spanish(), map[string][]string{
			"chaquetas": {"CHAQUETA"},
			"chaqueta":  {"CHAQUETA"},
			"cazadora":  {"CHAQUETA"},
			"busco una tienda de campaña para la montaña": {"TIENDA"},
			"bota":                    {"BOTA"},
			"botas trekking":          {"BOTA"},
			"linternas frontales":     {"FRONTAL"},
			"pantalones":              {"PANTALON"},
			"pantalon":                {"PANTALON"},
			"calcetín":                {"CALCETIN"},
			"calcetines de hombre":    {"CALCETIN"},
			"chaqeta":                 {"CHAQUETA"},
			"F3":                      nil,
			"una cafetera":            nil,
			"botas menos de 90 euros": {"BOTA"},
		}},
	} {
		v := x.view(t, c.products)
		for _, p := range c.products {
			if got := index.LanguageOf(p).Tag; got != language {
				t.Errorf("%q is told to be in %s, want %s", p.GetTitle(), got, language)
			}
		}
		for query, want := range c.queries {
			if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
				t.Errorf("%s: %q finds %v, want %v", language, query, got, want)
			}
		}
	}
}

func (x suite) testCategoriesAreNamedInThePluralOfTheirLanguage(t *testing.T) {
	for name, c := range map[string]struct {
		products []*catalogv1.Product
		category string
		want     []string
	}{
		"German":  {catalogtest.German(), "Mantel", []string{"MANTEL"}},
		"French":  {catalogtest.French(), "tente", []string{"TENTE"}},
		"Spanish": {catalogtest.Spanish(), "pantalón", []string{"PANTALON"}},
		"none":    {catalogtest.German(), "Hase", nil},
	} {
		got := HitIDs(t, x.view(t, c.products), "", &catalogv1.Filter{Categories: []string{c.category}}, catalogv1.Sort_SORT_UNSPECIFIED)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: category %q has %v, want %v", name, c.category, got, c.want)
		}
	}
}

// Shoppers who write in English find what a store describes in another language.
func (x suite) testEnglishQueriesToOtherCatalogs(t *testing.T) {
	mug := catalogtest.Described("MUG", "Enamel mug", "The mug is light and it does not break when you drop it.", "Mugs")
	coat := catalogtest.Described("COAT", "Dotterel coat", "A warm layer of wool for the coldest of days.", "Coats")
	for name, c := range map[string]struct {
		products []*catalogv1.Product
		queries  map[string][]string
	}{
		"German": {catalogtest.German(), map[string][]string{
			"coat":                   {"MANTEL"},
			"jackets":                {"JACKE"},
			"storm jacket":           {"JACKE"}, // one word in German
			"men's trousers":         {"HOSE"},
			"I need a warm backpack": {"SACK"},
			"knapsack":               {"SACK"}, // the dictionary has a synonym
			"headlamp L3":            {"LAMPE"},
			"hiking boots":           {"SCHUH"},
			"zeppelin":               nil,
			"Boot":                   nil, // a ship, and not what is worn
			"Hut":                    nil,
		}},
		"French":  {catalogtest.French(), map[string][]string{"tents": {"TENTE"}, "jacket": {"VESTE"}, "headlamp": {"FRONT"}, "mug": nil}},
		"Spanish": {catalogtest.Spanish(), map[string][]string{"trousers": {"PANTALON"}, "jacket": {"CHAQUETA"}, "men's socks": {"CALCETIN"}}},
		"mostly German": {append(catalogtest.German(), mug, coat), map[string][]string{
			"mug": {"MUG"}, "coat": {"COAT"}, "Mantel": {"MANTEL"}, "jacket": {"JACKE"},
		}},
	} {
		v := x.view(t, c.products)
		for query, want := range c.queries {
			if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
				t.Errorf("%s: %q finds %v, want %v", name, query, got, want)
			}
		}
	}
}

// A brand that is a word of another language is not read as that word.
func (x suite) testBrandsAreNotTranslated(t *testing.T) {
	product := func(id, title, brand, description string) *catalogv1.Product {
		p := catalogtest.Described(id, title, description, "Things")
		p.Brand = brand
		return p
	}
	v := x.view(t, []*catalogv1.Product{
		product("SCARF", "Winter scarf", "Grau", "A long scarf of wool for the cold."),
		product("GREY", "Grey scarf", "Dotterel", "A short scarf for the spring and the autumn."),
		product("HAT", "Grey hat", "Dotterel", "A hat for the rain."),
		product("MUG", "Enamel mug", "De", "A mug for the camp."),
	})
	for query, want := range map[string]string{
		"grau":           "SCARF",
		"Grau Schal":     "SCARF",
		"schal von Grau": "SCARF",
		"grauer Schal":   "GREY", // the brand has no ending
		"graue Mütze":    "HAT",
		"taza de metal":  "MUG",
	} {
		if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", query, got, want)
		}
	}
	without := x.view(t, []*catalogv1.Product{product("GREY", "Grey scarf", "Dotterel", "A short scarf for the spring and the autumn.")})
	if got := HitIDs(t, without, "grau Schal", nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, []string{"GREY"}) {
		t.Errorf("in a store without the brand: %v", got)
	}
}

// English titles have words of other languages, and names that look like compounds. What they mean is found, too.
func (x suite) testTranslatedWordsAreFoundAsTheyAreWritten(t *testing.T) {
	v := x.view(t, []*catalogv1.Product{
		catalogtest.Thing("CUP", "Stoneware cup fellmark"), catalogtest.Thing("POSTER", "Poster Schlafsack"), catalogtest.Thing("BAG", "Down sleeping bag"),
	})
	for query, want := range map[string][]string{"fellmark": {"CUP"}, "Fellmark cup": {"CUP"}, "Schlafsack": {"BAG", "POSTER"}, "cup fellnoten": nil} {
		if diff := cmp.Diff(want, HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

// A store may sell in two languages, and each shopper is understood in one.
func (x suite) testCatalogInTwoLanguages(t *testing.T) {
	v := x.view(t, slices.Concat(catalogtest.German(), catalogtest.French()))
	for query, want := range map[string][]string{
		"Mäntel":                   {"MANTEL"},
		"gourdes":                  {"GOURDE"},
		"je cherche des souliers":  {"PIED"},
		"ich suche Wanderstiefel":  {"SCHUH"},
		"une veste pour l'hiver":   {"VESTE"},
		"Stirnlampe für die Nacht": {"LAMPE"},
	} {
		if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// A product with translations is found in each of their languages.
func (x suite) testTranslatedProducts(t *testing.T) {
	boot := catalogtest.Described("P-1", "Avocet hiking boot", "It holds on wet rock.", "Boots")
	boot.Translations = []*catalogv1.LocalizedText{
		{Language: "de-CH", Title: "Avocet Wanderstiefel", Description: "Hält auf nassem Fels."},
		{Language: "es", Title: "Bota de senderismo Avocet"},
	}
	v := x.view(t, []*catalogv1.Product{boot, catalogtest.Described("P-2", "Avocet tent", "It stands in a storm.", "Tents")})
	var spoken []string
	for _, l := range v.Statistics.CatalogLanguages() {
		spoken = append(spoken, l.Tag)
	}
	if !slices.Equal(spoken, []string{"en", "de", "es"}) {
		t.Errorf("the catalog is in %v", spoken)
	}
	for query, want := range map[string][]string{
		"hiking boots": {"P-1"}, "habt ihr Wanderstiefel": {"P-1"}, "botas": {"P-1"}, "nasser Fels": {"P-1"}, "Zelt": nil, "tents": {"P-2"},
	} {
		if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// A few products in another language change nothing for English queries, and are found by their very words.
func (x suite) testStrayProductsInAnotherLanguage(t *testing.T) {
	products := append(catalogtest.Titled(slices.Repeat([]string{"Kettle"}, 30)...), catalogtest.German()[1])
	products = append(products, catalogtest.Thing("NOTES", "Ruled notes"), catalogtest.Described("NOT", "Vase", "This is not a cup.", "Vases"))
	v := x.view(t, products)
	if got := v.Statistics.CatalogLanguages(); len(got) != 1 || got[0] != index.English {
		t.Errorf("%d languages are spoken, want English alone", len(got))
	}
	for query, want := range map[string][]string{"hose": {"HOSE"}, "notes": {"NOTES"}} {
		if got := HitIDs(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

func (x suite) testStoresHaveSynonymsOfTheirOwn(t *testing.T) {
	products := []*catalogv1.Product{catalogtest.Thing("KITE", "Gale stunt kite"), catalogtest.Described("CASE", "Padded bag", "Fits under a stool.", "Things")}
	view := x.view(t, products)
	own := index.NewVocabulary(map[string][][]string{index.AllStores: {{"wind sail", "kite"}}, "s1": {{"gig bag", "padded bag"}, {"Flyers", "kites"}, {"pouf", "padded stool"}}})
	for _, c := range []struct {
		store, query string
		want         []string
	}{
		{"s1", "flyer", []string{"KITE"}},
		{"s1", "gig bag", []string{"CASE"}},
		{"s1", "wind sails", []string{"KITE"}},
		{"s1", "pouf", nil}, // both words, but not together
		{"s2", "flyer", nil},
		{"s2", "wind sail", []string{"KITE"}},
	} {
		found, err := view.Search(t.Context(), view.Query(own.Of(c.store), c.query), index.Filter{}, catalogv1.Sort_SORT_UNSPECIFIED)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range found.Hits {
			got = append(got, h.ID())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q finds %v, want %v", c.store, c.query, got, c.want)
		}
	}
}
