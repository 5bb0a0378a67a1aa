package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
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
var orderWants = []string{"cancel", "return", "exchange", "change_address"}

type call struct {
	name string
	args object
}

// plan is the calls of the next step, none when the answer can be written.
func (c *conversation) plan() []openai.ToolCall {
	var picks []call
	switch {
	case c.called(askShopper) || len(c.done) >= 2*maxParallel:
	case is("greeting", c.ask) || is("thanks", c.ask):
	case len(c.done) == 0 && c.passOn() != nil:
		picks = c.passOn()
	case c.has(similar):
		picks = c.planRecommend()
	case c.has(searchCatalog):
		picks = c.planSearch()
	case c.has(promotions):
		picks = c.planPromotions()
	case c.has(lookupOrder) || c.has(policies):
		picks = c.planSupport()
	default:
		picks = c.generic()
	}
	var out []openai.ToolCall
	for _, p := range picks {
		one := openai.ToolCall{Function: openai.FunctionCall{Name: p.name, Arguments: string(wire.Encode(p.args))}}
		if len(out) < maxParallel && c.has(p.name) && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// passOn is the call that leaves a text to the specialist that its words ask for, nil if that is the one who is asked or no other.
func (c *conversation) passOn() []call {
	searching := c.has(searchCatalog) && !c.has(similar)
	name := productWords(offerWordsRE.ReplaceAllString(readRequest(c.ask, "").rest, "  "), c.lang)
	ofProduct := searching && len(name) > 0
	own := mineRE.MatchString(c.ask) && wanted(c.ask, "cancel", "exchange", "change_address", "return", "status") != ""
	switch {
	case c.supposed() != nil && len(codes(c.ask)) > 0 && !c.has(promotions):
		return c.passTo("promotions")
	case c.supposed() != nil && searching:
		return c.passTo("recommend")
	case (c.has(lookupOrder) || c.has(policies)) && len(codes(c.ask)) == 0:
	case own || is("person", c.ask) && len(name) < 3:
		return c.passTo("support")
	case ofProduct:
	case is("offer", c.ask) || len(codes(c.ask)) > 0:
		return c.passTo("promotions")
	case is("cart", c.ask) && !is("problem", c.ask):
		return c.passTo("recommend")
	case wanted(c.ask, "gift", "alternative", "pairs", "add", "remove") != "":
	case !searching && wanted(c.ask, "problem", "return", "rule", "topic", "status") != "":
		return c.passTo("support")
	case c.has(promotions) || comparedRE.MatchString(c.ask):
		return c.passTo("search")
	}
	return nil
}

func (c *conversation) passTo(name string) []call {
	if strings.Contains(c.toolText(notMine), strconv.Quote(name)) {
		return []call{{notMine, object{"specialist": name}}}
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
	andRE      = regexp.MustCompile(`(?i)\s(?:and|und|et|y)\s`)
	purposeRE  = regexp.MustCompile(`(?i)\s(?:for|für|pour|para)\s.*$`)
	comparedRE = regexp.MustCompile(`(?i)(?:^|.*?\b)(?:compare|compared|difference between|which|vergleich\pL*|unterschied zwischen|comparez|comparar?|diferencia entre)\b[^,:]*?[,:]?\s+(\S.*?),?\s+(?:or|and|with|vs\.?|versus|oder|und|ou|et|o|y)\s+(.+)$`)
	pronounRE  = words(`it them they that_one those_ones this_one the_(first|second|third|last)_?(one)? es ihn das_da l[ea]_deuxi[eè]me celui-ci ese esos`)
	listedRE   = regexp.MustCompile(`(?m)^- ([^\n]+?), [^\n,]*\d`)
)

func (c *conversation) planSearch() []call {
	if len(c.done) > 0 {
		return c.searchAgain()
	}
	if m := comparedRE.FindStringSubmatch(c.ask); m != nil && properRE.MatchString(c.ask) {
		first, second := strings.Join(productWords(m[1], c.lang), " "), strings.Join(productWords(m[2], c.lang), " ")
		return []call{{compareProducts, object{"product_ids": []any{first, second}}}}
	}
	if out := c.searches(sentenceRE.Split(c.ask, -1)); len(out) > 0 {
		return out
	}
	return []call{{askShopper, object{"question": c.say("what")}}}
}

// searchAgain is the calls after a search that no product answers in full: another specialist, each of several things by itself, or
// what is asked for without what it is for.
func (c *conversation) searchAgain() []call {
	r := c.done[0]
	switch {
	case len(c.done) > 1 || r.ok && !r.misses():
		return nil
	case r.name == compareProducts:
		return c.searches(texts(r.args["product_ids"]))
	case !r.found() && wanted(c.ask, "return", "problem", "rule", "topic", "status") != "":
		return c.passTo("support")
	case !r.found() && is("offer", c.ask):
		return c.passTo("promotions")
	}
	parts := andRE.Split(c.ask, maxParallel)
	if out := c.searches(parts); len(out) == len(parts) && len(out) > 1 {
		return out
	}
	if str(r.data, "total") == "0" {
		return c.searches([]string{purposeRE.ReplaceAllString(c.ask, "")})
	}
	return nil
}

// searches are the searches for what texts describe, without those that describe nothing and those that were made.
func (c *conversation) searches(parts []string) []call {
	var out []call
	for _, part := range parts {
		args := c.productQuery(part)
		if args != nil && !slices.ContainsFunc(c.done, func(r result) bool { return string(wire.Encode(r.args)) == string(wire.Encode(args)) }) {
			out = append(out, call{searchCatalog, args})
		}
	}
	return out
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
	r.args["query"] = strings.Join(name, " ")
	return r.args
}

// meant is what a pronoun stands for: a line of the last answer's list, or what was asked before.
func (c *conversation) meant(s string) []string {
	if id := c.shown(s); id != "" {
		return []string{id}
	}
	listed := listedRE.FindAllStringSubmatch(c.told, -1)
	if len(listed) == 1 {
		return strings.Fields(listed[0][1])
	}
	return productWords(readRequest(c.before, "").rest, c.lang)
}

func (c *conversation) planRecommend() []call {
	r := readRequest(c.ask, "")
	name := strings.Join(productWords(r.rest, c.lang), " ")
	like := func(args object) []call {
		if has(r.args, "max_price") {
			args["max_price"] = r.args["max_price"]
		}
		return []call{{similar, args}}
	}
	want := wanted(c.ask, "add", "remove", "gift", "alternative", "pairs", "cart")
	n, rest := quantity(c.ask)
	product := cmp.Or(c.shown(rest), strings.Join(productWords(rest, c.lang), " "))
	supposed, named := c.supposed(), properRE.FindString(r.rest)
	if want == "pairs" && !is("cart", c.ask) {
		named = name
	}
	var first result
	if len(c.done) == 1 {
		first = c.done[0]
	}
	found := list(first.data["products"])
	switch {
	case first.name == cartContext && severalRE.MatchString(first.body):
		return []call{{askShopper, c.whichProduct(first)}}
	case first.name == cartContext && !first.ok && supposed != nil:
		return c.searches([]string{str(supposed, "product")})
	case first.name == cartContext && !first.ok && want == "add":
		return c.searches([]string{product})
	case want == "pairs" && first.name == cartContext && first.found() && named == "":
		return like(object{})
	case want == "gift" && first.name == similar && !first.found():
		return like(object{})
	case first.name == searchCatalog && len(found) > 0 && cheaperRE.MatchString(c.ask):
		r.args["max_price"] = price(dict(found[0])) - 0.01
		return like(object{"product_ids": []any{str(dict(found[0]), "product_id")}, "relation": "alternative"})
	case len(c.done) > 0:
		return nil
	case supposed != nil:
		return []call{{cartContext, object{"changes": []any{supposed}}}}
	case want == "add" && product == "":
		return []call{{askShopper, object{"question": c.say("what")}}}
	case want == "add":
		return []call{{cartContext, object{"changes": []any{object{"product": product, "add": n}}}}}
	case want == "gift":
		return like(object{"query": cmp.Or(name, want)})
	case want == "alternative" && name != "" && cheaperRE.MatchString(c.ask):
		return []call{{searchCatalog, object{"query": name}}}
	case want == "alternative" && name != "":
		return like(object{"product_ids": []any{name}, "relation": "alternative"})
	case want == "pairs" && named != "":
		return like(object{"product_ids": []any{named}, "relation": "complement"})
	case name != "" && want == "":
		return like(object{"query": name})
	}
	return []call{{cartContext, object{}}}
}

var cheaperRE = words(`cheaper less_expensive günstiger\pL* billiger\pL* moins_ch[eè]re?s? más_barat\pL+`)

// properRE is a name of several capitalised words.
var properRE = regexp.MustCompile(`\p{Lu}[\pL\pN'-]+(?: (?:\p{Lu}[\pL\pN'-]*|\d+))+`)

func (c *conversation) planPromotions() []call {
	name := strings.Join(productWords(offerWordsRE.ReplaceAllString(c.ask, "  "), c.lang), " ")
	args := object{}
	if added := c.supposed(); added != nil {
		args["changes"], name = []any{added}, ""
	}
	switch named := codes(c.ask); {
	case len(c.done) == 1 && !c.done[0].ok && has(c.done[0].args, "changes"):
		return []call{{askShopper, c.whichProduct(c.done[0])}}
	case len(c.done) == 1 && has(c.done[0].args, "query") && !c.done[0].found(): // all of them, then
	case len(c.done) > 0:
		return nil
	case len(named) > 0:
		args["codes"] = named
	case is("all", c.ask):
		args["all"] = true
	case name != "" && !is("cart", c.ask):
		args["query"] = name
	}
	return []call{{promotions, args}}
}

// supposedRE is what a shopper asks to be priced in the cart: "what if I add the stove".
var supposedRE = regexp.MustCompile(`(?i)(?:\bif (?:i|we) (?:\pL+ )?(?:add|added|put|take|took|buy|bought)|(?:^|[,.!]|\b(?:and|then|please|you))\s*(?:add|put|place)|\bsi (?:j['’]ajout\pL+|añado|añadiera|agrego|pongo))\s+(.+?)` +
	`(?:\s+(?:to|in|into|dans|à|al|en)\s+(?:my|the|our|mon|le|mi|el|carrito|it)\b.*|\s+(?:and|et|y)\s+(?:tell|say|what|how|use|enter|dis|dime)\b.*|` +
	`\s+(?:with|avec|con)\s.*|[,?!;.]|$)|\bwenn ich (.+?)\s+(?:hinzufüge|dazu\s?nehme|dazu\s?lege|in den (?:Warenkorb|Korb) lege)`)

// removedRE is the same of what they would take out.
var removedRE = regexp.MustCompile(`(?i)\b(?:remove|removed|drop|leave out|take out)\s+(.+?)(?:[,?!;.]|\s+(?:and|what|how|from)\b|$)`)

// supposed is the change of the cart that a price is asked for, nil for none.
func (c *conversation) supposed() object {
	if m := removedRE.FindStringSubmatch(c.ask); m != nil && len(codes(c.ask)) > 0 {
		return object{"product": cmp.Or(c.shown(m[1]), strings.Join(productWords(m[1], c.lang), " ")), "quantity": 0}
	}
	m := supposedRE.FindStringSubmatch(c.ask)
	if m == nil {
		return nil
	}
	n, rest := 1, cmp.Or(m[1], m[2])
	if strings.HasSuffix(strings.TrimSpace(c.told), c.say("whichProduct")) {
		rest = plaintext.OneLine(notAskedRE.ReplaceAllString(c.raw, " "))
	}
	if at := quantityRE.FindStringIndex(rest); at != nil && at[0] == 0 { // not in a name: "the Gully 3 shoe"
		n, rest = quantity(rest)
	}
	product := cmp.Or(c.shown(rest), strings.Join(productWords(rest, c.lang), " "))
	if product == "" {
		return nil
	}
	return object{"product": product, "add": n}
}

var (
	shownRE  = regexp.MustCompile(`(?m)^\d+\. \{"product_id":"([^"]+)"`)
	ordinals = []*regexp.Regexp{
		words(`first erste[nrs]? premi[eè]re? primer[oa]?`), words(`second zweite[nrs]? deuxi[eè]me segund[oa]`),
		words(`third dritte[nrs]? troisi[eè]me tercer[oa]?`), words(`fourth vierte[nrs]? quatri[eè]me cuart[oa]`),
	}
)

// shown is the id of the product that a text means by its place among those shown last, "" for none.
func (c *conversation) shown(s string) string {
	all := shownRE.FindAllStringSubmatch(c.system, -1)
	for i, ordinal := range ordinals {
		if i < len(all) && ordinal.MatchString(s) {
			return all[i][1]
		}
	}
	return ""
}

var severalRE = regexp.MustCompile(`means several: (.*); give`)

// whichProduct asks which product is meant, of those that a failed call names.
func (c *conversation) whichProduct(r result) object {
	args := object{"question": c.say("whichProduct")}
	if m := severalRE.FindStringSubmatch(r.body); m != nil {
		var replies []any
		for product := range strings.SplitSeq(m[1], "; ") {
			_, title, _ := strings.Cut(product, " ")
			replies = append(replies, title)
		}
		args["quick_replies"] = replies
	}
	return args
}

// wishRE says that something is wanted done, not only known.
var wishRE = words(`(want|need|would_like|wish)_to still_(cancel|return|change) i'd_like_to (ich|wir)_(möchte|will|wollen)\pL* je_(veux|voudrais|souhaite) (quiero|quisiera|deseo)`)

var mineRE = words(`i_(have_)?(ordered|bought|received|got) (cancel|return|exchange|send)_(it|them|this|that) my our meine?[nmrs]? unsere?[nmr]? mon ma mes notre nos mi mis nuestr[oa]s? the_order this_order`)

func (c *conversation) planSupport() []call {
	var out []call
	for _, part := range requests(c.ask) {
		if len(c.done) == 0 && !is("greeting", part) && !is("thanks", part) {
			out = append(out, c.planSupportPart(part)...)
		}
	}
	return out
}

// requests are the sentences of a text. A wish for another address is not divided after an abbreviation.
func requests(s string) []string {
	if !is("change_address", s) {
		return sentenceRE.Split(s, -1)
	}
	var out []string
	from := 0
	for _, end := range sentenceRE.FindAllStringIndex(s, -1) {
		if !abbreviatedRE.MatchString(s[from:end[1]]) {
			out = append(out, s[from:end[0]])
			from = end[1]
		}
	}
	return append(out, s[from:])
}

func (c *conversation) planSupportPart(s string) []call {
	said, address := s, ""
	if found := addressRE.FindStringSubmatch(s); found != nil && is("change_address", s) {
		s, address = found[1], found[2]
	}
	ids := idRE.FindAllString(s, -1)
	mine := mineRE.MatchString(s) || len(ids) > 0
	order := c.proof(s)
	if len(ids) > 0 {
		order["order_id"] = strings.TrimPrefix(ids[0], "#")
	}
	want := wanted(s, "person", "cancel", "exchange", "change_address", "return", "problem", "rule", "topic", "status", "cart")
	name := strings.Join(productWords(idRE.ReplaceAllString(s, " "), c.lang), " ")
	if !c.has(lookupOrder) && (want == "status" || slices.Contains(orderWants, want)) {
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
	case slices.Contains(orderWants, want) && (mine || wishRE.MatchString(s)) && !is("rule", s):
		order["wants"], order["reason"] = []any{want}, said
		if size := sizeRE.FindStringSubmatch(s); size != nil && want == "exchange" {
			order["options"] = object{"size": strings.ToUpper(size[1])}
		}
		if address != "" {
			order["new_address"] = address
		}
		return []call{{lookupOrder, order}, rules}
	case want == "status" || len(ids) > 0 || (want == "rule" || want == "topic") && mine && is("status", s):
		return []call{{lookupOrder, order}}
	case want == "cart":
		return []call{{cartContext, object{}}}
	case name != "":
		return []call{rules}
	}
	return nil
}

var (
	// addressRE is a text that ends in an address, but for thanks: "change the address of my order to 5 Harbour Road, 4020 Linz please".
	addressRE = regexp.MustCompile(`(?is)^(.*(?:address|adresse|anschrift|direcci[oó]n)\b.*?)(?:\b(?:to|nach|in|auf|en|a|por)|à|:)\s+([^?!]*\d[^?!]*?)` +
		`(?:[\s,.?!]+(?:please|thanks|thank you|instead|bitte|danke|merci|svp|s'il vous pla[iî]t|por favor|gracias))*[\s.?!]*$`)
	// abbreviatedRE is the end of what a dot does not end: "Bergstr. 5, 3. Stock".
	abbreviatedRE = regexp.MustCompile(`(?i)(?:str|\b(?:\d{1,2}|\pL{1,3}))\.\s+$`)
	emailRE       = regexp.MustCompile(`[^\s@,;:<>()]+@[^\s@,;:<>()]+\.\pL+`)
	postalRE      = regexp.MustCompile(`(?i)(?:post(?:al)? ?code|zip(?: code)?|plz|postleitzahl|code postal|código postal)\s*(?:is|ist|est|es|:)?\s*([A-Z0-9-]{3,8})`)
)

// proof is what a guest shows to see an order, where lookup_order takes it.
func (c *conversation) proof(s string) object {
	out := object{}
	if m := emailRE.FindString(s); m != "" && strings.Contains(c.toolText(lookupOrder), `"email"`) {
		out["email"] = strings.TrimRight(m, ".")
	}
	if m := postalRE.FindStringSubmatch(s); m != nil && strings.Contains(c.toolText(lookupOrder), `"postal_code"`) {
		out["postal_code"] = m[1]
	}
	return out
}

// generic calls tools that the suite does not have by what their schemas require, once for each name in the question: the tool of
// which the question has most words.
func (c *conversation) generic() []call {
	if len(c.done) > 0 || c.ask == "" {
		return nil
	}
	var best tool
	most := 0
	for _, t := range c.tools {
		about := strings.Join(productWords(strings.ReplaceAll(t.Function.Name, "_", " ")+" "+t.Function.Description, "en"), " ")
		if score := len(sharedWords(c.ask, about)); score > most {
			best, most = t, score
		}
	}
	if most == 0 {
		return nil
	}
	var subjects []string
	for _, m := range capitalRE.FindAllStringSubmatch(c.ask, maxParallel) {
		subjects = append(subjects, m[1])
	}
	if len(subjects) == 0 {
		subjects = []string{cmp.Or(strings.Join(productWords(c.ask, c.lang), " "), c.ask)}
	}
	s, _ := readSchema(best.Function.Parameters) // check has read it
	var out []call
	for _, subject := range subjects {
		args := object{}
		for _, key := range s.Required {
			args[key] = s.value(key, subject)
		}
		out = append(out, call{best.Function.Name, args})
	}
	return out
}

var capitalRE = regexp.MustCompile(`.\b(\p{Lu}[\pL'-]+(?:(?: (?:de|la|los|of|the|von))* \p{Lu}[\pL'-]+)*)`)
