package offline

import (
	"regexp"
	"slices"
	"strings"
)

// named fills an id or a code: from the question, else from what tools returned.
func (f *filler) named(p property, required bool) string {
	if v := f.pointed(p.name); v != "" {
		return v
	}
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
