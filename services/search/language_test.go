package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// described is a product with a title, a description and a category.
func described(id, title, description, category string) *catalogv1.Product {
	p := thing(id, title)
	p.Description, p.CategoryPath = description, []string{category}
	return p
}

func german() []*catalogv1.Product {
	return []*catalogv1.Product{
		described("JACKE", "Brachvogel Sturmjacke", "Die Jacke hält auch im Regen dicht und passt in jede Tasche.", "Jacken"),
		described("HOSE", "Brachvogel Hose Herren", "Für lange Touren, mit vier aufgesetzten Fächern.", "Hosen"),
		described("MANTEL", "Kiebitz Mantel", "Ein warmes Stück aus Wolle für kalte Tage.", "Mäntel"),
		described("SACK", "Kiebitz Rucksack 20 l", "Sitzt gut und hat Platz für alles, was man am Tag braucht.", "Rucksäcke"),
		described("LAMPE", "Eisvogel Stirnlampe L3", "Leuchtet weit und hält zehn Stunden durch.", "Lampen"),
		described("SCHUH", "Eisvogel Wanderschuhe", "Fester Halt auf dem Fels, auch mit schwerem Gepäck.", "Schuhe"),
	}
}

func french() []*catalogv1.Product {
	return []*catalogv1.Product{
		described("VESTE", "Veste imperméable Courlis", "Elle protège de la pluie et se range dans une poche.", "Vestes"),
		described("TENTE", "Tente deux places Courlis", "Se monte en dix minutes, pour les nuits en montagne.", "Tentes"),
		described("PIED", "Chaussures de randonnée Vanneau", "Une semelle qui tient sur le rocher, pour les longues marches.", "Chaussures"),
		described("FRONT", "Lampe frontale Vanneau F2", "Éclaire à cent mètres et se recharge par câble.", "Éclairage"),
		described("GOURDE", "Gourde en acier", "Garde l'eau fraîche pendant une journée.", "Gourdes"),
		described("BONNET", "Bonnet de laine", "Tricoté avec soin pour les jours froids.", "Bonnets"),
	}
}

func spanish() []*catalogv1.Product {
	return []*catalogv1.Product{
		described("CHAQUETA", "Chaqueta impermeable Zarapito", "Protege de la lluvia y se guarda en su propio bolsillo.", "Chaquetas"),
		described("TIENDA", "Tienda de campaña Zarapito", "Se monta en diez minutos, para dos noches en la montaña.", "Tiendas"),
		described("BOTA", "Botas de senderismo Avefría", "Una suela que agarra en la roca, con buen apoyo.", "Botas"),
		described("FRONTAL", "Linterna frontal Avefría F2", "Ilumina hasta cien metros y se carga por cable.", "Linternas"),
		described("PANTALON", "Pantalón de montaña", "Con cuatro bolsillos para las rutas largas.", "Pantalones"),
		described("CALCETIN", "Calcetines de lana", "Abrigan los pies en los días más fríos.", "Calcetines"),
	}
}

