package index

import (
	"strings"
	"testing"
)

func TestQueriesToEnglishProductsAreTranslated(t *testing.T) {
	v := NewVocabulary(nil)
	for query, want := range map[string]string{
		"Fahrradschloss 2 Meter":          "bicycle lock 2 metre",
		"schwarze Stiefel für Herren":     "black boots men",
		"Puppenkleidung":                  "doll clothes",
		"Hose für Kinder":                 "trousers children",
		"lampe de poche étanche":          "waterproof flashlight",
		"sac à dos rouge":                 "red backpack",
		"mochila impermeable para niños":  "waterproof backpack children",
		"TECLADO INALAMBRICO":             "wireless keyboard",
		"lampara para el escritorio":      "lamp desk",
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
