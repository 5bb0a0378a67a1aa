package offline

import (
	"regexp"
	"slices"
	"strings"
)

// wishRE is in the name or the description of a list of what somebody wants done with a thing of theirs.
var wishRE = regexp.MustCompile(`(?i)\b(?:wants?|wishes|wished)\b`)

// possessives say that a thing is the shopper's own.
var possessives = [languages]map[string]bool{
	english: set("my our"), spanish: set("mi mis nuestro nuestra nuestros nuestras"),
	german: set("mein meine meinen meinem meiner meines unser unsere unseren unserem unserer"), french: set("mon ma mes notre nos"),
}

// wishesOf is the property of a tool that takes what is to be done with a thing, nil if it has none.
func (p *profile) wishesOf() *property {
	at := slices.IndexFunc(p.schema.Properties, isWish)
	if at < 0 {
		return nil
	}
	return &p.schema.Properties[at]
}

func isWish(p property) bool {
	return p.Type == "array" && p.Items != nil && len(p.Items.Enum) > 0 && wishRE.MatchString(p.name+" "+p.Description)
}

// asksHowItStands recognises "where is my refund?", which wants nothing done.
func asksHowItStands(t text) bool { return termsOf(t)[stem("track")] >= intentWeight }

// wish makes the calls for a clause that wants something done with one of the shopper's own things: the look-up of that
// thing, which says whether it is possible, and beside it a search in texts, which say how it goes.
func (p *planner) wish(clause text) []pick {
	for _, t := range p.tools {
		prop := t.wishesOf()
		if prop == nil || asksHowItStands(clause) {
			continue
		}
		named := named(prop.Items.Enum, clause)
		if len(named) == 0 || !p.own(t, clause) && !slices.ContainsFunc(named, func(v string) bool { return len(nameWords(v)) > 1 }) {
			continue
		}
		args, _ := p.fill(t, clause, false)
		if args == nil {
			continue
		}
		out := []pick{{t, args}}
		if also, ok := p.beside(out[0], clause); ok {
			return append(out, also)
		}
		rest := withoutIDs(clause)
		for _, s := range p.ranked(rest) {
			if args, _ := p.fill(s.tool, rest, false); s.tool.free && !s.tool.reluctant && args != nil {
				return append(out, pick{s.tool, args})
			}
		}
		return out
	}
	return nil
}

// withoutIDs is a clause without the numbers of things and without postal codes, which no text is about.
func withoutIDs(clause text) text {
	clause = readAs(postalRE.ReplaceAllString(clause.raw, ""), clause.lang)
	rest := clause.raw
	for _, id := range slices.Backward(identifiers(clause)) {
		rest = rest[:id.start] + rest[id.end:]
	}
	return readAs(rest, clause.lang)
}

// own reports whether a clause is about a thing of the shopper's that t looks up: one that is called theirs, one with an id, or
// an "it" that can mean nothing else.
func (p *planner) own(t *profile, clause text) bool {
	if slices.ContainsFunc(clause.words, func(w word) bool { return possessives[clause.lang][w.norm] }) {
		return true
	}
	f := &filler{ask: clause, now: p.c.now}
	if slices.ContainsFunc(t.schema.Properties, func(prop property) bool { return roleOf("", prop) == roleID && f.identifier(prop) != "" }) {
		return true
	}
	if !hasPronoun(clause) || len(p.c.listed) > 0 || asideTailRE.MatchString(strings.TrimRight(clause.raw, " ?!.")) {
		return false
	}
	before := p.contextOf(clause)
	return len(before.words) == 0 || t.concerns(before)
}

// named are the values that a text speaks of: those with all of their words; else those with their first word, which is a
// verb in what can be done; else single words that mean the same.
func named(values []string, t text) []string {
	speaks := termsOf(t)
	some := func(fits func(ws []string) bool) []string {
		var out []string
		for _, v := range values {
			if ws := nameWords(v); len(ws) > 0 && fits(ws) {
				out = append(out, v)
			}
		}
		return out
	}
	least := func(weight float64) func(w string) bool {
		return func(w string) bool { return speaks[stem(w)] < weight }
	}
	if out := some(func(ws []string) bool { return !slices.ContainsFunc(ws, least(intentWeight)) }); len(out) > 0 {
		return out
	}
	if out := some(func(ws []string) bool { return speaks[stem(ws[0])] >= 1 }); len(out) > 0 {
		return out
	}
	return some(func(ws []string) bool { return len(ws) == 1 && speaks[stem(ws[0])] >= synonymWeight })
}
