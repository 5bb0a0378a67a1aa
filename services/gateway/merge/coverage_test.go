package merge

import (
	"slices"
	"testing"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// missing returns which sections a text does not hold that the model wrote as one sentence.
func missing(c *coverage, text string, finished bool) []int {
	var m mergedText
	m.add(text, (&grounding.MergeEvidence{Language: "en"}).Read(text))
	return c.missing(text, &m, finished)
}

func TestAQuestionIsAskedInItsWordsOrInOthers(t *testing.T) {
	const question = "Which activity, and which size do you need?"
	for merged, want := range map[string]bool{
		"Gladly. which activity and which size do you need?":      true,
		"For what activity do you want them, and in which size?":  true,
		"We have shoes for every activity, in every size.":        false,
		"You can return them in any size. Anything else for you?": false,
		"":    false,
		"Ok?": false,
	} {
		if got := asks(merged, question); got != want {
			t.Errorf("%q: %v", merged, got)
		}
	}
}

func TestASectionIsCoveredByItsFactsOrElseByItsWords(t *testing.T) {
	order := &specialistv1.Answer{Text: "Order ORD-1001 was sent on 3 May.", Order: &orderv1.Order{OrderId: "ORD-1001"}}
	offer := &specialistv1.Answer{Text: "Use SAVE10 at the checkout.", Promotion: &specialistv1.PromotionChoice{
		Code: "SAVE10", Saving: &commonv1.Money{AmountMinor: 100, CurrencyCode: "EUR"}}}
	said := func(text string, titles ...string) *specialistv1.Answer {
		a := &specialistv1.Answer{Text: text}
		for _, title := range titles {
			a.Products = append(a.Products, &specialistv1.ProductChoice{Title: title})
		}
		return a
	}
	words := said("Gift wrapping happens free of charge in every branch.")
	long := said("Prices: 10.50, 20.50, 30.50 and 40.50 EUR.")
	tests := []struct {
		name   string
		merged string
		answer *specialistv1.Answer
		want   bool // of a text that the model finished
		cut    bool // of one that was cut
	}{
		{"an order id in other words", "Your parcel (ord-1001) is on its way.", order, true, false},
		{"an order with all of it", "Your order ORD 1001 left on May 3rd.", order, true, true},
		{"an order without its id", "Your parcel is on its way.", order, false, false},
		{"another order's id", "Order ORD-1002 is on its way.", order, false, false},
		{"a code", "With save10 you pay less.", offer, true, true},
		{"a code inside another", "With SAVE100 you pay less.", offer, false, false},
		{"words, reworded", "We do gift wrapping at no charge.", words, true, false},
		{"words, most of them", "Gift wrapping is free of charge in each branch.", words, true, true},
		{"words, dropped", "We have shoes.", words, false, false},
		{"words in another language", "Das Einpacken von Geschenken kostet nichts und ist in jeder Filiale möglich.", words, true, true},
		{"another language, another matter", "Wir haben die Schuhe auch in anderen Farben.", words, false, false},
		{"half of the numbers", "From 10.50 to 40.50 EUR.", long, true, false},
		{"a quarter of the numbers", "From 10.50 EUR.", long, false, false},
		{"thousands written another way", "Er kostet 1.299,00 €.", said("It costs 1,299.00 EUR."), true, true},
		{"round amounts without cents", "It costs 40 euros.", said("It costs 40.00 EUR."), true, true},
		{"a title that the answer itself leaves out", "We have it in stock.", said("We have it in stock.", "Ridge Runner"), true, true},
		{"a title", "The Ridge Runner, of course.", said("Take the Ridge Runner.", "Ridge Runner"), true, true},
		{"a part of a title", "The Ridge, of course.", said("Take the Ridge Runner.", "Ridge Runner"), true, true},
		{"a part of a title that others share", "The Ridge, of course.", said("Take the Ridge Runner or the Ridge Walker.", "Ridge Runner", "Ridge Walker"), false, false},
		{"a common word of a title", "Good news: it is on its way.", said("Take the Good Morning mug.", "Good Morning mug"), false, false},
		{"a number of a title", "1. Tents cost 99 EUR.\n2. Bye.", said("Take the Tarn 2.", "Tarn 2"), false, false},
		{"a title in the plural", "The Runners, of course.", said("Take the Ridge Runner.", "Ridge Runner"), true, true},
		{"a title without a word", "The Runner 300 is 20.50 EUR.", said("The Ridge Runner 300 is 20.50 EUR.", "Ridge Runner 300"), true, true},
		{"nothing to go by, kept", "Yes, and shoes.", said("Yes."), true, true},
		{"nothing to go by, lost", "Anything.", said("Yes."), false, false},
		{"what the other says shows nothing", "Tents cost 99 EUR.", said("Shipping takes 99 EUR and 14 days."), false, false},
		{"what both say is enough where there is no more", "Tents cost 99 EUR.", said("It costs 99 EUR."), true, true},
		{"half, of which the other says much", "Tents cost 99 EUR and weigh 22 kg.", said("The tents for 99 EUR weigh 22 kg; pegs are 12.50 EUR, ropes 14.50 EUR."), true, false},
		{"a script without spaces", "未使用の商品は三十日以内に返品いただけます。", said("未使用の商品は返品できます。"), true, true},
		{"a script without spaces, dropped", "靴があります。", said("未使用の商品は返品できます。"), false, false},
	}
	other := Part{Query: "tents?", Answer: said("Tents cost 99 EUR.")}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parts := []Part{other, {Query: "Geschenke einpacken?", Answer: tt.answer}}
			_, sections := newEvidence(Input{Language: "en", Parts: parts})
			c := newCoverage(parts, sections)
			if got := !slices.Contains(missing(c, tt.merged, true), 1); got != tt.want {
				t.Errorf("%q of %q, finished: %v", tt.merged, tt.answer.GetText(), got)
			}
			if got := !slices.Contains(missing(c, tt.merged, false), 1); got != tt.cut {
				t.Errorf("%q of %q, cut: %v", tt.merged, tt.answer.GetText(), got)
			}
		})
	}
}

