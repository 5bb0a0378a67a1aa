package grounding

import "testing"

func TestCheckComparesDetailsOfProducts(t *testing.T) {
	const results = `{"products":[
		{"product_id":"L-1","title":"Heron floor lamp","price":"189.00 EUR","stock":7,"details":"height 165 cm; power 18 W; drying time 30 min; hardness 40 Shore A"},
		{"product_id":"L-2","title":"Crane floor lamp","price":"159.00 EUR","stock":6,"details":"height 148 cm; power 14 W; drying time 40 min; hardness 40 Shore A; cable 12 m"},
		{"product_id":"L-3","title":"Wren sleeping bag","price":"99.00 EUR","stock":3,"details":"weight 980 g"}],
		"passages":[{"policy":"Returns","text":"Lamps go back within 30 days of delivery. Parcels weigh 12 kg at most. Refunds take 48 hours."}]}`
	checkRejected(t, results, map[string]int{
		"The Crane lamp takes 14 W. Its height is 148 cm.":                    0,
		"The Crane lamp takes 14 W. Its height is 165 cm.":                    1,
		"The Crane lamp is smaller than the Heron with its height of 165 cm.": 0,
		"Both lamps have a hardness of 40 Shore A.":                           0,
		"Both lamps have a hardness of 48 Shore A.":                           1,
		"The Heron lamp needs 30 minutes to dry.":                             0,
		"The Heron lamp needs 30 hours to dry.":                               1,
		"The Heron lamp goes back within 30 days.":                            0,
		"The Crane lamp has 12 m of cable and may be in a parcel of 12 kg.":   0,
	})
}

func TestCheckReadsUnits(t *testing.T) {
	checkRejected(t, `{"product_id":"W-1","title":"Meadow wax","price":"7.90 EUR","details":"melts at 54 °C; pump 3 W; dries in 45 min; wind from 6 km/h"}`, map[string]int{
		"Meadow wax melts at 54 °C.":          0,
		"Meadow wax melts at 54 °F.":          1,
		"Meadow wax: the pump takes 3 kW.":    1,
		"Meadow wax dries in 45 minutes.":     0,
		"Meadow wax dries in 45 hours.":       1,
		"Meadow wax takes a wind of 6 knots.": 1,
		"Meadow-Wachs schmilzt bei 54 Grad.":  0,
	})
}
