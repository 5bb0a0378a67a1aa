package grounding

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// subject is a thing that a tool result describes, such as a product, an order or a promotion, with the facts given of it.
type subject struct {
	id     string
	kind   string              // the JSON key of its id: only subjects of one kind are confused with each other
	name   string              // its title and id, which identify it
	words  []string            // of the name, in lower case
	facts  Set                 // of the object and those in it
	fields map[string][]string // of the object itself: the texts under each key, each once

	inherited Set // of the objects around it
}

// nameKeys are the JSON keys whose values name a subject.
var nameKeys = []string{"title", "name", "product_id", "order_id", "order_number", "number", "code", "id"}

// subjectReader collects the subjects of tool results.
type subjectReader struct {
	subjects []*subject
	common   strings.Builder // facts of no subject
}

// subjectsOf returns the subjects of tool results, and the facts that belong to none. A result that is not JSON has none.
func subjectsOf(results []result) ([]*subject, Set) {
	var r subjectReader
	for _, result := range results {
		var v any
		if json.Unmarshal([]byte(result.text), &v) != nil {
			r.common.WriteString(result.text + "\n")
			continue
		}
		r.common.WriteString(r.walk(v, "", false))
	}
	var common Set
	common.Add(Read(r.common.String(), ""))
	return r.subjects, common
}

// walk reads a JSON value, and returns its text. What an object says directly holds for the objects in it, too: the date of
// an order is that of its items.
func (r *subjectReader) walk(v any, inherited string, inSubject bool) string {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		var all strings.Builder
		for _, element := range v {
			all.WriteString(r.walk(element, inherited, inSubject))
		}
		return all.String()
	case map[string]any:
		kind, id, name := "", "", ""
		var direct, all strings.Builder
		for _, key := range nameKeys {
			if s, ok := v[key].(string); ok {
				name += s + " "
				if key != "title" && key != "name" && kind == "" {
					kind, id = key, s
				}
			}
		}
		keys := slices.Sorted(maps.Keys(v)) // so that equal results read alike
		for _, key := range keys {
			if s, ok := v[key].(string); ok {
				direct.WriteString(s + "\n")
			}
		}
		isSubject := kind != ""
		all.WriteString(direct.String())
		for _, key := range keys {
			if _, ok := v[key].(string); !ok {
				all.WriteString(r.walk(v[key], inherited+direct.String(), inSubject || isSubject))
			}
		}
		if !isSubject {
			return all.String()
		}
		r.add(kind, id, strings.TrimSpace(name), all.String(), inherited, v)
		if inSubject {
			return all.String()
		}
	}
	return ""
}

// add adds facts to the subject of a name.
func (r *subjectReader) add(kind, id, name, facts, inherited string, fields map[string]any) {
	i := slices.IndexFunc(r.subjects, func(s *subject) bool { return s.kind == kind && s.name == name })
	if i < 0 {
		i = len(r.subjects)
		r.subjects = append(r.subjects, &subject{id: id, kind: kind, name: name, words: wordsOf(name)})
	}
	r.subjects[i].facts.Add(Read(facts, ""))
	r.subjects[i].addFields(fields)
	r.subjects[i].inherited.Add(Read(inherited, ""))
}

// addFields adds the texts of an object.
func (s *subject) addFields(object map[string]any) {
	if s.fields == nil {
		s.fields = make(map[string][]string, len(object))
	}
	for key, v := range object {
		if text, ok := v.(string); ok && !slices.Contains(s.fields[key], text) {
			s.fields[key] = append(s.fields[key], text)
		}
	}
}

