package offline

import (
	"regexp"
	"slices"
	"strings"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// fillForm makes the JSON object that a response schema asks for.
func fillForm(c *conversation, s *schema) any {
	f := form{c: c}
	return f.value("", property{"", s}, true)
}

type form struct{ c *conversation }

// value fills one property from the question.
func (f form) value(parent string, p property, required bool) any {
	switch {
	case p.Type == "object" && len(p.Properties) > 0:
		return f.object(p.schema)
	case p.Type == "array" && p.Items != nil && p.Items.Type == "object":
		if kind, body, ok := f.classed(p.Items); ok {
			return f.assignments(p, kind, body)
		}
		return []any{f.object(p.Items)}
	case len(p.Enum) > 0:
		return f.pick(p)
	}
	fill := &filler{ask: f.c.question, context: f.c.context, found: f.c.all(), now: f.c.now, force: true, whole: true}
	if certainty(p) {
		return 0.5
	}
	if v := fill.property(parent, p, required, false); v != nil {
		return v
	}
	if !required {
		return nil
	}
	if p.Type == "string" && p.Default == nil && !p.Nullable && len(p.Enum) == 0 {
		return ""
	}
	return fill.fallback(p)
}

func (f form) object(s *schema) object {
	out := object{}
	for _, p := range s.Properties {
		if v := f.value("", p, s.requires(p.name)); v != nil {
			out = append(out, field{p.name, v})
		}
	}
	return out
}

// pick classifies the whole question.
func (f form) pick(p property) string {
	k := newClassifier(p.Enum, f.c.system, p.Description)
	v := k.classify(f.c.question)
	if v.score == 0 {
		return neutral(append(slices.Clone(p.Enum[k.other:]), p.Enum...))
	}
	return p.Enum[v.class]
}

// classed recognises items that give parts of a text to classes: a string with an enum, and one for the words. Without an
// enum, the names that the prompt lists take its place.
func (f form) classed(s *schema) (kind, body property, ok bool) {
	if names := listedNames(f.c.system, s); len(names) > 1 {
		s = withEnum(s, names)
	}
	for _, p := range s.Properties {
		switch {
		case p.Type != "string":
		case len(p.Enum) > 1 && kind.schema == nil:
			kind = p
		case len(p.Enum) == 0 && roleOf("", p) != roleReason && (body.schema == nil || roleOf("", body) != roleQuery && roleOf("", p) == roleQuery):
			body = p
		}
	}
	return kind, body, kind.schema != nil && body.schema != nil
}

// labelNames are properties that hold the name of a class.
var labelNames = set("specialist agent category label class route department team intent handler assignee queue expert service")

// withEnum returns s with names as the enum of its label property, if it has one without.
func withEnum(s *schema, names []string) *schema {
	out := *s
	out.Properties = slices.Clone(s.Properties)
	for i, p := range out.Properties {
		if p.Type == "string" && len(p.Enum) == 0 && labelNames[strings.Join(nameWords(p.name), "_")] {
			narrowed := *p.schema
			narrowed.Enum = names
			out.Properties[i].schema = &narrowed
			break
		}
	}
	return &out
}

var listedRE = regexp.MustCompile(`^\s*[-*•]\s*["'` + "`" + `*]*([\p{L}][\p{L}\p{N}_-]{1,40})["'` + "`" + `*]*\s*[:–—]`)

// listedNames returns the names of the longest list of "- name: purpose" lines in the prompt. The names of the schema's
// own properties are none.
func listedNames(system string, s *schema) []string {
	var best, current []string
	for line := range strings.Lines(system) {
		m := listedRE.FindStringSubmatch(line)
		if m == nil || slices.ContainsFunc(s.Properties, func(p property) bool { return p.name == m[1] }) {
			current = nil
			continue
		}
		if current = append(current, m[1]); len(current) > len(best) {
			best = slices.Clone(current)
		}
	}
	return best
}

func certainty(p property) bool {
	ws := nameWords(p.name)
	return p.Type == "number" && slices.ContainsFunc(ws, func(w string) bool { return set("confidence certainty probability score likelihood")[w] })
}

func (f form) assignments(p property, kind, body property) []any {
	k := newClassifier(kind.Enum, f.c.system, kind.Description+" "+p.Description)
	found := k.assign(f.c.question)
	if n := p.MaxItems; n > 0 && len(found) > n {
		for _, extra := range found[n:] {
			found[n-1].text += "; " + extra.text
		}
		found = found[:n]
	}
	out := make([]any, len(found))
	for i, a := range found {
		out[i] = f.assigned(p.Items, kind, body, a, i)
	}
	return out
}

func (f form) assigned(s *schema, kind, body property, a assignment, index int) object {
	out := object{}
	for _, p := range s.Properties {
		var v any
		switch {
		case p.name == kind.name:
			v = kind.Enum[a.class]
		case p.name == body.name:
			v = a.text
			if p.MaxLength > 0 {
				v = plaintext.Head(a.text, p.MaxLength)
			}
		case roleOf("", p) == roleReason:
			v = "nothing in it speaks for another"
			if len(a.why) > 0 {
				v = "speaks of " + strings.Join(a.why, ", ")
			}
		case certainty(p):
			v = a.confidence
		case p.Type == "integer":
			v = index + 1
		case s.requires(p.name):
			v = f.value("", p, true)
		}
		if v != nil {
			out = append(out, field{p.name, v})
		}
	}
	return out
}
