package grounding

import "testing"

func TestCheckComparesPiecesItemsAndTotals(t *testing.T) {
	const results = `{"products":[
		{"product_id":"K-1","title":"Varn Kettle","price":"49.00 EUR","variant_id":"r","options":{"colour":["red"]},"stock":9,"details":"power 1500 W; cups 6"},
		{"product_id":"K-1","title":"Varn Kettle","price":"49.00 EUR","variant_id":"b","options":{"colour":["blue"]},"stock":3,"details":"power 1500 W; cups 6"},
		{"product_id":"K-2","title":"Olm Press","price":"31.00 EUR","stock":0,"details":"pressure 9 bar; cups 12"},
		{"product_id":"K-4","title":"Olm Boots","price":"89.00 EUR","options":{"size":["41","42"]},"stock":4},
		{"product_id":"K-3","title":"Tarn Machine","price":"199.00 EUR","stock":2,"details":"pressure 15 bar; cups 2"}],
		"order":{"order_id":"VR-20","status":"delivered","total":"74.50 EUR","items":[
			{"title":"Olm Grinder","price":"42.00 EUR"},{"title":"Varn Filters","quantity":2,"price":"14.50 EUR"}]}}`
	checkRejected(t, results, map[string]int{
		"There are 9 Varn Kettles in red left.":                   0,
		"There are nine pieces of the Varn Kettle left in red.":   0,
		"There are 12 of the Varn Kettle in stock.":               0,
		"More than 2 of the Varn Kettle are left.":                0,
		"The Varn Kettle in blue: 9 left.":                        1,
		"All 3 available, the Tarn Machine too.":                  0,
		"With 2 in stock of the Tarn Machine, there is no hurry.": 0,
		"Of the Tarn Machine only five are left.":                 1,
		"Il reste cinq pièces de la Tarn Machine.":                1,
		"Vom Tarn Machine sind noch fünf Stück da.":               1,
		"Of the Olm Boots only 42 is available.":                  0,
		"Of the Olm Boots only 5 are available.":                  1,
		"The Olm Boots are sold out in 42.":                       0,
		"The Varn Kettle is sold out in red.":                     1,
		"The Olm Boots are sold out.":                             1,
		"The Olm Press works at 9 bar.":                           0,
		"The Olm Press works at 15 bar.":                          1,
		"The Tarn Machine makes twelve cups.":                     1,
		"VR-20 came to 74.50 EUR in total.":                       0,
		"The total of VR-20 was 42.00 EUR.":                       1,
		"The Olm Grinder in VR-20 was 42.00 EUR.":                 0,
		"The Olm Grinder in VR-20 was 14.50 EUR.":                 1,
		"Order VR-20 was delivered.":                              0,
		"Order VR-20 is on its way.":                              1,
		"La commande VR-20 ne peut être renvoyée que complète.":   0,
	})
}

// A short sentence does not show its language, which the assignment gives.
func TestPiecesInWordsOfTheAnswersLanguage(t *testing.T) {
	for text, want := range map[string]int{"Quedan siete unidades de la Bandeja Olmeda.": 0, "Quedan nueve unidades de la Bandeja Olmeda.": 1} {
		e := Evidence{Language: "es"}
		e.AddResult("", `{"product_id":"Z-1","title":"Bandeja Olmeda","stock":7}`)
		if got := e.Check(text).Rejected(); len(got) != want {
			t.Errorf("Check(%q) = %+v, want %d rejected", text, got, want)
		}
	}
}