// Correction returns what the evidence says in the place of a contradicted claim: what the claim's subject has where the other
// subject has the claim, such as its own price. ok is false if that is not one value.
func (e *Evidence) Correction(c Claim) (value string, ok bool) {
	i := slices.IndexFunc(e.subjects, func(s *subject) bool { return s.id == c.Subject })
	if c.Verdict != Contradicted || c.Subject == "" || i < 0 || len(c.Sources) == 0 {
		return "", false
	}
	pointer := c.Sources[0].Pointer
	own := e.subjects[i].fields[pointer[strings.LastIndexByte(pointer, '/')+1:]]
	if len(own) != 1 {
		return "", false
	}
	claims := claimsOf(own[0])
	if len(claims) != 1 || claims[0].kind() != c.Kind {
		return "", false
	}
	return claims[0].text, true
}

// wordsOf returns the words of a text, each once and sorted. An id such as QT-1001 is one.
func wordsOf(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' })
	slices.Sort(words)
	return slices.Compact(words)
}

// line is a line of a text, as far as it tells what its claims are about.
type line struct {
	words []string // each once and sorted
	named *subject // nil: none, or several
}

func (l *line) subjectID() string {
	if l.named == nil {
		return ""
	}
	return l.named.id
}

// lines reads the lines of a text, each once, for the claims in them, which come in order.
type lines struct {
	text       string
	evidence   *Evidence
	start, end int // of the last line, in bytes
	last       *line
}

// at returns the line of a byte of the text.
func (l *lines) at(offset int) *line {
	if l.last != nil && l.start <= offset && offset < l.end {
		return l.last
	}
	l.start = strings.LastIndexByte(l.text[:offset], '\n') + 1
	of, _, _ := strings.Cut(l.text[l.start:], "\n")
	l.end = l.start + len(of) + 1
	l.evidence.readSubjects()
	words := wordsOf(of)
	l.last = &line{words: words, named: namedIn(words, l.evidence.subjects)}
	return l.last
}

// readSubjects reads the subjects of the evidence, once.
func (e *Evidence) readSubjects() {
	if e.hasSubjects {
		return
	}
	e.hasSubjects = true
	e.subjects, e.common = subjectsOf(e.results)
	for _, s := range e.texts {
		e.common.Add(Read(s, ""))
	}
}

// contradicts reports whether a claim that the evidence has is true of another subject than the one that its line names. It
// is sure only if the line names one subject, says nothing of that other one, and the claim follows from no other amount.
func (e *Evidence) contradicts(l *line, c claim, d *derivation) bool {
	if c.currency == "" && c.Unit != Percent && c.Unit != Date {
		return false
	}
	named, said := l.named, l.words
	if named == nil || named.facts.Has(c.Fact) || named.inherited.Has(c.Fact) || e.common.Has(c.Fact) {
		return false
	}
	isOthers := false
	for _, s := range e.subjects {
		if s == named || !s.facts.Has(c.Fact) {
			continue
		}
		if s.kind != named.kind || slices.ContainsFunc(s.words, func(w string) bool {
			return slices.Contains(said, w) && !slices.Contains(named.words, w) && strings.ContainsFunc(w, unicode.IsLetter)
		}) {
			return false
		}
		isOthers = true
	}
	if !isOthers {
		return false
	}
	rest := derivation{percentages: d.percentages, numbers: d.numbers}
	for _, a := range d.amounts {
		if !shareOne(a.values, c.values) {
			rest.amounts = append(rest.amounts, a)
		}
	}
	return !rest.yieldsAmount(e.amounts, c) && !rest.yieldsPercentage(e.amounts, c)
}

// namedIn returns the subject of which a line has more words than of any other, and two or an id, or nil.
func namedIn(said []string, subjects []*subject) *subject {
	var named *subject
	most := 1
	for _, s := range subjects {
		n := 0
		for _, w := range s.words {
			if _, found := slices.BinarySearch(said, w); found {
				n++
				if strings.ContainsFunc(w, unicode.IsLetter) && strings.ContainsFunc(w, unicode.IsDigit) {
					n++ // an id
				}
			}
		}
		switch {
		case n > most:
			named, most = s, n
		case n == most:
			named = nil
		}
	}
	return named
}
