package offline

import (
	"regexp"
	"slices"
	"strings"
)

// profile is a tool as the rules see it.
type profile struct {
	name   string
	schema *schema
	bag    bag
	text   string // description, folded
	first  bool   // it asks to be called before the others
	// prepares: it needs nothing and asks to be called before something else is done with what it is about.
	prepares bool
	// reluctant tools ask to be called only in a special case.
	reluctant bool
	after     []string
	free      bool // it takes free text
	// languages are those of the data that the description says it searches. Nil: it does not say.
	languages []language
}

var dataLanguageRE = regexp.MustCompile(`(?i)\b(?:catalog|data|index|documents?) (?:is|are) in (\p{Lu}\p{L}+(?:(?:, | and )\p{Lu}\p{L}+)*)`)

// dataLanguages returns the languages that a description says its data is in.
func dataLanguages(description string) []language {
	m := dataLanguageRE.FindStringSubmatch(description)
	if m == nil {
		return nil
	}
	var out []language
	for _, name := range strings.Fields(strings.ReplaceAll(m[1], ",", "")) {
		if l, ok := languageNames[name]; ok {
			out = append(out, l)
		}
	}
	return out
}

var (
	firstRE     = regexp.MustCompile(`\b(?:(?:call|use|run|invoke|try) (?:this|it|me)(?: tool)? first|always (?:call|use|run|start)|first,? (?:call|use|run)|before (?:any|all|every|the) other|(?:start|begin) with (?:this|it))\b`)
	preparesRE  = regexp.MustCompile(`\b(?:call|use|run)\b[^.]*\bbefore\b`)
	yieldsRE    = regexp.MustCompile(`(?i)^\W*returns?\b`) // what a tool returns is no return of goods
	reluctantRE = regexp.MustCompile(`\b(?:only (?:when|if|for)|as a last resort|never (?:call|use) (?:this|it) unless)\b`)
	afterRE     = regexp.MustCompile(`\b(?:after|once|from|returned|return|result|results|first|needs|requires)\b`)
	beforeRE    = regexp.MustCompile(`\bbefore\b`)
	notForRE    = regexp.MustCompile(`(?i)\b(?:not for|do not use|don't use|never use|not to be used|instead|does not|doesn't|cannot|can not)\b`)
)

const (
	nameWeight        = 2.5
	descriptionWeight = 1.4
	propertyWeight    = 0.8
	detailWeight      = 0.5
)

// profiles reads the tools. The system prompt may say in which order to call them.
func profiles(tools []tool, system string) []*profile {
	var out []*profile
	for _, t := range tools {
		s, err := parseSchema(t.Function.Parameters)
		if err != nil {
			continue // refused by check
		}
		p := &profile{name: t.Function.Name, schema: s, bag: bag{}, text: strings.ToLower(t.Function.Description), languages: dataLanguages(t.Function.Description)}
		p.first = firstRE.MatchString(p.text)
		p.prepares = len(s.Required) == 0 && preparesRE.MatchString(p.text)
		p.reluctant = reluctantRE.MatchString(p.text)
		for _, sentence := range sentences(t.Function.Description) {
			if !notForRE.MatchString(sentence) {
				p.bag.addText(yieldsRE.ReplaceAllString(sentence, ""), descriptionWeight)
			}
		}
		p.bag.addText(strings.Join(nameWords(p.name), " "), nameWeight)
		p.addProperties(s, 0)
		out = append(out, p)
	}
	for _, p := range out {
		for _, other := range out {
			if p != other {
				order(p, other, p.text)
				for _, sentence := range sentences(strings.ToLower(system)) {
					orderBySystem(p, other, sentence)
				}
			}
		}
	}
	return out
}

func (p *profile) addProperties(s *schema, depth int) {
	for _, prop := range s.Properties {
		p.bag.addText(strings.Join(nameWords(prop.name), " "), propertyWeight)
		p.bag.addText(prop.Description, detailWeight)
		p.bag.addText(strings.Join(prop.Enum, " "), detailWeight)
		r := roleOf("", prop)
		p.free = p.free || len(prop.Enum) == 0 && prop.Type == "string" && (r == roleQuery || s.requires(prop.name) && (r == roleOther || r == roleName))
		if depth < 2 {
			p.addProperties(prop.schema, depth+1)
		}
	}
}

// order notes when p's description says that it comes after another tool, or before it.
func order(p, other *profile, description string) {
	for _, sentence := range sentences(description) {
		at := indexName(sentence, other.name)
		if at < 0 || strings.Contains(sentence, "instead") {
			continue
		}
		if beforeRE.MatchString(sentence[:at]) {
			other.needs(p.name)
		} else if afterRE.MatchString(sentence) {
			p.needs(other.name)
		}
	}
}

// orderBySystem reads "call a first", "first a, then b" and "call b after a" in a sentence of the system prompt.
func orderBySystem(p, other *profile, sentence string) {
	mine, theirs := indexName(sentence, p.name), indexName(sentence, other.name)
	if mine < 0 {
		return
	}
	if theirs < 0 {
		words := strings.Fields(sentence[:mine])
		lead := strings.Join(words[max(0, len(words)-4):], " ") + " "
		p.first = p.first || regexp.MustCompile(`\b(first|always|start|begin)\b`).MatchString(lead) || regexp.MustCompile(`^\W*(tool )?first\b`).MatchString(sentence[mine+len(p.name):])
		return
	}
	if mine > theirs {
		return // seen from the other side
	}
	between := sentence[mine+len(p.name) : theirs]
	switch {
	case regexp.MustCompile(`\bafter\b`).MatchString(between):
		p.needs(other.name)
	case regexp.MustCompile(`\b(then|before|next)\b`).MatchString(between):
		other.needs(p.name)
	}
}

// concerns reports whether t names what p is about: a noun of its name.
func (p *profile) concerns(t text) bool {
	own := bag{}
	own.addText(strings.Join(nameWords(p.name), " "), 1)
	return slices.ContainsFunc(t.words, func(w word) bool {
		return slices.ContainsFunc(w.gloss, func(g string) bool { return own[stem(g)] > 0 || isCart(g) && own[stem("cart")]+own[stem("basket")] > 0 })
	})
}

func (p *profile) needs(name string) {
	if !slices.Contains(p.after, name) {
		p.after = append(p.after, name)
	}
}

// indexName finds a tool's name as a whole word.
func indexName(s, name string) int {
	if name == "" {
		return -1
	}
	name = strings.ToLower(name)
	for from := 0; ; {
		at := strings.Index(s[from:], name)
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(name)
		if (at == 0 || !nameByte(s[at-1])) && (end == len(s) || !nameByte(s[end])) {
			return at
		}
		from = end
	}
}

func nameByte(b byte) bool {
	return b == '_' || b == '-' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
}
