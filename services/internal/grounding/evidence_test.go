package grounding_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// answerCase is what tools of the demo's specialists returned, and honest answers that rest on it, each with its language.
type answerCase struct {
	Name     string
	SubQuery string `json:"sub_query"`
	Tools    []json.RawMessage
	Answers  [][2]string
}

func answerCases(t testing.TB) []answerCase {
	t.Helper()
	data, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []answerCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// plain is what a model reads of a result: the JSON, or the text if it is one.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it was read as JSON
	return b.String()
}

func (c answerCase) check(text string) grounding.Claims {
	var results []string
	for _, raw := range c.Tools {
		results = append(results, plain(raw))
	}
	return check(c.SubQuery, results, text)
}

// check checks a text that answers a question from the results of tools.
func check(question string, results []string, text string) grounding.Claims {
	var e grounding.Evidence
	for _, r := range results {
		e.AddResult("", r)
	}
	e.AddText(question)
	return e.Check(text)
}

// contains reports whether a text has a word that is no part of another.
func contains(text, word string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN.,:/'_-])` + regexp.QuoteMeta(word) + `([^\pL\pN]|$)`).MatchString(text)
}

func TestHonestAnswersAreSupported(t *testing.T) {
	answers, checked := 0, 0
	for _, c := range answerCases(t) {
		for _, a := range c.Answers {
			got := c.check(a[1])
			answers, checked = answers+1, checked+len(got)
			if len(got.Rejected()) > 0 || len(got) == 0 {
				t.Errorf("%s, %s: %d claims, unsupported %q:\n%s", c.Name, a[0], len(got), got.Rejected().Texts(10), a[1])
			}
		}
	}
	t.Logf("%d honest answers with %d claims", answers, checked)
}

func TestCheckDerivesFromQuantitiesAndRests(t *testing.T) {
	for claim, want := range map[string]bool{
		"Your four packs come to 7.40 EUR.":                       true,
		"Your four packs come to 7.60 EUR.":                       false,
		"Your five packs come to 7.40 EUR.":                       false,
		"Without the belt (24.95 EUR) the cart comes to 163 EUR.": true,
		"Without the belt (24.95 EUR) the cart comes to 173 EUR.": false,
		"That is about 190 EUR in all.":                           true,
		"That is about 150 EUR in all.":                           false,
	} {
		var e grounding.Evidence
		e.AddResult("", `{"items":[{"title":"Pack","price":"1.85 EUR"},{"title":"Belt","price":"24.95 EUR"}],"subtotal":"187.95 EUR"}`)
		if got := e.Check(claim); (len(got.Rejected()) == 0) != want {
			t.Errorf("%s: unsupported %q", claim, got.Rejected().Texts(10))
		}
	}
}

func TestAChangedFactIsUnsupported(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	for _, kind := range []struct {
		name   string
		change func(string) []string
	}{
		{"digit", changedDigits}, {"currency", changedCurrencies}, {"code, id or address", changedCodes}, {"month", changedMonths},
	} {
		all, missed, elsewhere, missedElsewhere := 0, 0, 0, 0
		for _, c := range answerCases(t) {
			said := c.SubQuery
			for _, raw := range c.Tools {
				said += "\n" + string(raw)
			}
			for _, a := range c.Answers {
				for _, mutant := range kind.change(a[1]) {
					supported := len(c.check(mutant).Rejected()) == 0
					if contains(said, changedWord(a[1], mutant)) {
						elsewhere++
						if supported {
							missedElsewhere++
						}
						continue
					}
					all++
					if supported {
						missed++
						t.Logf("missed: %s", changedWord(a[1], mutant))
					}
				}
			}
		}
		t.Logf("%s: %d of %d are missed; and %d of %d that say what the evidence says of something else",
			kind.name, missed, all, missedElsewhere, elsewhere)
		if all == 0 || 20*missed > all {
			t.Errorf("%s: %d of %d are missed", kind.name, missed, all)
		}
		if total := all + elsewhere; 20*(missed+missedElsewhere) > total {
			t.Errorf("%s: %d of %d are missed, with what is said elsewhere", kind.name, missed+missedElsewhere, total)
		}
	}
}

