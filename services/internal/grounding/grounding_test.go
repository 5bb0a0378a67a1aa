package grounding_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// source has a fact of each kind.
const source = "The Alder 2 costs 1,249.50 EUR, 20 % less with SPRING-20 until 3 May 2026. Order ORD-10231 comes on Monday " +
	"between 9 am and 6:30 pm; see https://www.shop.example/track or mail help@shop.example. It is IPX7-rated, weighs 2.4kg, " +
	"has a 256 GB card and twelve pegs. Open on 7.8. and 2026-09-30, closed in August. 24-month warranty. Gift code WELCOME. Rain-proof."

func TestATextSaysAFactHoweverItIsWorded(t *testing.T) {
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
		{"a word that is part of another", "en", "It is PROOF.", true},
		{"an order, apart", "en", "Order ORD 10231 or 10231.", true},
		{"another order", "en", "Order ORD-10213.", false},
		{"a date in words", "de", "Bis zum 3. Mai 2026.", true},
		{"a date, Spanish", "es", "Hasta el 3 de mayo de 2026.", true},
		{"a date, the month first", "en", "Until May 3rd, 2026.", true},
		{"a day in words", "en", "Until the third of May 2026.", true},
		{"a day in words, German", "de", "Bis zum dritten Mai 2026.", true},
		{"a day in words, Spanish", "es", "Hasta el tres de mayo de 2026.", true},
		{"another day in words", "en", "Until the twenty-third of May 2026.", false},
		{"another first day, French", "fr", "Jusqu'au premier mai 2026.", false},
		{"what is the first", "en", "The first may be what you like.", true},
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
		{"a number in two words", "fr", "Garantie de vingt-quatre mois.", true},
		{"another number in two words", "fr", "Garantie de vingt-cinq mois.", false},
		{"another number in words", "de", "Die Garantie beträgt sechsunddreißig Monate.", false},
		{"a number in words that is another word", "en", "At once, we sent six.", false},
		{"the same in a language without that meaning", "en", "At once we saw it.", true},
		{"a hyphen", "de", "24-monatige Garantie.", true},
		{"another hyphen", "de", "36-monatige Garantie.", false},
		{"items of a list", "en", "\n1. Alder 2\n2. pegs\n3) a card", true},
		{"a number that is no item", "en", "\nIt holds 3. That is enough.", false},
	}
	var said grounding.Set
	said.Add(grounding.Read(source, "en"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, got := grounding.Read(tt.text, tt.language), true
			for _, f := range text.Facts {
				got = got && said.Has(f)
			}
			if got != tt.want {
				t.Errorf("%q is said: %v; facts %+v", tt.text, got, text.Facts)
			}
		})
	}
}

