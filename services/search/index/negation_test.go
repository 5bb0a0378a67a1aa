package index

import (
	"strings"
	"testing"
)

func TestCutNegations(t *testing.T) {
	for query, want := range map[string]string{
		"kettle without lid":                   "kettle | without lid",
		"a kettle without a lid for tea":       "a kettle for tea | without lid",
		"kettle without lid, blue":             "kettle, blue | without lid",
		"jacket without hood men":              "jacket men | without hood",
		"tent without footprint 2 person":      "tent 2 person | without footprint",
		"jacket without hood and with pockets": "jacket and with pockets | without hood",
		"kettle without lid without whistle":   "kettle | without lid, without whistle",
		"jacket with or without hood":          "jacket with or | without hood",
		"radio without mp3":                    "radio | without mp3",
		"Jacke ohne Kapuze":                    "Jacke | ohne Kapuze",
		"chaussures sans l'écran":              "chaussures | sans écran",
		"chaqueta sin capucha roja":            "chaqueta roja | sin capucha",
		"WITHOUT LID kettle":                   "WITHOUT LID kettle | ", // of two words
		"jacket without hood and pockets":      "jacket without hood and pockets | ",
		"bag without carrying case":            "bag without carrying case | ",
		"hob without built-in extractor":       "hob without built-in extractor | ",
		"muesli without traces of nuts":        "muesli without traces of nuts | ",
		"biscuits sans huile de palme":         "biscuits sans huile de palme | ",
		"souris sans fil noire":                "souris sans fil noire | ",
		"ratón sin cable":                      "ratón sin cable | ",
		"galletas sin azúcar":                  "galletas sin azúcar | ",
		"tent ſans poles blue":                 "tent ſans poles blue | ",
		"kettle without":                       "kettle without | ",
		"Doctors Without Borders mug":          "Doctors Without Borders mug | ",
		"":                                     " | ",
	} {
		wanted, negated := cutNegations(query)
		if got := wanted + " | " + strings.Join(negated, ", "); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
