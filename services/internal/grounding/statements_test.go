package grounding

import (
	"fmt"
	"testing"
)

func TestCheckComparesWhatIsAssertedAndDenied(t *testing.T) {
	const results = `{"products":[{"product_id":"L-1","title":"Varn Glow lamp","price":"40.00 EUR","stock":3,"details":"dimmable yes; outdoor no"},` +
		`{"product_id":"L-2","title":"Varn Dusk lamp","price":"60.00 EUR","stock":0,"details":"dimmable no; outdoor yes"}],` +
		`"orders":[{"order_id":"KL-501","status":"shipped","not_possible":["the order can not be cancelled: it has shipped"],` +
		`"possible":["the parcel can be redirected"]},{"order_id":"KL-502","status":"delivered"}],` +
		`"promotions":[{"code":"LUMEN5","eligible":true},{"code":"SPARK9","eligible":false}],` +
		`"passages":[{"policy":"Delivery","text":"Standard delivery costs 4.00 EUR. Delivery is free from 90 EUR."},` +
		`{"policy":"Opened bulbs","text":"Opened bulbs are not taken back by the shop. Broken bulbs are replaced within the warranty."}]}`
	checkRejected(t, results, map[string]int{
		"The Varn Glow is in stock, the Varn Dusk is sold out.":                           0,
		"Varn Dusk: outdoor yes, dimmable no.":                                            0,
		"Varn Dusk: outdoor no.":                                                          1,
		"SPARK9 gilt nur für andere Lampen.":                                              0,
		"Die Varn Glow ist lieferbar, die Varn Dusk leider nicht lieferbar.":              0,
		"La Varn Dusk n'est pas disponible.":                                              0,
		"La Varn Dusk no está disponible.":                                                0,
		"The Varn Dusk is available.":                                                     1,
		"Die Varn Glow ist ausverkauft.":                                                  1,
		"La Varn Glow est en rupture de stock.":                                           1,
		"La Varn Glow está agotada.":                                                      1,
		"Order KL-501 has been shipped and KL-502 was delivered.":                         0,
		"Order KL-501 is in transit, it has left our warehouse.":                          0,
		"Order KL-501 was handed over to the carrier.":                                    0,
		"We have received your order KL-501 and sent you a confirmation.":                 0,
		"Order KL-501 is still being packed.":                                             1,
		"Order KL-501 is awaiting your payment.":                                          1,
		"| Order | Status |\n|---|---|\n| KL-501 | shipped |\n| KL-502 | delivered |":     0,
		"| Order | Status |\n|---|---|\n| KL-501 | delivered |\n| KL-502 | delivered |":   1,
		"Thank you for asking before KL-502 is on its way.":                               0,
		"SPARK9 is accepted in your cart.":                                                1,
		"Your cart qualifies for SPARK9.":                                                 1,
		"Opened bulbs may be taken back at the shop.":                                     1,
		"KL-501 can be redirected without any costs.":                                     0,
		"Delivery becomes free at 90 EUR.":                                                0,
		"The shop leaves out opened bulbs.":                                               0,
		"Broken bulbs are replaced, opened ones are not taken back.":                      0,
		"KL-501 wurde bei Ihnen abgegeben.":                                               1,
		"It is too late to cancel KL-501.":                                                0,
		"Für eine Stornierung von KL-501 ist es zu spät.":                                 0,
		"There is still time to cancel KL-501.":                                           1,
		"Il est encore temps d'annuler KL-501.":                                           1,
		"Estás a tiempo de cancelar KL-501.":                                              1,
		"We have run out of the Varn Glow, but there are still some of the Varn Orb.":     1,
		"There are still some of the Varn Dusk left.":                                     1,
		"Nous n'avons plus la Varn Glow.":                                                 1,
		"Nos hemos quedado sin la Varn Glow.":                                             1,
		"Die Varn Glow haben wir im Moment nicht mehr.":                                   1,
		"Nos hemos quedado sin la Varn Dusk.":                                             0,
		"KL-501 wird gerade gepackt.":                                                     1,
		"KL-501 wird gerade zugestellt.":                                                  0,
		"KL-501 va a ser entregado el lunes.":                                             0,
		"La commande KL-501 va être livrée lundi.":                                        0,
		"El pedido KL-501 quedó anulado.":                                                 1,
		"La commande KL-501 vous a été remise.":                                           1,
		"Sie haben die Möglichkeit, KL-501 zu stornieren.":                                1,
		"Sie haben nicht mehr die Möglichkeit, KL-501 zu stornieren.":                     0,
		"KL-501: stornieren geht noch.":                                                   1,
		"You are still entitled to cancel KL-501.":                                        1,
		"No disponemos de la Varn Dusk.":                                                  0,
		"No disponemos de la Varn Glow.":                                                  1,
		"No nos quedan unidades de la Varn Dusk.":                                         0,
		"Order KL-501 will be delivered soon.":                                            0,
		"Order KL-501 was delivered.":                                                     1,
		"Die Bestellung KL-501 wurde zugestellt.":                                         1,
		"Votre commande KL-501 a été livrée.":                                             1,
		"Tu pedido KL-501 ha sido entregado.":                                             1,
		"Order KL-501 can't be cancelled any more, but it can be redirected.":             0,
		"Die Bestellung KL-501 kann nicht mehr storniert werden.":                         0,
		"La commande KL-501 ne peut plus être annulée.":                                   0,
		"La commande KL-501 n'est plus annulable, plus d'annulation possible.":            0,
		"Ya no se puede cancelar el pedido KL-501.":                                       0,
		"Order KL-501 can still be cancelled.":                                            1,
		"Die Bestellung KL-501 kann noch storniert werden.":                               1,
		"If KL-501 can be cancelled, support will tell you.":                              0,
		"I can't cancel KL-501 from here.":                                                0,
		"Once it has arrived, order KL-501 can be cancelled.":                             0,
		"We refund a cancelled order within days, also KL-501.":                           0,
		"The Varn Glow is the first one (40 EUR). The second is 60 EUR.":                  0,
		"The Varn Dusk is 60 EUR; a cheaper one is at 40 EUR.":                            0,
		"Can KL-501 be cancelled?":                                                        0,
		"LUMEN5 applies to your cart, SPARK9 does not apply.":                             0,
		"SPARK9 also applies to your cart.":                                               1,
		"Delivery is free from 90 EUR.":                                                   0,
		"Delivery is free of charge.":                                                     1,
		"Der Versand ist kostenlos.":                                                      1,
		"La livraison est gratuite.":                                                      1,
		"The Varn Glow is dimmable and not for outdoor use.":                              0,
		"The Varn Dusk is dimmable.":                                                      1,
		"The Varn Glow is not dimmable.":                                                  1,
		"Opened bulbs are taken back by the shop.":                                        1,
		"Broken bulbs are not replaced within the warranty.":                              1,
		"Broken bulbs are replaced within the warranty; opened bulbs are not taken back.": 0,
	})
}

