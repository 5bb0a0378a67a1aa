package grounding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// About how many bytes of a tool's result have one fact or one key of the set.
const (
	bytesPerFact = 32
	bytesPerKey  = 16
)

// Read reads all that was added, unless that was done. The first check does it otherwise.
func (e *Evidence) Read() {
	if e.isRead {
		return
	}
	e.isRead = true
	size := 0
	for _, r := range e.results {
		size += len(r.text)
	}
	e.facts, e.set = make([]Fact, 0, size/bytesPerFact), Set{make(map[key]struct{}, size/bytesPerKey)}
	e.values, e.origins, e.places = make([][]int64, 0, size/bytesPerFact), make([]int, 0, size/bytesPerFact), make([]place, 0, size/bytesPerFact)
	keys := map[string]bool{}
	for _, r := range e.results {
		if !gjson.Valid(r.text) {
			t := Read(r.text, "")
			e.add(place{callID: r.callID, text: r.text, isResult: true}, t)
			e.subjects.common.Add(t)
			e.subjects.addStatements(e.subjects.outline(r.text, nil), nil)
			continue
		}
		reading := resultReader{e, r.callID, keys}
		reading.value(gjson.Parse(r.text), "", nil)
	}
	for _, s := range e.texts {
		t := Read(s, "")
		e.add(place{text: s}, t)
		e.subjects.common.Add(t)
		for _, w := range text.Words(s) {
			if isContent(w.Text) {
				e.subjects.asked = append(e.subjects.asked, stemOf(w.Text))
			}
		}
	}
	e.limits, e.timeline = e.readLimits(), newTimeline(e.facts)
	var all strings.Builder
	all.Grow(size + len(e.results))
	for _, r := range e.results {
		all.WriteString(r.text + "\n")
	}
	for _, s := range e.texts {
		all.WriteString(s + "\n")
	}
	e.subjects.known = strings.ToLower(all.String())
	for _, s := range e.subjects.list {
		if s.kind == kindProduct && len(clausesOf(s.name, text.Words(s.name), nil)) > 1 {
			e.subjects.titles = append(e.subjects.titles, s.name)
		}
	}
	for _, s := range e.texts {
		e.subjects.addAsked(s)
	}
}

// addAsked adds the things that a person's text names, or means by a part of a name that only one has.
func (s *subjects) addAsked(raw string) {
	o := s.outline(raw, nil)
	add := func(of *subject) {
		if of != nil && !slices.Contains(s.askedFor, of) {
			s.askedFor = append(s.askedFor, of)
		}
	}
	for i, r := range o.own {
		for _, of := range r.mentioned {
			add(of)
		}
		add(o.focus[i].own())
	}
}

// add adds what the text of a place says.
func (e *Evidence) add(p place, t Text) {
	e.set.Add(t)
	if len(t.Facts) == 0 {
		return
	}
	e.facts = append(e.facts, t.Facts...)
	for _, f := range t.Facts {
		e.origins = append(e.origins, len(e.places))
		values := f.values()
		e.values = append(e.values, values)
		switch {
		case f.currency != "":
			e.amounts = append(e.amounts, claim{Fact: f, values: values})
		case f.IsNumber() && len(values) > 0 && (!p.isResult && unitOf(f) == "" || values[0]%thousand != 0): // what people write, and what looks like a price
			e.bare = append(e.bare, values...)
		}
		if !p.isResult && len(values) > 0 && (f.currency != "" || unitOf(f) != "" || f.IsNumber() && values[0]%thousand != 0) {
			e.given = append(e.given, claim{Fact: f, values: values})
		}
	}
	e.places = append(e.places, p)
}

// resultReader reads a tool's result in JSON.
type resultReader struct {
	e      *Evidence
	callID string
	keys   map[string]bool // that were read
}

// value reads a value within the object of a subject; nil: of none.
func (r resultReader) value(v gjson.Result, pointer string, of *subject) {
	switch {
	case v.IsObject():
		r.object(v, pointer, of)
	case v.IsArray():
		i := 0
		v.ForEach(func(_, element gjson.Result) bool {
			r.value(element, pointer+"/"+strconv.Itoa(i), of)
			i++
			return true
		})
	case isText(v):
		t := Read(textOf(v), proseLanguage(textOf(v), of))
		r.e.add(place{r.callID, pointer, textOf(v), true}, t)
		if of == nil && !strings.HasSuffix(pointer, "/price_range") { // its ends are prices of products
			r.e.subjects.common.Add(t)
		}
	}
}

// proseLanguage returns the language of a passage of the store's documents, which may have numbers in words, or "".
func proseLanguage(s string, of *subject) string {
	if of == nil || of.kind != kindPassage || strings.Count(s, " ") < minSpaces {
		return ""
	}
	return text.Language(s)
}

// isText reports whether a value is a string or a number.
func isText(v gjson.Result) bool { return v.Type == gjson.String || v.Type == gjson.Number }

// textOf returns a string, or a number as it stands.
func textOf(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return v.Raw
}

