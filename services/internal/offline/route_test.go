package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listPrompt names the specialists in its text only; listSchema leaves the name open.
const listPrompt = `You split a shopper's message into sub-queries.

Rules:
- Cover everything. Greetings, thanks and whatever fits nobody go to support if it is in the list.
- reason: at most ten words. confidence: from 0 to 1.

Specialists:
- search: Finds products in the store's catalog: by need, size, colour, price; answers which is the cheapest and how many there are. Examples: "do you have trail running shoes in size 42?"; "show me tents under 300"
- recommend: Suggests products that go with what is in the shopper's cart, and products similar to one that they know. Examples: "something to go with what's in my cart"; "what do people buy with this tent?"
- promotions: Knows the store's promotions, discounts and codes, and which saves the most. Examples: "any discount I could use?"; "does the code SAVE10 work?"
- support: Answers questions about the shopper's own orders (status, tracking, delivery) and the store's rules (returns, refunds, shipping, warranty, payment, contact). Also takes greetings, thanks, requests for a human, and anything else. Examples: "where is my order?"; "how long does delivery take?"; "hello"
`

const listSchema = `{"type":"object","properties":{"assignments":{"type":["null","array"],"items":{"type":"object","properties":{"specialist":{"type":"string","description":"a name from the list of specialists"},"sub_query":{"type":"string"},"reason":{"type":"string"},"confidence":{"type":["null","number"]}},"required":["specialist","sub_query"]}}},"required":["assignments"]}`

func formatted(t *testing.T, system, user, schema string) *chatRequest {
	t.Helper()
	req := ask(system, user, nil)
	var f responseFormat
	if err := json.Unmarshal([]byte(`{"type":"json_schema","json_schema":{"name":"r","schema":`+schema+`}}`), &f); err != nil {
		t.Fatal(err)
	}
	req.ResponseFormat = &f
	return req
}

// routes words the assignments as "class: text" lines.
func routes(t *testing.T, req *chatRequest) []string {
	t.Helper()
	var got struct {
		Assignments []struct {
			Specialist string  `json:"specialist"`
			SubQuery   string  `json:"sub_query"`
			Confidence float64 `json:"confidence"`
		} `json:"assignments"`
	}
	rep := respond(req, today)
	if err := json.Unmarshal([]byte(rep.text), &got); err != nil {
		t.Fatalf("%q: %v", rep.text, err)
	}
	var out []string
	for _, a := range got.Assignments {
		if a.Confidence <= 0 || a.Confidence > 1 {
			t.Errorf("confidence %v of %q", a.Confidence, a.SubQuery)
		}
		out = append(out, a.Specialist+": "+a.SubQuery)
	}
	return out
}

