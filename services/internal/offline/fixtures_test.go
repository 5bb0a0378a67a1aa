package offline

import (
	"encoding/json"
	"time"
)

var today = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) // a Wednesday

func fn(name, description, parameters string) tool {
	t := tool{Type: "function"}
	t.Function.Name, t.Function.Description, t.Function.Parameters = name, description, json.RawMessage(parameters)
	return t
}

var searchTools = []tool{
	fn("search_catalog", "Search the store's products. Returns up to limit products with title, price, options and stock.",
		`{"type":"object","properties":{"query":{"type":"string","description":"What to look for, in a few words"},"category":{"type":"string","description":"Category to stay in"},"min_price":{"type":"number","description":"Lowest price in the store's currency"},"max_price":{"type":"number"},"options":{"type":"object","additionalProperties":{"type":"string"},"description":"Variant options, such as size or colour"},"in_stock":{"type":"boolean"},"sort":{"type":"string","enum":["relevance","price_asc","price_desc"]},"limit":{"type":"integer","minimum":1,"maximum":20}},"required":["query"]}`),
}

var recommendTools = []tool{
	fn("get_cart_context", "Read the shopper's cart: items, subtotal, categories. Call this first.", `{"type":"object","properties":{}}`),
	fn("similar_products", "Find products like the given ones, or that go well with them. Leaves out what is in the cart.",
		`{"type":"object","properties":{"product_ids":{"type":"array","items":{"type":"string"},"maxItems":5},"relation":{"type":"string","enum":["similar","complement"]},"max_price":{"type":"number"}},"required":["product_ids"]}`),
}

var promotionTools = []tool{
	fn("list_active_promotions", "List the promotions that run now, with eligibility for the shopper's cart.", `{"type":"object","properties":{}}`),
	fn("choose_promotion", "Choose the single best promotion for the shopper. Call this after list_active_promotions.",
		`{"type":"object","properties":{"code":{"type":"string"},"why":{"type":"string"}},"required":["code","why"]}`),
}

var supportTools = []tool{
	fn("lookup_order", "Look up an order of this customer by its id; without an id, the latest one. Returns status, total, tracking and next step.",
		`{"type":"object","properties":{"order_id":{"type":"string","description":"Order number, such as QT-10021"}}}`),
	fn("search_policies", "Search the store's policies: returns, shipping, warranty, payment, privacy. Returns passages to quote.",
		`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
}

const routerPrompt = `You split a shopper's message into sub-queries for specialists. Use the shopper's own words.

Specialists:
- search: Finds products in the catalog by need, name, price, size or colour; answers which is cheapest and how many there are. Examples: "Do you have waterproof jackets?"; "Show me running shoes under 100"; "Which is your cheapest tent?" Words: looking for, do you have, product, in stock, cheapest.
- recommend: Suggests what goes with the shopper's cart or is similar to a product. Examples: "What goes well with what is in my cart?"; "Something similar to this backpack" Words: recommend, goes with, cart, similar, complement.
- promotions: Finds discounts, coupon codes and offers that apply to the cart. Examples: "Is there a discount for me?"; "Do you have a coupon?" Words: discount, coupon, promo code, sale, offer.
- support: Orders, tracking, returns, shipping, warranty and other policies; also greetings, thanks and anything else. Examples: "Where is my order?"; "What is your return policy?"; "Hello" Words: order, return, refund, shipping, warranty, track.`

const routerSchema = `{"type":"object","properties":{"assignments":{"type":"array","items":{"type":"object","properties":{"specialist":{"type":"string","enum":["search","recommend","promotions","support"]},"sub_query":{"type":"string"},"reason":{"type":"string"},"confidence":{"type":"number"}},"required":["specialist","sub_query","reason"],"additionalProperties":false}}},"required":["assignments"],"additionalProperties":false}`

func ask(system, user string, tools []tool) *chatRequest {
	return &chatRequest{Model: Model, Messages: []message{{Role: "system", Content: content(system)}, {Role: "user", Content: content(user)}}, Tools: tools}
}

// after adds the calls of a reply and their results to a request.
func after(req *chatRequest, rep reply, results ...string) *chatRequest {
	next := *req
	next.Messages = append([]message(nil), req.Messages...)
	for i := range rep.calls {
		rep.calls[i].ID = "c" + string(rune('a'+len(next.Messages)+i))
	}
	next.Messages = append(next.Messages, message{Role: "assistant", ToolCalls: rep.calls})
	for i, r := range results {
		next.Messages = append(next.Messages, message{Role: "tool", ToolCallID: rep.calls[i].ID, Content: content(r)})
	}
	return &next
}