// checkRejected checks texts against a tool's result, and how many claims of each are rejected.
func checkRejected(t *testing.T, results string, texts map[string]int) {
	t.Helper()
	checkRejectedBeside(t, "", []string{results}, texts)
}

// checkRejectedBeside checks how many claims of each text are rejected, by the results of tools and what a person wrote; "": nothing.
func checkRejectedBeside(t *testing.T, message string, results []string, texts map[string]int) {
	t.Helper()
	for text, want := range texts {
		var e Evidence
		for _, r := range results {
			e.AddResult("", r)
		}
		if message != "" {
			e.AddText(message)
		}
		if got := e.Check(text).Rejected(); len(got) != want {
			t.Errorf("Check(%q) = %+v, want %d rejected", text, got, want)
		}
	}
}

func TestMergesKeepFactsWithTheirSubjects(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Varn Glow costs 40.00 EUR, 3 in stock, and the Varn Dusk 60.00 EUR (sold out). The Varn Orb is 75.00 EUR.",
		[]string{"Varn Glow", "Varn Dusk", "Varn Orb"})
	e.AddAnswer("Order KL-501 was shipped on 3 May, order KL-502 was delivered on 9 May. Delivery costs 4.00 EUR, from 90 EUR it is free.", nil)
	checkSupports(t, &e, Text{}, map[string]bool{
		"You get the Varn Glow for 40 € and the Varn Dusk for 60 €.":                    true,
		"For 40 EUR you get the Varn Glow, for 60 EUR the Varn Dusk.":                   true,
		"The Varn Glow, the Varn Dusk and the Varn Orb cost 40 EUR, 60 EUR and 75 EUR.": true,
		"Prices are 40 EUR (Varn Glow) and 60 EUR (Varn Dusk).":                         true,
		"The Varn Glow is 20 EUR cheaper than the Varn Dusk at 60 EUR.":                 true,
		"| Varn Glow | 40 EUR |\n| Varn Dusk | 60 EUR |":                                true,
		"The Varn Glow and the Varn Dusk cost 40 EUR and 60 EUR respectively.":          true,
		"The Varn Glow (60 EUR) and the Varn Dusk (40 EUR).":                            false,
		"For 60 EUR you get the Varn Glow, for 40 EUR the Varn Dusk.":                   false,
		"| Varn Glow | 60 EUR |\n| Varn Dusk | 40 EUR |":                                false,
		"The Varn Dusk is in stock.":                                                    false,
		"Order KL-501 left on 3 May; KL-502 was delivered on 9 May.":                    true,
		"Order KL-501 left on 9 May; KL-502 was delivered on 3 May.":                    false,
		"I have cancelled order KL-501.":                                                false,
		"Delivery is free of charge.":                                                   false,
		"Delivery is free from 90 EUR.":                                                 true,
		"Would you rather have the Varn Dusk when it is in stock again?":                true,
		"The Varn Orb costs 75 EUR, or 35 EUR more than the Varn Glow (40 EUR).":        true,
	})
}

