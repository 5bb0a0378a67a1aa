package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsAreReadByTypeAndUnit(t *testing.T) {
	type read struct {
		Words, Size, Sort string
		Unordered         bool
		Min, Max          float64
		Attributes        map[string]any
	}
	for message, want := range map[string]read{
		"a lamp under 60 euro":                   {Words: "lamp", Max: 60},
		"lamps between 20 and 35.50 EUR":         {Words: "lamps", Min: 20, Max: 35.5},
		"lamp over $20":                          {Words: "lamp", Min: 20},
		"a mug for £8":                           {Words: "mug", Max: 8},
		"ein Becher bis 12,50 €":                 {Words: "Becher", Max: 12.5},
		"a rucksack under 800 g":                 {Words: "rucksack", Attributes: map[string]any{"weight": "<=800 g"}},
		"lamps over 400 lumen":                   {Words: "lamps", Attributes: map[string]any{"brightness": ">=400 lm"}},
		"a hose under 3 m":                       {Words: "hose 3 m"},
		"tents for two under 250":                {Words: "tents", Max: 250},
		"lamp with the longest battery life":     {Words: "lamp", Unordered: true},
		"red gloves in size 42":                  {Words: "red gloves", Size: "42"},
		"a sleeping bag under 60 euro":           {Words: "sleeping bag", Max: 60},
		"gloves in L":                            {Words: "gloves", Size: "L"},
		"gants noirs en taille 9":                {Words: "gants noirs", Size: "9"},
		"what is your cheapest kettle?":          {Words: "kettle", Sort: "price_low_to_high"},
		"do you have the Nimbrel Wisp 1 please?": {Words: "Nimbrel Wisp 1"},
	} {
		r := readRequest(message, "Recorded: weight, brightness")
		lang := map[bool]string{true: "de", false: "en"}[strings.HasPrefix(message, "ein ")]
		if strings.HasPrefix(message, "gants") {
			lang = "fr"
		}
		got := read{Words: strings.Join(productWords(r.rest, lang), " "), Sort: r.sort, Min: r.min, Max: r.max, Unordered: r.unordered}
		if len(r.attributes) > 0 {
			got.Attributes = r.attributes
		}
		got.Size, _ = r.options["size"].(string)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", message, diff)
		}
	}
}
