package offline

import (
	"regexp"
	"slices"
	"strings"
)

// text returns the string for p, or "" when the question does not say.
func (f *filler) text(parent string, p property, required, sole bool) string {
	named := property{strings.Trim(parent+"_"+p.name, "_"), p.schema}
	switch roleOf("", named) {
	case roleSkip:
		return ""
	case roleQuery:
		if f.whole {
			return strings.TrimSpace(f.ask.raw)
		}
		return f.query()
	case roleReason:
		return f.reason()
	case roleID, roleCode:
		return f.named(named, required)
	case roleDate:
		return f.date(p)
	case rolePlace, roleFrom, roleTo:
		return f.place(named, required, sole)
	case roleContact:
		return f.contact(named)
	case roleLanguage:
		return f.language(p)
	case roleCurrency:
		return f.currency(named)
	case roleSize, roleColour:
		return f.option(roleOf("", named))
	case roleName:
		return f.name(named, required, sole)
	}
	if !required {
		return f.described(named)
	}
	return f.anything(named, sole)
}

// anything fills a required string whose name says nothing to the rules.
func (f *filler) anything(p property, sole bool) string {
	if v, item := f.found.best(p.name, f.ask); v != "" {
		f.fromResults, f.chosen = true, item
		return v
	}
	if v := f.described(p); v != "" {
		return v
	}
	if v, ok := quoted(f.ask); ok {
		return v
	}
	if v, s, ok := properName(f.ask); ok && !covered(f.taken, word{start: s.start, end: s.end}) {
		f.take(s)
		return v
	}
	if sole {
		return f.query()
	}
	return ""
}

// compoundNameRE finds values in a description: "price_low_to_high for the cheapest".
var compoundNameRE = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)

var oneOfRE = regexp.MustCompile(`(?i)\b(?:one of|either|allowed values:?|values:)\s*:?\s*([^.;()]+)`)

// described picks a value that the description lists ("one of: day, week").
func (f *filler) described(p property) string {
	if v := ordered(compoundNameRE.FindAllString(p.Description, -1), direction(f.ask)); v != "" {
		return v
	}
	m := oneOfRE.FindStringSubmatch(p.Description)
	if m == nil {
		return ""
	}
	values := regexp.MustCompile(`\s*(?:,|\bor\b|\band\b|\|)\s*`).Split(strings.TrimSpace(m[1]), -1)
	for i := range values {
		values[i] = strings.Trim(values[i], `"'`+"` ")
	}
	values = slices.DeleteFunc(values, func(s string) bool { return s == "" || len(strings.Fields(s)) > 4 })
	if len(values) < 2 {
		return ""
	}
	v, _ := f.enum(property{p.name, &schema{Type: "string", Enum: values}}, true).(string)
	return v
}

// query is what a search should look for: the salient words, with those of the context when the question names nothing.
func (f *filler) query() string {
	if v, ok := quoted(f.ask); ok {
		return v
	}
	return strings.Join(f.queryWords(), " ")
}

func (f *filler) queryWords() []string {
	_, _, bounds := priceBounds(f.ask)
	drop := append(append(slices.Clone(f.taken), bounds...), money(f.ask)...)
	words := salient(f.ask, drop)
	if !leansOnContext(f.ask) {
		return words
	}
	words = slices.DeleteFunc(words, func(w string) bool { return fillers[w] || priceFillers[w] || pronouns[w] || vague[w] })
	if old := salient(f.context, moneySpans(f.context)); len(old) > 0 {
		return append(slices.DeleteFunc(old, func(w string) bool { return slices.Contains(words, w) || vague[w] }), words...)
	}
	if len(words) == 0 {
		words = f.found.subjects()
	}
	if len(words) == 0 {
		words = salient(f.ask, drop)
	}
	return words
}

func moneySpans(t text) []span {
	_, _, bounds := priceBounds(t)
	return append(money(t), bounds...)
}

// reason says why an item was chosen, in one sentence made of its own facts.
func (f *filler) reason() string {
	title := scalarField(f.chosen, "title", "name", "code", "product_id")
	for _, key := range []string{"explanation", "reason", "why"} {
		if why := scalarField(f.chosen, key); why != "" {
			return joinNonEmpty(": ", title, why)
		}
	}
	for _, key := range []string{"saving", "savings", "discount", "price", "score", "rating"} {
		if v := scalarField(f.chosen, key); v != "" {
			return joinNonEmpty(": ", title, humanise(key)+" "+v)
		}
	}
	if title != "" {
		return title + " fits the request best"
	}
	return "Asked: " + strings.TrimSpace(f.ask.raw)
}