// checkSupports checks whether a merge supports texts, each behind another one.
func checkSupports(t *testing.T, e *MergeEvidence, before Text, texts map[string]bool) {
	t.Helper()
	for text, want := range texts {
		if got := len(e.Rejected(e.Read("\n"+text), before)) == 0; got != want {
			t.Errorf("Supports(%q) = %v", text, got)
		}
	}
}

func TestCheckKnowsVariantsNamesAndOffers(t *testing.T) {
	const results = `{"products":[{"product_id":"L-1","title":"Varn Glow lamp","price":"40.00 EUR","variant_id":"a","stock":3,"options":{"colour":"red","size":"40"}},` +
		`{"product_id":"L-1","title":"Varn Glow lamp","price":"45.00 EUR","variant_id":"b","stock":14,"options":{"colour":"red","size":"41"}},` +
		`{"product_id":"L-2","title":"Hollin Dusk torch","price":"60.00 EUR","stock":1}],` +
		`"promotions":[{"code":"LUMEN5","eligible":true,"ends":"3 May 2026"},{"code":"SPARK9","eligible":false},` +
		`{"code":"GLEAM8","eligible":false,"refused":"expired","offer":"8% off"}]}`
	checkRejected(t, results, map[string]int{
		"The Varn Glow in 40 costs 40 EUR, 3 pieces are left.":     0,
		"The Varn Glow in 41 costs 45 EUR, with 14 pieces left.":   0,
		"The Varn Glow in 40 costs 45 EUR.":                        1,
		"The Varn Glow in 40 is there with 14 pieces left.":        1,
		"The Varn Glow comes in 40 and 41, for 40 EUR and 45 EUR.": 0,
		"The Hollin Dusk costs 60 EUR.":                            0,
		"The Brenn Quill torch costs 60 EUR.":                      1,
		"The torch costs 60 EUR.":                                  0,
		"With the code LUMEN5 you save until 3 May 2026.":          0,
		"With the code SPARK9 you save.":                           1,
		"Mit dem Code SPARK9 sparst du.":                           1,
		"With GLEAM8 you take 8% off.":                             1,
		"GLEAM8 gave 8% off, but it has expired.":                  0,
		"GLEAM8 war ein Code mit 8 %.":                             0,
		"You asked about GLEAM8.":                                  0,
		"Does GLEAM8 still give 8%?":                               0,
		"If you are new, you save with the code SPARK9.":           0,
		"SPARK9 only starts in May, so it cannot be used yet.":     0,
	})
}

