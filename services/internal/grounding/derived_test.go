package grounding

import "testing"

func TestMergesDeriveAsPeopleDo(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Varn Orb costs 199.50 EUR instead of 219.90 EUR and weighs 1940 g, the Varn Glow 1010 g. It comes in 32/34. "+
		"The warranty is 3 years, returns take 14 days. It runs for 8 h, charged in 3.5 h.", []string{"Varn Orb", "Varn Glow", "Varn Dusk"})
	e.AddAnswer("Order KL-501 arrives on 21 November 2026. You can pay in 3 parts.", nil)
	before := e.Read("The Varn Orb costs 199.50 EUR, the old price was 219.90 EUR.")
	checkSupports(t, &e, before, map[string]bool{
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
		"It is charged in 3.5 hours.":                      true,
		"It is charged by 3:05.":                           false,
		"Returns take 14 weeks.":                           false,
	})
}

func TestMergesGiveMeasures(t *testing.T) {
	var e MergeEvidence
	e.AddShopper("Which helmet is for 59 cm, and what is warm?")
	e.AddAnswer("Down to -10 °C go the Varn Orb for 249.00 EUR and the Varn Glow for 189.00 EUR. The Varn Dusk goes down to -5 °C.", []string{"Varn Orb", "Varn Glow", "Varn Dusk"})
	e.AddAnswer("There are three orders from June.", nil)
	e.AddAnswer("The Wren L is for 60 to 62 cm, the Wren M for 55 to 57.", []string{"Wren L", "Wren M"})
	checkSupports(t, &e, Text{}, map[string]bool{
		"You have three June orders.":        true,
		"This one is for 59 cm.":             true,
		"It is for 56 cm.":                   false,
		"The Varn Glow goes down to -10 °C.": true,
		"The Varn Dusk goes down to -10 °C.": false,
		"The Varn Glow costs 249.00 EUR.":    false,
	})
}

