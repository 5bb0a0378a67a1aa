package specialist

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// claimCase is what tools of the demo's specialists returned, and honest answers that rest on it, each with its language.
type claimCase struct {
	Name     string
	SubQuery string `json:"sub_query"`
	Tools    []json.RawMessage
	Answers  [][2]string
}

func claimCases(t testing.TB) []claimCase {
	t.Helper()
	data, err := os.ReadFile("testdata/claims.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []claimCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// result is a tool's message as the loop words it.
func result(content string) agentloop.Message {
	return agentloop.Message{Role: agentloop.RoleTool, Text: "<tool_result name=\"look\" id=\"call_0_0\">\n" + content + "\n</tool_result>"}
}

func (c claimCase) messages() []agentloop.Message {
	var out []agentloop.Message
	for _, t := range c.Tools {
		out = append(out, result(plain(t)))
	}
	return out
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

func (c claimCase) check(text string) claims {
	return checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{SubQuery: c.SubQuery}, c.messages(), text, false)
}

func TestHonestAnswersAreSupported(t *testing.T) {
	answers, checked := 0, 0
	for _, c := range claimCases(t) {
		for _, a := range c.Answers {
			got := c.check(a[1])
			answers, checked = answers+1, checked+got.checked
			if got.missing > 0 || got.checked == 0 {
				t.Errorf("%s, %s: %d claims, unsupported %q:\n%s", c.Name, a[0], got.checked, got.unsupported, a[1])
			}
		}
	}
	t.Logf("%d honest answers with %d claims", answers, checked)
}

func TestAChangedFactIsUnsupported(t *testing.T) {
	for _, kind := range []struct {
		name   string
		change func(string) []string
	}{
		{"digit", changedDigits}, {"currency", changedCurrencies}, {"code, id or address", changedCodes}, {"month", changedMonths},
	} {
		all, missed, elsewhere, missedElsewhere := 0, 0, 0, 0
		for _, c := range claimCases(t) {
			said := c.SubQuery
			for _, raw := range c.Tools {
				said += "\n" + string(raw)
			}
			for _, a := range c.Answers {
				for _, mutant := range kind.change(a[1]) {
					supported := c.check(mutant).missing == 0
					if find(said, changedWord(a[1], mutant), 0) >= 0 {
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
		t.Logf("%s: %d of %d are missed; and %d of %d that say what the grounds say of something else",
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
		if b := text[i]; isASCIIDigit(b) && !inMark {
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
	for _, c := range claimCases(t) {
		for _, raw := range c.Tools {
			for _, m := range value.FindAllStringSubmatch(string(raw), -1) {
				for _, text := range []string{m[1], "It is " + m[1] + ".", "(" + m[1] + "), **" + m[1] + "**", "– " + m[1] + "\n" + m[1] + "!"} {
					if got := c.check(text); got.missing > 0 {
						t.Errorf("%s: unsupported %q in %q", c.Name, got.unsupported, text)
					}
				}
			}
		}
	}
}

// What the assignment gives supports claims as tools do, and so does what is derived from amounts.
func TestWhatSupportsAClaim(t *testing.T) {
	turn := &Turn{Findings: &Findings{}, lacks: map[string]string{"lookup_order": "Call 555 0199."}, Cart: &cartv1.Cart{
		Items: []*cartv1.CartItem{{ProductId: "TENT-7", Title: "Alder 3 tent", Quantity: 4, UnitPrice: euros(4950)}}, Subtotal: euros(19800)}}
	req := &specialistv1.AnswerRequest{
		SubQuery: "a lamp under 70", Message: "a lamp under 70 and order A-77", Summary: "Has 12 lamps.", StoreName: "Shop 24",
		History:       []*commonv1.Message{{Text: "The Reed lamp costs 33.10 EUR."}},
		ShownProducts: []*specialistv1.ProductChoice{{ProductId: "L9", Title: "Dune 5 lamp", Price: euros(8100)}},
	}
	messages := []agentloop.Message{
		{Role: agentloop.RoleSystem, Text: "Be brief.\nAt most 66 words."}, {Role: agentloop.RoleAssistant, Text: "Let me see.\nIt has 61 watts."},
		result(`{"price":"80.00 EUR","highest_price":"100.00 EUR","text":"one\n59 watts","total":31,"off":"15 % off",` +
			`"weight":"12.57 kg","ref":"ORD 4711","time":"2 to 4 days"}`),
	}
	for text, want := range map[string][]string{
		"under 70 EUR":                  nil,
		"order A-77":                    nil,
		"You have 12 lamps.":            nil,
		"Welcome to Shop 24":            nil,
		"The Reed is €33.10":            nil,
		"L9, the Dune 5, at 81 €":       nil,
		"Call 555 0199":                 nil,
		"4 x Alder 3 (TENT-7): 49,50 €": nil,
		"four tents, 198 EUR":           nil,
		"with 59 watts":                 nil,
		"80.00 EUR instead of 100.00 EUR, 20.00 EUR or 20 % less": nil,
		"80 EUR, or 68 EUR with 15 % off, 12 EUR less":            nil,
		"80 EUR and 33.10 EUR are 113.10 EUR":                     nil,
		"- one, 80 EUR\n- two, 81 EUR\n2 in all, 29 more":         nil,
		"80 EUR, 33.10 EUR and 81 EUR are 194.10 EUR":             nil,
		"80 EUR, 20 % less":                                       nil,
		"ORD-4711 comes in 2-4 days":                              nil,
		"TENT-12 comes in 2-59 days":                              {"TENT-12", "2-59"},
		"57 kg":                                                   {"57"},
		"no more than 66 words":                                   {"66"},
		"61 watts":                                                {"61"},
		"call_0_0 says 0":                                         {"call_0_0", "0"},
		"80 USD":                                                  {"80 USD"},
		"80 EUR, which is 35 % off 100 EUR":                       {"35 %"},
		"80 EUR and 33.10 EUR are 113.20 EUR":                     {"113.20 EUR"},
		"due on 3 May 2031, says FREEBIE at x@y.example":          {"3 May", "2031", "FREEBIE", "x@y.example"},
	} {
		if got := checkClaims(turn, req, messages, text, false); !slices.Equal(got.unsupported, want) || got.missing != len(want) || got.checked == 0 {
			t.Errorf("%q: unsupported are %q (%d of %d), want %q", text, got.unsupported, got.missing, got.checked, want)
		}
	}
}

func euros(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

// Every month that the package facts knows makes a number a date, so that the number alone supports nothing.
func TestADayIsADate(t *testing.T) {
	messages := []agentloop.Message{result(`{"stock":7}`)}
	for _, months := range []string{
		"January February March April May June July August September October November December",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec ene abr ago dic jän mär okt dez janv févr avr juil sept déc",
	} {
		for month := range strings.FieldsSeq(months) {
			for _, text := range []string{"until 7 " + month, "until " + month + " 7, maybe", "7. " + month} {
				got := checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{}, messages, text, false)
				if got.checked != 1 || got.missing != 1 {
					t.Errorf("%q: %d claims, unsupported %q", text, got.checked, got.unsupported)
				}
			}
		}
	}
}

func TestWhatIsNoClaim(t *testing.T) {
	for _, text := range []string{
		"", "Hello! How can I help?", "1. A lamp\n2. A tent", "  3) this\n**4.** that", "two pairs, three of them on Friday", "in May, e.g. here",
		"p.ej. esto", "USB and GPS",
	} {
		if got := checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{}, nil, text, false); got.checked > 0 {
			t.Errorf("%q makes %d claims: %q", text, got.checked, got.unsupported)
		}
	}
}

func TestHalfAClaimAtACutIsLeftOut(t *testing.T) {
	messages := []agentloop.Message{result(`{"price":"129.95 EUR"}`)}
	for text, want := range map[string]int{"It costs 12": 0, "12": 0, "It costs 12 and": 1, "It costs\n129.95 EU": 1} {
		got := checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{}, messages, text, true)
		if got.checked != want {
			t.Errorf("%q: %d claims, want %d", text, got.checked, want)
		}
	}
}

func TestOnlySoManyClaimsAreChecked(t *testing.T) {
	if got := checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{}, nil, strings.Repeat("1234 ", 1000), false); got.checked != maxChecked || got.missing != maxChecked {
		t.Errorf("%d claims were checked, %d without support", got.checked, got.missing)
	}
}

func FuzzClaims(f *testing.F) {
	for _, c := range claimCases(f) {
		for _, a := range c.Answers {
			f.Add(plain(c.Tools[0]), a[1])
		}
	}
	f.Add("€", "1 000 000 000 000 000,00 €")
	f.Add(`\n\t\"`, "3. Mai 5 p.m. 18 h 30 per cent $")
	f.Fuzz(func(t *testing.T, found, text string) {
		got := checkClaims(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{SubQuery: found}, []agentloop.Message{result(found)}, text, false)
		if got.missing > got.checked || len(got.unsupported) > min(maxUnsupported, got.missing) {
			t.Errorf("%d of %d claims, %q", got.missing, got.checked, got.unsupported)
		}
		for _, s := range got.unsupported {
			if s == "" || !strings.Contains(text, s) {
				t.Errorf("%q is not of the text", s)
			}
		}
	})
}

// BenchmarkClaims is what the check adds to an assignment: answers of 110 to 330 characters, results of 600 to 2,400 bytes.
func BenchmarkClaims(b *testing.B) {
	for _, c := range claimCases(b) {
		messages := c.messages()
		req, turn := &specialistv1.AnswerRequest{SubQuery: c.SubQuery}, &Turn{Findings: &Findings{}}
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				checkClaims(turn, req, messages, c.Answers[0][1], false)
			}
		})
		b.Run(c.Name+", invented", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				checkClaims(turn, req, messages, c.Answers[0][1]+" It costs 77.13 EUR.", false)
			}
		})
	}
}
