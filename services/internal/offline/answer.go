package offline

import (
	_ "embed"
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

// How many of each an answer shows.
const (
	shownProducts = 5
	shownOffers   = 6
	shownPassages = 3
)

//go:embed sayings.json
var sayingsFile []byte

// sayings are the model's own sentences, by key and language. A verb such as %s stands for what tools returned.
var sayings = func() (out map[string]map[string]string) {
	if err := json.Unmarshal(sayingsFile, &out); err != nil {
		panic(err) // the file is part of the program
	}
	return out
}()

// say words a sentence of the model's own in the conversation's language.
func (c *conversation) say(key string, args ...any) string {
	return fmt.Sprintf(sayings[key][c.lang], args...)
}

// answer is the text after the last call, or without any.
func (c *conversation) answer() string {
	switch {
	case len(c.done) > 0:
	case is("greeting", c.ask):
		return c.say("hello") + " " + c.say("help")
	case is("thanks", c.ask):
		return c.say("thanks")
	case is("cart", c.ask) && (c.has(similar) || c.has(promotions)):
		return c.say("unseenCart")
	default:
		return c.say("offtopic")
	}
	var out []string
	for _, r := range c.done {
		if s := strings.TrimSpace(c.tell(r)); s != "" && !c.needless(r) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	about := wanted(c.ask, "rule", "topic", "status", "return", "cancel", "exchange") != "" || mineRE.MatchString(c.ask)
	apology := (is("problem", c.ask) || is("upset", c.ask)) && (c.called(policies) || c.called(lookupOrder))
	switch {
	case len(out) == 0 && (about || apology):
		out = []string{c.say("unknown") + " " + c.say("help")}
	case len(out) == 0:
		return c.say("offtopic")
	}
	if apology {
		out[0] = c.say("sorry") + " " + out[0]
	}
	return strings.Join(out, "\n\n")
}

// tell words one result, "" if it says nothing.
func (c *conversation) tell(r result) string {
	switch o := r.data; {
	case r.name == askShopper:
		q, _ := r.args["question"].(string)
		return q
	case r.name == handoff:
		return c.say("person")
	case !r.ok && r.name == lookupOrder:
		return c.say("signIn")
	case !r.ok && r.name == promotions && has(r.args, "changes"), !r.ok && r.name == cartContext && !is("add", c.ask) && c.called(searchCatalog):
		return "" // the question or the products follow
	case !r.ok && r.name == cartContext && is("add", c.ask):
		return c.say("noChange")
	case !r.ok:
		return c.say("failed")
	case has(o, "passages"):
		return c.passages(o)
	case r.name == lookupOrder:
		return c.order(r, o)
	case has(o, "promotions"):
		return c.offers(r, o)
	case has(o, "products"):
		return c.products(r, o)
	case r.name == cartContext:
		return c.cart(r, o)
	default:
		return rendered(r, o)
	}
}

// needless reports whether another result makes one needless: one of a wider search, or one that it was looked up for.
func (c *conversation) needless(r result) bool {
	return slices.ContainsFunc(c.done, func(o result) bool {
		switch {
		case o.name == similar:
			return r.name == searchCatalog || r.name == cartContext && r.found()
		case o.name == searchCatalog && r.name == compareProducts, o.name == r.name && o.ok:
			return !r.ok || o.step > r.step && o.found() && r.misses() || o.step < r.step && !r.found()
		}
		return false
	})
}

// found reports whether a result lists something.
func (r result) found() bool {
	return len(list(r.data["products"]))+len(list(r.data["promotions"]))+len(list(r.data["items"])) > 0
}

// misses reports whether no product that a search found has all words of the query.
func (r result) misses() bool {
	query, _ := r.args["query"].(string)
	return str(r.data, "total") == "0" || !slices.ContainsFunc(list(r.data["products"]), func(p any) bool {
		return len(sharedWords(string(wire.Encode(p)), query)) == len(strings.Fields(query))
	})
}

// sharedWords are the words of a query that a text has, in whatever number or case.
func sharedWords(text, query string) []string {
	text = plaintext.Fold(text)
	return slices.DeleteFunc(strings.Fields(query), func(w string) bool { return !strings.Contains(text, plaintext.Fold(plaintext.Singular(w))) })
}

var dateFormats = map[string]string{"de": "2.1.2006", "fr": "2/1/2006", "es": "2/1/2006"}

// date says a day as tools write it, "2 January 2006", in the conversation's language.
func (c *conversation) date(s string) string {
	day, err := time.Parse("2 January 2006", s)
	if err != nil || dateFormats[c.lang] == "" {
		return s
	}
	return day.Format(dateFormats[c.lang])
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

// texts are the strings of a list, or a string itself.
func texts(v any) []string {
	var out []string
	if s, ok := v.(string); ok {
		return []string{s}
	}
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func price(p map[string]any) float64 { v, _, _ := strings.Cut(str(p, "price"), " "); return number(v) }

// within reports whether a product's price is in the bounds that were asked for. What is near may be outside of them.
func within(p, args map[string]any) bool {
	price := price(p)
	most, _ := args["max_price"].(float64)
	least, _ := args["min_price"].(float64)
	return (most == 0 || price <= most) && price >= least
}

func (c *conversation) products(r result, o map[string]any) string {
	shown := shownProducts
	if r.args["sort"] != nil {
		shown = 3
	}
	var lines []string
	query, _ := r.args["query"].(string)
	for _, e := range list(o["products"]) {
		p := dict(e)
		if within(p, r.args) && len(lines) < shown {
			lines = append(lines, "- "+c.line(p)+".")
		}
	}
	head := c.say("goes")
	colour := colourRE.FindString(query)
	switch { // a note says what the products lack
	case r.name == compareProducts:
		return strings.Join(lines, "\n")
	case len(lines) == 0 && r.name == similar:
		return c.say("noneFits")
	case len(lines) == 0:
		if gone, found := strings.CutPrefix(str(o, "note"), "Sold out: "); found {
			return strings.TrimSuffix(gone, ".") + ": " + c.say("soldOut") + "."
		}
		help := c.say("help")
		if m := catalogRE.FindStringSubmatch(c.toolText(r.name)); m != nil && c.lang != "en" {
			help = c.say("noneLanguage", m[1])
		}
		return c.say("none", query) + " " + help
	case r.name == similar || !has(o, "total"):
	case readRequest(c.ask, "").unordered:
		head = c.say("unordered")
	case str(o, "total") != "0" && strings.HasPrefix(str(o, "note"), "The search does not check"): // "kettle without lid"
	case str(o, "total") == "0" || has(o, "note") || colour != "" && !words(colour).MatchString(string(wire.Encode(o["products"]))):
		head = c.say("near")
	default:
		head = c.say("found", str(o, "total"))
	}
	return head + "\n" + strings.Join(lines, "\n")
}

var colourRE = regexp.MustCompile(`(?i)\b(?:black|white|red|blue|green|gr[ae]y|yellow|orange|pink|purple|brown|beige)\b`)

var catalogRE = regexp.MustCompile(`catalog is in (\w+)`)

// line is a product, or a line of a cart or an order.
func (c *conversation) line(p map[string]any) string {
	parts := []string{str(p, "title")}
	if n := str(p, "quantity"); n != "" && n != "1" {
		parts[0] = n + " × " + parts[0]
	}
	price := str(p, "price")
	if has(p, "highest_price") {
		price = c.say("from", price)
	}
	for _, v := range texts(p["variants"]) {
		if label, of, ok := strings.Cut(v, ": "); ok && words(strings.ReplaceAll(regexp.QuoteMeta(label), " ", `\s*`)).MatchString(c.ask) {
			price = label + " " + of
		}
	}
	if price != "" {
		parts = append(parts, price)
	}
	options := dict(p["options"])
	for _, name := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, name+" "+strings.Join(texts(options[name]), "/"))
	}
	switch stock := str(p, "stock"); stock {
	case "":
	case "0":
		parts = append(parts, c.say("soldOut"))
	default:
		parts = append(parts, c.say("inStock", stock))
	}
	return strings.Join(parts, ", ")
}

func (c *conversation) cart(r result, o map[string]any) string {
	var items, out []string
	for _, e := range list(o["items"]) {
		items = append(items, c.line(dict(e)))
	}
	if wanted(c.ask, "add", "remove") != "" {
		out = append(out, c.say("noChange"))
	}
	switch {
	case len(items) == 0 && strings.Contains(str(o, "note"), "empty"):
		out = append(out, c.say("emptyCart"))
	case len(items) == 0:
		out = append(out, c.say("unseenCart"))
	case has(r.args, "changes"):
		out = append(out, c.say("wouldBe", strings.Join(items, "; ")), c.say("subtotal", str(o, "subtotal")))
	default:
		out = append(out, c.say("cart", strings.Join(items, "; ")), c.say("subtotal", str(o, "subtotal")))
	}
	return strings.Join(out, " ")
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
			for i := range others {
				others[i] = c.orderLine(others[i])
			}
			out += " " + c.say("others", strings.Join(others, "; "))
		}
		return out
	}
	status := c.say("order", id, wording.OrderStatus(c.lang, str(order, "status")))
	track := dict(order["tracking"])
	out := append(texts(order["asked"]), status, str(order, "next_step"))
	if c.lang != "en" {
		out = []string{status}
		if wants := texts(r.args["wants"]); len(wants) > 0 && slices.Contains(texts(o["buttons"]), wants[0]) {
			out = []string{c.say("possible"), status}
		} else if len(wants) > 0 {
			out = []string{c.say("notHere"), status}
		}
		if by := str(track, "estimated_delivery"); by != "" {
			out = append(out, c.say("expected", c.date(by)))
		}
	}
	if str(track, "tracking_number")+str(track, "url") != "" {
		out = append(out, c.say("tracking", strings.TrimSpace(str(track, "carrier")+" "+str(track, "tracking_number")+" "+str(track, "url"))))
	}
	var items []string
	for _, e := range list(order["items"]) {
		i := dict(e)
		delete(i, "price")
		items = append(items, c.line(i))
	}
	if len(items) > 0 {
		out = append(out, c.say("holds", strings.Join(items, "; ")+" ("+c.say("placed", c.date(str(order, "placed")), str(order, "total"))+")"))
	}
	return plaintext.OneLine(strings.Join(out, " "))
}