func joinNonEmpty(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// named fills an id or a code: from the question, else from what tools returned.
func (f *filler) named(p property, required bool) string {
	if roleOf("", p) == roleCode {
		if v := f.code(); v != "" && matches(p.Pattern, v) {
			if f.found.rulesOut(p.name, v) {
				return ""
			}
			return v
		}
	}
	if v := f.identifier(p); v != "" {
		return v
	}
	if !required && !hasPronoun(f.ask) {
		return ""
	}
	v, item := f.found.best(p.name, f.ask)
	if v != "" {
		f.fromResults, f.chosen = true, item
	}
	return v
}

func matches(pattern, v string) bool {
	if pattern == "" {
		return true
	}
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(v)
}

// code finds a word in capitals, unless the whole question is written so.
func (f *filler) code() string {
	if f.ask.raw == strings.ToUpper(f.ask.raw) {
		return ""
	}
	for _, c := range codeRE.FindAllString(f.ask.raw, -1) {
		if strings.ContainsAny(c, "0123456789") || len(c) > 4 {
			return c
		}
	}
	return ""
}

// identifier finds the id of p's noun in the question, then in the context: the number after "order" for order_id.
func (f *filler) identifier(p property) string {
	nouns := nameWords(p.name)
	if n := len(nouns); n > 1 {
		nouns = nouns[:n-1]
	}
	var wanted []string
	for _, n := range nouns {
		wanted = append(wanted, stem(n))
		wanted = append(wanted, synonyms[stem(n)]...)
	}
	for _, t := range []text{f.ask, f.context} {
		for _, id := range identifiers(t) {
			if v := withHash(p, id, t); belongs(id, wanted, t) && matches(p.Pattern, v) {
				f.take(id.span)
				return v
			}
		}
	}
	return ""
}

// withHash puts the # back where the schema writes its ids with one.
func withHash(p property, id identifier, t text) string {
	if t.raw[id.start] == '#' && (strings.Contains(p.Description, "#") || strings.Contains(p.Pattern, "#")) {
		return "#" + id.value
	}
	return id.value
}

// rivals are nouns that have ids of their own: a number after one of them is no id of another.
var rivals = set("order product item customer user ticket invoice loan book flight account model cart card patient employee coupon articl member room tabl")

func belongs(id identifier, wanted []string, t text) bool {
	for _, n := range id.nouns {
		if slices.Contains(wanted, n) {
			return true
		}
	}
	for _, n := range id.nouns {
		if rivals[n] {
			return false
		}
	}
	if !id.plain {
		return true
	}
	// A bare number needs to be long, or its noun somewhere in the text, or a text that is little else.
	if len(id.value) < 3 || len(id.value) > 4 {
		return len(id.value) > 4
	}
	speaks := termsOf(t)
	return slices.ContainsFunc(wanted, func(w string) bool { return speaks[w] >= 1 }) || len(t.words) <= 3
}

func (f *filler) date(p property) string {
	days, where := dates(f.ask, f.now)
	ws := nameWords(p.name)
	at := 0
	if slices.ContainsFunc(ws, func(w string) bool { return set("return end to until checkout out last")[w] }) {
		at = 1
	}
	if at >= len(days) {
		return ""
	}
	f.take(where[at])
	if p.Format == "date-time" {
		return days[at] + "T00:00:00Z"
	}
	return days[at]
}

func (f *filler) place(p property, required, sole bool) string {
	var tries []map[string]bool
	switch roleOf("", p) {
	case roleFrom:
		tries = []map[string]bool{fromPlace}
	case roleTo:
		tries = []map[string]bool{toPlace, inPlace}
	default:
		tries = []map[string]bool{inPlace, toPlace, fromPlace}
	}
	for _, prepositions := range tries {
		if v, s, ok := place(f.ask, prepositions); ok && !covered(f.taken, word{start: s.start, end: s.end}) {
			f.take(s)
			return v
		}
	}
	if !required {
		return ""
	}
	return f.anything(p, sole)
}

func (f *filler) contact(p property) string {
	re := urlRE
	switch joined := strings.Join(nameWords(p.name), " "); {
	case strings.Contains(joined, "mail") || p.Format == "email":
		re = emailRE
	case strings.Contains(joined, "phone"):
		re = phoneRE
	}
	m := re.FindStringIndex(f.ask.raw)
	if m == nil {
		return ""
	}
	f.take(span{m[0], m[1]})
	return f.ask.raw[m[0]:m[1]]
}

var languageRE = regexp.MustCompile(`(?i)\b(?:to|into|in|auf|en|al|ins)\s+(english|spanish|german|french|italian|portuguese|dutch|japanese|chinese|polish|swedish|korean|arabic|russian|turkish|greek|danish|finnish|norwegian|czech|hindi)\b`)

func (f *filler) language(p property) string {
	m := languageRE.FindStringSubmatchIndex(f.ask.raw)
	if m == nil {
		return ""
	}
	f.take(span{m[0], m[1]})
	return f.ask.raw[m[2]:m[3]]
}

func (f *filler) currency(p property) string {
	codes := currencies(f.ask)
	if len(codes) == 0 {
		return ""
	}
	if r := nameWords(p.name); slices.Contains(r, "to") || slices.Contains(r, "target") {
		return codes[len(codes)-1]
	}
	return codes[0]
}

func (f *filler) option(r role) string {
	key := "size"
	if r == roleColour {
		key = "colour"
	}
	for _, o := range optionPairs(f.ask) {
		if o.key == key {
			f.take(o.span)
			return o.value
		}
	}
	return ""
}

var byRE = regexp.MustCompile(`\b(?:by|from|von|de|par)\s+((?:\p{Lu}[\p{L}.'-]*\s?)+)`)

// name fills titles and people: what is quoted, what follows "by", or a run of capitals.
func (f *filler) name(p property, required, sole bool) string {
	person := slices.ContainsFunc(nameWords(p.name), func(w string) bool { return set("author artist director actor brand")[w] })
	if m := byRE.FindStringSubmatchIndex(f.ask.raw); m != nil && person {
		f.take(span{m[0], m[1]})
		return strings.TrimSpace(f.ask.raw[m[2]:m[3]])
	}
	if v, ok := quoted(f.ask); ok && !person {
		return v
	}
	if !required {
		return ""
	}
	return f.anything(p, sole)
}
