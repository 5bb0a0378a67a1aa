package grounding

import (
	"slices"
	"testing"
)

func TestCheckKnowsWhoseFactItIs(t *testing.T) {
	products := `{"products":[{"product_id":"T-1","title":"Hollin Drift 2 tent","price":"289.00 EUR"},` +
		`{"product_id":"T-2","title":"Hollin Gale 3 tent","price":"515.00 EUR","details":"persons 3; weight 1840 g"}],` +
		`"price_range":"289.00 EUR to 515.00 EUR"}`
	orders := `{"orders":[{"order_id":"QT-1001","placed":"2026-11-02","items":[{"product_id":"T-1","title":"Hollin Drift 2 tent"}]},` +
		`{"order_id":"QT-1002","placed":"2026-11-09","items":[{"product_id":"T-2","title":"Hollin Gale 3 tent"}]}]}`
	for _, test := range []struct {
		name, text   string
		contradicted int
	}{
		{"true list", "- Hollin Drift 2: €289.00\n- Hollin Gale 3: €515.00", 0},
		{"swapped list", "- Hollin Drift 2: €515.00\n- Hollin Gale 3: €289.00", 2},
		{"one price twice", "- Hollin Drift 2: 289,00 €\n- Hollin Gale 3: 289,00 €", 1},
		{"a line names both", "The Hollin Drift 2 is cheaper than the Gale 3 at 515 EUR.", 0},
		{"a digit of the other's name", "- Hollin Drift 2: €515.00, for up to 3 people", 1},
		{"a sentence after a unit", "The Hollin Gale 3 weighs 1840 g. The price of the other is 289 EUR.", 0},
		{"an end of the range of prices", "The Hollin Drift 2 costs 515 EUR.", 1},
		{"no subject", "It costs 515 EUR.", 0},
		{"difference", "The Hollin Gale 3 costs 515 EUR, 226 EUR more than the other at 289 EUR.", 0},
		{"what the shopper wrote", "The Hollin Drift 2 is below 400 EUR.", 0},
		{"other order's date", "Order QT-1001 was placed on 9 November 2026.", 1},
		{"own date", "Order QT-1001 was placed on 2 November 2026.", 0},
		{"an item has its order's date", "You ordered the Hollin Gale 3 tent on 9 November 2026.", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e Evidence
			e.AddResult("", products)
			e.AddResult("", orders)
			e.AddText("a tent below 400 EUR")
			if v := e.Check(test.text); v.Count(Contradicted) != test.contradicted || v.Count(Unsupported) != 0 {
				t.Errorf("verdict %+v, want %d contradicted and nothing else unsupported", v, test.contradicted)
			}
		})
	}
}

func TestAPeriodIsThatOfItsPassage(t *testing.T) {
	const passages = `{"passages":[{"policy":"Warranty","text":"Lamps come with a warranty of 24 months. Bulbs are covered for 6 months."},` +
		`{"policy":"Returns","text":"Unused articles can be returned within thirty days of delivery."},` +
		`{"policy":"Returns","section":"Refunds","text":"We refund within 5 working days of the return reaching our warehouse."},` +
		`{"policy":"Delivery","section":"Times and costs","text":"Standard delivery takes 2 to 4 working days. Canada costs 9.00 EUR and takes 8 days."},` +
		`{"policy":"Delivery","section":"Parcel shop","text":"A parcel shop takes 6 days and keeps the parcel for 10 days."}]}`
	for text, want := range map[string]Verdict{
		"You have 30 days to send it back.":                                       Supported,
		"You have thirty days to send it back.":                                   Supported,
		"You have forty days to send it back.":                                    Unsupported,
		"Refunds are made within 5 days of the return reaching us.":               Supported,
		"Refunds are made within six months once the return is at our warehouse.": Contradicted,
		"Unused articles can be returned for 10 days.":                            Contradicted,
		"Delivery costs 9.00 EUR and takes 8 days.":                               Supported,
		"With the parcel shop, it is 24 months.":                                  Contradicted,
		"Lamps: 2 years.":                                                         Supported,
	} {
		var e Evidence
		e.AddResult("", passages)
		claims := slices.DeleteFunc(e.Check(text), func(c Claim) bool { return c.Kind != Measure })
		if len(claims) != 1 || claims[0].Verdict != want {
			t.Errorf("Check(%q) = %+v, want verdict %d", text, claims, want)
		}
	}
}

