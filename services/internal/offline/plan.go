package offline

import (
	"regexp"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
)

// maxParallel is how many calls one step makes.
const maxParallel = 4

// Names of the suite's tools. Other tools are called by their schemas alone.
const (
	searchCatalog   = "search_catalog"
	compareProducts = "compare_products"
	similar         = "similar_products"
	cartContext     = "get_cart_context"
	promotions      = "list_active_promotions"
	lookupOrder     = "lookup_order"
	policies        = "search_policies"
	handoff         = "suggest_handoff"
	askShopper      = "ask_shopper"
	notMine         = "not_mine"
)

// orderWants are the intents that lookup_order takes as wants.
var orderWants = map[string]string{"cancel": "cancel", "return": "return", "exchange": "exchange", "change_address": "change_address"}

type call struct {
	name string
	args object
}

// plan is the calls of the next step, none when the answer can be written.
func (c *conversation) plan(forced string, required bool) []openai.ToolCall {
	var picks []call
	switch {
	case c.called(askShopper) || len(c.done) >= 2*maxParallel:
	case forced != "":
		picks = c.generic(forced)
	case c.has(similar):
		picks = c.planRecommend()
	case c.has(searchCatalog):
		picks = c.planSearch()
	case c.has(promotions):
		picks = c.planPromotions()
	case c.has(lookupOrder) || c.has(policies):
		picks = c.planSupport()
	default:
		picks = c.generic("")
	}
	if len(picks) == 0 && required && len(c.done) == 0 {
		picks = c.generic(c.tools[0].Function.Name)
	}
	var out []openai.ToolCall
	for _, p := range picks {
		if len(out) < maxParallel && c.has(p.name) {
			out = append(out, openai.ToolCall{Function: openai.FunctionCall{Name: p.name, Arguments: string(wire.Encode(p.args))}})
		}
	}
	return out
}

// question asks what is meant, where that is offered.
func (c *conversation) question() []call {
	return []call{{askShopper, object{"question": c.say("what")}}}
}

func (c *conversation) small() bool { return is("greeting", c.ask) || is("thanks", c.ask) }

// passOn is the call that leaves a text to the specialist that its words ask for, nil if they ask for none or it is not offered.
func (c *conversation) passOn(to ...string) []call {
	for _, name := range to {
		asks := false
		switch name {
		case "search":
			asks = (comparedRE.MatchString(c.ask) || c.has(promotions)) && !is("cart", c.ask)
		case "promotions":
			asks = is("offer", c.ask)
		case "recommend":
			asks = is("cart", c.ask)
		case "support":
			asks = wanted(c.ask, "person", "cancel", "exchange", "change_address", "return", "problem", "rule", "topic", "status") != ""
		}
		if asks && c.has(notMine) && strings.Contains(c.toolText(notMine), strconv.Quote(name)) {
			return []call{{notMine, object{"specialist": name}}}
		}
	}
	return nil
}

// toolText is the definition of a tool, for what it says of its data.
func (c *conversation) toolText(name string) string {
	for _, t := range c.tools {
		if t.Function.Name == name {
			return t.Function.Description + string(t.Function.Parameters)
		}
	}
	return ""
}

var (
	sentenceRE = regexp.MustCompile(`[.?!;]\s+`)
	comparedRE = regexp.MustCompile(`(?i)(?:^|.*?\b)(?:compare|compared|difference between|which|vergleich\pL*|unterschied zwischen|comparez|comparar?|diferencia entre)\b[^,:]*?[,:]?\s+(\S.*?),?\s+(?:or|and|with|vs\.?|versus|oder|und|ou|et|o|y)\s+(.+)$`)
	pronounRE  = words(`it them they that_one those_ones this_one the_(first|second|third|last)_?(one)? es ihn das_da l[ea]_deuxi[eè]me celui-ci ese esos`)
	ordinalRE  = regexp.MustCompile(`(?i)\b(?:(first|erste\w*|premi[eè]re?|primer\w*)|(second|zweite\w*|deuxi[eè]me|segund\w*)|(third|dritte\w*|troisi[eè]me|tercer\w*))\b`)
	listedRE   = regexp.MustCompile(`(?m)^- ([^\n]+?), [^\n,]*\d`)
)

