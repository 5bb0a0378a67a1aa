package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	cartResult  = `{"items":[{"product_id":"p1","title":"Alder 2 tent","price":"249.00 EUR"},{"product_id":"p2","title":"Moss mat","price":"49.00 EUR"}],"subtotal":"298.00 EUR"}`
	simsResult  = "<tool_data name=\"similar_products\">\n" + `{"products":[{"product_id":"p9","title":"Fern sleeping bag","price":"129.95 EUR","options":{"length":["regular","long"]},"stock":4,"reason":"goes with a tent"}]}` + "\n</tool_data>"
	offerResult = `{"promotions":[{"code":"MAT5","title":"Mat week","eligible":true,"saving":"2.45 EUR"},{"code":"TENT10","title":"Tent days","eligible":true,"saving":"24.90 EUR","explanation":"10% off tents."},{"code":"BIG50","title":"Big spender","eligible":false,"explanation":"202.00 EUR are missing."}]}`
	returns     = `{"passages":[{"policy":"Shipping","text":"Parcels leave the house on working days before noon."},{"policy":"Returns","text":"Opened goods can be returned within 30 days if they are clean."}]}`
)

// play runs a conversation with the given tool results and returns what was called and said, a line each.
func play(t *testing.T, tools []tool, question string, results ...string) []string {
	t.Helper()
	req := ask("Store: Larch & Loam.", question, tools)
	var out []string
	for {
		rep := respond(req, today)
		if len(rep.calls) == 0 {
			return append(out, rep.text)
		}
		if len(rep.calls) > len(results) {
			t.Fatalf("calls %+v, but only %d results are left", rep.calls, len(results))
		}
		for _, c := range rep.calls {
			out = append(out, c.Function.Name+c.Function.Arguments)
		}
		n := len(rep.calls)
		req = after(req, rep, results[:n]...)
		results = results[n:]
	}
}

