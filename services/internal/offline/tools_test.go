package offline

import (
	"strings"
	"testing"
)

// firstCalls words the calls that a question leads to.
func firstCalls(tools []tool, question string) string {
	var out []string
	for _, c := range respond(ask("Store: Larch & Loam.", question, tools), today).calls {
		out = append(out, c.Function.Name+c.Function.Arguments)
	}
	return strings.Join(out, " ")
}

// namedTool takes titles for ids.
var namedTool = fn("similar_products", "Finds products that go with others, also gifts.", `{"type":"object","properties":{`+
	`"product_ids":{"type":"array","items":{"type":"string"},"description":"Ids or titles of products."},`+
	`"max_price":{"type":"number"},"query":{"type":"string"}}}`)

func TestStoreQuestionsBecomeCalls(t *testing.T) {
	for _, tc := range []struct {
		tools    []tool
		question string
		want     string
	}{
		{searchTools, "Do you have trail running shoes in size 42", `search_catalog{"query":"trail running shoes","options":{"size":"42"}}`},
		{searchTools, "which of your tents is the cheapest", `search_catalog{"query":"tents","sort":"price_asc"}`},
		{searchTools, "¿tenéis mochilas impermeables?", `search_catalog{"query":"backpack waterproof"}`},
		{searchTools, "I need a gift for my dad who loves camping, under 60 euros", `search_catalog{"query":"camping gift","max_price":60}`},
		{searchTools, "a red tent for 2 people between 100 and 250 euros that is in stock", `search_catalog{"query":"2-person tent","min_price":100,"max_price":250,"options":{"colour":"red"},"in_stock":true}`},
		{searchTools, "Wanderschuhe in Größe 43 unter 150 Euro", `search_catalog{"query":"hiking boot","max_price":150,"options":{"size":"43"}}`},
		{searchTools, "une tente verte à moins de 200 €", `search_catalog{"query":"tent","max_price":200,"options":{"colour":"green"}}`},
		{searchTools, "show me 3 light stoves", `search_catalog{"query":"light stoves","limit":3}`},
		{searchTools, "Do you sell gift cards?", `search_catalog{"query":"gift cards"}`},
		{searchTools, "do you have tents? and do you have stoves over 50 euros?", `search_catalog{"query":"tents"} search_catalog{"query":"stoves","min_price":50}`},
		{searchTools, "hi!", ``},
		{recommendTools, "something to go with what's in my cart", `get_cart_context{}`},
		{[]tool{namedTool}, "something similar to TR-SHOE-001 under 80 EUR", `similar_products{"product_ids":["TR-SHOE-001"],"max_price":80}`},
		{promotionTools, "any discount I could use?", `list_active_promotions{}`},
		{promotionTools, "does SAVE10 work?", `list_active_promotions{}`},
		{supportTools, "where is my order?", `lookup_order{}`},
		{supportTools, "track order QT-10021", `lookup_order{"order_id":"QT-10021"}`},
		{[]tool{namedTool}, "a gift for dad, max 50 EUR", `similar_products{"max_price":50}`},
		{[]tool{namedTool}, "a gift like the Dune Lamp, max 50 EUR", `similar_products{"product_ids":["Dune Lamp"],"max_price":50}`},
		{supportTools, "what about #A-1042?", `lookup_order{"order_id":"A-1042"}`},
		{supportTools, "does the warranty cover a broken zipper?", `search_policies{"query":"warranty cover broken zipper"}`},
		{supportTools, "order 1042 status please and how do I return shoes?", `lookup_order{"order_id":"1042"} search_policies{"query":"return shoes"}`},
		{supportTools, "can I return things within 30 days?", `search_policies{"query":"return 30 days"}`},
		{supportTools, "my package never showed up", `lookup_order{}`},
		{supportTools, "¿cuánto tarda el envío?", `search_policies{"query":"shipping"}`},
		{supportTools, "¿puedo devolverlo si lo he abierto?", `search_policies{"query":"return opened"}`},
		{supportTools, "track my package please, order number is QT-10021", `lookup_order{"order_id":"QT-10021"}`},
		{supportTools, "what's the status of 10044", `lookup_order{"order_id":"10044"}`},
		{searchTools, "a headlamp with at least 300 lumens for less than 70 €", `search_catalog{"query":"headlamp 300 lumens","max_price":70}`},
		{searchTools, "which jackets come in green and cost between 80 and 150?", `search_catalog{"query":"jackets","min_price":80,"max_price":150,"options":{"colour":"green"}}`},
		{supportTools, "Gracias!", ``},
	} {
		t.Run(tc.question, func(t *testing.T) {
			if got := firstCalls(tc.tools, tc.question); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

var (
	travelTools = []tool{
		fn("find_flights", "Find flights between two cities.", `{"type":"object","properties":{"origin":{"type":"string"},"destination":{"type":"string"},"departure_date":{"type":"string","format":"date"},"return_date":{"type":"string","format":"date"},"passengers":{"type":"integer"},"max_price":{"type":"number"}},"required":["origin","destination"]}`),
		fn("convert_currency", "Convert an amount of money between currencies.", `{"type":"object","properties":{"amount":{"type":"number"},"from_currency":{"type":"string"},"to_currency":{"type":"string"}},"required":["amount","from_currency","to_currency"]}`),
		fn("translate_text", "Translate text.", `{"type":"object","properties":{"text":{"type":"string"},"target_language":{"type":"string"}},"required":["text","target_language"]}`),
	}
	weatherTools = []tool{fn("get_forecast", "Weather forecast for a city on a day.", `{"type":"object","properties":{"city":{"type":"string"},"day":{"type":"string","format":"date"},"units":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city","units"]}`)}
	libraryTools = []tool{
		fn("list_loans", "List the books that the reader has borrowed, with due dates.", `{"type":"object","properties":{}}`),
		fn("renew_loan", "Renew a loan so that the book is due later.", `{"type":"object","properties":{"loan_id":{"type":"string"}},"required":["loan_id"]}`),
		fn("search_books", "Search the library's books by title, author or subject.", `{"type":"object","properties":{"author":{"type":"string"},"keywords":{"type":"string"}},"required":["keywords"]}`),
	}
)

func TestToolsThatNoStoreHasAreCalledSensibly(t *testing.T) {
	for _, tc := range []struct {
		tools    []tool
		question string
		want     string
	}{
		{weatherTools, "weather in Oslo tomorrow?", `get_forecast{"city":"Oslo","day":"2026-03-05","units":"celsius"}`},
		{weatherTools, "Will it be cold in San Sebastian on Friday, in fahrenheit?", `get_forecast{"city":"San Sebastian","day":"2026-03-06","units":"fahrenheit"}`},
		{weatherTools, "is it raining in lima", `get_forecast{"city":"lima","units":"celsius"}`},
		{travelTools, "I need a flight from Berlin to Madrid on 12 May for 2 passengers under 200 euros", `find_flights{"origin":"Berlin","destination":"Madrid","departure_date":"2026-05-12","passengers":2,"max_price":200}`},
		{travelTools, "convert 50 dollars to euros", `convert_currency{"amount":50,"from_currency":"USD","to_currency":"EUR"}`},
		{travelTools, `translate "good luck" into French`, `translate_text{"text":"good luck","target_language":"French"}`},
		{travelTools, "good morning", ``},
		{libraryTools, "when are my books due?", `list_loans{}`},
		{libraryTools, "please renew loan L-77", `renew_loan{"loan_id":"L-77"}`},
		{libraryTools, "got any novels about lighthouses by Ada Quill?", `search_books{"author":"Ada Quill","keywords":"novels lighthouses"}`},
	} {
		t.Run(tc.question, func(t *testing.T) {
			if got := firstCalls(tc.tools, tc.question); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestToolChoiceIsObeyed(t *testing.T) {
	for name, tc := range map[string]struct{ choice, question, want string }{
		"none":         {`"none"`, "track order QT-1", ``},
		"required":     {`"required"`, "hi!", `lookup_order{}`},
		"one function": {`{"type":"function","function":{"name":"search_policies"}}`, "hi!", `search_policies{"query":"hi!"}`},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("", tc.question, supportTools)
			req.ToolChoice = []byte(tc.choice)
			var got string
			for _, c := range respond(req, today).calls {
				got += c.Function.Name + c.Function.Arguments
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestASecondCallWaitsWhenParallelCallsAreOff(t *testing.T) {
	req := ask("", "order 1042 status please and how do I return shoes?", supportTools)
	off := false
	req.ParallelToolCalls = &off
	if calls := respond(req, today).calls; len(calls) != 1 {
		t.Errorf("%d calls, want 1", len(calls))
	}
}

func TestAFollowUpLeansOnWhatWasAskedBefore(t *testing.T) {
	req := ask("", "do you have tents?", searchTools)
	req.Messages = append(req.Messages, message{Role: "assistant", Content: "Here are some."}, message{Role: "user", Content: "and in green, under 200?"})
	calls := respond(req, today).calls
	if want := `{"query":"tents","max_price":200,"options":{"colour":"green"}}`; len(calls) != 1 || calls[0].Function.Arguments != want {
		t.Errorf("calls %+v, want %s", calls, want)
	}
}
