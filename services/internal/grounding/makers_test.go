package grounding

import "testing"

func TestCheckComparesBrandsAndCarriers(t *testing.T) {
	const results = `{"products":[
		{"product_id":"P-1","title":"Merlin fountain pen","brand":"Oxcombe","price":"78.00 EUR","stock":2},
		{"product_id":"P-2","title":"Bookbinding set","brand":"Foldstone","price":"42.00 EUR","stock":5},
		{"product_id":"P-3","title":"Ink stand for Foldstone sets","brand":"Oxcombe","price":"12.00 EUR","stock":5}],
		"orders":[{"order_id":"KX-1001","status":"shipped","tracking":{"carrier":"Hareline Post"}},{"order_id":"KX-1002","status":"shipped","tracking":{"carrier":"Fenway Express"}}]}`
	checkRejected(t, results, map[string]int{
		"The Merlin fountain pen is made by Oxcombe.":                        0,
		"The Merlin fountain pen is made by Foldstone.":                      1,
		"The Merlin fountain pen, which is made by Foldstone, is 78.00 EUR.": 1,
		"The Merlin fountain pen is not by Foldstone.":                       0,
		"Is the Merlin fountain pen by Foldstone?":                           0,
		"The Merlin pen is by Oxcombe, the bookbinding set by Foldstone.":    0,
		"The ink stand is for Foldstone sets.":                               0,
		"Der Merlin Füller ist von Foldstone.":                               1,
		"KX-1001 travels with Hareline Post.":                                0,
		"KX-1001 travels with Fenway Express.":                               1,
	})
}