func TestConversations(t *testing.T) {
	for name, tc := range map[string]struct {
		tools    []tool
		question string
		results  []string
		want     []string
	}{
		"a list feeds the next tool": {recommendTools, "something to go with what's in my cart", []string{cartResult, simsResult}, []string{
			`get_cart_context{}`, `similar_products{"product_ids":["p1","p2"]}`,
			"This goes with what is in your cart:\n- Fern sleeping bag, 129.95 EUR, 4 in stock (lengths: regular, long). Goes with a tent."}},
		"the best of those that apply is chosen": {promotionTools, "any discount I could use?", []string{offerResult, `{"code":"TENT10"}`}, []string{
			`list_active_promotions{}`, `choose_promotion{"code":"TENT10","why":"saves 24.90 EUR"}`,
			"Use the code TENT10 for Tent days: it saves you 24.90 EUR. 10% off tents."}},
		"a code that does not apply is not chosen": {promotionTools, "does BIG50 work?", []string{offerResult}, []string{
			`list_active_promotions{}`, "- Big spender (BIG50) does not apply: 202.00 EUR are missing."}},
		"an order is told": {supportTools, "where is my order?", []string{`{"order":{"order_id":"QT-7","status":"in_transit","total":"53.95 EUR","tracking":{"carrier":"Falcon Post","tracking_number":"FP1"}},"other_orders":0}`}, []string{
			`lookup_order{}`, "Your order QT-7 is in transit with Falcon Post (tracking FP1). Total 53.95 EUR."}},
		"the passage that fits is quoted": {supportTools, "can I return it opened? (about: tents)", []string{returns}, []string{
			`search_policies{"query":"return opened tents"}`, `From "Returns": Opened goods can be returned within 30 days if they are clean.`}},
		"in the shopper's language": {supportTools, "Kann ich geöffnete Zelte zurückgeben?", []string{returns}, []string{
			`search_policies{"query":"opened tent return"}`, `Aus "Returns": Opened goods can be returned within 30 days if they are clean.`}},
		"what nobody knows is said": {supportTools, "does the warranty cover a broken zipper?", []string{`{"passages":[]}`, `{"passages":[]}`}, []string{
			`search_policies{"query":"warranty cover broken zipper"}`, `search_policies{"query":"warranty guarantee repair"}`, phrases[english].unknown}},
		"a search is broadened once and its note relayed": {searchTools, "trail shoes in size 50", []string{`{"products":[],"total":0}`, `{"products":[],"total":0,"note":"No product has size 50; sizes go up to 47."}`}, []string{
			`search_catalog{"query":"trail shoes","options":{"size":"50"}}`, `search_catalog{"query":"trail shoes"}`, "No product has size 50; sizes go up to 47."}},
		"the cheapest comes first": {searchTools, "which of your tents is the cheapest", []string{`{"products":[{"title":"Alder 2","price":"249.00 EUR"},{"title":"Birch 1","price":"99.00 EUR"}]}`}, []string{
			`search_catalog{"query":"tents","sort":"price_asc"}`, "The cheapest is Birch 1, 99.00 EUR. The next ones:\n- Alder 2, 249.00 EUR."}},
		"a count is told": {searchTools, "how many tents do you have?", []string{`{"products":[{"title":"Birch 1","price":"99.00 EUR"}],"total":7}`}, []string{
			`search_catalog{"query":"tents"}`, "7 in all, for example:\n- Birch 1, 99.00 EUR."}},
		"an error is told": {supportTools, "track order QT-9", []string{`{"error":"order QT-9 does not exist"}`}, []string{
			`lookup_order{"order_id":"QT-9"}`, "I am sorry, I could not look that up: Order QT-9 does not exist."}},
		"the later fact wins": {libraryTools, "please renew my loan of the mushroom book", []string{
			`{"loans":[{"id":"L7","title":"Birds of the coast","due":"2026-03-10"},{"id":"L9","title":"The mushroom guide","due":"2026-03-09"}]}`, `{"loan_id":"L9","due":"2026-04-09"}`}, []string{
			`list_loans{}`, `renew_loan{"loan_id":"L9"}`, "The mushroom guide: due 2026-04-09."}},
		"two requests get two answers": {supportTools, "where is order QT-7 and can I return opened goods?", []string{`{"order_id":"QT-7","status":"shipped"}`, returns}, []string{
			`lookup_order{"order_id":"QT-7"}`, `search_policies{"query":"return opened goods"}`,
			"Your order QT-7 is shipped.\n\nFrom \"Returns\": Opened goods can be returned within 30 days if they are clean."}},
		"a missing argument is asked for": {libraryTools[1:2], "please renew my loan", nil, []string{"For that I need to know: loan id."}},
		"an unknown shape is read out":    {weatherTools, "weather in Oslo?", []string{`{"city":"Oslo","temperature":{"amount":4,"unit":"degrees"},"wind":"light"}`}, []string{`get_forecast{"city":"Oslo","units":"celsius"}`, "Oslo: temperature 4 degrees, wind light."}},
		"plain text is relayed":           {weatherTools, "weather in Oslo?", []string{"light rain all day"}, []string{`get_forecast{"city":"Oslo","units":"celsius"}`, "Light rain all day."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, play(t, tc.tools, tc.question, tc.results...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNoCallIsRepeatedAndRoundsEnd(t *testing.T) {
	for _, tools := range [][]tool{searchTools, recommendTools, promotionTools, supportTools, libraryTools, travelTools} {
		req := ask("", "find a green tent, my order, a discount, books and a flight to Rome from Oslo", tools)
		seen := map[string]bool{}
		for round := 0; ; round++ {
			rep := respond(req, today)
			if len(rep.calls) == 0 {
				break
			}
			if round == maxRounds {
				t.Fatalf("%s: still calling after %d rounds", tools[0].Function.Name, round)
			}
			var results []string
			for _, c := range rep.calls {
				key := c.Function.Name + c.Function.Arguments
				if seen[key] {
					t.Errorf("called twice: %s", key)
				}
				seen[key] = true
				results = append(results, `{"items":[]}`)
			}
			req = after(req, rep, results...)
		}
	}
}

func TestTalkWithoutTools(t *testing.T) {
	for message, want := range map[string]string{
		"hi!":                       "Hello, and welcome to Larch & Loam! How can I help you?",
		"Buenos días":               "¡Hola, te damos la bienvenida a Larch & Loam! ¿En qué puedo ayudarte?",
		"thanks, that was great":    phrases[english].welcome,
		"Vielen Dank!":              phrases[german].welcome,
		"who are you?":              phrases[english].who,
		"au revoir":                 phrases[french].bye,
		"write a sonnet about moss": phrases[english].cannot,
	} {
		if got := respond(ask("You help.\nStore: Larch & Loam\n", message, nil), today).text; got != want {
			t.Errorf("%q is answered %q, want %q", message, got, want)
		}
	}
}

func TestANoteOfTheProgramIsNoQuestion(t *testing.T) {
	req := ask("", "where is my order?", supportTools)
	req = after(req, respond(req, today), `{"order_id":"QT-7","status":"shipped"}`)
	req.Messages = append(req.Messages, message{Role: "user", Content: "You have no steps left. Answer now from what you know."})
	req.Tools = nil
	if got, want := respond(req, today).text, "Your order QT-7 is shipped."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A program that got nothing asks again, in its own words and places. The question stays what it was.
func TestAQuestionIsAskedAgain(t *testing.T) {
	user := func(text string) message { return message{Role: "user", Content: content(text)} }
	nothing, empty := message{Role: "assistant"}, message{Role: "assistant", Content: "(empty)"}
	const sections = "The shopper wrote: tents?\n\n## Section 1: search\nThe Alder 2 costs 249.00 EUR.\n\n## Section 2: support\nGoods can be returned.\n"
	nudge := user("You wrote nothing. Answer the last message now, in plain text.")
	for name, c := range map[string]struct {
		question string
		then     []message
		tools    []tool
		want     string // that is said, or called
	}{
		"right after the question":        {"who are you?", []message{nudge}, supportTools, phrases[english].who},
		"before a call":                   {"where is order QT-7?", []message{nudge}, supportTools, `lookup_order{"order_id":"QT-7"}`},
		"after an answer of nothing":      {"who are you?", []message{nothing, nudge}, supportTools, phrases[english].who},
		"after what stands for nothing":   {"who are you?", []message{empty, nudge}, supportTools, phrases[english].who},
		"twice, in other words":           {"who are you?", []message{nothing, user("Your last reply was empty. Please respond now."), nothing, user("You returned no text. Reply to my previous question.")}, supportTools, phrases[english].who},
		"and then for the last time":      {"where is order QT-7?", []message{nudge, user("You have no tool calls left. Answer now from what you know; say plainly what you could not find out.")}, supportTools, `lookup_order{"order_id":"QT-7"}`},
		"of a text to be made of several": {sections, []message{nudge}, nil, "The Alder 2 costs 249.00 EUR.\n\nGoods can be returned."},
		"another question, after nothing": {"who are you?", []message{nothing, user("where is order QT-7?")}, supportTools, `lookup_order{"order_id":"QT-7"}`},
		"another question, after another": {"who are you?", []message{user("where is order QT-7?")}, supportTools, `lookup_order{"order_id":"QT-7"}`},
	} {
		req := ask("You help.", c.question, c.tools)
		req.Messages = append(req.Messages, c.then...)
		rep := respond(req, today)
		got := rep.text
		for _, call := range rep.calls {
			got += call.Function.Name + call.Function.Arguments
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAShopperMayAskForAnAnswerNow(t *testing.T) {
	question, hurry := message{Role: "user", Content: "who are you?"}, message{Role: "user", Content: "Answer now: where is my order?"}
	for name, messages := range map[string][]message{
		"at once":         {hurry},
		"after an answer": {question, {Role: "assistant", Content: "A helper."}, hurry},
	} {
		if got, want := questionAt(messages, false), len(messages)-1; got != want {
			t.Errorf("%s: message %d is answered, want %d", name, got, want)
		}
	}
}

func TestSectionsAreMergedInOrder(t *testing.T) {
	message := "The shopper wrote: tents and returns?\n\n## Section 1: search\nHello! We have the Alder 2 tent at 249.00 EUR.\n\n- Birch 1: 99.00 EUR\n\n## Section 2: support\nHello! Opened goods can be returned.\n"
	want := "Hello! We have the Alder 2 tent at 249.00 EUR.\n\n- Birch 1: 99.00 EUR\n\nOpened goods can be returned."
	if got := respond(ask("Make one reply of the sections.", message, nil), today).text; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTheLimitOfTokensIsKept(t *testing.T) {
	req := ask("", "who are you?", nil)
	req.MaxCompletionTokens = 5
	if rep := respond(req, today); len(rep.text) != 20 || rep.finish != "length" {
		t.Errorf("%q, finish %q", rep.text, rep.finish)
	}
}

// FuzzThink feeds hostile text, schemas and results: the rules must answer anything, the same each time, and never with
// a call that lacks what its schema requires.
func FuzzThink(f *testing.F) {
	f.Add("which of your tents is the cheapest and can I return it opened?", `{"a":[{"title":"x","price":1}]}`, `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)
	f.Add("¿tenéis mochilas #1 \xff ' \" in size", `[[],{}]`, `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/a"}}}}}`)
	f.Add("", `error: no`, `{"type":"array","items":{"enum":["a"]}}`)
	f.Fuzz(func(t *testing.T, user, result, params string) {
		if _, err := parseSchema([]byte(params)); err != nil {
			return
		}
		req := ask("- a: x\n- b: y", user, []tool{fn("look_up", "Look up things.", params), supportTools[0]})
		for range maxRounds + 1 {
			rep := respond(req, today)
			if again := respond(req, today); again.text != rep.text || len(again.calls) != len(rep.calls) {
				t.Fatalf("two replies to one request: %+v and %+v", rep, again)
			}
			if len(rep.calls) == 0 {
				if strings.TrimSpace(rep.text) == "" {
					t.Fatal("an empty answer")
				}
				return
			}
			results := make([]string, len(rep.calls))
			for i := range results {
				results[i] = result
			}
			req = after(req, rep, results...)
		}
		t.Fatal("the rules never came to an answer")
	})
}
