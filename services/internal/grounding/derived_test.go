package grounding

import "testing"

func TestMergesDeriveAsPeopleDo(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Varn Orb costs 199.50 EUR instead of 219.90 EUR and weighs 1940 g, the Varn Glow 1010 g. It comes in 32/34. "+
		"The warranty is 3 years, returns take 14 days. It runs for 8 h.", []string{"Varn Orb", "Varn Glow", "Varn Dusk"})
	e.AddAnswer("Order KL-501 arrives on 21 November 2026. You can pay in 3 parts.", nil)
	before := e.Read("The Varn Orb costs 199.50 EUR, the old price was 219.90 EUR.")
	for text, want := range map[string]bool{
		"It arrives on the 21st.":                          true,
		"Elle arrive le 21.":                               true,
		"It arrives on the 23rd.":                          false,
		"Size W32/L34 is there.":                           true,
		"Size W36/L34 is there.":                           false,
		"In 3 parts, that is 66.50 EUR each.":              true,
		"In 3 parts, that is 67.50 EUR each.":              false,
		"Together they are 419.40 EUR.":                    true,
		"Together they are 429.40 EUR.":                    false,
		"You save roughly 20 EUR.":                         true,
		"You save 20 EUR.":                                 false,
		"The Varn Glow is 930 g lighter.":                  true,
		"The Varn Glow is 830 g lighter.":                  false,
		"The warranty is 36 months, returns take 2 weeks.": true,
		"The warranty is 3 months.":                        false,
		"The Varn Glow weighs 1010 kg.":                    false,
		"All 3 of them are lamps.":                         true,
		"It runs for 8 days.":                              false,
		"Returns take 14 weeks.":                           false,
	} {
		if got := e.Supports(e.Read("\n"+text), before); got != want {
			t.Errorf("Supports(%q) = %v", text, got)
		}
	}
}

func TestAnswersDeriveAsPeopleDo(t *testing.T) {
	const products = `{"products":[{"product_id":"A","title":"Varn Orb","price":"349.00 EUR","details":"weight 14.9 kg"},
		{"product_id":"C","title":"Varn Dusk","price":"519.00 EUR"},{"product_id":"B","title":"Varn Glow","price":"129.90 EUR"}]}`
	const orders = `[{"order_id":"KL-501","total":"74.95 EUR","placed":"16 November 2026"},{"order_id":"KL-502","total":"289.00 EUR","placed":"19 November 2026"}]`
	const terms = `{"policy":"Delivery","text":"Standard delivery is free of charge from 390 EUR."}`
	for text, want := range map[string]int{
		"Varn Orb and Varn Glow together come to 478.90 EUR.": 0,
		"Varn Orb and Varn Glow together come to 468.90 EUR.": 1,
		"Across both orders you spent 363.95 EUR.":            0,
		"Across both orders you spent 353.95 EUR.":            1,
		"The Varn Orb leaves about 50 EUR of your budget.":    0, // of 400
		"The Varn Orb leaves 51 EUR of your budget.":          0,
		"The Varn Orb leaves 61 EUR of your budget.":          1,
		"With the Varn Orb, 41 EUR more and delivery is free": 0,
		"You placed KL-501 three days before KL-502.":         0,
		"You placed KL-501 five days before KL-502.":          1,
		"The Varn Orb weighs about 15 kg.":                    0,
		"The Varn Orb weighs about 17 kg.":                    1,
	} {
		var e Evidence
		e.AddResult("", products)
		e.AddResult("", orders)
		e.AddResult("", terms)
		e.AddText("a lamp for up to 400 EUR, and where are my orders?")
		if got := e.Check(text).Rejected(); len(got) != want {
			t.Errorf("Check(%q) = %+v, want %d rejected", text, got, want)
		}
	}
}