// What a sentence says of the only order, and what it says as a whole where a phrase in it says something else.
func TestSentencesAreReadAsAWhole(t *testing.T) {
	const order = `{"order":{"order_id":"KL-501","status":%q,"asked":["The order %s be cancelled.","Items %s be returned."]}}`
	const products = `{"products":[{"product_id":"A","title":"Varn Glow","price":"89.00 EUR","stock":4},{"product_id":"B","title":"Varn Dusk","price":"59.00 EUR","stock":4}]}`
	for _, tt := range []struct {
		status, can, text string
		want              int
	}{
		{"delivered", "cannot", "You may send the item back, no problem.", 1},
		{"delivered", "can", "You may send the item back, no problem.", 0},
		{"processing", "cannot", "KL-501: cancellable: no", 0},
		{"processing", "cannot", "As long as an order has not left, it can be cancelled.", 0},
		{"processing", "can", "Nothing has been sent yet for KL-501; we're working on it.", 0},
		{"shipped", "cannot", "KL-501 is on its way.", 0},
		{"shipped", "cannot", "KL-501 se ha entregado al mensajero.", 0},
		{"shipped", "cannot", "Once KL-501 has arrived, it can be returned.", 0},
		{"shipped", "cannot", "Of the two, the Varn Glow is easier on the wallet.", 1},
		{"shipped", "cannot", "Of the two, the Varn Dusk is easier on the wallet.", 0},
		{"shipped", "cannot", "If price is what matters, take the Varn Glow, nothing here costs less.", 1},
		{"shipped", "cannot", "The Varn Glow has a lower tone than the Varn Dusk.", 0},
	} {
		var e Evidence
		e.AddResult("", fmt.Sprintf(order, tt.status, tt.can, tt.can))
		e.AddResult("", products)
		e.AddText("a lamp for 89 EUR")
		if got := e.Check(tt.text).Rejected(); len(got) != tt.want {
			t.Errorf("%s, %s: Check(%q) = %+v, want %d rejected", tt.status, tt.can, tt.text, got, tt.want)
		}
	}
}

// What a field says is surer than what a text does; a status may be in any words; a condition is one of its clause; a promise of a time is none
// of the shop's.
func TestFieldsStatusesAndGuarantees(t *testing.T) {
	const results = `{"products":[{"product_id":"L-1","title":"Varn Glow","price":"40.00 EUR","stock":3},` +
		`{"product_id":"L-2","title":"Hollin Dusk","price":"60.00 EUR","stock":0}],` +
		`"order":{"order_id":"KL-501","status":"Prête à l'expédition","tracking":{"estimated_delivery":"26 November 2026"}},` +
		`"promotions":[{"code":"NEWGLASS","eligible":false,"refused":"existing_customer","explanation":"The code applies to a first order."}],` +
		`"passages":[{"policy":"Services","text":"Einbau und Abnahme bieten wir nicht an. Die Abnahme macht der zuständige Schornsteinfeger."},` +
		`{"policy":"Exchanges","text":"Sizes are changed once free of charge within 15 days of delivery."}]}`
	checkRejected(t, results, map[string]int{
		"NEWGLASS applies to your cart.":                                                    1,
		"The Hollin Dusk is in stock, if you would rather have that one.":                   1,
		"The Varn Glow is in stock, if you would rather have that one.":                     0,
		"KL-501 has been delivered.":                                                        1,
		"KL-501 will be there on 26 November 2026 without fail.":                            1,
		"KL-501 is expected on 26 November 2026.":                                           0,
		"The lamp comes with a long guarantee.":                                             0,
		"Für die Abnahme ist der Schornsteinfeger zuständig.":                               0,
		"Sizes can be changed once within 15 days of delivery, return postage is not free.": 0,
	})
}

func TestADenialBeforeAPreposition(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The hammer Brevent is reduced to 46.00 EUR. The code does not apply to reduced goods.", []string{"hammer Brevent"})
	if text := "You can use it for the loupe, but not for the hammer Brevent at 46 EUR."; len(e.Rejected(e.Read(text), Text{})) > 0 {
		t.Errorf("Supports(%q) is false", text)
	}
}

// A sentence that names nothing goes on about the one thing that the text has named, and of several it may be about any.
func TestSentencesThatGoOn(t *testing.T) {
	checkRejected(t, `{"products":[{"product_id":"A","title":"Varn Orb","price":"349.00 EUR","stock":5},{"product_id":"B","title":"Hollin Dusk","price":"60.00 EUR","stock":0}]}`, map[string]int{
		"The Varn Orb costs 349.00 EUR. Unfortunately it cannot be had any more.":                                    1,
		"The Varn Orb costs 349.00 EUR, the Hollin Dusk 60.00 EUR. There are none of these to be had at the moment.": 0,
	})
}

// What a rule denies is no reversal of another denial, but of what it allows.
func TestDenialsOfRulesThatDeny(t *testing.T) {
	checkRejected(t, `{"passages":[{"policy":"Codes","text":"Codes do not apply to delivery costs. Reduced goods are excluded from all codes."},{"policy":"Sale","text":"Sale items can be exchanged but not refunded."}]}`, map[string]int{
		"None of the codes applies to reduced goods.": 0,
		"Sale items cannot be exchanged.":             1,
	})
}