func TestASectionWithATitleOfOthersIsCoveredByItsWords(t *testing.T) {
	gloves := func(text string) *specialistv1.Answer {
		return &specialistv1.Answer{Text: text, Products: []*specialistv1.ProductChoice{{Title: "Hedgerow Gloves"}}}
	}
	parts := []Part{
		{Query: "sizes", Answer: gloves("The Hedgerow Gloves cost 16.00 GBP.")},
		{Query: "washable", Answer: gloves("The Hedgerow Gloves can be washed by hand.")},
	}
	_, sections := newEvidence(Input{Language: "en", Parts: parts})
	c := newCoverage(parts, sections)
	for text, want := range map[string]bool{
		"The Hedgerows are £16.00; wash them by hand.": true,
		"The Hedgerows are £16.00.":                    false,
	} {
		if got := !slices.Contains(missing(c, text, true), 1); got != want {
			t.Errorf("the second section in %q: %v", text, got)
		}
	}
}

func TestAFactThatTwoSectionsShareIsNotLost(t *testing.T) {
	parts := []Part{
		{Query: "sent", Answer: &specialistv1.Answer{Text: "Your order leaves the warehouse on 4 May."}},
		{Query: "refund", Answer: &specialistv1.Answer{Text: "The refund reaches your bank account on 4 May."}},
	}
	_, sections := newEvidence(Input{Language: "en", Parts: parts})
	c := newCoverage(parts, sections)
	if got := missing(c, "Your order leaves the warehouse, and the refund reaches your bank account.", true); len(got) != 2 {
		t.Errorf("sections %v are missing, want both", got)
	}
}
