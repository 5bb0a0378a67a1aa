package offline

import (
	"regexp"
	"slices"
)

var (
	thereRE     = regexp.MustCompile(` (?:there|alli|alla|ahi|dort|dorthin|la bas) `)
	existsRE    = regexp.MustCompile(` (?:is|are|was|were) there (\S)| there (?:is|are|was|were) `) // "there" as no place
	fromThereRE = regexp.MustCompile(` (?:from there|de alli|desde alli|von dort|de la bas) `)
)

// place fills a place: from the question, what it says "there" for, or what a question leans on that names none.
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
	if f.saysThere(p) {
		return f.there
	}
	if !required {
		return ""
	}
	if leansOnContext(f.ask) { // "and tomorrow?"
		for _, prepositions := range tries {
			if v, _, ok := place(f.context, prepositions); ok {
				return v
			}
		}
	}
	return f.anything(p, sole)
}

// saysThere reports whether the question means a place that was named before as the value of p.
func (f *filler) saysThere(p property) bool {
	flat := existsRE.ReplaceAllString(flatten(f.ask), " $1")
	return f.there != "" && thereRE.MatchString(flat) && fromThereRE.MatchString(flat) == (roleOf("", p) == roleFrom)
}

// placeBefore is the place that "there" means: the one that the context speaks of, else the one of the last call that had
// one. Where something goes counts before where it comes from.
func (p *planner) placeBefore(context text) string {
	for _, prepositions := range []map[string]bool{toPlace, inPlace} {
		if v, _, ok := place(context, prepositions); ok {
			return v
		}
	}
	for _, r := range slices.Backward(p.c.all().results) {
		args, _ := r.args.(object)
		t := p.find(r.tool)
		for _, want := range []role{roleTo, rolePlace} {
			for _, prop := range t.schema.Properties {
				if v := scalarField(args, prop.name); t.name == r.tool && roleOf("", prop) == want && v != "" {
					return v
				}
			}
		}
	}
	return ""
}

// postalRE finds a postal code behind its name: "zip code 6060 FI", "la code postal est 75011". Its first part has a digit.
var postalRE = regexp.MustCompile(`(?i:postal code|post ?code|zip(?: code)?|plz|postleitzahl|c[oó]digo postal|code postal)\W{0,3}(?i:(?:is|was|es|ist|lautet|est)\s+)?` +
	`([A-Za-z0-9-]*\d[A-Za-z0-9-]*(?: (?:[A-Z]{1,3}\b|\d[A-Za-z0-9]*))?)`)

// postalCode is the postal code that the question names.
func (f *filler) postalCode() string {
	m := postalRE.FindStringSubmatchIndex(f.ask.raw)
	if m == nil {
		return ""
	}
	f.take(span{m[0], m[1]})
	return f.ask.raw[m[2]:m[3]]
}
