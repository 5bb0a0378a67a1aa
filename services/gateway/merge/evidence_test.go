package merge

import (
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	words "github.com/quartet-commerce/quartet/services/internal/text"
)

func TestASentenceMayOnlySayWhatTheAnswersSay(t *testing.T) {
	const answer = "The Alder costs 249.50 EUR, the Birch 199 EUR, the Cedar 149. The warranty is 24 months.\n" +
		"- pegs\n- a bag\n- a card\n- a map"
	tests := []struct {
		name, currency, text string
		want                 bool
	}{
		{"no facts", "", "That is a fine tent, and it comes soon.", true},
		{"an answer's fact in another language", "", "Das Alder kostet 249,50 €.", true},
		{"no answer's fact", "", "It costs 249 EUR.", false},
		{"a number in the words of another language than the turn's", "", "Die Garantie für das Alder ist vierundzwanzig Monate.", true},
		{"another in the words of that language", "", "Die Garantie für das Alder ist sechsunddreißig Monate.", false},
		{"the store's currency", "USD", "The Cedar costs $149.", true},
		{"a currency that is not the store's", "GBP", "The Cedar costs $149.", false},
		{"how many products there are", "", "Here are 5 of them.", true},
		{"how many prices there are", "", "Here are two prices.", true},
		{"how many items there are", "", "It comes with four things.", true},
		{"a number that counts nothing", "", "Here are 6 of them.", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := evidenceOf(Input{Message: "Tents?", Language: "en", CurrencyCode: tt.currency}, &specialistv1.Answer{
				Text: answer, Products: make([]*specialistv1.ProductChoice, 5),
			})
			if got := len(e.Rejected(e.Read(tt.text), grounding.Text{})) == 0; got != tt.want {
				t.Errorf("Supports(%q) = %v; facts %+v", tt.text, got, e.Read(tt.text).Facts)
			}
		})
	}
}

func TestAmountsAndPeriodsMayBeDerived(t *testing.T) {
	const answers = "The Alder is 249.50 EUR, the Cedar 149.00 EUR, the Fir 69.95 EUR. TENT20 takes 20 % off. The warranty is 2 years, returns take 14 days."
	for text, want := range map[string]bool{
		"The Cedar (149.00 EUR) and the Fir (69.95 EUR) come to 218.95 EUR.": true,
		"The Cedar (149.00 EUR) and the Fir (69.95 EUR) come to 228.95 EUR.": false,
		"The three come to 468.45 EUR.":                                      false, // of amounts that the sentence does not name
		"With 20 % off, the Cedar is 119.20 EUR instead of 149.00 EUR.":      true,
		"With 20 % off, the Cedar is 118.20 EUR instead of 149.00 EUR.":      false,
		"With twenty percent off, the Cedar is 119.20 EUR, not 149.00 EUR.":  true,
		"You get thirty percent off.":                                        false,
		"Two Cedars at 149.00 EUR are 298.00 EUR.":                           true,
		"The Fir is about 70 EUR.":                                           true,
		"The Fir is 70 EUR.":                                                 false,
		"The Fir is about 90 EUR.":                                           false,
		"The warranty is 24 months.":                                         true,
		"The warranty is 36 months.":                                         false,
		"Send it back within two weeks.":                                     true,
		"Send it back within 5 weeks.":                                       false,
	} {
		e := evidenceOf(Input{Message: "Tents?", Language: "en"}, &specialistv1.Answer{Text: answers})
		if got := len(e.Rejected(e.Read(text), grounding.Text{})) == 0; got != want {
			t.Errorf("Supports(%q) = %v", text, got)
		}
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
		{"a limit of the price", "boots in 42 under 150 and is FEET10 working", "The Ridge costs 139.95 EUR.", "Under 150 EUR, there is the Ridge for 139.95 EUR.", true},
		{"a limit in another language", "Stiefel bis höchstens 150 Euro?", "Der Ridge kostet 139,95 EUR.", "Für höchstens 150 € gibt es den Ridge.", true},
		{"a limit as a price", "boots under 150 EUR?", "The Ridge costs 169.95 EUR.", "The Ridge costs 150 EUR.", false},
		{"another limit", "boots under 150 EUR?", "The Ridge costs 139.95 EUR.", "The Ridge is under 140 EUR.", false},
		{"a limit of days", "delivered in under 3 days?", "It takes 5 days.", "It takes under 3 days.", false},
		{"a period that the answer sets", "Can I return after 60 days?", "Returns are free within 30 days.", "Return it within 60 days.", false},
		{"a price that the answer sets", "Is it 49 EUR?", "It costs 59 EUR.", "It costs 49 EUR.", false},
		{"a percentage that the answer sets", "Is there 30 % off?", "There is 10 % off.", "There is 30 % off.", false},
		{"a date that the answer sets", "Here by 3 May?", "It comes on 9 May.", "It comes on 3 May.", false},
		{"a code", "Does SAVE30 work?", "That code has ended.", "SAVE30 has ended.", true},
		{"an order", "Where is AB-1234?", "I can not see it.", "I can not see order AB-1234.", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := evidenceOf(Input{Message: tt.message, Language: "en"}, &specialistv1.Answer{Text: tt.answer})
			if got := len(e.Rejected(e.Read(tt.text), grounding.Text{})) == 0; got != tt.want {
				t.Errorf("Supports(%q) = %v", tt.text, got)
			}
		})
	}
}

// evidenceOf returns the evidence of a message with one part, whose query is the message.
func evidenceOf(in Input, a *specialistv1.Answer) *grounding.MergeEvidence {
	in.Parts = []Part{{Query: in.Message, Answer: a}}
	e, _ := newEvidence(in)
	return e
}

// Whatever an answer says, a model that copies it is not stopped: each sentence rests on the whole.
func FuzzEvidence(f *testing.F) {
	for _, c := range mergeCases(f) {
		for _, s := range c.Sections {
			f.Add(s.Text, c.Language)
		}
	}
	f.Fuzz(func(t *testing.T, text, locale string) {
		e := evidenceOf(Input{Message: "?", Language: locale}, &specialistv1.Answer{Text: text})
		if len(e.Rejected(e.Read("\n"+text), grounding.Text{})) > 0 {
			t.Fatalf("%q does not rest on itself", text)
		}
		var s words.Sentences
		for _, piece := range append(s.Add(text), s.Rest()) {
			if len(e.Rejected(e.Read(piece), grounding.Text{})) > 0 {
				t.Fatalf("%q does not rest on %q: %+v", piece, text, e.Read(piece).Facts)
			}
		}
	})
}