// pointerEscaper escapes a part of a JSON pointer.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func (r resultReader) object(v gjson.Result, pointer string, of *subject) {
	object := objectOf(v)
	kind, id, name := object.names()
	if kind != "" {
		outer := of
		of = r.e.subjects.subject(kind, id, name)
		if kind == kindItem && outer != nil && outer.kind == kindOrder {
			of.orders = append(of.orders, outer)
		}
	}
	first := len(r.e.facts)
	var details []Fact
	for _, f := range object {
		if !r.keys[f.key] {
			r.keys[f.key] = true
			r.e.set.Add(Read(f.key, ""))
		}
		before, facts := len(r.e.amounts), len(r.e.facts)
		r.value(f.value, pointer+"/"+pointerEscaper.Replace(f.key), of)
		if f.key == "details" && f.value.Type == gjson.String {
			details = r.e.facts[facts:]
		}
		if strings.HasSuffix(f.key, "subtotal") {
			r.e.carts = append(r.e.carts, r.e.amounts[before:]...)
		}
	}
	r.e.subjects.assertObject(object, of, details)
	if kind == "" {
		return
	}
	facts := r.e.facts[first:]
	of.addFields(object)
	if of.kind == kindProduct {
		for _, key := range []string{"brand", "category", "details", "options"} {
			eachText(object.get(key), func(t string) { r.e.subjects.addMarks(of, t) })
		}
	}
	of.facts.AddFacts(facts...)
	switch options := object.get("options"); {
	case !options.IsObject():
	case object.get("variant_id").Exists():
		of.variants = append(of.variants, variant{words: optionWords(options), facts: facts})
	default:
		options.ForEach(func(_, ways gjson.Result) bool {
			if ways.IsArray() && len(ways.Array()) > 1 {
				of.options = append(of.options, optionWords(ways)...)
			}
			return true
		})
	}
}

// fieldsOfObject is about how many fields an object of a tool's result has.
const fieldsOfObject = 10

// object is a JSON object in the order in which it is written.
type object []field

type field struct {
	key   string
	value gjson.Result
}

func objectOf(v gjson.Result) object {
	out := make(object, 0, fieldsOfObject)
	v.ForEach(func(key, value gjson.Result) bool {
		out = append(out, field{key.Str, value})
		return true
	})
	return out
}

// get returns the value of a key, which does not exist if there is none.
func (o object) get(key string) gjson.Result {
	for _, f := range o {
		if f.key == key {
			return f.value
		}
	}
	return gjson.Result{}
}

// names returns what names the object, if anything does: the kind and the id of its subject, and its name.
func (o object) names() (kind, id, name string) {
	var names []string
	for _, key := range nameKeys {
		v := o.get(key)
		if v.Type != gjson.String || key == "policy" && len(names) > 0 { // a section names a passage better than its policy
			continue
		}
		names = append(names, v.Str)
		if kindOf[key] != "" && kind == "" {
			kind, id = kindOf[key], v.Str
		}
	}
	name = strings.Join(names, " ")
	title := o.get("title").Str
	switch {
	case kind == kindCode, kind == kindOrder:
		name = id
	case kind == kindProduct && title != "":
		name = title
	case kind == "" && title != "" && o.get("price").Exists(): // an item of an order
		kind, id, name = kindItem, title, title
	}
	return kind, id, strings.TrimSpace(name)
}

// addFields adds the texts of an object.
func (s *subject) addFields(o object) {
	if s.fields == nil {
		s.fields = make(map[string][]string, len(o))
	}
	for _, f := range o {
		if f.value.Type == gjson.String && !slices.Contains(s.fields[f.key], f.value.Str) {
			s.fields[f.key] = append(s.fields[f.key], f.value.Str)
		}
	}
}

// eachText calls do with the strings and numbers of a value.
func eachText(v gjson.Result, do func(string)) {
	if isText(v) {
		do(textOf(v))
		return
	}
	v.ForEach(func(_, value gjson.Result) bool { // of null, true and false, it calls nothing
		if value.IsObject() || value.IsArray() || isText(value) {
			eachText(value, do)
		}
		return true
	})
}

// optionWords returns the folded words of the options of a variant.
func optionWords(options gjson.Result) []string {
	var out []string
	eachText(options, func(t string) { out = append(out, foldedWords(t)...) })
	return out
}

// assertObject adds what the fields of an object assert of its subject. details are the facts of the field of that name.
func (s *subjects) assertObject(o object, of *subject, details []Fact) {
	var about []*subject
	if of != nil {
		about = []*subject{of}
		if stock := o.get("stock"); stock.Type == gjson.Number {
			var options []string
			if o := o.get("options"); o.IsObject() {
				options = optionWords(o)
			}
			s.assertions = append(s.assertions, assertion{topic: "stock", denied: stock.Raw == "0", about: about, qualifiers: options})
			of.stocks = append(of.stocks, variantStock{options, stock.Int()})
		}
		if eligible := o.get("eligible"); eligible.IsBool() {
			s.assertions = append(s.assertions, assertion{topic: "apply", denied: !eligible.Bool(), about: about, isField: true})
		}
		s.assertStatus(o.get("status").Str, about)
		s.assertAttributes(o.get("details").Str, about)
		s.addUnits(o.get("details").Str, details)
	}
	for _, f := range o {
		if _, isName := kindOf[f.key]; of == nil || f.key != "details" && f.key != "status" && !isName { // a title states nothing
			s.addTexts(f.value, about)
		}
	}
}

// minSpaces is how many spaces a string has that says something.
const minSpaces = 3

// addTexts adds what a string says, or those of an array.
func (s *subjects) addTexts(v gjson.Result, about []*subject) {
	switch {
	case v.Type == gjson.String:
		if strings.Count(v.Str, " ") >= minSpaces {
			s.addStatements(s.outline(v.Str, nil), about)
		}
	case v.IsArray():
		v.ForEach(func(_, element gjson.Result) bool {
			if !element.IsObject() {
				s.addTexts(element, about)
			}
			return true
		})
	}
}