// changedWord is the word of a mutant that the honest text does not have, with the next one.
func changedWord(honest, mutant string) string {
	i := 0
	for honest[i] == mutant[i] {
		i++
	}
	begin := strings.LastIndexAny(mutant[:i], " \n()*") + 1
	end := len(mutant)
	if n := strings.IndexAny(mutant[i:], " \n()*"); n >= 0 {
		end = i + n
	}
	return strings.Trim(mutant[begin:end], ".,;:€$%")
}

// changedDigits returns a text once for each digit, with that one changed; marks of lists are left alone.
func changedDigits(text string) []string {
	var out []string
	marks := regexp.MustCompile(`(?m)^\d\. `).FindAllStringIndex(text, -1)
	for i := range len(text) {
		inMark := slices.ContainsFunc(marks, func(m []int) bool { return i == m[0] })
		if b := text[i]; '0' <= b && b <= '9' && !inMark {
			out = append(out, text[:i]+string('0'+(b-'0'+3)%10)+text[i+1:])
		}
	}
	return out
}

// changedCurrencies returns a text once for each currency at an amount, with another one.
func changedCurrencies(text string) []string {
	return replaced(text, regexp.MustCompile(`EUR|USD|€|\$`), map[string]string{"EUR": "GBP", "USD": "EUR", "€": "£", "$": "€"})
}

// changedMonths returns a text once for each month, with another one.
func changedMonths(text string) []string {
	return replaced(text, regexp.MustCompile(`(?i)november|décembre|dezember|december|noviembre|novembre|diciembre|\bnov\b`), map[string]string{
		"November": "February", "december": "february", "Dezember": "Februar", "December": "February", "noviembre": "febrero",
		"novembre": "février", "décembre": "février", "diciembre": "febrero", "Nov": "Feb",
	})
}

func replaced(text string, what *regexp.Regexp, with map[string]string) []string {
	var out []string
	for _, at := range what.FindAllStringIndex(text, -1) {
		out = append(out, text[:at[0]]+with[text[at[0]:at[1]]]+text[at[1]:])
	}
	return out
}

// changedCodes returns a text once for each code, id and address, with one letter or the first digit of it changed.
func changedCodes(text string) []string {
	var out []string
	for _, at := range regexp.MustCompile(`[A-Z]{2,}-?[A-Z]*-?\d+|[a-z]+@[a-z.]+|https?://\S*[a-zA-Z0-9]`).FindAllStringIndex(text, -1) {
		i := at[0]
		if text[i] == 'h' {
			i = at[1] - 1
		}
		changed := []byte(text)
		switch b := text[i]; {
		case b >= 'a':
			changed[i] = 'a' + (b-'a'+7)%26
		case b >= 'A':
			changed[i] = 'A' + (b-'A'+7)%26
		default:
			changed[i] = '0' + (b-'0'+3)%10
		}
		out = append(out, string(changed))
	}
	return out
}

// An answer that only repeats values of the results is supported, whatever stands around them.
func TestWhatIsRepeatedIsSupported(t *testing.T) {
	value := regexp.MustCompile(`"([^"\\]*\d[^"\\]*)"`)
	for _, c := range answerCases(t) {
		for _, raw := range c.Tools {
			for _, m := range value.FindAllStringSubmatch(string(raw), -1) {
				for _, text := range []string{m[1], "It is " + m[1] + ".", "(" + m[1] + "), **" + m[1] + "**", "– " + m[1] + "\n" + m[1] + "!"} {
					if got := c.check(text); len(got.Rejected()) > 0 {
						t.Errorf("%s: unsupported %q in %q", c.Name, got.Rejected().Texts(10), text)
					}
				}
			}
		}
	}
}