func TestATitleWithinAnotherIsNamed(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Alder watch costs 149.00 EUR (sold out), the Alder Pro 219.00 EUR (4 in stock).", []string{"Alder", "Alder Pro"})
	for text, want := range map[string]bool{
		"The Alder costs 149 EUR, the Alder Pro 219 EUR.":      true,
		"The Alder Pro costs 149 EUR.":                         false,
		"The Alder costs 219 EUR.":                             false,
		"The Alder is in stock.":                               false,
		"The Alder Watch, Alder: 149 EUR; Alder Pro: 219 EUR.": true,
		"An alder costs 149 EUR and is sold out.":              true,
		"The Alder is sold out, but the Alder Pro is there.":   true,
	} {
		if got := len(e.Rejected(e.Read("\n"+text), Text{})) == 0; got != want {
			t.Errorf("Supports(%q) = %v", text, got)
		}
	}
}

func TestCheckConvertsUnits(t *testing.T) {
	for text, unsupported := range map[string]int{"It weighs 1.84 kg.": 0, "Er wiegt 1,8 kg.": 0, "It weighs 1.7 kg.": 1, "It weighs 2 kg.": 1} {
		var e Evidence
		e.AddResult("", `{"details":"weight 1840 g"}`)
		if v := e.Check(text); v.Count(Unsupported) != unsupported {
			t.Errorf("Check(%q) = %+v, want %d unsupported", text, v, unsupported)
		}
	}
}

// What is named in short, or not at all, is no claim about the thing named before it.
func TestAShortNameIsThatOfAnother(t *testing.T) {
	const results = `{"products":[{"product_id":"A-25","title":"Barran anvil 25","price":"189.00 EUR","stock":4},` +
		`{"product_id":"A-50","title":"Barran anvil 50","price":"329.00 EUR","stock":0,"details":"height 30 cm"},` +
		`{"product_id":"A-51","title":"Tarsel hood bell","price":"13.90 EUR","stock":15,"details":"height 27 cm"},` +
		`{"product_id":"A-52","title":"Orlac leash","price":"19.00 EUR","stock":2}],` +
		`"orders":[{"order_id":"KL-501","status":"shipped","items":[{"title":"Mantel spring","price":"4.00 EUR","quantity":3}]},` +
		`{"order_id":"KL-502","status":"processing","items":[{"title":"Brass pendulum bob","price":"22.40 EUR","quantity":1}]}]}`
	checkRejected(t, results, map[string]int{
		"Take the Barran anvil 25 at 189.00 EUR, and the bell at 13.90 EUR.":                     0,
		"Take the Barran anvil 25 at 13.90 EUR.":                                                 1,
		"Of the Barran anvil 25 four are left, the 50 is sold out.":                              0,
		"Of the Barran anvil 25 four are left, the 50 is also in stock.":                         1,
		"The Barran anvil 25 is there. Of the 50 none are left.":                                 0,
		"The springs have left: KL-501 was shipped. The pendulum bob is still being packed.":     0,
		"The pendulum bob has been delivered.":                                                   1,
		"KL-501 was shipped, KL-502 was delivered.":                                              1,
		"The Barran anvil 50 stands 3 cm taller than the bell.":                                  0,
		"The Tarsel hood bell is 30 cm high.":                                                    1,
		"| Name | Price |\n|---|---|\n| Tarsel hood bell | 13.90 EUR |\n| Refunded amount | 0 |": 0,
	})
}

// Another passage's period is recognised by the words that the clause shares with it alone.
func TestAPeriodIsThatOfTheWordsBesideIt(t *testing.T) {
	const passages = `{"passages":[{"policy":"Returns","text":"Unused goods can be returned within 45 days of delivery."},` +
		`{"policy":"Returns","section":"Inks","text":"Sealed tins can be returned within 14 days of delivery."}]}`
	checkRejected(t, passages, map[string]int{
		"Sealed tins can be returned within 45 days of delivery.":  1,
		"Sealed tins can be returned within 14 days of delivery.":  0,
		"Unused goods can be returned within 45 days of delivery.": 0,
		"You can return them within 45 days of delivery.":          0,
	})
}
