package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsAreReadByTypeAndUnit(t *testing.T) {
	for message, want := range map[string]struct {
		lang, words string
		args        object
		unordered   bool
	}{
		"a lamp under 60 euro":                   {words: "lamp", args: object{"max_price": 60.}},
		"lamps between 20 and 35.50 EUR":         {words: "lamps", args: object{"min_price": 20., "max_price": 35.5}},
		"lamp over $20":                          {words: "lamp", args: object{"min_price": 20.}},
		"a mug for £8":                           {words: "mug", args: object{"max_price": 8.}},
		"ein Becher bis 12,50 €":                 {lang: "de", words: "Becher", args: object{"max_price": 12.5}},
		"a rucksack under 800 g":                 {words: "rucksack", args: object{"attributes": object{"weight": "<=800 g"}}},
		"lamps over 400 lumen":                   {words: "lamps", args: object{"attributes": object{"brightness": ">=400 lm"}}},
		"a hose under 3 m":                       {words: "hose 3 m"},
		"tents for two under 250":                {words: "tents", args: object{"max_price": 250.}},
		"lamp with the longest battery life":     {words: "lamp", unordered: true},
		"red gloves in size 42":                  {words: "red gloves", args: object{"options": object{"size": "42"}}},
		"a sleeping bag under 60 euro":           {words: "sleeping bag", args: object{"max_price": 60.}},
		"gloves in L":                            {words: "gloves", args: object{"options": object{"size": "L"}}},
		"gants noirs en taille 9":                {lang: "fr", words: "gants noirs", args: object{"options": object{"size": "9"}}},
		"what is your cheapest kettle?":          {words: "kettle", args: object{"sort": "price_low_to_high"}},
		"do you have the Nimbrel Wisp 1 please?": {words: "Nimbrel Wisp 1"},
		"a jacket without a hood":                {words: "jacket without hood"},
		"eine Jacke ohne Kapuze":                 {lang: "de", words: "Jacke ohne Kapuze"},
		"ein Paar Handschuhe":                    {lang: "de", words: "Handschuhe"},
	} {
		if want.lang == "" {
			want.lang = "en"
		}
		if want.args == nil {
			want.args = object{}
		}
		r := readRequest(message, "Recorded: weight, brightness")
		if words := strings.Join(productWords(r.rest, want.lang), " "); words != want.words || r.unordered != want.unordered {
			t.Errorf("%s: words %q, unordered %v", message, words, r.unordered)
		}
		if diff := cmp.Diff(want.args, r.args); diff != "" {
			t.Errorf("%s: -want +got:\n%s", message, diff)
		}
	}
}

func TestAWishForAnOrderIsReadWithItsDetails(t *testing.T) {
	var lookUp tool
	lookUp.Function.Name = lookupOrder
	for message, want := range map[string]object{
		"please change the address of QT-1003 to 5 Harbour Road, 4020 Linz":                      {"order_id": "QT-1003", "new_address": "5 Harbour Road, 4020 Linz", "wants": []any{"change_address"}},
		"I want to change the address of my order":                                               {"wants": []any{"change_address"}},
		"Lieferadresse von QT-1003 bitte ändern auf Hafenweg 5, 4020 Linz!":                      {"order_id": "QT-1003", "new_address": "Hafenweg 5, 4020 Linz", "wants": []any{"change_address"}},
		"ship QT-1003 elsewhere: change the address to Flat 2, 9 Mill Lane, Bath BA1 5LN please": {"order_id": "QT-1003", "new_address": "Flat 2, 9 Mill Lane, Bath BA1 5LN", "wants": []any{"change_address"}},
		"Change the address of QT-1003 to:\nFlat 2\n9 Mill Lane\nBath BA1 5LN\nThank you!":       {"order_id": "QT-1003", "new_address": "Flat 2\n9 Mill Lane\nBath BA1 5LN", "wants": []any{"change_address"}},
		"Adresse von QT-1003 ändern auf Bergstr. 5, 3. Stock in 4020 Linz":                       {"order_id": "QT-1003", "new_address": "Bergstr. 5, 3. Stock in 4020 Linz", "wants": []any{"change_address"}},
		"send QT-1003 to another address please: 5 Harbour Road, 4020 Linz":                      {"order_id": "QT-1003", "new_address": "5 Harbour Road, 4020 Linz", "wants": []any{"change_address"}},
		"neue Adresse für QT-1003: Hafenweg 5, 4020 Linz":                                        {"order_id": "QT-1003", "new_address": "Hafenweg 5, 4020 Linz", "wants": []any{"change_address"}},
		"I want to exchange the boots for size 44":                                               {"options": object{"size": "44"}, "wants": []any{"exchange"}},
		"I want to return the boots in size 44":                                                  {"wants": []any{"return"}},
	} {
		want["reason"] = message
		c := &conversation{ask: message, lang: "en", tools: []tool{lookUp}}
		calls := c.planSupport()
		if len(calls) == 0 || calls[0].name != lookupOrder {
			t.Errorf("%s: %v", message, calls)
		} else if diff := cmp.Diff(want, calls[0].args); diff != "" {
			t.Errorf("%s: -want +got:\n%s", message, diff)
		}
	}
}

func TestSayingsAreInAllLanguagesWithTheSameVerbs(t *testing.T) {
	for key, in := range sayings {
		for _, lang := range []string{"en", "de", "fr", "es"} {
			if in[lang] == "" || strings.Count(in[lang], "%") != strings.Count(in["en"], "%") {
				t.Errorf("%s, %s: %q", key, lang, in[lang])
			}
		}
	}
}
