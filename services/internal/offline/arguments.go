package offline

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// filler finds the arguments of one tool call.
type filler struct {
	ask     text
	context text      // what was asked before, for a question that leans on it
	found   *findings // what tools have returned
	there   string    // the place that "there" means
	now     time.Time
	priced  bool // the tool has arguments for prices, so words for them are no part of a query
	force   bool // fill what is required in any case
	whole   bool // the schema wants the text itself, not a search query

	languages []language // of the data that is searched; nil: not known, so English
	recorded  string     // what the description of the tool's attributes says

	taken       []span // parts of ask that structured arguments have taken
	fromResults bool   // an argument came from a tool result
	chosen      object // the item that an id was taken from
	item        object // what the question points at, of what was shown before
}

// role is what a property is for, told by its name and its type.
type role int

const (
	roleOther role = iota
	roleQuery
	roleReason
	rolePriceMin
	rolePriceMax
	roleLimit
	roleSkip
	roleID
	roleCode
	roleDate
	rolePlace
	roleFrom
	roleTo
	roleContact
	rolePostal
	roleLanguage
	roleCurrency
	roleOptions
	roleSize
	roleColour
	roleName
)

var (
	queryNames  = set("query queries q search text keyword keywords term terms question topic topics prompt input phrase words needs need subject interest message request looking symptoms problem description content utterance expression ingredient ingredients")
	reasonNames = set("reason why explanation rationale justification because note comment motive")
	placeNames  = set("city location place town country region address area destination airport station venue where")
	nameNames   = set("name title author artist person brand customer actor director genre user username owner assignee")
	limitNames  = set("limit top k n max_results maximum_results results count page_size size_limit num number_of_results how_many")
	skipNames   = set("page offset cursor skip page_token verbose debug locale timezone tz format fields")
	codeNames   = set("code coupon voucher isbn sku reference ref number barcode tracking")
)

// roleOf tells what the property with this name is for. parent is the name of the object it is in, if any.
func roleOf(parent string, p property) role {
	ws := nameWords(p.name)
	if len(ws) == 0 {
		return roleOther
	}
	has := func(names map[string]bool) bool {
		return slices.ContainsFunc(ws, func(w string) bool { return names[w] })
	}
	joined, last := strings.Join(ws, "_"), ws[len(ws)-1]
	switch {
	case skipNames[joined]:
		return roleSkip
	case p.Type == "number" || p.Type == "integer":
		return numberRole(strings.Join(append(nameWords(parent), ws...), "_"), joined, p.Description)
	case p.Type == "object" && p.Values != nil && len(p.Properties) == 0:
		return roleOptions
	case p.Type == "array" && p.Items != nil && p.Items.Type == "object" && isPairSchema(p.Items):
		return roleOptions
	case has(reasonNames):
		return roleReason
	case strings.HasPrefix(p.Format, "date") || has(set("date day when departure arrival checkin checkout until deadline")):
		return roleDate
	case has(set("postal postcode zip zipcode")):
		return rolePostal
	case p.Format == "email" || p.Format == "uri" || has(set("email mail url link phone website")):
		return roleContact
	case last == "id" || last == "ids" || last == "uuid":
		return roleID
	case has(set("language lang")):
		return roleLanguage
	case has(set("currency currencies")) || strings.Contains(strings.ToLower(p.Description), "iso 4217"):
		return roleCurrency
	case ws[0] == "from" || has(set("origin source start")):
		return roleFrom
	case ws[0] == "to" || has(set("destination target end")):
		return roleTo
	case has(codeNames):
		return roleCode
	}
	return wordRole(ws, has)
}

func wordRole(ws []string, has func(map[string]bool) bool) role {
	switch {
	case has(set("size talla")):
		return roleSize
	case has(set("color colour")):
		return roleColour
	case has(placeNames):
		return rolePlace
	case has(nameNames):
		return roleName
	case has(queryNames):
		return roleQuery
	}
	return roleOther
}

// numberRole tells price bounds, limits and counts apart. full includes the name of the enclosing object.
func numberRole(full, own, description string) role {
	price := regexp.MustCompile(`price|cost|budget|spend|fare|amount`).MatchString(full) || strings.Contains(strings.ToLower(description), "price")
	switch {
	case limitNames[own]:
		return roleLimit
	case price && regexp.MustCompile(`max|upper|high|under|below|less|lte?\b|budget|to$|spend`).MatchString(full):
		return rolePriceMax
	case price && regexp.MustCompile(`min|lower|low|over|above|gte?\b|from`).MatchString(full):
		return rolePriceMin
	case skipNames[own]:
		return roleSkip
	}
	return roleOther
}

// isPairSchema recognises {"name": ..., "value": ...}.
func isPairSchema(s *schema) bool {
	if len(s.Properties) != 2 {
		return false
	}
	names := s.Properties[0].name + " " + s.Properties[1].name
	return strings.Contains(names, "value") && regexp.MustCompile(`name|key|attribute|option|property`).MatchString(names)
}