// Every month that the reader knows makes a number a date, so that the number alone supports nothing.
func TestADayIsADate(t *testing.T) {
	for _, months := range []string{
		"January February March April May June July August September October November December",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec ene abr ago dic jän mär okt dez janv févr avr juil sept déc",
	} {
		for month := range strings.FieldsSeq(months) {
			for _, text := range []string{"until 7 " + month, "until " + month + " 7, maybe", "7. " + month} {
				got := check("", []string{`{"stock":7}`}, text)
				if len(got) != 1 || len(got.Rejected()) != 1 {
					t.Errorf("%q: %d claims, unsupported %q", text, len(got), got.Rejected().Texts(10))
				}
			}
		}
	}
}

func TestWordsBesideANumberAreNoCode(t *testing.T) {
	results := []string{`{"text":"Save 20 EUR on tents. ORD 1001 has 256 GB.","note":"SAVE 30"}`}
	for text, want := range map[string]int{
		"Use SAVE20.": 1, "Use SAVE30.": 0, "ORD-1001": 0, "ORD-256": 1, "It has 256GB": 0, "It has 1001GB": 1,
	} {
		if got := check("", results, text); len(got.Rejected()) != want || len(got) != 1 {
			t.Errorf("%q: %d of %d claims are unsupported, want %d", text, len(got.Rejected()), len(got), want)
		}
	}
	e := grounding.MergeEvidence{Language: "en"}
	e.AddAnswer("Save 20 EUR on tents.", nil)
	if len(e.Rejected(e.Read("Use SAVE20."), grounding.Text{})) == 0 {
		t.Error("an amount supports a code")
	}
}

func TestWhatIsNoClaim(t *testing.T) {
	for _, text := range []string{
		"", "Hello! How can I help?", "1. A lamp\n2. A tent", "  3) this\n**4.** that", "two pairs, three of them on Friday", "in May, e.g. here",
		"p.ej. esto", "USB and GPS",
	} {
		if got := check("", nil, text); len(got) > got.Count(grounding.Undecided) {
			t.Errorf("%q makes %d claims: %q", text, len(got), got.Texts(10))
		}
	}
}

// What a sentence states that cannot be compared is counted, but not what it asks, or what the speaker can or cannot do.
func TestOtherSentencesAreUndecided(t *testing.T) {
	for text, want := range map[string]int{
		"The outer fabric dries quickly after rain.":                                  1,
		"La toile extérieure sèche rapidement après la pluie. Elle est très durable.": 1,
		"Der Stoff trocknet nach einem Regen sehr schnell":                            1,
		"The fabric dries quickly and costs 5.00 EUR.":                                0,
		"Would you like a tent with a quick drying fabric?":                           0,
		"I can't say whether the outer fabric dries quickly.":                         0,
		"If you tell me your budget, the choice gets smaller.":                        0,
		"Happy to help!": 0,
	} {
		if got := check("", nil, text); got.Count(grounding.Undecided) != want {
			t.Errorf("%q: %+v, want %d undecided", text, got, want)
		}
	}
}

func TestOnlySoManyClaimsAreChecked(t *testing.T) {
	if got := check("", nil, strings.Repeat("1234 ", 1000)); len(got) != grounding.MaxChecked || len(got.Rejected()) != grounding.MaxChecked {
		t.Errorf("%d claims were checked, %d without support", len(got), len(got.Rejected()))
	}
}