func (ix backing) testQueriesAreReadInTheLanguageOfTheCatalog(t *testing.T) {
	for language, c := range map[string]struct {
		products []*catalogv1.Product
		queries  map[string][]string
	}{
		"de": {german(), map[string][]string{
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
		"fr": {french(), map[string][]string{
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
		"es": {spanish(), map[string][]string{
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
		v := ix.view(t, c.products)
		for _, p := range c.products {
			if got := languageOf(p).tag; got != language {
				t.Errorf("%q is told to be in %s, want %s", p.GetTitle(), got, language)
			}
		}
		for query, want := range c.queries {
			if got := ids(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
				t.Errorf("%s: %q finds %v, want %v", language, query, got, want)
			}
		}
	}
}

func (ix backing) testCategoriesAreNamedInThePluralOfTheirLanguage(t *testing.T) {
	for name, c := range map[string]struct {
		products []*catalogv1.Product
		category string
		want     []string
	}{
		"German":  {german(), "Mantel", []string{"MANTEL"}},
		"French":  {french(), "tente", []string{"TENTE"}},
		"Spanish": {spanish(), "pantalón", []string{"PANTALON"}},
		"none":    {german(), "Hase", nil},
	} {
		got := ids(t, ix.view(t, c.products), "", &catalogv1.Filter{Categories: []string{c.category}}, catalogv1.Sort_SORT_UNSPECIFIED)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: category %q has %v, want %v", name, c.category, got, c.want)
		}
	}
}

// A store may sell in two languages, and each shopper is understood in one.
func (ix backing) testCatalogInTwoLanguages(t *testing.T) {
	v := ix.view(t, slices.Concat(german(), french()))
	for query, want := range map[string][]string{
		"Mäntel":                   {"MANTEL"},
		"gourdes":                  {"GOURDE"},
		"je cherche des souliers":  {"PIED"},
		"ich suche Wanderstiefel":  {"SCHUH"},
		"une veste pour l'hiver":   {"VESTE"},
		"Stirnlampe für die Nacht": {"LAMPE"},
	} {
		if got := ids(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// A few products in another language change nothing for English queries, and are found by their very words.
func (ix backing) testStrayProductsInAnotherLanguage(t *testing.T) {
	products := append(titled(slices.Repeat([]string{"Kettle"}, 30)...), german()[1])
	products = append(products, thing("NOTES", "Ruled notes"), described("NOT", "Vase", "This is not a cup.", "Vases"))
	v := ix.view(t, products)
	if got := v.facts.spoken(); len(got) != 1 || got[0] != english {
		t.Errorf("%d languages are spoken, want English alone", len(got))
	}
	for query, want := range map[string][]string{"hose": {"HOSE"}, "notes": {"NOTES"}} {
		if got := ids(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

func TestLanguageOfAProduct(t *testing.T) {
	for name, c := range map[string]struct {
		product *catalogv1.Product
		want    string
	}{
		"English":                     {outdoor()[0], "en"},
		"a bare name":                 {thing("P", "Kestrel K-200"), "en"},
		"one German word":             {thing("P", "Kestrel Rucksack Damen"), "en"},
		"two German words":            {thing("P", "Kestrel Wanderstiefel Damen"), "de"},
		"German words in English":     {described("P", "The Wanderstiefel Damen", "A boot for you and your friends.", "Boots"), "en"},
		"words that English has, too": {thing("P", "Tennis buggy boots, mug, pull on"), "en"},
		"Italian":                     {described("P", "Giacca Chiurlo", "Protegge dalla pioggia e si ripiega nella sua tasca.", "Giacche"), "it"},
		"Dutch":                       {described("P", "Jas Wulp", "Houdt je droog en past in een kleine zak.", "Jassen"), "nl"},
		"Portuguese":                  {described("P", "Casaco Maçarico", "Protege da chuva e cabe num bolso, não pesa mais do que uma maçã.", "Casacos"), "pt"},
		"nothing":                     {&catalogv1.Product{}, "en"},
	} {
		if diff := cmp.Diff(c.want, languageOf(c.product).tag); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheThingStandsWhereTheLanguagePutsIt(t *testing.T) {
	tongue := map[string]*language{}
	for _, l := range languages {
		tongue[l.tag] = l
	}
	v := newVocabulary(nil)
	for query, want := range map[string][2]string{
		"gelbe Regenjacke Damen":              {"de", "regenjacke"},
		"Zelt für zwei":                       {"de", "zelt"},
		"petite veste jaune pour la pluie":    {"fr", "veste"},
		"sac à dos rouge":                     {"fr", "sac"},
		"pequeña tienda amarilla de campaña":  {"es", "tienda"},
		"yellow rain jacket men":              {"en", "jacket"},
		"je cherche des chaussures de marche": {"fr", "chaussures"},
	} {
		q := v.parse(query, tongue[want[0]], english)
		if q.head < 0 || q.terms[q.head].Text != want[1] || q.in().tag != want[0] {
			t.Errorf("%q: %s, term %d of %v, want %v", query, q.in().tag, q.head, q.terms, want)
		}
	}
	for title, want := range map[string][2]string{
		"Gelbe Regenjacke, wasserdicht":    {"de", "regenjacke"},
		"Veste jaune légère":               {"fr", "veste"},
		"Tienda amarilla para dos":         {"es", "tienda"},
		"Kestrel chaussures de marche":     {"fr", "chaussures"},
		"Yellow rain jacket for the hills": {"en", "jacket"},
	} {
		p := thing("P", title)
		p.Brand = "Kestrel"
		if got := titleHead(p, tongue[want[0]], wordsOf(attributeTexts(p))); !slices.Equal(got, []string{want[1]}) {
			t.Errorf("%q is a %v, want %q", title, got, want[1])
		}
	}
}

func TestTermsHaveTheStemsOfEachLanguage(t *testing.T) {
	german, french := languages[1], languages[2]
	for word, want := range map[string][]string{
		"bonnets": {"bonnet", "bonet"},
		"mäntel":  {"mantel", "mäntel"},
		"l'hiver": {"l'hiv", "hiv"},
		"42":      {"42"},
	} {
		if got := (Term{languages: []*language{german, french}}).stems(word); !slices.Equal(got, want) {
			t.Errorf("the stems of %q are %q, want %q", word, got, want)
		}
	}
}

func TestStemsLeaveNumbersAndShortWordsAlone(t *testing.T) {
	for _, l := range languages[1:] {
		for _, word := range []string{"es", "xl", "kx2000es", "42", "30", ""} {
			if got := l.stem(word); got != word {
				t.Errorf("%s: the stem of %q is %q", l.tag, word, got)
			}
		}
	}
}

func (ix backing) testStoresHaveSynonymsOfTheirOwn(t *testing.T) {
	products := []*catalogv1.Product{thing("KITE", "Gale stunt kite"), described("CASE", "Padded bag", "Fits under a stool.", "Things")}
	view := ix.view(t, products)
	own := newVocabulary(map[string][][]string{AllStores: {{"wind sail", "kite"}}, "s1": {{"gig bag", "padded bag"}, {"Flyers", "kites"}, {"pouf", "padded stool"}}})
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
		found, err := view.search(t.Context(), view.query(own.of(c.store), c.query), nil, catalogv1.Sort_SORT_UNSPECIFIED)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range found.hits {
			got = append(got, h.id())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q finds %v, want %v", c.store, c.query, got, c.want)
		}
	}
}

func TestSynonymsThatCanNotBeUsedAreRefused(t *testing.T) {
	for want, groups := range map[string][][]string{
		"group 2 has 1 phrases":       {{"a", "b"}, {"c"}},
		`"a b c" has 3 words`:         {{"a b c", "d"}},
		`"..." has 0 words`:           {{"a", "..."}},
		"group 1 has 21 phrases":      {slices.Repeat([]string{"a"}, maxSynonyms+1)},
		`synonyms of store "s1": gro`: {{}},
	} {
		_, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Synonyms: map[string][][]string{"s1": groups}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func (ix backing) testSearchToolKnowsTheStoresSynonyms(t *testing.T) {
	s := ix.service(t, Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Synonyms: map[string][][]string{"s1": {{"dasher", "running shoes"}}},
	})
	for store, want := range map[string]int{"s1": 2, "s2": 0} {
		put(t, s.catalog, store, outdoor()...)
		turn := &specialist.Turn{Scope: scope.Scope{StoreID: store}, Findings: &specialist.Findings{}}
		tool := s.tools(turn)[0]
		value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"dasher"}`})
		if err != nil {
			t.Fatal(err)
		}
		if got := value.(searchResult).Total; got != want {
			t.Errorf("%s: %d products, want %d", store, got, want)
		}
	}
}