func (c *conversation) planSearch() []call {
	if len(c.done) == 1 && !c.done[0].ok && c.done[0].name == compareProducts {
		var out []call
		for _, name := range texts(c.done[0].args["product_ids"]) {
			out = append(out, call{searchCatalog, object{"query": name}})
		}
		return out
	}
	if len(c.done) == 1 && c.done[0].ok && c.called(searchCatalog) && c.done[0].misses() {
		if len(list(c.done[0].object()["products"])) == 0 {
			if k := c.passOn("support", "promotions"); k != nil {
				return k
			}
		}
		return c.widened()
	}
	if len(c.done) > 0 || c.small() {
		return nil
	}
	ownOrder := wanted(c.ask, "cancel", "exchange", "change_address", "return", "status") != ""
	if ownOrder && mineRE.MatchString(c.ask) || is("person", c.ask) && len(productWords(c.ask, c.lang)) < 3 {
		if k := c.passOn("support"); k != nil {
			return k
		}
	}
	if is("cart", c.ask) && !is("problem", c.ask) {
		if k := c.passOn("recommend"); k != nil && len(productWords(readRequest(c.ask, "").rest, c.lang)) == 0 {
			return k
		}
	}
	if is("offer", c.ask) && len(productWords(offerWordsRE.ReplaceAllString(c.ask, "  "), c.lang)) == 0 {
		if k := c.passOn("promotions"); k != nil {
			return k
		}
	}
	var out []call
	parts := sentenceRE.Split(c.ask, -1)
	if m := comparedRE.FindStringSubmatch(c.ask); m != nil && properRE.MatchString(c.ask) {
		parts = []string{m[1], m[2]}
		if first, second := productWords(m[1], c.lang), productWords(m[2], c.lang); c.has(compareProducts) && len(first) > 0 && len(second) > 0 {
			return []call{{compareProducts, object{"product_ids": []any{strings.Join(first, " "), strings.Join(second, " ")}}}}
		}
	}
	for _, part := range parts {
		if args := c.productQuery(part); args != nil {
			out = append(out, call{searchCatalog, args})
		}
	}
	if len(out) == 0 {
		return c.question()
	}
	return out
}

var (
	purposeRE = regexp.MustCompile(`(?i)\s(?:for|für|pour|para)\s.*$`)
	andRE     = regexp.MustCompile(`(?i)\s(?:and|und|et|y)\s`)
)

// widened are the searches after one that no product answers in full: for each of several things by itself; or without what the thing
// is for, and with a colour as a word of its name. None if that changes nothing.
func (c *conversation) widened() []call {
	var out []call
	parts := andRE.Split(c.ask, maxParallel)
	for _, part := range parts {
		if r := readRequest(part, ""); len(productWords(r.rest, c.lang)) > 0 {
			out = append(out, call{searchCatalog, c.productQuery(part)})
		}
	}
	if len(parts) > 1 && len(out) == len(parts) {
		return out
	}
	text := purposeRE.ReplaceAllString(c.ask, "")
	args := c.productQuery(text)
	if args == nil || str(c.done[0].object(), "total") != "0" {
		return nil
	}
	if options, _ := args["options"].(map[string]any); options["colour"] != nil {
		args["query"] = strings.TrimSpace(colourRE.FindString(text)) + " " + args["query"].(string)
		delete(options, "colour")
		if len(options) == 0 {
			delete(args, "options")
		}
	}
	if string(wire.Encode(args)) == string(wire.Encode(c.done[0].args)) {
		return nil
	}
	return []call{{searchCatalog, args}}
}

// productQuery is the arguments of a search for what a text describes, nil if it describes nothing.
func (c *conversation) productQuery(s string) object {
	r := readRequest(s, c.toolText(searchCatalog))
	name := productWords(r.rest, c.lang)
	if len(name) == 0 || pronounRE.MatchString(s) && len(name) < 2 {
		name = append(c.meant(s), name...)
	}
	if len(name) == 0 {
		return nil
	}
	out := object{"query": strings.Join(name, " ")}
	if r.min > 0 {
		out["min_price"] = r.min
	}
	if r.max > 0 {
		out["max_price"] = r.max
	}
	if len(r.options) > 0 {
		out["options"] = r.options
	}
	if len(r.attrs) > 0 {
		out["attributes"] = r.attrs
	}
	if r.sort != "" {
		out["sort"] = r.sort
	}
	return out
}

// meant is what a pronoun stands for: a line of the last answer's list, or what was asked before.
func (c *conversation) meant(s string) []string {
	listed := listedRE.FindAllStringSubmatch(c.told, -1)
	if m := ordinalRE.FindStringSubmatch(s); m != nil {
		for i, g := range m[1:] {
			if g != "" && i < len(listed) {
				return strings.Fields(listed[i][1])
			}
		}
	}
	if len(listed) == 1 {
		return strings.Fields(listed[0][1])
	}
	return productWords(readRequest(c.before, "").rest, c.lang)
}

