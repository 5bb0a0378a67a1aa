package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

// shownProducts and shownOffers are how many lines a list of them has.
const (
	shownProducts = 5
	shownOffers   = 6
	shownPassages = 3
)

// say words a sentence of the model's own in the conversation's language.
func (c *conversation) say(key string, args ...any) string {
	return fmt.Sprintf(sayings[c.lang][key], args...)
}

// answer is the text after the last call, or without any.
func (c *conversation) answer() string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	switch {
	case len(c.done) > 0:
	case is("greeting", c.ask):
		return c.say("hello") + " " + c.say("help")
	case is("thanks", c.ask):
		return c.say("thanks")
	case is("cart", c.ask) && !c.has(cartContext) && (c.has(similar) || c.has(promotions)):
		return c.say("unseenCart")
	default:
		return c.say("offtopic")
	}
	apology := is("problem", c.ask) && (c.called(policies) || c.called(lookupOrder))
	unknown := false
	for _, r := range c.done {
		o := r.object()
		switch {
		case c.replaced(r):
		case r.name == askShopper:
			q, _ := r.args["question"].(string)
			add(q)
		case r.name == searchCatalog && c.called(similar):
			// it was looked up for what is like it
		case !r.ok && r.name == lookupOrder:
			add(c.say("signIn"))
		case !r.ok && r.name == compareProducts && len(c.done) > 1:
		case !r.ok && r.name == cartContext && wanted(c.ask, "add") != "":
			add(c.say("noChange"))
		case !r.ok && slices.ContainsFunc(c.done, func(o result) bool { return o.ok && o.name == r.name }):
		case !r.ok:
			add(c.say("failed"))
		case has(o, "passages"):
			if len(list(o["passages"])) == 0 || str(o, "note") != "" {
				unknown = true
			} else {
				add(c.passages(o))
			}
		case has(o, "order") || has(o, "other_orders") || r.name == lookupOrder:
			add(c.order(r, o))
		case has(o, "promotions") && len(list(o["promotions"])) == 0 && len(c.done) > 1:
		case has(o, "promotions"):
			add(c.offers(r, o))
		case has(o, "products"):
			add(c.products(r, o))
		case has(o, "items") || r.name == cartContext:
			if !c.called(similar) || len(list(o["items"])) == 0 {
				add(c.cart(r, o))
			}
		case r.name == handoff:
			add(c.say("person"))
		default:
			add(rendered(r, o))
		}
	}
	if unknown && len(out) == 0 {
		if apology || mineRE.MatchString(c.ask) || wanted(c.ask, "rule", "topic", "status", "return", "cancel", "exchange") != "" {
			add(c.say("unknown") + " " + c.say("help"))
		} else {
			return c.say("offtopic")
		}
	}
	if apology {
		out = append([]string{c.say("sorry")}, out...)
		return strings.Join(out, " ")
	}
	return strings.Join(out, "\n\n")
}

// date says a day as tools write it, "2 January 2026", in the conversation's language.
func (c *conversation) date(s string) string {
	day, err := time.Parse("2 January 2006", s)
	names := strings.Fields(months[c.lang])
	if err != nil || len(names) == 0 {
		return s
	}
	format := map[string]string{"de": "%d. %s %d", "fr": "%d %s %d", "es": "%d de %s de %d"}[c.lang]
	return fmt.Sprintf(format, day.Day(), names[day.Month()-1], day.Year())
}

// replaced reports whether a search counts no more: a later, wider one found products, or it is a wider one that found none.
func (c *conversation) replaced(r result) bool {
	found := func(r result) bool { return len(list(r.object()["products"])) > 0 }
	return r.name == searchCatalog && slices.ContainsFunc(c.done, func(o result) bool {
		return o.name == searchCatalog && (o.step > r.step && found(o) && r.misses() || o.step < r.step && !found(r))
	})
}

// misses reports whether no product that a search found has all words of the query.
func (r result) misses() bool {
	query, _ := r.args["query"].(string)
	o := r.object()
	return str(o, "total") == "0" || !slices.ContainsFunc(list(o["products"]), func(p any) bool {
		have := plaintext.Fold(string(wire.Encode(p)))
		return !slices.ContainsFunc(strings.Fields(query), func(w string) bool { return !strings.Contains(have, plaintext.Fold(plaintext.Singular(w))) })
	})
}

func has(o map[string]any, key string) bool { return o[key] != nil }

