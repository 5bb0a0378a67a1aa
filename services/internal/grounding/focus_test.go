package grounding

import "testing"

// siblings are products whose titles differ by a size or a word only.
const siblings = `{"products":[` +
	`{"product_id":"T-8","title":"Brell Spring 8 mm","brand":"Brell","category":"Springs","price":"6.40 EUR","stock":23,"details":"length 8 mm; weight 9 g; plated yes"},` +
	`{"product_id":"T-14","title":"Brell Spring 14 mm","brand":"Brell","category":"Springs","price":"7.15 EUR","stock":4,"details":"length 14 mm; weight 14 g; plated no"},` +
	`{"product_id":"S-M","title":"Dorn Suit, size M","brand":"Dorn","category":"Suits","price":"94.00 EUR","stock":2,"details":"mesh steel; weight 1350 g"},` +
	`{"product_id":"S-L","title":"Dorn Suit, size L","brand":"Dorn","category":"Suits","price":"94.00 EUR","stock":9,"details":"mesh steel; weight 1430 g"},` +
	`{"product_id":"G-1","title":"Azur glaze","brand":"Kolb","category":"Glazes","price":"18.20 EUR","stock":0,"details":"lead-free yes; food safe yes"},` +
	`{"product_id":"G-2","title":"Crackle glaze","brand":"Kolb","category":"Glazes","price":"21.70 EUR","stock":5,"details":"lead-free yes; food safe no"}],` +
	`"orders":[{"order_id":"KL-7","items":[{"title":"Walnut barometer","price":"128.00 EUR"}]}],` +
	`"passages":[{"policy":"Delivery","text":"Delivery costs 4.00 EUR. It is free from 60 EUR."}]}`

func TestAClauseIsAboutTheProductThatItsWordsFit(t *testing.T) {
	checkRejected(t, siblings, map[string]int{
		"The Brell spring is 6.40 EUR in 8 mm and 7.15 EUR in 14 mm.":                       0,
		"There are two Brell springs: the 8 mm one is 6.40 EUR, the 14 mm one is 7.15 EUR.": 0,
		"The suit in M (or the Azur glaze, 18.20 EUR) is 94.00 EUR.":                        0,
		"The 8 mm spring (the 14 mm one is 7.15 EUR) costs 6.40 EUR.":                       0,
		"The 8 mm spring (the 14 mm one is 6.40 EUR) costs 7.15 EUR.":                       2,
		"There are two Brell springs: the 8 mm one is 7.15 EUR, the 14 mm one is 6.40 EUR.": 2,
		"Take the 14 mm spring; unlike the 8 mm one, it costs 7.15 EUR.":                    0,
		"The spring of 8 mm is 7.15 EUR.":                                                   1,
		"As a food safe glaze we have the azur one at 21.70 EUR.":                           1,
		"As a food safe glaze we have the azur one at 18.20 EUR.":                           0,
		"The azur glaze is 18.20 EUR, the crackled one 21.70 EUR.":                          0,
		"The azur glaze costs 128.00 EUR.":                                                  1,
		"The suit is 94.00 EUR in either size. We have 9 left in M.":                        1,
		"The suit is 94.00 EUR in either size. We have 2 left in M.":                        0,
		"The suit is 94.00 EUR. In L, 9 are left, and in M 2 are.":                          0,
		"The azur glaze is food safe. It is in stock right now.":                            1,
		"The crackle glaze is not food safe. It is in stock right now.":                     0,
		"The azur glaze is sold out.\n\n| Spring | Price |\n| 8 mm | 6.40 EUR |":            0,
		"| Spring | Price |\n| 8 mm | 7.15 EUR |\n| 14 mm | 7.15 EUR |":                     1,
		"Brell: 7.15 EUR (Spring 14 mm), 6.40 EUR (Spring 8 mm).":                           0,
		"The XR15 is 21.70 EUR, and the azur glaze 18.20 EUR.":                              1, // the name alone
		"We have two springs, and 5 sacks of Crackle at 21.70 EUR.":                         0,
	})
}

