package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// text returns the string for p, or "" when the question does not say.
func (f *filler) text(parent string, p property, required, sole bool) string {
	named := property{strings.Trim(parent+"_"+p.name, "_"), p.schema}
	if p.name == "translation" {
		return f.translation()
	}
	if v := f.ranking(); p.name == "sort" && v != "" {
		return v
	}
	switch roleOf("", named) {
	case roleSkip:
		return ""
	case roleQuery:
		if f.whole {
			return strings.TrimSpace(f.ask.raw)
		}
		if required {
			return orElse(f.called(p), f.query())
		}
		words := slices.DeleteFunc(f.queryWords(), func(w string) bool { return pairing[w] || sources[w] || priceFillers[w] })
		if len(wishes(words)) == 0 {
			words = nil // the message says nothing beyond where to look
		}
		return strings.Join(f.asSaid(words), " ")
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
	case rolePostal:
		return f.postalCode()
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
	if v := f.pointed(p.name); v != "" {
		return v
	}
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

var explainedRE = regexp.MustCompile(`\b([a-z]+(?:_[a-z]+)*) for (?:what|those|things|when|items|products)\b`)

// explained picks a value that the description explains ("day for what happens today, week for what ...").
func (f *filler) explained(p property) string {
	var values []string
	for _, m := range explainedRE.FindAllStringSubmatch(p.Description, -1) {
		values = append(values, m[1])
	}
	if len(values) < 2 {
		return ""
	}
	v, _ := f.enum(property{p.name, &schema{Type: "string", Enum: values, Description: p.Description}}, true).(string)
	return v
}

// described picks a value that the description lists ("one of: day, week").
func (f *filler) described(p property) string {
	if v := ordered(compoundNameRE.FindAllString(p.Description, -1), direction(f.ask)); v != "" {
		return v
	}
	if v := f.explained(p); v != "" {
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
	return strings.Join(f.asSaid(f.queryWords()), " ")
}

// keepsWords reports whether the data that is searched is in the shopper's own language.
func (f *filler) keepsWords() bool {
	return f.ask.lang != english && slices.Contains(f.languages, f.ask.lang)
}

// asSaid puts the shopper's own words in the place of their English meanings where the data is in the shopper's language.
func (f *filler) asSaid(words []string) []string {
	if !f.keepsWords() {
		return words
	}
	var out []string
	for _, meaning := range words {
		said := meaning
		for _, w := range slices.Concat(f.ask.words, f.context.words) {
			if slices.Contains(w.gloss, meaning) {
				said = strings.ToLower(w.raw)
				break
			}
		}
		if !slices.Contains(out, said) {
			out = append(out, said)
		}
	}
	return out
}

// rankings are orders by a number, by the superlatives that ask for them.
var rankings = map[string]struct{ attribute, order string }{
	"lightest": {"weight", "low_to_high"}, "heaviest": {"weight", "high_to_low"}, "brightest": {"brightness", "high_to_low"},
	"warmest": {"comfort temperature", "low_to_high"}, "largest": {"capacity", "high_to_low"}, "biggest": {"capacity", "high_to_low"},
	"smallest": {"capacity", "low_to_high"},
}

// ranking is the order that a superlative asks for, by a number that the tool says is recorded, or by rating.
func (f *filler) ranking() string {
	for i, w := range f.ask.words {
		if r, ok := rankings[w.norm]; ok && strings.Contains(f.recorded, r.attribute) {
			return strings.ReplaceAll(r.attribute, " ", "_") + "_" + r.order
		}
		if w.norm == "rated" && i > 0 && (f.ask.words[i-1].norm == "best" || f.ask.words[i-1].norm == "top" || f.ask.words[i-1].norm == "highest") {
			return "rating"
		}
	}
	return ""
}

// translation is the query in English, for data that is in the shopper's language and in English.
func (f *filler) translation() string {
	if !f.keepsWords() || !slices.Contains(f.languages, english) {
		return ""
	}
	return strings.Join(f.queryWords(), " ")
}

func (f *filler) queryWords() []string { return perPerson(f.ownWords()) }

// perPerson writes "tent 2 people" as goods are called: "2-person tent".
func perPerson(words []string) []string {
	var out []string
	for i, w := range words {
		n, known := numberWords[w]
		if v := number(w); v != nil {
			n, known = *v, true
		}
		switch {
		case known && i+1 < len(words) && perPersonWords[words[i+1]]:
			out = append([]string{strconv.FormatFloat(n, 'f', -1, 64) + "-person"}, out...)
		case perPersonWords[w] && len(out) > 0 && strings.HasSuffix(out[0], "-person"):
		default:
			out = append(out, w)
		}
	}
	return out
}

var perPersonWords = set("person persons people")

func (f *filler) ownWords() []string {
	_, _, bounds := priceBounds(f.ask)
	drop := append(append(slices.Clone(f.taken), bounds...), money(f.ask)...)
	words := salient(f.ask, drop)
	if !f.priced && strings.Contains(flatten(f.ask), " how much ") && !slices.Contains(words, "cost") {
		words = append(words, "cost")
	}
	if f.priced {
		if rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return priceFillers[w] || w == "range" }); len(rest) > 0 {
			words = rest
		}
	}
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

// maxReason is how many characters a reason may have.
const maxReason = 60

// reason says in one short clause why an item was chosen, by its own facts.
func (f *filler) reason() string {
	for _, key := range []string{"saving", "savings", "discount"} {
		if v := scalarField(f.chosen, key); v != "" {
			return fmt.Sprintf(phrases[f.ask.lang].saving, v)
		}
	}
	for _, key := range []string{"explanation", "reason", "why"} {
		if why := scalarField(f.chosen, key); why != "" {
			return shorten(why, maxReason)
		}
	}
	for _, key := range []string{"price", "score", "rating"} {
		if v := scalarField(f.chosen, key); v != "" {
			return humanise(key) + " " + v
		}
	}
	if title := scalarField(f.chosen, "title", "name", "code", "product_id"); title != "" {
		return shorten(title+" fits the request best", maxReason)
	}
	return "Asked: " + strings.TrimSpace(f.ask.raw)
}

// shorten keeps the words of s that fit into n characters.
func shorten(s string, n int) string {
	s = strings.TrimSpace(s)
	if len([]rune(s)) <= n {
		return s
	}
	s = plaintext.Head(s, n)
	if at := strings.LastIndexByte(s, ' '); at > 0 {
		s = s[:at]
	}
	return strings.TrimRight(s, " ,;:.(")
}

func joinNonEmpty(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
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