func TestAnswersDeriveAsPeopleDo(t *testing.T) {
	const products = `{"products":[{"product_id":"A","title":"Varn Orb","price":"349.00 EUR","details":"weight 14.9 kg"},
		{"product_id":"C","title":"Varn Dusk","price":"519.00 EUR","details":"weight 14.4 kg"},{"product_id":"B","title":"Varn Glow","price":"129.90 EUR"}]}`
	const orders = `[{"order_id":"KL-501","total":"74.95 EUR","placed":"16 November 2026"},{"order_id":"KL-502","total":"289.00 EUR","placed":"19 November 2026"}]`
	const terms = `{"policy":"Delivery","text":"Standard delivery costs 4.90 EUR. It is free of charge from 390 EUR."}`
	const codes = `{"promotions":[{"code":"GLOW10","offer":"10 % off lamps","eligible":true}]}`
	checkRejectedBeside(t, "a lamp for up to 400 EUR, and where are my 2 orders?", []string{products, orders, terms, codes}, map[string]int{
		"Varn Orb and Varn Glow together come to 478.90 EUR.":                                                     0,
		"Varn Orb and Varn Glow together come to 468.90 EUR.":                                                     1,
		"Across both orders you spent 363.95 EUR.":                                                                0,
		"Across both orders you spent 353.95 EUR.":                                                                1,
		"The Varn Orb leaves about 50 EUR of your budget.":                                                        0, // of 400
		"The Varn Orb leaves 51 EUR of your budget.":                                                              0,
		"The Varn Orb leaves 61 EUR of your budget.":                                                              1,
		"With the Varn Orb, 41 EUR more and delivery is free":                                                     0,
		"You placed KL-501 three days before KL-502.":                                                             0,
		"You placed KL-501 five days before KL-502.":                                                              1,
		"The Varn Orb weighs about 15 kg.":                                                                        0,
		"Der Varn Orb wiegt etwas weniger als 15 kg.":                                                             0,
		"El Varn Orb cuesta algo menos de 350 EUR.":                                                               0,
		"El Varn Orb cuesta algo menos de 250 EUR.":                                                               1,
		"349,00 + 129,90 = 478,90 EUR.":                                                                           0,
		"349,00 + 129,90 = 488,90 EUR.":                                                                           1,
		"Orb 349.00 EUR, Dusk 519.00 EUR, Glow 129.90 EUR: Dusk and Glow are 648.90 EUR, and a third 129.90 EUR.": 0,
		"That is 827.90 EUR: 698.00 EUR for two Varn Orbs and 129.90 EUR for a Glow.":                             0,
		"That is 837.90 EUR: 698.00 EUR for two Varn Orbs and 129.90 EUR for a Glow.":                             1,
		"The Varn Dusk weighs 500 g less.":                                                                        0,
		"The Varn Dusk weighs 600 g less.":                                                                        1,
		"With delivery, the Varn Orb is 353.90 EUR.":                                                              0,
		"With delivery, the Varn Orb is 354.90 EUR.":                                                              1,
		"The Varn Orb is 353.90 EUR.":                                                                             1,
		"Orb, Dusk and Glow are 997.90 EUR, the Orb and the Glow 478.90 EUR.":                                     0,
		"With the lamp it is 498.80 EUR: 349 + 149.80 = 498.80 EUR.":                                              3,
		"349 + 519 = 868 EUR.":                                                                                    0,
		"With GLOW10, the 349.00 EUR become 314.10 EUR.":                                                          0,
		"With a code, the 349.00 EUR become 314.10 EUR.":                                                          1,
		"2 Varn Orbs weigh 29.8 kg.":                                                                              0,
		"2 Varn Orbs weigh 27.8 kg.":                                                                              1,
		"The Varn Glow is 62.8 % less than the Varn Orb: 129.90 EUR, not 349.00 EUR.":                             0,
		"The Varn Glow is 62.1 % less than the Varn Orb: 129.90 EUR, not 349.00 EUR.":                             1,
		"The Varn Orb and the Varn Dusk with delivery are 872.90 EUR.":                                            0,
		"The Varn Orb and the Varn Dusk with delivery are 863.10 EUR.":                                            1,
		"The Varn Orb weighs about 17 kg.":                                                                        1,
	})
}

func TestAnswersDeriveFromTheCartAndItsCodes(t *testing.T) {
	const results = `{"items":[{"product_id":"B","title":"Varn Orb","price":"16.75 EUR","quantity":2}],"subtotal":"33.50 EUR",` +
		`"products":[{"product_id":"A","title":"Hollin press","price":"74.00 EUR"}],` +
		`"promotions":[{"code":"FOLIO6","offer":"6.00 EUR off","eligible":true,"saving":"6.00 EUR"},` +
		`{"code":"HALF15","offer":"15% off presses","eligible":false,"refused":"minimum_not_met","missing":"26.50 EUR"}]}`
	checkRejected(t, results, map[string]int{
		"The Hollin press costs 74.00 EUR, which would bring your cart to 107.50 EUR.": 0,
		"The Hollin press costs 74.00 EUR, which would bring your cart to 117.50 EUR.": 1,
		"You are at 33.50 EUR, or 27.50 EUR with FOLIO6.":                              0,
		"You are at 33.50 EUR, or 26.00 EUR with FOLIO6.":                              1,
		"HALF15 takes 15 EUR off presses.":                                             1,
		"HALF15 takes 15% off presses, but 26.50 EUR are missing for it.":              0,
	})
}