func (c *conversation) planRecommend() []call {
	if c.small() {
		return nil
	}
	r := readRequest(c.ask, "")
	name := strings.Join(productWords(r.rest, c.lang), " ")
	limit := func(args object) object {
		if r.max > 0 {
			args["max_price"] = r.max
		}
		return args
	}
	want := wanted(c.ask, "add", "remove", "gift", "alternative", "pairs", "cart")
	aboutCart := is("cart", c.ask)
	if (aboutCart || want == "pairs" && name == "") && want != "gift" && want != "alternative" && !c.has(cartContext) {
		return nil
	}
	named := properRE.FindString(r.rest)
	if want == "pairs" && name != "" && !aboutCart {
		named = name
	}
	switch {
	case len(c.done) > 0:
		if want == "add" && !c.done[0].ok && len(c.done) == 1 {
			_, rest := quantity(bagRE.ReplaceAllString(c.ask, " "))
			return []call{{searchCatalog, c.productQuery(rest)}}
		}
		if want == "pairs" && c.called(cartContext) && !c.called(similar) && named == "" && len(list(c.done[0].object()["items"])) > 0 {
			return []call{{similar, limit(object{})}}
		}
		if found := list(c.done[0].object()["products"]); len(c.done) == 1 && cheaperRE.MatchString(c.ask) && c.called(searchCatalog) && len(found) > 0 {
			p := dict(found[0])
			return []call{{similar, object{"product_ids": []any{str(p, "product_id")}, "relation": "alternative", "max_price": price(p) - 0.01}}}
		}
		return nil
	case want == "add":
		n, rest := quantity(bagRE.ReplaceAllString(c.ask, " "))
		product := strings.Join(productWords(rest, c.lang), " ")
		if product == "" {
			return c.question()
		}
		return []call{{cartContext, object{"changes": []any{object{"product": product, "add": n}}}}}
	case want == "remove" || want == "cart":
		return []call{{cartContext, object{}}}
	case want == "gift":
		if name == "" {
			name = "gift"
		}
		return []call{{similar, limit(object{"query": name})}}
	case want == "alternative" && name != "" && cheaperRE.MatchString(c.ask):
		return []call{{searchCatalog, object{"query": name}}}
	case want == "alternative" && name != "":
		return []call{{similar, limit(object{"product_ids": []any{name}, "relation": "alternative"})}}
	case want == "pairs" && named != "":
		return []call{{similar, limit(object{"product_ids": []any{named}, "relation": "complement"})}}
	case want == "pairs" || aboutCart:
		return []call{{cartContext, object{}}}
	case want == "" && c.passOn("search", "support") != nil:
		return c.passOn("search", "support")
	case name != "":
		return []call{{similar, limit(object{"query": name})}}
	}
	return []call{{cartContext, object{}}}
}

// bagRE is the cart by a name that products have too.
var bagRE = words(`(in|to|into)_(my|the|our)_(shopping_)?bag`)

var cheaperRE = words(`cheaper less_expensive günstiger\pL* billiger\pL* moins_ch[eè]re?s? más_barat\pL+`)

// properRE is a name of several capitalised words.
var properRE = regexp.MustCompile(`\p{Lu}[\pL\pN'-]+(?: (?:\p{Lu}[\pL\pN'-]*|\d+))+`)

func (c *conversation) planPromotions() []call {
	if len(c.done) > 0 {
		if has(c.done[0].args, "query") && len(c.done) == 1 && len(list(c.done[0].object()["promotions"])) == 0 {
			return []call{{promotions, object{}}}
		}
		return nil
	}
	if c.small() {
		return nil
	}
	if len(codes(c.ask)) == 0 && !is("offer", c.ask) && !is("pairs", c.ask) {
		if k := c.passOn("support", "recommend"); k != nil {
			return k
		}
		return c.passOn("search")
	}
	args := object{}
	if found := codes(c.ask); len(found) > 0 {
		args["codes"] = found
	}
	if len(args) == 0 && is("all", c.ask) {
		args["all"] = true
	}
	if name := productWords(offerWordsRE.ReplaceAllString(c.ask, "  "), c.lang); len(name) > 0 && len(args) == 0 && !is("cart", c.ask) {
		args["query"] = strings.Join(name, " ")
	}
	return []call{{promotions, args}}
}

// wishRE says that something is wanted done, not only known.
var wishRE = words(`(want|need|would_like|wish)_to i'd_like_to (ich|wir)_(möchte|will|wollen)\pL* je_(veux|voudrais|souhaite) (quiero|quisiera|deseo)`)

var mineRE = words(`i_(have_)?(ordered|bought|received|got) (cancel|return|exchange|send)_(it|them|this|that) my our meine?[nmrs]? unsere?[nmr]? mon ma mes notre nos mi mis nuestr[oa]s? the_order this_order`)

func (c *conversation) planSupport() []call {
	if len(c.done) > 0 {
		return nil
	}
	var out []call
	for _, part := range sentenceRE.Split(c.ask, -1) {
		if is("greeting", part) || is("thanks", part) {
			continue
		}
		for _, one := range c.planSupportPart(part) {
			out = addCall(out, one)
		}
	}
	return out
}