// arguments fills the schema of a tool. It reports false if a required property cannot be filled.
func (f *filler) arguments(s *schema) (object, bool) {
	f.priced = slices.ContainsFunc(s.Properties, func(p property) bool {
		r := roleOf("", p)
		return r == rolePriceMax || r == rolePriceMin
	})
	return f.members("", s)
}

// members fills the properties of an object: those with a shape of their own first, free text from what is left.
func (f *filler) members(parent string, s *schema) (object, bool) {
	values := make([]any, len(s.Properties))
	free := func(p property) bool {
		r := roleOf(parent, p)
		return len(p.Enum) == 0 && (r == roleQuery || r == roleReason || r == roleOther && (p.Type == "string" || p.Type == "array"))
	}
	for _, second := range []bool{false, true} {
		for i, p := range s.Properties {
			if free(p) == second {
				values[i] = f.property(parent, p, s.requires(p.name), len(s.Required) == 1)
			}
		}
	}
	var out object
	for i, p := range s.Properties {
		if values[i] == nil && s.requires(p.name) {
			if values[i] = f.fallback(p); values[i] == nil {
				return nil, false
			}
		}
		if values[i] != nil {
			out = append(out, field{p.name, values[i]})
		}
	}
	return out, true
}

// property returns the value for p or nil. sole says that p is the only required property.
func (f *filler) property(parent string, p property, required, sole bool) any {
	if len(p.Enum) > 0 && (p.Type == "string" || p.Type == "") {
		return f.enum(p, required)
	}
	switch p.Type {
	case "boolean":
		return f.boolean(p)
	case "number", "integer":
		return f.number(parent, p, required, sole)
	case "array":
		return f.array(p, required)
	case "object":
		if flags := exampleFlags(p); len(flags) > 0 {
			return f.flags(flags)
		}
		if roleOf(parent, p) == roleOptions {
			return f.options(p)
		}
		sub, ok := f.members(p.name, p.schema)
		if !ok || len(sub) == 0 {
			return nil
		}
		return sub
	case "string":
		if v := f.text(parent, p, required, sole); v != "" {
			if p.MaxLength > 0 {
				v = plaintext.Head(v, p.MaxLength)
			}
			return v
		}
	}
	return nil
}

// fallback fills what is required but was not said.
func (f *filler) fallback(p property) any {
	if p.Default != nil {
		return p.Default
	}
	if p.Nullable {
		return nullValue{}
	}
	switch {
	case len(p.Enum) > 0:
		return neutral(p.Enum)
	case p.Type == "boolean":
		return false
	case p.Type == "array" && f.force:
		return []any{}
	case p.Type == "object" && (f.force || len(p.Required) == 0):
		return object{}
	case !f.force:
		return nil
	case p.Type == "number" || p.Type == "integer":
		return math.Max(0, deref(p.Minimum))
	}
	if q := strings.Join(salient(f.ask, nil), " "); q != "" {
		return q
	}
	return strings.TrimSpace(f.ask.raw)
}

// nullValue is a JSON null that is a value all the same.
type nullValue struct{}

// MarshalJSON writes null.
func (nullValue) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func neutral(values []string) string {
	for _, v := range values {
		for _, w := range nameWords(v) {
			if w == "other" || w == "unknown" || w == "none" || w == "neutral" || w == "general" || w == "any" || w == "auto" || w == "relevance" {
				return v
			}
		}
	}
	return values[0]
}

var exampleFlagRE = regexp.MustCompile(`"([A-Za-z_]+)"\s*:\s*"?true\b`)

// exampleFlags returns the facts that the description of a free object gives as true in its examples.
func exampleFlags(p property) []string {
	if len(p.Properties) > 0 {
		return nil
	}
	var out []string
	for _, m := range exampleFlagRE.FindAllStringSubmatch(p.Description, -1) {
		out = append(out, m[1])
	}
	return out
}

// flags sets the facts that the question names. Its words stay in the query, where they do no harm.
func (f *filler) flags(names []string) any {
	var out object
	for i, w := range f.ask.words {
		for _, name := range names {
			if slices.Contains(w.gloss, strings.ToLower(name)) && (i == 0 || !denials[f.ask.words[i-1].norm]) {
				out = append(out, field{name, "true"})
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// take claims a part of the question for a structured argument.
func (f *filler) take(spans ...span) { f.taken = append(f.taken, spans...) }

// options fills free keys with sizes and colours.
func (f *filler) options(p property) any {
	found := slices.DeleteFunc(optionPairs(f.ask), func(o pair) bool { return covered(f.taken, word{start: o.start, end: o.end}) })
	if len(found) == 0 {
		return nil
	}
	var out object
	for _, o := range found {
		key := o.key
		if d := strings.ToLower(p.Description); key == "colour" && strings.Contains(d, "color") && !strings.Contains(d, "colour") {
			key = "color"
		}
		out = append(out, field{key, o.value})
		f.take(o.span)
	}
	if p.Type == "object" {
		return out
	}
	var list []any
	for _, o := range out {
		var item object
		for _, q := range p.Items.Properties {
			if strings.Contains(q.name, "value") {
				item = append(item, field{q.name, o.value})
			} else {
				item = append(item, field{q.name, o.name})
			}
		}
		list = append(list, item)
	}
	return list
}