func TestAnswersDeriveDates(t *testing.T) {
	const results = `{"order":{"order_id":"KL-501","status":"delivered","delivered":"9 November 2026"},` +
		`"passages":[{"policy":"Returns","text":"Unused goods can be returned within 30 days. Repairs take 5 working days. The warranty is 3 years."}]}`
	checkRejectedBeside(t, "Today is Friday, 27 November 2026 (UTC).", []string{results}, map[string]int{
		"30 days from 9 November is 9 December.":                         0,
		"30 days from 9 November is 12 December.":                        1,
		"30 days from 9 November is 9 December, so 12 days are left.":    0,
		"30 days from 9 November is 9 December, so 15 days are left.":    1,
		"Sent in today, it is back 5 working days later, on 4 December.": 0,
		"Sent in today, it is back 5 working days later, on 7 December.": 1,
		"It has a warranty of 3 years, until November 2029.":             0,
		"It has a warranty of 3 years, until November 2028.":             1,
		"You have 30 days, until 2029-12-09.":                            1,
		"30 days from 9 November is 21 December.":                        1, // as if in working days
		"Sent in today, it is back 5 working days later, on 2 December.": 1, // as if in any
		"The warranty is 365 days.":                                      1,
		"You have 30 days, which ends on 31 February.":                   1,
		"It was delivered on 10 November.":                               1,
		"You have 30 days, that is a month; it came on 8 November.":      1,
	})
}

func TestAnswersDeriveDatesOfTheNextYear(t *testing.T) {
	const results = `{"order":{"order_id":"KL-501","status":"delivered","delivered":"2026-12-23"},` +
		`"passages":[{"policy":"Returns","text":"Unused goods can be returned within 14 days."}]}`
	checkRejectedBeside(t, "Today is Monday, 28 December 2026 (UTC).", []string{results}, map[string]int{
		"It came on 23 December, so you have until 6 January.":                       0,
		"It came on 23 December, so you have until 6 January 2027.":                  0,
		"It came on 23 December, so you have until 6 January 2026.":                  1,
		"It came on 23 December, so you have until 6 January 2028.":                  2,
		"It came on 23 December 2027.":                                               1,
		"You have until 6 January, nine days from now.":                              0,
		"You have until 6 January, ten days from now.":                               1,
		"Die Frist endet am 6. Januar 2027, also in neun Tagen.":                     0,
		"Die Frist endet am 6. Januar 2028, also in neun Tagen.":                     3,
		"Puede devolverlo hasta el 6 de enero de 2027, quedan nueve días.":           0,
		"Vous pouvez la retourner jusqu'au 6 janvier 2027, il vous reste dix jours.": 1,
	})
}

func TestAnswersDeriveFromWhatTheShopperWrote(t *testing.T) {
	const codes = `{"promotions":[{"code":"GLOW10","offer":"10 % off lamps","eligible":true},{"code":"DUSK20","offer":"20 % off lamps","eligible":true}],` +
		`"products":[{"product_id":"A","title":"Varn Orb","price":"20.00 EUR","details":"weight 2.3 kg; power 1200 W"},{"product_id":"B","title":"Varn Glow","price":"19.50 EUR"}]}`
	const terms = `{"policy":"Delivery","text":"Delivery costs 4.90 EUR. It is free of charge from 390 EUR."}`
	checkRejectedBeside(t, "What does GLOW10 make of 140 EUR? I carry 4 kg, and have size 42 and order 501.", []string{codes, terms}, map[string]int{
		"It takes off 14.00 EUR, so you pay 126.00 EUR.":                            0,
		"It takes off 24.00 EUR, so you pay 116.00 EUR.":                            2,
		"With the Varn Orb you are at 160.00 EUR.":                                  0,
		"With the Varn Orb you are at 170.00 EUR.":                                  1,
		"It weighs 2.3 kg, and with your 4 kg it's 6.3 kg":                          0,
		"It weighs 2.3 kg, and with your 4 kg it's 7.3 kg":                          1,
		"The Varn Orb is 20.00 EUR, 50 cents more than the Varn Glow at 19.50 EUR.": 0,
		"The Varn Orb is 20.00 EUR, 60 pence more than the Varn Glow at 19.50 EUR.": 1,
		"It costs 20.00 EUR. A fee of 4 EUR applies.":                               1,
		"Delivery is free for you.":                                                 1,
		"It takes 1.2 kW.":                                                          0,
		"It takes 1.3 kW.":                                                          1,
	})
}

