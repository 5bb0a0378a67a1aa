package gateway

import (
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/facts"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func TestASentenceMayOnlySayWhatTheAnswersSay(t *testing.T) {
	const answer = "The Alder 2 costs 1,249.50 EUR, 20 % less with SPRING-20 until 3 May 2026. Order ORD-10231 comes on Monday " +
		"between 9 am and 6:30 pm; see https://www.shop.example/track or mail help@shop.example. It is IPX7-rated, weighs 2.4kg, " +
		"has a 256 GB card and twelve pegs. Open on 7.8. and 2026-09-30, closed in August. 24-month warranty. Gift code WELCOME."
	tests := []struct {
		name, language, text string
		want                 bool
	}{
		{"no facts", "en", "That is a fine tent, and it comes soon.", true},
		{"an amount, German", "de", "Das Alder 2 kostet 1.249,50 €.", true},
		{"an amount, French", "fr", "Elle coûte 1 249,50 € et 1 249,50 euros.", true},
		{"an amount, Swiss", "de", "Es kostet 1'249.50 EUR.", true},
		{"digits of another script", "en", "It costs １,２４９.５０ EUR.", true},
		{"another amount", "en", "It costs 1,249.00 EUR.", false},
		{"rounded", "en", "It costs about 1,250 EUR.", false},
		{"another currency by code", "en", "It costs 1,249.50 USD.", false},
		{"another currency by sign", "en", "It costs $1,249.50.", false},
		{"another currency by name", "en", "It costs 1,249.50 dollars.", false},
		{"a code glued to an amount", "en", "It costs EUR1249.50.", true},
		{"a percentage in words", "de", "Sie ist 20 Prozent billiger.", true},
		{"a percentage, Spanish", "es", "Cuesta un 20 por ciento menos.", true},
		{"an amount made of a percentage", "en", "It is 20 EUR less.", false},
		{"a percentage made of an amount", "en", "It is 1249.50 % less.", false},
		{"a code", "en", "Use spring-20 or SPRING20.", true},
		{"another code", "en", "Use SPRING-25.", false},
		{"a code in capitals", "en", "Gift code: WELCOME.", true},
		{"another code in capitals", "en", "Gift code: THANKS.", false},
		{"an order, apart", "en", "Order ORD 10231 or 10231.", true},
		{"another order", "en", "Order ORD-10213.", false},
		{"a date in words", "de", "Bis zum 3. Mai 2026.", true},
		{"a date, Spanish", "es", "Hasta el 3 de mayo de 2026.", true},
		{"a date, the month first", "en", "Until May 3rd, 2026.", true},
		{"a date in numbers", "de", "Bis 03.05.2026 oder 3.5.26.", true},
		{"a date in ISO form", "en", "Until 2026-05-03.", true},
		{"another day", "en", "Until 13 May 2026.", false},
		{"another month", "en", "Until 3 June 2026.", false},
		{"another year", "en", "Until 3 May 2027.", false},
		{"a date out of numbers", "de", "Geöffnet am 7. August und am 30. September.", true},
		{"a month alone", "fr", "Fermé en août.", true},
		{"another month alone", "fr", "Fermé en juillet.", false},
		{"a weekday", "es", "Llega el lunes.", true},
		{"another weekday", "es", "Llega el martes.", false},
		{"times, 24 hours", "de", "Zwischen 9 und 18:30 Uhr.", true},
		{"times, French", "fr", "Entre 9h et 18h30, 18 h 30.", true},
		{"another time", "de", "Zwischen 9 und 19 Uhr.", false},
		{"am for pm", "en", "Between 9 pm and 6:30 pm.", false},
		{"an address", "en", "See http://shop.example/track, www.shop.example/track.", true},
		{"another path", "en", "See https://shop.example/pay.", false},
		{"another domain", "en", "See shop-help.example.", false},
		{"a mail address", "en", "Mail help@shop.example!", true},
		{"another mail address", "en", "Mail pay@shop.example!", false},
		{"a rating", "en", "It is rated IPX7.", true},
		{"another rating", "en", "It is rated IPX8.", false},
		{"units apart and glued", "en", "It weighs 2.4 kg and has 256GB.", true},
		{"another measure", "en", "It weighs 2.6 kg.", false},
		{"a number in digits for words", "en", "It has 12 pegs.", true},
		{"a number in words for digits", "de", "Die Garantie beträgt vierundzwanzig Monate.", true},
		{"another number in words", "de", "Die Garantie beträgt sechsunddreißig Monate.", false},
		{"a number in words that is another word", "en", "At once, we sent six.", false},
		{"the same in a language without that meaning", "en", "At once we saw it.", true},
		{"a hyphen", "de", "24-monatige Garantie.", true},
		{"another hyphen", "de", "36-monatige Garantie.", false},
		{"items of a list", "en", "\n1. Alder 2\n2. pegs\n3) a card", true},
		{"a number that is no item", "en", "\nIt holds 3. That is enough.", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := &turn{message: "Tents?", scope: scope.Scope{Locale: tt.language}, store: &gatewayv1.Store{}}
			g := newGrounds(turn, []*branch{answered("Tents?", &specialistv1.Answer{Text: answer})})
			if got := g.hold(tt.text); got != tt.want {
				said := facts.Of(tt.text, tt.language)
				t.Errorf("hold(%q) = %v; facts %+v", tt.text, got, said.Facts)
			}
		})
	}
}

