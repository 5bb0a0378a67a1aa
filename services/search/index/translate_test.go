package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/search/catalog"
)

func TestQueriesToEnglishProductsAreTranslated(t *testing.T) {
	v := NewVocabulary(nil)
	for query, want := range map[string]string{
		"Fahrradschloss 2 Meter":          "bicycle lock 2 metre",
		"schwarze Stiefel für Herren":     "black boots men",
		"Puppenkleidung":                  "doll clothes",
		"Kindergartenstuhl":               "children garden chair",
		"schwarzer Toner":                 "black toner",
		"support pour écran d'ordinateur": "computer monitor stand",
		"rouleau de 44 pouces":            "44 inch roll",
		"Hose für Kinder":                 "trousers children",
		"lampe de poche étanche":          "waterproof flashlight",
		"sac à dos rouge":                 "red backpack",
		"mochila impermeable para niños":  "waterproof backpack children",
		"TECLADO INALAMBRICO":             "wireless keyboard",
		"lampara para el escritorio":      "lamp desk",
		"Jacke":                           "jacket", // its English stem is that of jack
		"Lampe":                           "lamp",
		"tente":                           "tent",
		"photos":                          "photos",
		"tickets":                         "tickets",
		"garden hose":                     "garden hose",
		"handy mixer":                     "handy mixer",
		"kingston micro sd":               "kingston micro sd",
		"rose plateau":                    "rose plateau",
		"laptop para":                     "laptop para",
		"tent":                            "tent",
		"27 inch monitor full hd":         "27 inch monitor full hd",
		"d batteries":                     "d batteries",
		"stirnlampe xr-200 von northpeak": "headlamp xr 200 northpeak",
	} {
		var terms []string
		for _, term := range v.Parse(query, English).Terms {
			terms = append(terms, term.Text)
		}
		if got := strings.Join(terms, " "); got != want {
			t.Errorf("%q is read as %q, want %q", query, got, want)
		}
	}
	// The head noun is that of English.
	if q := v.Parse("zapatos negros", English); q.Head != 1 {
		t.Errorf("the head noun is term %d of %v, want 1", q.Head, q.Terms)
	}
	// A store with German products is asked in German, and one without English products in the shopper's words.
	german := languageOfTag("de")
	if q := v.Parse("schwarze Stiefel", English, german); q.Terms[1].Text != "stiefel" {
		t.Errorf("to German products it is read as %v", q.Terms)
	}
	if q := v.Parse("zapatos negros", german, English); q.Terms[0].Text != "zapatos" {
		t.Errorf("to mostly German products it is read as %v", q.Terms)
	}
}

func TestAWordThatMeansTwoThingsFindsBoth(t *testing.T) {
	q := NewVocabulary(nil).Parse("broche argentée", English)
	i := q.position("pin")
	if i < 0 {
		i = q.position("brooch")
	}
	if i < 0 || len(q.Terms[i].Alternatives) == 0 {
		t.Fatalf("it is read as %v", q.Terms)
	}
	if all := append(q.Terms[i].Alternatives, q.Terms[i].Text); !slices.Contains(all, "pin") || !slices.Contains(all, "brooch") {
		t.Errorf("it means %v", all)
	}
}

// Words with one meaning in common keep what else each means.
func TestWordsThatMeanTheSameKeepTheirOtherMeanings(t *testing.T) {
	q := NewVocabulary(nil).Parse("Koffer Trolley", English)
	if i := q.position("suitcase"); i < 0 || !slices.Contains(q.Terms[i].Alternatives, "case") || !slices.Contains(q.Terms[i].Alternatives, "koffer") {
		t.Errorf("it is read as %v", q.Terms)
	}
}

// Each phrase has one meaning that comes first.
func TestTranslationsAreWellFormed(t *testing.T) {
	for n, line := range strings.Split(strings.TrimSpace(translationsText), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, ";")
		if len(cells) != 1+len(dictionaries()) {
			t.Errorf("line %d has %d cells: %s", n+1, len(cells), line)
			continue
		}
		for i, d := range dictionaries() {
			for _, phrase := range strings.Split(cells[1+i], ",") {
				ws := d.folded(catalog.Words(phrase))
				if phrase == "" || strings.HasPrefix(phrase, "+") {
					continue
				}
				if found := d.lookup(ws...); found[0] != cells[0] {
					t.Errorf("line %d: %q means %q, by another line %q", n+1, phrase, cells[0], found[0])
				}
			}
		}
	}
}

func TestSynonymsAreWellFormed(t *testing.T) {
	for tag, groups := range synonymGroups() {
		if languageOfTag(tag).Tag != tag {
			t.Errorf("%q is no language", tag)
		}
		if err := CheckSynonyms(map[string][][]string{tag: groups}); err != nil {
			t.Error(err)
		}
	}
}