func TestMergesSayAsPeopleDo(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Varn Orb costs £89.99 and weighs 4.96 kg. It measures 24 x 9 x 7 cm and takes 1.2 kg; 2 are in stock.", []string{"Varn Orb"})
	e.AddAnswer("It was sent on 20 November 2026 and arrives on 24 November 2026. The bag costs £8.95, delivery £5.50.", nil)
	before := e.Read("The bag is £8.95, delivery £5.50.")
	checkSupports(t, &e, before, map[string]bool{
		"It costs about £90.":                                      true,
		"Elle coûte près de 90 £.":                                 true,
		"Elle coûte autour de 70 £.":                               false,
		"It weighs nearly 5 kg.":                                   true,
		"It costs 89 £ 99.":                                        true,
		"It costs 89 £ 98.":                                        false,
		"It costs 8.95 £, and 2 are in stock.":                     true,
		"It measures 240 x 90 x 70 mm.":                            true,
		"It measures 260 x 90 x 70 mm.":                            false,
		"It takes 1200 g.":                                         true,
		"It arrives four days later.":                              true,
		"It arrives six days later.":                               false,
		"Two bags and delivery are £23.40.":                        true,
		"Two bags are £17.90.":                                     true,
		"Two bags are £18.90.":                                     false,
		"Six bags are £53.70.":                                     true,
		"Six bags are £55.70.":                                     false,
		"It costs just under £90 and weighs a little over 4.9 kg.": true,
		"Two answers: it is £89.99, and 2 are in stock.":           true,
		"Shall I look for 8 more?":                                 true,
		"There are 8 more.":                                        false,
		"Below 4 £, 0 are left.":                                   false,
		"Le 2e colis arrive le 24 novembre.":                       true,
		"Zwischen dem 20. und dem 24. November 2026.":              true,
		"Ya tiene el 1.º, el 2.º llega el 24 de noviembre.":        true,
	})
}

// Meant finds what a text has of the answers in other words.
func TestMeant(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The warranty is 12 months, returns take 14 days. It costs 74.00 EUR instead of 148.00 EUR and weighs 4.96 kg.", nil)
	for text, want := range map[string]string{
		"The warranty is a year.":          "12",
		"Send it back within a fortnight.": "14",
		"Vous avez deux semaines.":         "14",
		"It is half price, at 74 EUR.":     "148.00 EUR",
		"It weighs about 5 kg.":            "4.96",
		"It is 74 EUR.":                    "",
	} {
		got := ""
		for _, f := range e.Meant(e.Read(text)) {
			got += e.answers[0].text[f.Start:f.End]
		}
		if got != want {
			t.Errorf("Meant(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCheckReadsUnits(t *testing.T) {
	checkRejected(t, `{"product_id":"W-1","title":"Meadow wax","price":"7.90 EUR","details":"melts at 54 °C; pump 3 W; dries in 45 min; wind from 6 km/h; block 50 g"}`, map[string]int{
		"Alles 50-g-Blöcke.":                  0,
		"The wax weighs 60 g.":                1,
		"Alles 60-g-Blöcke.":                  1,
		"Meadow wax melts at 54 °C.":          0,
		"Meadow wax melts at 54 °F.":          1,
		"Meadow wax: the pump takes 3 kW.":    1,
		"Meadow wax dries in 45 minutes.":     0,
		"Meadow wax dries in 45 hours.":       1,
		"Meadow wax takes a wind of 6 knots.": 1,
		"Meadow-Wachs schmilzt bei 54 Grad.":  0,
	})
}

func TestTotalsOfWhatTheShopperNames(t *testing.T) {
	for message, want := range map[string]int{"the Orb and the Dusk, what is that?": 0, "what is that?": 1} {
		var e Evidence
		e.AddResult("", `{"products":[{"product_id":"A","title":"Varn Orb","price":"349.00 EUR"},{"product_id":"C","title":"Varn Dusk","price":"519.00 EUR"}]}`)
		e.AddText(message)
		if got := e.Check("That comes to 868.00 EUR.").Rejected(); len(got) != want {
			t.Errorf("%q: %+v, want %d rejected", message, got, want)
		}
	}
}