func TestTheOrderOfTextsDoesNotMatter(t *testing.T) {
	results := []string{
		`{"title":"Fjell jacket","price":"89.00 EUR"}`,
		`{"title":"Dal jacket","price":"120.00 EUR","sale":"90.00 EUR"}`,
		`{"order":"ORD-1001","placed":"2026-05-03"}`,
	}
	for text, unsupported := range map[string]int{
		"The Fjell jacket is 89 EUR.":                                0,
		"Order ORD-1001 is of 3 May; the Fjell jacket is 89 EUR.":    0,
		"The Fjell jacket is 89 EUR; the other is reduced by 30 EUR": 0, // of two neighbours
		"The Fjell jacket is 89 EUR, 25 % less than before.":         0, // of the same two
		"The Fjell jacket is 89 EUR, and ORD-1002 is of 3 May.":      1,
		"The Fjell jacket is 88 EUR, and ORD-1001 is of 4 May.":      2,
	} {
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			got := check("", []string{results[order[0]], results[order[1]], results[order[2]]}, text)
			if len(got.Rejected()) != unsupported {
				t.Errorf("%q with the results in the order %v: %d claims are unsupported, want %d: %q", text, order, len(got.Rejected()), unsupported, got.Rejected().Texts(10))
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range answerCases(f) {
		for _, a := range c.Answers {
			f.Add(plain(c.Tools[0]), a[1])
		}
	}
	f.Add("€", "1 000 000 000 000 000,00 €")
	f.Add(`\n\t\"`, "3. Mai 5 p.m. 18 h 30 per cent $")
	f.Add("0", "2  2026-11$1")
	f.Fuzz(func(t *testing.T, found, text string) {
		got := check(found, []string{found}, text)
		if len(got.Rejected()) > len(got) || len(got.Rejected().Texts(10)) > min(10, len(got.Rejected())) {
			t.Errorf("%d of %d claims, %q", len(got.Rejected()), len(got), got.Rejected().Texts(10))
		}
		for _, s := range got.Rejected().Texts(10) {
			if s == "" || !strings.Contains(text, s) {
				t.Errorf("%q is not of the text", s)
			}
		}
	})
}

// An answer is checked as it is written: a sentence has the claims that it has in the whole text so far, which is checked at once.
func TestSentenceBySentenceEqualsWhole(t *testing.T) {
	checked := 0
	for _, a := range publicAnswers(t) {
		k := a.evidence().NewChecker()
		var sentences text.Sentences
		for _, sentence := range append(sentences.Add(a.Text), sentences.Rest()) {
			from := len(k.Text())
			got := k.Add(sentence)
			whole := a.evidence().Check(k.Text())
			want := slices.DeleteFunc(slices.Clone(whole), func(c grounding.Claim) bool { return c.End <= from })
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%q after %q (-whole +sentence):\n%s", sentence, k.Text()[:from], diff)
			}
			if diff := cmp.Diff(whole, k.Claims(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%q (-whole +by sentences):\n%s", k.Text(), diff)
			}
			checked += len(got)
		}
	}
	if checked < 300 {
		t.Errorf("%d claims were checked, want 300 or more", checked)
	}
}

// A sum may stand before its parts.
func TestWhatFollowsSupports(t *testing.T) {
	k := (&answer{Payloads: []payload{{json.RawMessage(`{"items":[{"product_id":"a","title":"Alder","price":"40.00 EUR"},{"product_id":"b","title":"Birch","price":"65.00 EUR"}]}`)}}}).evidence().NewChecker()
	if got := k.Add("Together they cost 105.00 EUR.").Count(grounding.Unsupported); got != 1 {
		t.Errorf("%d claims are unsupported before the parts are named, want 1", got)
	}
	k.Add(" The Alder is 40.00 EUR, the Birch 65.00 EUR.")
	if got := k.Claims(); got.Count(grounding.Supported) != 3 {
		t.Errorf("%+v, want 3 supported", got)
	}
}

// answer is one of the public answers.
type answer struct {
	Kind, Message, Text, Verdict string
	Payloads                     []payload
}

type payload struct{ Result json.RawMessage }

func publicAnswers(t testing.TB) []answer {
	t.Helper()
	var all []answer
	for d := json.NewDecoder(publicdata.Open(t, "grounding/answers.jsonl")); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func (a *answer) evidence() *grounding.Evidence {
	var e grounding.Evidence
	for _, p := range a.Payloads {
		e.AddResult("", plain(p.Result))
	}
	e.AddText(a.Message)
	return &e
}

// BenchmarkCheck is what the check adds to an assignment: answers of 110 to 330 characters, results of 600 to 2,400 bytes. The text is
// checked by its sentences.
func BenchmarkCheck(b *testing.B) {
	for _, c := range answerCases(b) {
		var results []string
		for _, raw := range c.Tools {
			results = append(results, plain(raw))
		}
		for name, text := range map[string]string{c.Name: c.Answers[0][1], c.Name + ", invented": c.Answers[0][1] + " It costs 77.13 EUR."} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					check(c.SubQuery, results, text)
				}
			})
		}
	}
}