// baskets are a product with a title that begins that of another one, and one with more words.
const baskets = `{"products":[` +
	`{"product_id":"P1","title":"Osier Basket","price":"35.00 EUR","stock":4,"details":"lined yes; foldable yes"},` +
	`{"product_id":"P2","title":"Osier Basket XL","price":"52.00 EUR","stock":0,"details":"lined no; foldable no; lid yes"},` +
	`{"product_id":"P3","title":"Linen Bag","price":"18.00 EUR","stock":9,"details":"lined yes"},` +
	`{"product_id":"T2","title":"Torvik 85 mm lens","price":"399.00 EUR","stock":3,"details":"filter thread 67 mm"},` +
	`{"product_id":"T4","title":"UV filter 67 mm","price":"29.00 EUR","stock":12}],` +
	`"cart":{"items":[{"title":"Linen Bag","quantity":4,"price":"18.00 EUR"}]}}`

func TestAWholeTitleIsNotThatOfALongerOne(t *testing.T) {
	checkRejected(t, baskets, map[string]int{
		"The Osier Basket XL costs 52.00 EUR, the Osier Basket 35.00 EUR.":                                0,
		"The Osier Basket XL costs 52.00 EUR. The Osier Basket costs 35.00 EUR.":                          0,
		"The Osier Basket XL is sold out, but the Osier Basket is in stock.":                              0,
		"The Osier Basket XL is unlined. The Osier Basket is lined.":                                      0,
		"- Osier Basket XL: 52.00 EUR, sold out\n- Osier Basket: 35.00 EUR, 4 in stock":                   0,
		"The Osier Basket XL costs 35.00 EUR.":                                                            1,
		"The Osier Basket XL is sold out. Everything else is in stock.":                                   0,
		"The Osier Basket XL is sold out. The regular size is 35.00 EUR.":                                 0,
		"The Osier Basket XL is sold out. Two products are in stock: the Osier Basket and the Linen Bag.": 0,
		"The filter for the 85 mm lens costs 29.00 EUR.":                                                  0,
		"The 85 mm lens takes 67 mm filters (29.00 EUR).":                                                 0,
		"You have 4 of the Linen Bag in your cart; it is in stock.":                                       0,
	})
}

func TestSiblingsAreCompared(t *testing.T) {
	checkRejected(t, siblings, map[string]int{
		"The 8 mm spring is the cheaper one.":                                              0,
		"We have the springs in 8 mm and in 14 mm. The 8 mm one is the dearer of the two.": 1,
		"The 14 mm spring is longer than the 8 mm one.":                                    0,
		"The 8 mm spring is longer than the 14 mm one.":                                    1,
		"The 8 mm spring is plated and heavier than the 14 mm one.":                        1,
		"The others are lighter than the 14 mm spring.":                                    0,
		"Der Anzug in M ist leichter als der in L.":                                        0,
		"Der Anzug in L ist leichter als der in M.":                                        1,
		"Le ressort de 14 mm est plus lourd que celui de 8 mm.":                            0,
		"Le ressort de 8 mm est plus lourd que celui de 14 mm.":                            1,
	})
}

func TestShippingIsFreeFromALimit(t *testing.T) {
	checkRejected(t, siblings, map[string]int{
		"The suit is 94.00 EUR, and delivery is free.":   0,
		"The azur glaze is 18.20 EUR. Delivery is free.": 1,
	})
}

func TestWhatIsSureToArriveIsPromised(t *testing.T) {
	checkRejected(t, siblings, map[string]int{
		"It will definitely be delivered in time.":      1,
		"Nous vous garantissons la livraison.":          1,
		"Auf jeden Fall kommt es an.":                   1,
		"We cannot guarantee the delivery.":             0,
		"You can definitely return it after delivery.":  0,
		"Die Garantie gilt ab Lieferung.":               0,
		"La livraison est assurée par nos soins.":       0,
		"Asegúrate de estar en casa para la entrega.":   0,
		"If it is to be delivered for sure, ask us.":    0,
		"The springs are guaranteed.":                   0,
		"It should be delivered in time.":               0,
		"Is it sure to be delivered, is it guaranteed?": 0,
	})
}

func TestWhatTheEvidenceDeniesIsContradicted(t *testing.T) {
	const results = `{"passages":[{"policy":"Cut goods","text":"Paper that was cut to size is neither taken back nor exchanged. Returns of whole sheets are free."},` +
		`{"policy":"Warranty","text":"Broken tips are not covered. Rods have a warranty of 5 years."}]}`
	checkRejected(t, results, map[string]int{
		"Broken tips are covered too.":                   1,
		"Broken tips are not covered.":                   0,
		"If broken tips are covered, you pay nothing.":   0,
		"Except for broken tips, rods are covered.":      0,
		"Even paper that was cut to size is taken back.": 1,
		"Whole sheets are taken back.":                   0,
	})
}
