package grounding

import "testing"

func TestAlikeTitles(t *testing.T) {
	checkRejected(t, `{"product_id":"P-4","title":"Muirhead practice chanter","price":"36.00 EUR","stock":5}`, map[string]int{
		"The Muirhead practice chanter is 36.00 EUR.":   0,
		"The Muirfield practice chanter is 36.00 EUR.":  1,
		"Der Muirfeld Practice Chanter kostet 36,00 €.": 1,
		"A practice chanter costs 36.00 EUR.":           0,
	})
}

func TestNamesThatAreAlike(t *testing.T) {
	for names, want := range map[[2]string]bool{
		{"muirfield", "muirhead"}: true, {"heronline", "hareline"}: true, {"feurolan", "pirolan"}: true, {"muirhead", "muirheads"}: false,
		{"celle", "hirondelle"}: false, {"olm", "olma"}: false, {"varn", "tarn"}: false,
		{"batteries", "battery"}: false, {"jacken", "jacket"}: false, {"maschine", "machine"}: false, {"clementine", "clemence"}: true,
	} {
		if got := isAlike(names[0], names[1]); got != want {
			t.Errorf("isAlike(%q, %q) = %v", names[0], names[1], got)
		}
	}
}