// orderLine puts the line of another order, "QT-1, 2 May 2026, on its way: Lamp", into the shopper's language.
func (c *conversation) orderLine(line string) string {
	head, titles, _ := strings.Cut(line, ": ")
	parts := strings.SplitN(head, ", ", 3)
	if len(parts) < 3 { // "and 3 more"
		return line
	}
	return fmt.Sprintf("%s, %s, %s: %s", parts[0], c.date(parts[1]), wording.OrderStatus(c.lang, parts[2]), titles)
}

func (c *conversation) offers(r result, o map[string]any) string {
	named, best := texts(r.args["codes"]), str(o, "best_code")
	var all, about []string // about the codes that were named, or else about the best
	for _, e := range list(o["promotions"]) {
		p := dict(e)
		line := c.offer(p)
		if len(all) < shownOffers {
			all = append(all, "- "+line)
		}
		if code := str(p, "code"); slices.Contains(named, code) || len(named) == 0 && code == best {
			about = append(about, line)
			if ends := str(p, "ends"); ends != "" && code == best {
				about = append(about, c.say("until", c.date(ends)))
			}
		}
	}
	for _, code := range named {
		if !strings.Contains(strings.Join(about, " "), code) {
			about = append(about, c.say("noCode", code))
		}
	}
	for _, why := range texts(dict(o["with_codes"])["refused"]) { // beside the other codes
		if c.lang == "en" && !strings.Contains(strings.Join(about, " "), strings.TrimSuffix(why, ".")) && !strings.Contains(why, "no promotion") {
			about = append(about, why)
		}
	}
	if t := dict(o["best_combination"]); t != nil && len(named) == 0 {
		about = append(about, c.say("together", strings.Join(texts(t["codes"]), ", "), str(t, "saving")))
	}
	head := c.say("offers")
	if has(r.args, "changes") {
		about = append([]string{c.say("wouldBe", strings.Join(texts(o["cart"]), "; ")), c.say("subtotal", str(o, "cart_subtotal"))}, about...)
		if total := str(dict(o["with_codes"]), "total"); total != "" {
			about = append(about, c.say("total", total))
		}
		return strings.Join(about, " ")
	}
	switch {
	case len(named) > 0:
		return strings.Join(about, " ")
	case len(all) == 0:
		return c.say("noOffer")
	case has(r.args, "all") || has(r.args, "query"):
	case best != "":
		return c.say("best", strings.Join(about, " "))
	case has(o, "cart_subtotal"):
		head = c.say("noOffer") + " " + head
	default:
		head = c.say("unseenCart") + " " + head
	}
	return head + "\n" + strings.Join(all, "\n")
}

