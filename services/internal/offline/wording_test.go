package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// storeTools are tools as a store may word them: facts to demand, ids that may be names, a cart to read beforehand.
var (
	factTools = []tool{fn("find_goods", "Searches what the store sells. Returns goods with price, options and stock.",
		`{"type":"object","properties":{"query":{"type":"string"},"max_price":{"type":"number"},"options":{"type":"object","additionalProperties":{},"description":"Options such as {\"size\": \"42\"}."},"attributes":{"type":"object","additionalProperties":{},"description":"Facts that must hold, such as {\"waterproof\": \"true\"} or {\"material\": \"wool\"}."}},"required":["query"]}`)}
	basketTools = []tool{
		fn("read_basket", "Returns the shopper's basket. Call it for any question about the basket, and before recommending what goes with it.", `{"type":"object","properties":{}}`),
		fn("like_products", "Finds products that go with some products, or could replace them: those in product_ids, else those in the basket.",
			`{"type":"object","properties":{"product_ids":{"type":"array","items":{"type":"string"},"description":"Ids or titles of the products to start from."},"query":{"type":"string","description":"Further wishes"},"relation":{"type":"string","description":"complement for what goes with them, alternative for what could replace them."}}}`),
	}
)

const shoesResult = `{"products":[
{"product_id":"a","title":"Velloway Shingle trail trainer","price":"89.95 EUR","options":{"colour":["black","navy","sand"],"size":["42"]},"stock":29,"details":"waterproof no; weight 276 g; terrain road to trail","reason":"matches trail, shoes"},
{"product_id":"b","title":"Korvane Gully 3 GT","price":"149.95 EUR","highest_price":"169.95 EUR","options":{"colour":["slate"],"size":["36","37","38","39","40"]},"stock":0,"details":"waterproof yes; weight 331 g","reason":"goes with Brook bottle"}],"total":11,"price_range":"59.95 EUR to 164.95 EUR"}`