func TestWhatTheShopperWroteMayBeQuotedButDecidesNothing(t *testing.T) {
	tests := []struct {
		name, message, answer, text string
		want                        bool
	}{
		{"a size", "Shoes in size 42?", "We have it in your size.", "Yes, we have size 42.", true},
		{"the number for something else", "Shoes in size 42?", "We have it in your size.", "Yes, there are 42 of them.", false},
		{"a count", "I need 3 pairs", "We have enough.", "You can have 3 pairs.", true},
		{"a period that the answer sets", "Can I return after 60 days?", "Returns are free within 30 days.", "Return it within 60 days.", false},
		{"a price that the answer sets", "Is it 49 EUR?", "It costs 59 EUR.", "It costs 49 EUR.", false},
		{"a percentage that the answer sets", "Is there 30 % off?", "There is 10 % off.", "There is 30 % off.", false},
		{"a date that the answer sets", "Here by 3 May?", "It comes on 9 May.", "It comes on 3 May.", false},
		{"a code", "Does SAVE30 work?", "That code has ended.", "SAVE30 has ended.", true},
		{"an order", "Where is AB-1234?", "I can not see it.", "I can not see order AB-1234.", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := &turn{message: tt.message, scope: scope.Scope{Locale: "en"}, store: &gatewayv1.Store{}}
			g := newGrounds(turn, []*branch{answered(tt.message, &specialistv1.Answer{Text: tt.answer})})
			if got := g.hold(tt.text); got != tt.want {
				t.Errorf("hold(%q) = %v", tt.text, got)
			}
		})
	}
}

// Whatever an answer says, a model that copies it is not stopped: each sentence rests on the whole.
func FuzzFacts(f *testing.F) {
	for _, c := range mergeCases(f) {
		for _, s := range c.Sections {
			f.Add(s.Text, c.Language)
		}
	}
	f.Fuzz(func(t *testing.T, text, locale string) {
		turn := &turn{message: "?", scope: scope.Scope{Locale: locale}, store: &gatewayv1.Store{}}
		g := newGrounds(turn, []*branch{answered("?", &specialistv1.Answer{Text: text})})
		if !g.hold("\n" + text) {
			t.Fatalf("%q does not rest on itself", text)
		}
		got, s := cut(text, 16)
		for _, piece := range append(got, s.rest()) {
			if !g.hold(piece) {
				said := facts.Of(piece, "")
				t.Fatalf("%q does not rest on %q: %+v", piece, text, said.Facts)
			}
		}
	})
}