// gainRE is what an offer gives, in no language.
var gainRE = regexp.MustCompile(`\d[\d.]*(?:%| [A-Z]{3})`)

// offer is a line about an offer. What tools word in English is left out in other languages if the rest says enough.
func (c *conversation) offer(p map[string]any) string {
	code, saving := str(p, "code"), str(p, "saving")
	line := code
	switch offer := str(p, "offer"); {
	case c.lang == "en":
		line += ": " + offer
	case strings.HasPrefix(offer, "free shipping"):
		line += ": " + c.say("freeShipping")
	case gainRE.MatchString(offer):
		line += ": " + gainRE.FindString(offer)
	}
	switch {
	case saving != "":
		line += " (" + c.say("saves", saving) + ")"
	case c.lang == "en" && has(p, "explanation"):
		line += ". " + strings.TrimSuffix(str(p, "explanation"), ".")
	case p["eligible"] == false:
		return line + ". " + c.say("refused", code)
	}
	return line + "."
}

func (c *conversation) passages(o map[string]any) string {
	found := list(o["passages"])
	if has(o, "instruction") { // none of them may answer
		return ""
	}
	var out []string
	last := ""
	for _, e := range found[:min(len(found), shownPassages)] {
		p := dict(e)
		title, text := str(p, "policy"), plaintext.OneLine(str(p, "text"))
		if title != last {
			text = c.say("from policy", title, text)
		}
		out, last = append(out, text), title
	}
	return strings.Join(out, " ")
}

// rendered is a result of another shape: its members by name, after the argument that it repeats.
func rendered(r result, o map[string]any) string {
	if o == nil {
		return strings.Trim(r.body, `"`)
	}
	head := ""
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		v := str(o, key)
		switch {
		case v == "" || key == "note" || key == "instruction":
		case slices.Contains(slices.Collect(maps.Values(r.args)), any(v)):
			head = v + ": "
		default:
			parts = append(parts, strings.ReplaceAll(key, "_", " ")+" "+v)
		}
	}
	return head + strings.Join(parts, ", ") + "."
}
