package classifier

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
)

// everyday are messages that must go right, with the specialists in the order of the parts. The model is fitted to them too, so
// they show that nothing broke, not how good it is.
func everyday(t testing.TB) []routing.Message {
	return evalCases(t, "../../classifier/train/everyday.jsonl")
}

func TestEverydayMessages(t *testing.T) {
	l := newFour()
	missed := 0
	for _, c := range everyday(t) {
		if r := classify(l, c.Text); !slices.Equal(names(r), c.Gold) {
			missed++
			t.Logf("confidence %.2f, want %v: %q", r.Confidence, c.Gold, routes(r))
			if r.Confidence >= Threshold {
				t.Errorf("Classify(%q) is certain and wrong: %q", c.Text, routes(r))
			}
		}
	}
	if missed > 5 {
		t.Errorf("%d everyday messages went wrong, want at most 5", missed)
	}
}

func TestAMessageIsCutWhereTheSubjectChanges(t *testing.T) {
	l := newFour()
	for _, c := range []struct {
		name, message string
		want          []string
	}{
		{"and", "Do you have trail running shoes in size 42, and what is your return policy?", []string{
			"search: Do you have trail running shoes in size 42", "support: what is your return policy?"}},
		{"four sentences", "Where's my order? Any coupon? Recommend something similar to my boots. Do you sell headlamps?", []string{
			"support: Where's my order?", "promotions: Any coupon?", "recommend: Recommend something similar to my boots.",
			"search: Do you sell headlamps?"}},
		{"back to the first subject", "I need a sleeping bag. My parcel is late. Also show me stoves.", []string{
			"search: I need a sleeping bag.", "support: My parcel is late.", "search: show me stoves."}},
		{"lead-ins go", "Where is my order? Also, do you have tents?", []string{"support: Where is my order?", "search: do you have tents?"}},
		{"a pronoun", "une lampe frontale, et puis-je la retourner ?", []string{
			"search: une lampe frontale", "support: puis-je la retourner ? (about: une lampe frontale)"}},
		{"what the specialist was told before", "Where is order 10421? Is there a discount? And can I cancel that order?", []string{
			"support: Where is order 10421?", "promotions: Is there a discount?",
			"support: can I cancel that order? (about: Where is order 10421)"}},
		{"another language", "Habt ihr wasserdichte Zelte und wo ist meine Bestellung?", []string{
			"search: Habt ihr wasserdichte Zelte", "support: wo ist meine Bestellung?"}},
		{"commas of an address", "ship QT-10031 elsewhere: change the address to Flat 2, 9 Mill Lane, Bath BA1 5LN please", []string{
			"support: ship QT-10031 elsewhere: change the address to Flat 2, 9 Mill Lane, Bath BA1 5LN please"}},
		{"an order number of another form", "is TX-9981 delayed?", []string{"support: is TX-9981 delayed?"}},
		{"a number that looks like one", "do you have the X200 or the MT-90, black", []string{"search: do you have the X200 or the MT-90, black"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, routes(classify(l, c.message))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClassifierIsNotCertainOfWhatItCannotKnow(t *testing.T) {
	l := newFour()
	for _, message := range []string{
		"the thing from last time", "テントはありますか", "tents on sale or return", "ich habe da mal eine Frage zu dem Ding",
		"where is my order? Purple velvet.",
		"a cart for the garden",
		"do you have waterproof tents #10421", "do you have waterproof tents for two SUMMER20", "do you sell headlamps? SAVE15 please",
		// Cut once more, these are for two specialists.
		"do you sell violins in red my parcel is missing", "where is my parcel got any blue mugs", "show me kettles my order never came",
	} {
		if r := classify(l, message); r.Confidence >= Threshold {
			t.Errorf("Classify(%q) = %v with confidence %.2f, want less than %v", message, routes(r), r.Confidence, Threshold)
		}
	}
}

func TestFollowUpsUseTheHistory(t *testing.T) {
	l := newFour()
	for message, want := range map[string]string{"and in blue?": "search", "yes please": "search", "the other one": "search"} {
		r := classify(l, message, "where is my order?", "do you have waterproof tents?")
		if got := r.Assignments[0].Specialist; got != want || r.Confidence >= Threshold {
			t.Errorf("Classify(%q) = %s with confidence %.2f, want %s, not certain", message, got, r.Confidence, want)
		}
	}
}

func TestAFollowUpThatCountsTheProductsShownIsSearchs(t *testing.T) {
	l := newFour()
	for _, message := range []string{
		"how much is the second one?", "tell me more about the third one", "wie schwer ist der zweite?",
		"¿cuánto cuesta el segundo?", "combien coûte le deuxième ?", "is the first one waterproof?",
	} {
		for _, before := range []string{"show me tents for two"} {
			if got := names(classify(l, message, before)); !slices.Equal(got, []string{"search"}) {
				t.Errorf("Classify(%q) after %q = %v, want search", message, before, got)
			}
		}
	}
}

func TestNumbersAndCodesCountByTheirShape(t *testing.T) {
	for message, want := range map[string]string{
		"TX-9981 and qt-10031":      "a- 0000 and a- 0000",
		"B7-33019, MT-90, ord_5582": "a- 0000 a- 0 a- 0000",
		"X200 PN20250411 SAVE20":    "a00 a0000 a0",
		"40cm 12.5kg 30x50cm 2000W": "0a 0a 0a 0a",
		"1X44AA0101998271 4-5 2025": "a0000 0 0 0000",
		"spring-15 t-shirt":         "spring 0 t shirt",
	} {
		var got []string
		for _, w := range splitWords(message) {
			got = append(got, w.norm)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}

func TestManyRequestsAreMerged(t *testing.T) {
	l := newFour()
	r := classify(l, strings.Repeat("Do you have tents? Where is my order? ", 20))
	if len(r.Assignments) != 2 || len(r.Notes) != 1 {
		t.Fatalf("got %d drafts and notes %q, want 2 drafts and a note", len(r.Assignments), r.Notes)
	}
	if got := strings.Count(r.Assignments[1].SubQuery, "my order"); got != 20 {
		t.Errorf("support got %d of 20 requests", got)
	}
}

func TestConfidenceOfCertaintyItself(t *testing.T) {
	for _, p := range []float64{0, 1, math.Nextafter(1, 2)} {
		if c := fitted().certainty.confidence(calibrationInput(p, p, 1, reading{}, false)); !(c >= 0 && c <= 1) {
			t.Errorf("a probability of %v gives the confidence %v", p, c)
		}
	}
}

func TestAnySpecialistsWork(t *testing.T) {
	all := specialists()
	l := New(all[1:3]) // neither search nor support
	r := classify(l, "hello")
	if got := r.Assignments[0].Specialist; got != "promotions" {
		t.Errorf("the catch-all is %s, want the last specialist", got)
	}
	if got := routes(classify(l, "do you sell kayaks?")); got[0] != "promotions: do you sell kayaks?" {
		t.Errorf("got %v", got)
	}
}

// checkCover fails unless every content word of the message is in a sub-query.
func checkCover(t *testing.T, l *Classifier, message string) {
	t.Helper()
	r := classify(l, message)
	if len(r.Assignments) == 0 || len(r.Assignments) > max(MaxAssignments, len(l.Specialists())) {
		t.Fatalf("Classify(%q) made %d assignments", message, len(r.Assignments))
	}
	kept := map[string]bool{}
	for _, a := range r.Assignments {
		if a.SubQuery == "" || !utf8.ValidString(a.SubQuery) {
			t.Fatalf("Classify(%q) made the sub-query %q", message, a.SubQuery)
		}
		if !(a.Confidence >= 0 && a.Confidence <= 1) {
			t.Fatalf("Classify(%q) has confidence %v", message, a.Confidence)
		}
		for _, w := range splitWords(a.SubQuery) {
			kept[w.norm] = true
		}
	}
	for _, w := range splitWords(message) {
		if !kept[w.norm] && !leadIns[w.norm] && !greetings[w.norm] {
			t.Fatalf("Classify(%q) lost %q: %q", message, w.norm, routes(r))
		}
	}
}

func TestNoWordIsDropped(t *testing.T) {
	l := newFour()
	all := everyday(t)
	for i, a := range all {
		checkCover(t, l, a.Text)
		b, c := all[(i*7+3)%len(all)].Text, all[(i*11+5)%len(all)].Text
		for _, joint := range []string{" and ", ", ", "\n", "; also ", " y ", ". "} {
			checkCover(t, l, a.Text+joint+b)
			checkCover(t, l, a.Text+joint+b+joint+c)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, c := range everyday(f)[:40] {
		f.Add(c.Text)
	}
	f.Add("and and and, also. ¿¡ and?")
	f.Add("\u05bf a\u0301 \u0301")
	f.Add("l'a 1.5.3 don't 's 'S ’s d'")
	l := newFour()
	f.Fuzz(func(t *testing.T, message string) {
		if message == "" || !utf8.ValidString(message) || utf8.RuneCountInString(message) > MaxMessage {
			t.Skip()
		}
		checkCover(t, l, message)
	})
}

const sixtyWords = "Hello there, I am planning a trip to the mountains with my two kids in early spring and we still need a few " +
	"things: do you have a waterproof tent for four people under 300 euros, and what is your return policy if we open it " +
	"and it does not fit? Also, is there any discount code that I could use, thank you very much for your help!"

func BenchmarkClassify60Words(b *testing.B) {
	l := newFour()
	b.ReportAllocs()
	for b.Loop() {
		classify(l, sixtyWords)
	}
}

// BenchmarkClassifyCut classifies a message whose other cuts are looked at.
func BenchmarkClassifyCut(b *testing.B) {
	l := newFour()
	b.ReportAllocs()
	for b.Loop() {
		classify(l, "do you have a green waterproof tent for four people with a porch and two rooms in stock for under three hundred euros today")
	}
}

func BenchmarkClassifyLongest(b *testing.B) {
	for _, unit := range []string{"tents and ", "order 10421 and refund, ", "do you have it and is it, "} {
		message := strings.Repeat(unit, MaxMessage/len(unit))
		b.Run(fmt.Sprintf("%.8s", unit), func(b *testing.B) {
			l := newFour()
			for b.Loop() {
				classify(l, message)
			}
		})
	}
}

// invoices is a specialist that the model does not know.
func invoices() *specialistv1.Specialist {
	return &specialistv1.Specialist{
		Name: "invoices", Purpose: "Writes and corrects invoices.",
		Keywords: []*specialistv1.Keyword{{Term: "invoice", Weight: 3}},
		Examples: []string{
			"can I have an invoice with our company's name", "the VAT number on my bill is wrong", "send the invoice to our accountant",
			"we need the bill as PDF", "please correct the tax on the invoice", "I need a receipt with VAT for the tax office",
			"which tax rate is on the bill?", "our company needs an invoice for March", "the invoice has the wrong address on it",
		},
	}
}

func TestASpecialistThatTheModelDoesNotKnow(t *testing.T) {
	l := New(append(specialists(), invoices()))
	for message, want := range map[string][]string{
		"the VAT number on the last bill is wrong": {"invoices"},
		"do you sell kayaks?":                      {"search"},
		"where is my order?":                       {"support"},
		"Do you sell headlamps? And the tax on the last invoice is wrong.": {"invoices", "search"},
	} {
		if r := classify(l, message); !slices.Equal(names(r), want) {
			t.Errorf("Classify(%q) = %q, want %v", message, routes(r), want)
		}
	}
}

func TestOfManySpecialistsTheLikelyOnesAreCandidates(t *testing.T) {
	all := append(specialists(), invoices())
	for i := range 12 {
		all = append(all, &specialistv1.Specialist{Name: fmt.Sprintf("other%d", i), Keywords: []*specialistv1.Keyword{
			{Term: fmt.Sprintf("thing%d", i), Weight: 3}}})
	}
	l := New(all)
	for message, want := range map[string][]string{
		"thing7 please":                         {"other7"},
		"Where is my order? And I want thing3.": {"other3", "support"},
	} {
		if r := classify(l, message); !slices.Equal(names(r), want) {
			t.Errorf("Classify(%q) = %q, want %v", message, routes(r), want)
		}
	}
}

func TestAStoresKeywordsCountAsItSays(t *testing.T) {
	l := newFour()
	own := func(specialist, term string, weight float64) *routerv1.RoutingKeyword {
		return &routerv1.RoutingKeyword{Specialist: specialist, Keyword: &specialistv1.Keyword{Term: term, Weight: weight}}
	}
	for _, c := range []struct {
		name, message string
		own           []*routerv1.RoutingKeyword
		want          string
	}{
		{"a phrase of its own", "how much is a bean stamp?", []*routerv1.RoutingKeyword{own("promotions", "Bean Stamps", 4)}, "promotions"},
		{"against what was learned", "is there a coupon?", []*routerv1.RoutingKeyword{own("promotions", "coupons", 0), own("search", "coupon", 4)}, "search"},
		{"a phrase against what was learned", "any discount codes?", []*routerv1.RoutingKeyword{own("search", "discount codes", 5)}, "search"},
		{"for nobody", "is there a coupon?", []*routerv1.RoutingKeyword{own("gifts", "coupon", 5)}, "promotions"},
	} {
		if r := classify(l.WithKeywords(c.own), c.message); !slices.Equal(names(r), []string{c.want}) {
			t.Errorf("%s: %q, want %s", c.name, routes(r), c.want)
		}
	}
}

func TestTheSameSamplesGiveTheSameModel(t *testing.T) {
	samples := []Sample{
		{Input: Input{Message: "where is my parcel?"}, Gold: []string{"support"}, Weight: 1, Source: "x"},
		{Input: Input{Message: "red shoes, and where is my parcel?"}, Gold: []string{"search", "support"}, Weight: 1, Source: "y"},
		{Input: Input{Message: "do you sell red shoes?"}, Gold: []string{"search"}, Weight: 1, Source: "y"},
		{Input: Input{Message: "I moved last year"}, Weight: 0.5},
	}
	first, err := Train(four, samples, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Train(four, samples, io.Discard)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two fits to the same samples differ, error %v", err)
	}
	if m, err := readModel(first); err != nil || !slices.Equal(m.names, namesOf(four)) {
		t.Errorf("the file reads as %v, error %v", m, err)
	}
	samples[0].Gold = []string{"gifts"}
	if _, err := Train(four, samples, io.Discard); err == nil {
		t.Error("an unknown specialist was accepted")
	}
}

func TestThresholdsAreSuchThatEachSourceIsRight(t *testing.T) {
	var decisions []decision
	for _, source := range []string{"plain", "tricky"} {
		for i := range 1000 {
			d := decision{input: calibration{calibrationBias: 1, calibrationLogit: float64(i % 7)}, source: source, right: i%7 > 0}
			if source == "tricky" && i%7 == 5 && i%4 == 0 { // a quarter of what looks almost sure
				d.right = false
			}
			decisions = append(decisions, d)
		}
	}
	c := fitCertainty(decisions)
	if n, ok := certainDecisions(decisions, c); !ok || c[oneClause].Least <= Threshold {
		t.Errorf("%d certain decisions, enough are right: %v, from %.3f on", n, ok, c[oneClause].Least)
	}
}

func TestTheModelFileIsSmallAndKeepsTheWeights(t *testing.T) {
	if len(modelFile) >= 1_000_000 {
		t.Errorf("the model has %d bytes, want less than 1 MB", len(modelFile))
	}
	m := &model{names: []string{"a"}, chain: newChain(2)}
	for i := range m.chain.clause[0] {
		m.chain.clause[0][i] = float32(math.Sin(float64(i)))
	}
	read, err := readModel(m.encode())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range m.chain.clause[0] {
		// Neighbouring levels near 1 differ by 29/225.
		if got := read.chain.clause[0][i]; math.Abs(float64(got-want)) > 0.07 {
			t.Fatalf("weight %d is %v, want about %v", i, got, want)
		}
	}
	if _, err := readModel(m.encode()[:5000]); err == nil {
		t.Error("a file that ends early was read")
	}
}

func TestForwardBackwardAgreesWithAllLabelings(t *testing.T) {
	// Three clauses, two specialists and the background: 27 labelings.
	m := newChain(3)
	p := potentials{
		label: [][]float64{{1, 0.2, 0.5}, {0.3, 1, 0.4}, {0.9, 0.1, 1}},
		pair:  [][]float64{{1, 0.3, 0.2, 0.4, 1, 0.5, 0.6, 0.7, 1}, {1, 0.2, 0.9, 0.1, 1, 0.8, 0.3, 0.5, 1}},
	}
	want, total := make([]float64, 4), 0.0
	best, labels := 0.0, []int(nil)
	for a := range 3 {
		for b := range 3 {
			for c := range 3 {
				x := p.label[0][a] * p.pair[0][a*3+b] * p.label[1][b] * p.pair[1][b*3+c] * p.label[2][c]
				set := m.named(p, 0, a) | m.named(p, 1, b) | m.named(p, 2, c)
				want[set] += x
				if total += x; set == 3 && x > best {
					best, labels = x, []int{a, b, c}
				}
			}
		}
	}
	for set, got := range m.setProbabilities(p) {
		if math.Abs(got-want[set]/total) > 1e-12 {
			t.Errorf("set %02b: %v, want %v", set, got, want[set]/total)
		}
	}
	if got := m.labeling(p, 3); !slices.Equal(got, labels) {
		t.Errorf("labeling %v, want %v", got, labels)
	}
	if got := m.labeling(potentials{label: p.label[:1]}, 3); got != nil {
		t.Errorf("one clause names two specialists: %v", got)
	}
}

func TestIncompleteResults(t *testing.T) {
	c := newFour()
	for message, want := range map[string]struct {
		history    []string
		incomplete bool
	}{
		"do you have blue tents? do you have red ones?":         {nil, true},
		"is there a roof terrace on your house in the old town": {[]string{"hello"}, false},
		"the blue one, please":                                  {[]string{"do you have tents?"}, true},
		"do you have blue tents":                                {nil, false},
	} {
		if r := c.Classify(Input{Message: message, History: want.history}); r.Incomplete != want.incomplete {
			t.Errorf("Classify(%q) after %q: incomplete is %v, %v", message, want.history, r.Incomplete, routes(r))
		}
	}
}