func addCall(calls []call, k call) []call {
	for _, old := range calls {
		if old.name == k.name && string(wire.Encode(old.args)) == string(wire.Encode(k.args)) {
			return calls
		}
	}
	return append(calls, k)
}

func (c *conversation) planSupportPart(s string) []call {
	ids := identifiers(s)
	mine := mineRE.MatchString(s) || len(ids) > 0
	order := c.proof(s)
	if len(ids) > 0 {
		order["order_id"] = strings.TrimPrefix(ids[0], "#")
	}
	want := wanted(s, "person", "cancel", "exchange", "change_address", "return", "problem", "rule", "topic", "status", "cart")
	name := strings.Join(productWords(idRE.ReplaceAllString(s, " "), c.lang), " ")
	if !c.has(lookupOrder) && (want == "status" || orderWants[want] != "") {
		name += " contact"
		ids, want = nil, ""
	}
	for _, t := range topics {
		if t.words.MatchString(s) {
			name += " " + t.english
		}
	}
	rules := call{policies, object{"query": name}}
	switch {
	case want == "person":
		return []call{{handoff, object{"reason": s}}}
	case orderWants[want] != "" && (mine || wishRE.MatchString(s)) && !is("rule", s):
		order["wants"], order["reason"] = []any{orderWants[want]}, s
		return []call{{lookupOrder, order}, rules}
	case want == "status" || (want == "rule" || want == "topic") && mine && is("status", s):
		return []call{{lookupOrder, order}}
	case want == "" && len(ids) > 0:
		return []call{{lookupOrder, order}}
	case want == "cart":
		return []call{{cartContext, object{}}}
	case name != "":
		return []call{rules}
	}
	return nil
}

var (
	emailRE  = regexp.MustCompile(`[^\s@,;:<>()]+@[^\s@,;:<>()]+\.\pL+`)
	postalRE = regexp.MustCompile(`(?i)(?:post(?:al)? ?code|zip(?: code)?|plz|postleitzahl|code postal|código postal)\s*(?:is|ist|est|es|:)?\s*([A-Z0-9-]{3,8})`)
)

// proof is what a guest shows to see an order, where lookup_order takes it.
func (c *conversation) proof(s string) object {
	out := object{}
	takes := c.toolText(lookupOrder)
	if m := emailRE.FindString(s); m != "" {
		for _, name := range []string{"email", "contact"} {
			if strings.Contains(takes, strconv.Quote(name)) {
				out[name] = strings.TrimRight(m, ".")
			}
		}
	}
	if m := postalRE.FindStringSubmatch(s); m != nil && strings.Contains(takes, `"postal_code"`) {
		out["postal_code"] = m[1]
	}
	return out
}

// generic calls tools that the suite does not have by what their schemas require: it takes the one whose words the question
// has, or the named one.
func (c *conversation) generic(name string) []call {
	if len(c.done) > 0 || c.ask == "" {
		return nil
	}
	best, most := -1, 0
	for i, t := range c.tools {
		score := 0
		for _, w := range productWords(strings.ReplaceAll(t.Function.Name, "_", " ")+" "+t.Function.Description, "en") {
			if len(w) > 3 && strings.Contains(strings.ToLower(c.ask), strings.ToLower(strings.TrimSuffix(w, "s"))) {
				score++
			}
		}
		if t.Function.Name == name || name == "" && (score > most || len(c.tools) == 1 && strings.Contains(string(t.Function.Parameters), `"required"`) && capitalRE.MatchString(c.ask)) {
			best, most = i, score
		}
	}
	if best < 0 {
		return nil
	}
	s, _ := readSchema(c.tools[best].Function.Parameters) // check has read it
	var out []call
	for _, subject := range c.subjects() {
		args := object{}
		for _, key := range s.Required {
			args[key] = s.value(key, subject)
		}
		out = addCall(out, call{c.tools[best].Function.Name, args})
	}
	return out
}

var capitalRE = regexp.MustCompile(`.\b(\p{Lu}[\pL'-]+(?:(?: (?:de|la|los|of|the|von))* \p{Lu}[\pL'-]+)*)`)

// subjects are the names in the question, else its words without those of talk.
func (c *conversation) subjects() []string {
	var out []string
	for _, m := range capitalRE.FindAllStringSubmatch(c.ask, maxParallel) {
		out = append(out, m[1])
	}
	if name := productWords(c.ask, c.lang); len(out) == 0 && len(name) > 0 {
		return []string{strings.Join(name, " ")}
	}
	if len(out) == 0 {
		return []string{c.ask}
	}
	return out
}