func TestGoodsAreWordedShortly(t *testing.T) {
	shingle, gully := "- Velloway Shingle trail trainer, 89.95 EUR, size 42, 29 in stock", "- Korvane Gully 3 GT, from 149.95 EUR, sold out"
	for name, tc := range map[string]struct{ question, result, want string }{
		"yes first": {"do you have trail shoes in size 42?", shoesResult,
			"Yes, 11 fit. The best of them:\n" + shingle + " (colours: black, navy, sand).\n" + gully + " (sizes 36 to 40). Goes with Brook bottle.\n- and 9 more"},
		"only facts that were asked for": {"trail shoes in size 42, how heavy are they?", shoesResult,
			"Here is what I found for trail shoes:\n" + shingle + ", weight 276 g (colours: black, navy, sand).\n" + gully + ", weight 331 g (sizes 36 to 40). Goes with Brook bottle.\n- and 9 more"},
		"prices to those who ask for them": {"what is the price range of trail shoes?", shoesResult,
			"Price range: 59.95 EUR to 164.95 EUR.\nHere is what I found for trail shoes:\n" + strings.Replace(shingle, ", size 42", "", 1) + " (colours: black, navy, sand).\n" + gully + " (sizes 36 to 40). Goes with Brook bottle.\n- and 9 more"},
		"the one that is named": {"is the Gully 3 GT waterproof?", shoesResult,
			"Here is what I found for gully 3 gt waterproof:\n" + gully + ", waterproof (sizes 36 to 40). Goes with Brook bottle."},
		"in Spanish": {"¿tenéis zapatillas en la talla 42?", strings.Replace(shoesResult, `"total":11`, `"total":2`, 1),
			"Sí, hay 2:\n- Velloway Shingle trail trainer, 89.95 EUR, talla 42, 29 en stock (colores: black, navy, sand).\n- Korvane Gully 3 GT, desde 149.95 EUR, agotado (tallas 36 a 40). Goes with Brook bottle."},
		"the nearest after a refusal": {"do you have shoes in size 50?", strings.Replace(shoesResult, `"total":11`, `"note":"No shoes in size 50; sizes go up to 47. The products listed are the nearest."`, 1),
			"No shoes in size 50; sizes go up to 47.\nThese come closest:\n- Velloway Shingle trail trainer, 89.95 EUR, 29 in stock (colours: black, navy, sand).\n" + gully + " (sizes 36 to 40). Goes with Brook bottle."},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, factTools, tc.question, tc.result, tc.result)
			if diff := cmp.Diff(tc.want, got[len(got)-1]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheRestIsWorded(t *testing.T) {
	order := `{"order":{"order_id":"QT-7","status":"on its way","next_step":"The parcel should arrive by 22 May 2026. It can be followed on the tracking page.","placed":"19 May 2026","items":[{"title":"Moss mat","quantity":2,"options":{"colour":"moss"},"price":"9.00 EUR"},{"title":"Brook bottle","quantity":1,"price":"5.00 EUR"}],"total":"23.00 EUR","tracking":{"carrier":"Tidepost","tracking_number":"TP7","url":"https://t.example/TP7","estimated_delivery":"22 May 2026"}},"other_orders":2}`
	for name, tc := range map[string]struct {
		tools                  []tool
		question, result, want string
	}{
		"an order in sentences": {supportTools, "where is my order?", order,
			"Your order QT-7 is on its way with Tidepost (tracking TP7); it should arrive by 22 May 2026. It has 2 × Moss mat (colour moss), Brook bottle (placed on 19 May 2026, total 23.00 EUR). Follow it at https://t.example/TP7."},
		"an order in German": {supportTools, "Wo ist meine Bestellung?", order,
			"Deine Bestellung QT-7 ist unterwegs mit Tidepost (Sendungsnummer TP7); sie sollte bis 22 May 2026 ankommen. Darin: 2 × Moss mat (Farbe moss), Brook bottle (bestellt am 19 May 2026, Gesamt 23.00 EUR). Hier lässt sie sich verfolgen: https://t.example/TP7"},
		"no orders to the model": {supportTools, "where is order QT-9?", `{"other_orders":0,"note":"This customer has no order QT-9. Ask them to check the number."}`,
			"You have no order QT-9."},
		"a refusal without the tool's name": {supportTools, "where is my order?", `error: lookup_order: nobody is signed in: ask the shopper to sign in`,
			"I am sorry, I could not look that up: Nobody is signed in. Please sign in."},
		"the passage on the thing itself": {supportTools, "can I return a tent opened?",
			`{"passages":[{"policy":"Opened goods","section":"Tents and bags","text":"A bag that has been slept in can not be returned to us any more."},{"policy":"Opened goods","section":"Tents and bags","text":"A tent may be pitched once; if it is clean, we refund it."},{"policy":"Returns","text":"Gift cards that were opened can not be returned at all."}]}`,
			`From "Opened goods": A tent may be pitched once; if it is clean, we refund it.`},
		"two passages of one text under one lead": {supportTools, "how long does delivery take?",
			`{"passages":[{"policy":"Delivery","text":"Standard delivery takes 2 to 4 working days."},{"policy":"Delivery","text":"Express delivery takes 1 working day or less."},{"policy":"Privacy","text":"We keep your address for the delivery."}]}`,
			`From "Delivery": Standard delivery takes 2 to 4 working days. Express delivery takes 1 working day or less.`},
		"offers that have to wait": {promotionTools, "is there a discount for members?",
			`{"promotions":[{"code":"BIG","title":"Big one","offer":"5% off tents","eligible":false,"explanation":"BIG does not apply: the cart is empty."},{"code":"CLUB","title":"Members' tea","offer":"12% off tea","eligible":false,"explanation":"CLUB does not apply: the cart is empty."}],"note":"There is no cart yet."}`,
			"There is no cart yet.\n- Members' tea (CLUB): 12% off tea. Not now: The cart is empty.\n- Big one (BIG): 5% off tents."},
		"an offer is told once": {promotionTools[:1], "any discount?",
			`{"promotions":[{"code":"SAVE20","title":"20 EUR off from 150 EUR","eligible":true,"saving":"20.00 EUR","explanation":"SAVE20 applies: 20.00 EUR off from 150.00 EUR, which saves 20.00 EUR.","ends":"21 May 2026"}]}`,
			"Use the code SAVE20 for 20 EUR off from 150 EUR: it saves you 20.00 EUR. It is valid until 21 May 2026."},
		"what is in the basket": {basketTools, "what's in my basket?",
			`{"items":[{"product_id":"p1","title":"Moss mat","quantity":2,"price":"9.00 EUR","options":{"colour":"moss"}}],"subtotal":"18.00 EUR"}`,
			"In your cart:\n- 2 × Moss mat (colour moss), 9.00 EUR.\nSubtotal: 18.00 EUR."},
		"an empty basket": {basketTools, "something to go with my basket", `{"items":[],"note":"The basket is empty."}`, "The basket is empty."},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, tc.tools, tc.question, tc.result, tc.result)
			if diff := cmp.Diff(tc.want, got[len(got)-1]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCallsHoldWhatWasAskedAndNoMore(t *testing.T) {
	for _, tc := range []struct {
		tools          []tool
		question, want string
	}{
		{factTools, "waterproof jackets in size M", `find_goods{"query":"waterproof jackets","options":{"size":"M"},"attributes":{"waterproof":"true"}}`},
		{factTools, "do you have green tea?", `find_goods{"query":"green tea"}`},
		{factTools, "¿tenéis té verde?", `find_goods{"query":"tea green"}`},
		{factTools, "haben Sie Earl Grey?", `find_goods{"query":"earl grey"}`},
		{factTools, "which backpack is the lightest?", `find_goods{"query":"backpack"}`},
		{factTools, "what sizes does the Drystone boot come in?", `find_goods{"query":"drystone boot"}`},
		{factTools, "what is the price range of your mats?", `find_goods{"query":"mats"}`},
		{factTools, "compare the Alder 2 and the Birch 1", `find_goods{"query":"alder 2"} find_goods{"query":"birch 1"}`},
		{factTools, "which is warmer, the Alder or the Birch?", `find_goods{"query":"alder"} find_goods{"query":"birch"}`},
		{basketTools, "what goes with my basket?", `read_basket{}`},
		{basketTools, "something similar to the Velloway Shingle", `like_products{"product_ids":["Velloway Shingle"],"relation":"alternative"}`},
		{factTools, "a tent for four people", `find_goods{"query":"4-person tent"}`},
		{basketTools, "something similar to the Fledge down jacket but cheaper", `like_products{"product_ids":["Fledge down jacket"],"relation":"alternative"}`},
		{basketTools, "what goes with the Alder 2?", `like_products{"product_ids":["Alder 2"]}`},
		{supportTools, "I want to return my order QT-7", `lookup_order{"order_id":"QT-7"} search_policies{"query":"return"}`},
		{supportTools, "where is my order QT-7?", `lookup_order{"order_id":"QT-7"}`},
	} {
		t.Run(tc.question, func(t *testing.T) {
			if got := firstCalls(tc.tools, tc.question); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestABasketFeedsTheNextToolWithoutAQuery(t *testing.T) {
	got := play(t, basketTools, "¿qué va bien con mi carrito?", cartResult, simsResult)
	if want := `like_products{"product_ids":["p1","p2"]}`; len(got) != 3 || got[1] != want {
		t.Errorf("calls %q, want %s", got, want)
	}
}

func TestAReasonIsOneShortClause(t *testing.T) {
	f := &filler{ask: read("any discount?")}
	for name, tc := range map[string]struct{ chosen, want string }{
		"the saving":      {`{"title":"Mat week","saving":"2.45 EUR","explanation":"MAT5 applies."}`, "saves 2.45 EUR"},
		"a long sentence": {`{"reason":"It is the only one of all of them that still applies to what you have chosen so far."}`, "It is the only one of all of them that still applies to"},
	} {
		v, _ := decode(tc.chosen)
		f.chosen = v.(object)
		if got := f.reason(); got != tc.want || len(got) > maxReason {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestASearchWithoutItsNumbersFollowsAnEmptyOne(t *testing.T) {
	got := play(t, factTools, "I need a teapot for four people", `{"products":[],"note":"Nothing matches \"teapot four people\"."}`, `{"products":[{"title":"Round teapot","price":"34.00 GBP","stock":2}],"total":1}`)
	want := []string{`find_goods{"query":"4-person teapot"}`, `find_goods{"query":"teapot"}`, "Here is what I found for teapot:\n- Round teapot, 34.00 GBP, 2 in stock."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPartLeansOnTheClauseBeforeItOnly(t *testing.T) {
	const whole = "Hi! Do you have a warm sleeping bag? Which tent is the cheapest? Do you have it in red? What goes with my cart?"
	for part, want := range map[string]string{
		"Do you have it in red?":                         "Which tent is the cheapest?",
		"Which tent is the cheapest? (about: tents)":     "Do you have a warm sleeping bag?",
		"Do you have a warm sleeping bag?":               "",
		"Something that the message does not have in it": "",
	} {
		if got := preceding(whole, part); got != want {
			t.Errorf("before %q stands %q, want %q", part, got, want)
		}
	}
	if leansOnContext(read("What would go well with what is in my cart?")) {
		t.Error("a question about the cart leans on nothing")
	}
}

func TestTwoGreetingsBecomeOne(t *testing.T) {
	message := "## Section 1: hi\nHello, and welcome to Larch & Loam! How can I help you?\n\n## Section 2: tents\nHello! Yes, 2 fit.\n"
	if got, want := respond(ask("Make one reply.", message, nil), today).text, "Yes, 2 fit."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