func str(o map[string]any, key string) string {
	switch v := o[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// object is a JSON object.
type object = wire.Object

func list(v any) []any { l, _ := v.([]any); return l }

func dict(v any) map[string]any { m, _ := v.(map[string]any); return m }

// texts are the strings of a list.
func texts(v any) []string {
	var out []string
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

var leadingPriceRE = regexp.MustCompile(`^\d+(?:\.\d+)?`)

func price(p map[string]any) float64 { return number(leadingPriceRE.FindString(str(p, "price"))) }

// within reports whether a product's price is in the bounds that were asked for. What is near may be outside of them.
func within(p, args map[string]any) bool {
	price := price(p)
	most, _ := args["max_price"].(float64)
	least, _ := args["min_price"].(float64)
	return (most == 0 || price <= most) && price >= least
}

func (c *conversation) products(r result, o map[string]any) string {
	var lines []string
	for _, e := range list(o["products"]) {
		if p := dict(e); within(p, r.args) && len(lines) < shownProducts {
			lines = append(lines, c.product(p))
		}
	}
	total := int(number(str(o, "total")))
	query, _ := r.args["query"].(string)
	_, searched := o["total"]
	head := ""
	switch {
	case len(lines) == 0 && !searched:
		return c.say("noneFits")
	case len(lines) == 0:
		none := c.say("none", query)
		if m := catalogRE.FindStringSubmatch(c.toolText(r.name)); m != nil && c.lang != "en" {
			return none + " " + c.say("noneLanguage", m[1])
		}
		return none + " " + c.say("help")
	case r.name == compareProducts:
		return strings.Join(lines, "\n")
	case !searched:
		head = c.say("goes")
	case readRequest(c.ask, "").unordered:
		head = c.say("unordered")
	case total == 0 || !names(o, query):
		head = c.say("near")
	case countRE.MatchString(c.ask):
		head = c.say("count", strconv.Itoa(total))
	case r.args["sort"] != nil:
		return lines[0][2:] + "\n" + strings.Join(lines[1:min(len(lines), 3)], "\n")
	case total == 1:
		head = c.say("fitOne")
	case total > len(lines):
		head = c.say("fit", strconv.Itoa(total))
	default:
		head = c.say("fitAll", strconv.Itoa(total))
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// names reports whether the title, the kind or the id of a product has a word of the query. If none has, the words were found in
// descriptions alone, such as a bag's that a laptop fits into.
func names(o map[string]any, query string) bool {
	for _, e := range list(o["products"]) {
		p := dict(e)
		have := plaintext.Fold(str(p, "title") + " " + str(p, "category") + " " + str(p, "product_id"))
		for w := range strings.FieldsSeq(query) {
			if strings.Contains(have, plaintext.Fold(plaintext.Singular(w))) {
				return true
			}
		}
	}
	return false
}

var catalogRE = regexp.MustCompile(`catalog is in (\w+)`)

func (c *conversation) product(p map[string]any) string {
	price := str(p, "price")
	if has(p, "highest_price") {
		price = c.say("from", price)
	}
	for _, v := range texts(p["variants"]) {
		if label, of, ok := strings.Cut(v, ": "); ok && words(strings.ReplaceAll(regexp.QuoteMeta(label), " ", `\s*`)).MatchString(c.ask) {
			price = label + " " + of
		}
	}
	line := "- " + str(p, "title") + ", " + price
	options := dict(p["options"])
	var choices []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		switch values := texts(options[name]); {
		case len(values) == 1:
			line += ", " + name + " " + values[0]
		case len(values) > 1:
			choices = append(choices, name+": "+strings.Join(values, ", "))
		}
	}
	if has(p, "stock") {
		if stock := str(p, "stock"); stock == "0" {
			line += ", " + c.say("soldOut")
		} else {
			line += ", " + c.say("inStock", stock)
		}
	}
	if len(choices) > 0 {
		line += " (" + strings.Join(choices, "; ") + ")"
	}
	return line + "."
}

func (c *conversation) cart(r result, o map[string]any) string {
	var items []string
	for _, e := range list(o["items"]) {
		items = append(items, item(dict(e)))
	}
	changing := wanted(c.ask, "add", "remove")
	head := "cart"
	var out []string
	if changing != "" {
		out = append(out, c.say("noChange"))
	}
	if has(r.args, "changes") {
		head = "wouldBe"
	}
	switch {
	case len(items) == 0 && strings.Contains(str(o, "note"), "empty"):
		out = append(out, c.say("emptyCart"))
	case len(items) == 0:
		out = append(out, c.say("unseenCart"))
	default:
		out = append(out, c.say(head, strings.Join(items, "; ")))
	}
	if total := str(o, "subtotal"); total != "" && len(items) > 0 {
		out = append(out, c.say("subtotal", total))
	}
	return strings.Join(out, " ")
}

// item is a line of a cart or an order.
func item(i map[string]any) string {
	s := str(i, "title")
	if n := str(i, "quantity"); n != "" && n != "1" {
		s = n + " × " + s
	}
	var details []string
	options := dict(i["options"])
	for _, name := range slices.Sorted(maps.Keys(options)) {
		details = append(details, name+" "+str(options, name))
	}
	if price := str(i, "price"); price != "" {
		details = append(details, price)
	}
	if len(details) > 0 {
		s += " (" + strings.Join(details, ", ") + ")"
	}
	return s
}

func (c *conversation) order(r result, o map[string]any) string {
	order := dict(o["order"])
	asked, _ := r.args["order_id"].(string)
	id := str(order, "order_id")
	if id == "" || asked != "" && !strings.HasSuffix(strings.ToUpper(id), strings.ToUpper(asked)) {
		out := c.say("noOrder")
		if asked != "" {
			out = c.say("noSuch", asked)
		}
		if others := texts(o["other_orders"]); len(others) > 0 {
			out += " " + c.say("others", strings.Join(others, "; "))
		}
		return out
	}
	out := texts(order["asked"])
	if wants := texts(r.args["wants"]); c.lang != "en" {
		out = nil
		if len(wants) > 0 {
			out = append(out, c.say(map[bool]string{true: "possible", false: "notHere"}[slices.Contains(texts(o["buttons"]), wants[0])]))
		}
	}
	out = append(out, c.say("order", id, wording.OrderStatus(c.lang, str(order, "status"))))
	if c.lang == "en" {
		out = append(out, str(order, "next_step"))
	}
	if t := dict(order["tracking"]); t != nil {
		if by := str(t, "estimated_delivery"); by != "" && c.lang != "en" {
			out = append(out, c.say("expected", c.date(by)))
		}
		var parts []string
		for _, key := range []string{"carrier", "tracking_number", "url"} {
			if v := str(t, key); v != "" {
				parts = append(parts, v)
			}
		}
		if len(parts) > 0 {
			out = append(out, c.say("tracking", strings.Join(parts, ", ")))
		}
	}
	var items []string
	for _, e := range list(order["items"]) {
		i := dict(e)
		delete(i, "price")
		items = append(items, item(i))
	}
	if len(items) > 0 {
		out = append(out, c.say("holds", strings.Join(items, "; ")+" ("+c.say("placed", c.date(str(order, "placed")), str(order, "total"))+")"))
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " ")
}

func (c *conversation) offers(r result, o map[string]any) string {
	named, best := texts(r.args["codes"]), str(o, "best_code")
	var lines, verdicts, advice []string
	for _, e := range list(o["promotions"]) {
		p := dict(e)
		code, offer, saving, why := str(p, "code"), str(p, "offer"), str(p, "saving"), str(p, "explanation")
		line := "- " + c.say("offer", code, offer)
		if c.lang != "en" {
			why = ""
		}
		switch {
		case saving != "" && c.lang != "en":
			line = "- " + code + " (" + c.say("saves", saving) + ")"
		case saving != "":
			line += " (" + c.say("saves", saving) + ")"
		case why != "":
			line += ". " + strings.TrimSuffix(why, ".")
		}
		if len(lines) < shownOffers {
			lines = append(lines, line+".")
		}
		switch {
		case !slices.Contains(named, code):
		case p["eligible"] != true:
			verdicts = append(verdicts, cmp.Or(why, c.say("refused", code)))
		case saving != "":
			verdicts = append(verdicts, c.say("applies", code, offer, saving))
		default:
			verdicts = append(verdicts, c.say("offer", code, offer)+".")
		}
		if code == best {
			advice = append(advice, c.say("best", code, offer, saving))
			if ends := str(p, "ends"); ends != "" {
				advice = append(advice, c.say("until", c.date(ends)))
			}
		}
	}
	for _, code := range named {
		if !strings.Contains(strings.Join(verdicts, " "), code) {
			verdicts = append(verdicts, c.say("noCode", code))
		}
	}
	if t := dict(o["best_combination"]); t != nil {
		advice = append(advice, c.say("together", strings.Join(texts(t["codes"]), ", "), str(t, "saving")))
	}
	head := ""
	switch {
	case len(named) > 0:
		return strings.Join(verdicts, " ")
	case len(lines) == 0:
		return c.say("noOffer")
	case has(r.args, "all") || has(r.args, "query"):
	case best != "":
		return strings.Join(advice, " ")
	case has(o, "cart_subtotal"):
		head = c.say("noOffer") + " "
	default:
		head = c.say("unseenCart") + " "
	}
	return head + c.say("offers") + "\n" + strings.Join(lines, "\n")
}

func (c *conversation) passages(o map[string]any) string {
	var titles []string
	bodies := map[string]string{}
	for _, e := range list(o["passages"])[:min(len(list(o["passages"])), shownPassages)] {
		p := dict(e)
		title := str(p, "policy")
		if bodies[title] == "" {
			titles = append(titles, title)
		}
		bodies[title] += " " + plaintext.OneLine(str(p, "text"))
	}
	var out []string
	for _, title := range titles {
		out = append(out, c.say("from policy", title, strings.TrimSpace(bodies[title])))
	}
	return strings.Join(out, " ")
}

// rendered is a result of another shape: its members by name; a value that was an argument comes first.
func rendered(r result, o map[string]any) string {
	if o == nil {
		var s string
		if json.Unmarshal([]byte(r.body), &s) == nil {
			return s
		}
		return r.body
	}
	head := ""
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		v := str(o, key)
		switch {
		case v == "" || key == "note":
		case slices.ContainsFunc(slices.Collect(maps.Values(r.args)), func(a any) bool { return a == v }):
			head = v
		default:
			parts = append(parts, strings.ReplaceAll(key, "_", " ")+" "+v)
		}
	}
	if head == "" && len(parts) > 0 {
		k, v, _ := strings.Cut(parts[0], " ")
		return strings.ToUpper(k[:1]) + k[1:] + ": " + strings.Join(append([]string{v}, parts[1:]...), ", ") + "."
	}
	return head + ": " + strings.Join(parts, ", ") + "."
}