func TestMessagesArePartedAmongSpecialists(t *testing.T) {
	for _, tc := range []struct {
		message string
		want    []string
	}{
		{"Do you have trail running shoes in size 42, and what is your return policy?", []string{"search: Do you have trail running shoes in size 42", "support: what is your return policy?"}},
		{"something to go with what's in my cart", []string{"recommend: something to go with what's in my cart"}},
		{"any discount I could use?", []string{"promotions: any discount I could use?"}},
		{"where is my order?", []string{"support: where is my order?"}},
		{"which of your tents is the cheapest and can I return it opened?", []string{"search: which of your tents is the cheapest", "support: can I return it opened? (tents)"}},
		{"hi!", []string{"support: hi!"}},
		{"¿tenéis mochilas impermeables?", []string{"search: ¿tenéis mochilas impermeables?"}},
		{"I need a gift for my dad who loves camping, under 60 euros", []string{"search: I need a gift for my dad who loves camping, under 60 euros"}},
		{"does the warranty cover a broken zipper?", []string{"support: does the warranty cover a broken zipper?"}},
		{"Show me a waterproof jacket, tell me what goes with my cart, is there a coupon, and where is order QT-10021?",
			[]string{"search: Show me a waterproof jacket", "recommend: tell me what goes with my cart", "promotions: is there a coupon", "support: where is order QT-10021?"}},
		{"Hello, I bought boots last week and they are too small. Can I exchange them?", []string{"support: I bought boots last week and they are too small. Can I exchange them?"}},
		{"yoga mats?", []string{"search: yoga mats?"}},
		{"do you have hats or gloves and scarves?", []string{"search: do you have hats or gloves and scarves?"}},
		{"My order QT-10021 arrived damaged. Can I get a refund?", []string{"support: My order QT-10021 arrived damaged. Can I get a refund?"}},
		{"Haben Sie wasserdichte Jacken und wie lange dauert der Versand?", []string{"search: Haben Sie wasserdichte Jacken", "support: wie lange dauert der Versand?"}},
		{"¿Dónde está mi pedido y hay algún descuento?", []string{"support: ¿Dónde está mi pedido", "promotions: hay algún descuento?"}},
		{"thanks a lot", []string{"support: thanks a lot"}},
		{"looking for socks, a coupon code and your opening hours", []string{"search: looking for socks", "promotions: a coupon code", "support: your opening hours"}},
		{"ship to canada?", []string{"support: ship to canada?"}},
		{"do you have shipping tape?", []string{"search: do you have shipping tape?"}},
	} {
		t.Run(tc.message, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, routes(t, formatted(t, routerPrompt, tc.message, routerSchema))); diff != "" {
				t.Errorf("names in the schema (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, routes(t, formatted(t, listPrompt, tc.message, listSchema))); diff != "" {
				t.Errorf("names in the prompt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARouterOfAnotherTradeWorksTheSame(t *testing.T) {
	prompt := `Split the patient's message among the desks.
- pharmacy: Repeat prescriptions, dosage and side effects. Examples: "I need more of my tablets"; "is it safe with alcohol?"
- appointments: Books, moves and cancels visits. Examples: "Can I see the doctor on Friday?"; "cancel my visit"
- desk: Everything else, small talk. Examples: "Where can I park?"`
	schema := strings.ReplaceAll(routerSchema, `["search","recommend","promotions","support"]`, `["pharmacy","appointments","desk"]`)
	want := []string{"appointments: Can I move my appointment to Monday", "pharmacy: are there side effects with these tablets?", "desk: Where can I park?"}
	got := routes(t, formatted(t, prompt, "Can I move my appointment to Monday, and are there side effects with these tablets? Where can I park?", schema))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestARequestToMendTheJSONIsAnsweredFromTheQuestion(t *testing.T) {
	req := formatted(t, routerPrompt, "any coupons?", routerSchema)
	req.Messages = append(req.Messages, message{Role: "assistant", Content: "{}"},
		message{Role: "user", Content: "That does not fit: missing assignments. Write the JSON object again, and nothing else."})
	if diff := cmp.Diff([]string{"promotions: any coupons?"}, routes(t, req)); diff != "" {
		t.Error(diff)
	}
}

func TestOtherFormsAreFilledByTypeAndName(t *testing.T) {
	for name, tc := range map[string]struct{ message, schema, want string }{
		"an order form": {"Please send 3 boxes to Lima before 12 May, mail me at ana@example.org",
			`{"type":"object","properties":{"quantity":{"type":"integer"},"city":{"type":"string"},"date":{"type":"string","format":"date"},"email":{"type":"string"},"express":{"type":"boolean"}},"required":["quantity","city","date","email","express"]}`,
			`{"quantity":3,"city":"Lima","date":"2026-05-12","email":"ana@example.org","express":false}`},
		"an intent": {"my radiator leaks",
			`{"type":"object","properties":{"intent":{"type":"string","enum":["heating","roof","other"],"description":"heating: radiators and boilers; roof: tiles and gutters"}},"required":["intent"]}`,
			`{"intent":"heating"}`},
		"the text itself":  {"Blue is best.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, `{"text":"Blue is best."}`},
		"what is not said": {"hello", `{"type":"object","properties":{"phone":{"type":["string","null"]},"age":{"type":"integer"},"n":{"type":"string"}},"required":["phone","age"]}`, `{"phone":null,"age":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := respond(formatted(t, "Fill the form.", tc.message, tc.schema), today).text; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
