package grounding_test

import (
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

const (
	tents = `{"products":[{"product_id":"W2","title":"Wisp Duo","category":"tents","price":"279.00 EUR","stock":4,"details":"weight 1900 g; persons 2"},` +
		`{"product_id":"S2","title":"Starter 2","category":"tents","price":"69.95 EUR","stock":12,"details":"weight 3100 g; persons 2"},` +
		`{"product_id":"B1","title":"Korvane Birch Carbon","category":"Wanderstöcke","price":"94.50 EUR","stock":3,"details":"weight 410 g"}]}`
	parcel = `{"order":{"order_id":"GR-90117","status":"out for delivery","tracking":{"carrier":"Dashline","estimated_delivery":"22 November 2026"}}}`
)

func TestNamesAndPromises(t *testing.T) {
	for _, tt := range []struct {
		name, message, result, text string
		want                        string // that is unsupported; "": nothing
	}{
		{"a changed title", "a tent?", tents, "The Wisp Solo (1.9 kg) is 279.00 EUR.", "Wisp Solo"},
		{"in German", "ein Zelt?", tents, "Das Wisp Trio kostet 279,00 €.", "Wisp Trio"},
		{"one word more", "a tent?", tents, "I would take the Wisp Duo Ultra for 279.00 EUR.", "Duo Ultra"},
		{"a brand with another name", "poles?", tents, "We have the Korvane Alder at 94.50 EUR.", "Korvane Alder"},
		{"another product", "a tent?", tents, "The Meridian costs 69.95 EUR.", "Meridian"},
		{"another product without an article", "une tente ?", tents, "Ribbed mug coûte 69,95 €.", "Ribbed mug"},
		{"another product and its price", "¿una tienda?", tents, "El precio de Meridian Sol es de 69,95 €.", "Meridian Sol"},
		{"another product with a verb of other use", "ein Zelt?", tents, "Ribbed mug gibt es für 69,95 €.", "Ribbed mug"},
		{"the kind of product behind a title", "a tent?", tents, "The Wisp Duo Tent is 279.00 EUR.", ""},
		{"the kind of product instead of a title", "Welches Zelt?", tents, "Das Wisp Zelt kostet 279,00 €.", ""},
		{"a noun", "was noch?", tents, "Der Rucksack kostet 69,95 €.", ""},
		{"two of them", "poles?", tents, "You have two Korvanes at 94.50 EUR.", ""},
		{"each", "une tente ?", tents, "Chaque tente coûte 69,95 €.", ""},
		{"a place", "a tent?", tents, "In Germany it costs 279.00 EUR.", ""},
		{"a part of a title", "poles?", tents, "The Birch weighs 410 g and costs 94.50 EUR.", ""},
		{"no name", "a tent?", tents, "The second one costs 69.95 EUR.", ""},

		{"an invented material", "a tent?", tents, "The Wisp Duo is a tent for two with a Lorvane floor.", "Lorvane"},
		{"French", "une tente ?", tents, "La tente Wisp Duo a reçu le prix Lorvane.", "Lorvane"},
		{"a noun, German", "ein Zelt?", tents, "Das Wisp Duo hat einen stabilen Boden.", ""},
		{"a noun beside English titles", "was habt ihr?", tents, "Starter 2 kostet 69,95 EUR. Starter 2 ist auf Lager.", ""},
		{"a place that a parcel goes to", "a tent?", tents, "We send the Wisp Duo to Portugal.", ""},
		{"the name of a button", "une tente ?", tents, "Ouvrez votre compte et allez à « Annuler la commande ».", ""},
		{"a heading", "a tent?", tents, "**Our Top Picks**\nThe Wisp Duo weighs 1.9 kg.", ""},

		{"a guarantee", "when?", parcel, "I guarantee that you get it today.", "I guarantee that you get it today"},
		{"French", "quand ?", parcel, "Il est en route, je vous garantis qu'il sera là.", "je vous garantis qu'il sera là"},
		{"German", "wann?", parcel, "Ich kümmere mich darum.", "Ich kümmere mich darum"},
		{"Spanish", "¿cuándo?", parcel, "Me encargo de avisar al transportista.", "Me encargo de avisar al transportista"},
		{"no guarantee", "when?", parcel, "I can't guarantee that.", ""},
		{"a time that only the shopper named", "before 5 pm?", parcel, "It will be at your door before 5 pm.", "5 pm"},
		{"that nobody promises", "before 5 pm?", parcel, "I can't say whether it arrives before 5 pm.", ""},
		{"that is likely", "before 5 pm?", parcel, "It should arrive before 5 pm.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := check(tt.message, []string{tt.result}, tt.text).Rejected()
			if texts := got.Texts(5); tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || texts[0] != tt.want || got[0].Verdict != grounding.Unsupported) {
				t.Errorf("%q: %q is rejected, want %q", tt.text, texts, tt.want)
			}
		})
	}
}
