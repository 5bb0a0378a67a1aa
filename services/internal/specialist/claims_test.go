package specialist

import (
	"slices"
	"testing"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// result is a tool's message as the loop words it.
func result(content string) agentloop.Message {
	return agentloop.Message{Role: agentloop.RoleTool, Text: "<tool_result>\n" + content + "\n</tool_result>"}
}

// What the assignment gives supports claims as tools do, and so does what is derived from amounts.
func TestWhatSupportsAClaim(t *testing.T) {
	turn := &Turn{Findings: &Findings{}, disabled: map[string]string{"lookup_order": "Call 555 0199."}, Cart: &cartv1.Cart{
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
		if got := newEvidence(turn, req, messages).Check(text); !slices.Equal(got.Rejected().Texts(10), want) || len(got.Rejected()) != len(want) || len(got) == 0 {
			t.Errorf("%q: unsupported are %q (%d of %d), want %q", text, got.Rejected().Texts(10), len(got.Rejected()), len(got), want)
		}
	}
}

func euros(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func TestHalfAClaimAtACutIsLeftOut(t *testing.T) {
	messages := []agentloop.Message{result(`{"price":"129.95 EUR"}`)}
	for text, want := range map[string]int{"It costs 12": 0, "12": 0, "It costs 12 and": 1, "It costs\n129.95 EU": 1} {
		got := newEvidence(&Turn{Findings: &Findings{}}, &specialistv1.AnswerRequest{}, messages).Check(withoutLastWord(text))
		if len(got) != want {
			t.Errorf("%q: %d claims, want %d", text, len(got), want)
		}
	}
}