func TestWhatIsKnownOfAFact(t *testing.T) {
	type fact struct {
		Left, Unit          string
		Plain, Name, Number bool
	}
	tests := []struct {
		name, text string
		want       []fact
	}{
		{"a count, by the beginning of its word", "about 30 pieces", []fact{{Left: "about", Unit: "piec", Number: true}}},
		{"a count of one digit", "3 pegs", []fact{{Unit: "pegs", Plain: true, Number: true}}},
		{"a count below ten in words", "has nine pegs", []fact{{Left: "has", Unit: "pegs", Plain: true, Number: true}}},
		{"a count from ten on in words", "ten pegs", []fact{{Unit: "pegs", Number: true}}},
		{"one", "one peg, at zero cost", nil},
		{"an amount and its currency", "for 5 EUR", []fact{{Left: "for", Unit: grounding.Money, Number: true}, {Unit: grounding.Money, Plain: true}}},
		{"a percentage", "save 20 %", []fact{{Left: "save", Unit: grounding.Percent}}},
		{"a date", "on 3 May", []fact{{Left: "on", Unit: grounding.Date}}},
		{"a month", "in June", []fact{{Left: "in", Unit: grounding.Date}}},
		{"a month that is another word as well", "in May", nil},
		{"a weekday", "on Mondays", []fact{{Left: "on", Unit: grounding.Date}}},
		{"a time", "from 9 am", []fact{{Left: "from", Unit: grounding.Time}}},
		{"a code", "the code SAVE10", []fact{{Left: "code", Name: true}}},
		{"an address", "see www.shop.example", []fact{{Left: "see", Name: true}}},
		{"letters that are a size", "in XXL", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []fact
			for _, f := range grounding.Read(tt.text, "en").Facts {
				got = append(got, fact{f.Left, f.Unit, f.Plain, f.Name, f.IsNumber()})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestOneFactIsSaidByAnother(t *testing.T) {
	tests := []struct {
		name, fact, other string
		want              bool
	}{
		{"the same", "20 %", "20 percent", true},
		{"another number", "20 %", "25 %", false},
		{"a number of something else", "20 %", "20 EUR", false},
		{"one of several readings", "1.299", "1,299.00", true},
		{"what goes with it", "in June", "3 June", true},
		{"less than it says", "3 June", "in June", false},
		{"the parts of a code", "ORD 1001", "ORD-1001", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, other := grounding.Read(tt.fact, "en").Facts[0], grounding.Read(tt.other, "en").Facts[0]
			if got := f.Matches(other); got != tt.want {
				t.Errorf("%q is said by %q: %v", tt.fact, tt.other, got)
			}
		})
	}
}

func TestASetHoldsWhatWasAdded(t *testing.T) {
	price := grounding.Read("$12", "en")
	number, dollars := price.Facts[0], price.Facts[1]
	tests := []struct {
		name       string
		add        func(*grounding.Set)
		want, sign bool
	}{
		{"nothing", func(*grounding.Set) {}, false, false},
		{"a fact", func(s *grounding.Set) { s.AddFacts(number) }, true, false},
		{"a text", func(s *grounding.Set) { s.Add(price) }, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s grounding.Set
			if tt.add(&s); s.Has(number) != tt.want || s.Has(dollars) != tt.sign {
				t.Errorf("12: %v, $: %v", s.Has(number), s.Has(dollars))
			}
		})
	}
}

// What a section counts and the store's currency support a merge beside what the section says.
func TestMergeEvidenceSupportsCountsAndTheStoresCurrency(t *testing.T) {
	for _, tt := range []struct {
		name, currency, text string
		products             int
		want                 bool
	}{
		{"a count of products", "", "Here are 5 of them.", 5, true},
		{"another count", "", "Here are 50 of them.", 5, false},
		{"a currency with that sign", "CAD", "It costs $12.", 0, true},
		{"a currency with another sign", "EUR", "It costs $12.", 0, false},
		{"no currency", "", "It costs $12.", 0, false},
	} {
		e := grounding.MergeEvidence{Language: "en"}
		e.AddAnswer("It costs 12.", make([]string, tt.products))
		if tt.currency != "" {
			e.AddCurrency(tt.currency)
		}
		if got := len(e.Rejected(e.Read(tt.text), grounding.Text{})) == 0; got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestNumbersThatCountItems(t *testing.T) {
	for digits, want := range map[string]bool{"1": true, "20": true, "21": false, "0": false, "": false, "a": false, "001": false} {
		if got := grounding.CountsItems(digits); got != want {
			t.Errorf("CountsItems(%q) = %v", digits, got)
		}
	}
}

func TestItemsOfLists(t *testing.T) {
	for line, want := range map[string]string{ // to the ends with which it is one
		"- a lamp": "any", "* a lamp": "any", "• a lamp": "any", "– a lamp": "any", "-a lamp": "", "a - lamp": "", "-": "",
		"1. A lamp": ".", "20. A lamp": ".", "1) A lamp": ")", "21. A lamp": "", "1.A lamp": "", "1 lamp": "", ". A lamp": "", "A lamp": "", "": "",
	} {
		for _, ends := range []string{".", ")"} {
			if got := grounding.IsItem(line, ends); got != (want == "any" || want == ends) {
				t.Errorf("IsItem(%q, %q) = %v", line, ends, got)
			}
		}
		if got := grounding.IsItem(line, ".)"); got != (want != "") {
			t.Errorf("IsItem(%q, both) = %v", line, got)
		}
	}
}

// Whatever a text is, reading it ends well, and the same text at the beginning of a line says nothing more.
func FuzzRead(f *testing.F) {
	f.Add(source, "en")
	for _, text := range []string{"1 . Sep", "\xff9\xff", "1. 3 h 30", "12-ab-3/4/5", "９:９ ﷼", "18h30 p.m.", "http://@#", "1 299 000,5 EUR5"} {
		f.Add(text, "de")
	}
	f.Fuzz(func(t *testing.T, text, language string) {
		var said grounding.Set
		read := grounding.Read(text, language)
		for _, f := range read.Facts {
			if f.Start < 0 || f.End <= f.Start || f.End > len(text) {
				t.Fatalf("%+v is not in %q", f, text)
			}
		}
		said.Add(read)
		for _, fact := range grounding.Read("\n"+text, language).Facts {
			if !said.Has(fact) {
				t.Fatalf("%+v is not said by %q", fact, text)
			}
		}
	})
}

func ExampleRead() {
	var answer grounding.Set
	answer.Add(grounding.Read("The tent costs 1,249.50 EUR until 3 May with the code SPRING-20.", "en"))
	for _, text := range []string{
		"Mit Spring20 kostet das Zelt bis zum 3.5. nur 1.249,50 €.",
		"Mit Spring20 kostet das Zelt bis zum 13.5. nur 1.249,50 €.",
	} {
		holds := true
		for _, f := range grounding.Read(text, "de").Facts {
			holds = holds && answer.Has(f)
		}
		fmt.Println(holds)
	}
	// Output:
	// true
	// false
}
