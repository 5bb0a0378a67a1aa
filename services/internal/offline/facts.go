package offline

import (
	"strings"
	"unicode"
)

// humanise turns a member's name into words.
func humanise(key string) string { return strings.Join(nameWords(key), " ") }

// sentence ends s with a mark and begins it with a capital.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if !strings.ContainsAny(s[len(s)-1:], ".!?:\"") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	r := []rune(s)
	if !strings.ContainsAny(strings.SplitN(s, " ", 2)[0], "0123456789-_") {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// hidden members mean nothing to a reader.
func hidden(key string) bool {
	ws := nameWords(key)
	if len(ws) == 0 {
		return true
	}
	switch ws[len(ws)-1] {
	case "id", "ids", "sku", "slug", "handle", "score", "note", "image", "images", "thumbnail", "cursor", "error", "eligible", "tags", "category", "categories", "brand":
		return true
	}
	return false
}

// item words one entry of a list on one line: what it is called, then its facts as given.
func (w *writer) item(o object) string {
	title := titleOf(o)
	switch {
	case title == "":
		return strings.TrimSuffix(w.facts(o), ".")
	case isGoods(o) && has(o, "quantity"):
		return w.held(o)
	case isGoods(o):
		return w.goods(o)
	}
	var facts []string
	reason := ""
	for _, m := range o {
		text := w.value(m.value)
		switch {
		case text == "" || text == title || hidden(m.name) || m.name == "url" || m.name == "link":
		case m.name == "reason" || m.name == "why" || m.name == "explanation":
			reason = sentence(text)
		case (m.name == "description" || m.name == "details") && len(text) > 160:
		case m.name == "total" || m.name == "options" || m.name == "details" || m.name == "description" || m.name == "availability":
			facts = append(facts, text)
		case m.name == "stock" || m.name == "in_stock":
			facts = append(facts, w.stock(m.value))
		default:
			facts = append(facts, w.say.label(m.name)+" "+text)
		}
	}
	line := title
	if len(facts) > 0 {
		line += ": " + strings.Join(facts, "; ")
	}
	if reason != "" {
		line += ". " + reason
	}
	return strings.TrimSuffix(line, ".")
}

// value words any JSON value on one line.
func (w *writer) value(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return w.say.yes
		}
		return w.say.no
	case []any:
		var out []string
		for _, e := range v {
			if s := w.value(e); s != "" {
				out = append(out, s)
			}
			if len(out) == 12 {
				break
			}
		}
		return strings.Join(out, ", ")
	case object:
		if a, c := scalarField(v, "amount", "value"), scalarField(v, "currency", "currency_code", "unit"); a != "" && c != "" {
			return a + " " + c
		}
		if has(v, "title", "name", "label") {
			return w.item(v)
		}
		var out []string
		for _, m := range v {
			if s := w.value(m.value); s != "" && !hidden(m.name) {
				out = append(out, w.say.label(m.name)+" "+s)
			}
		}
		return strings.Join(out, ", ")
	}
	return scalar(v)
}

// facts words an object of unknown shape: "Oslo, 2026-03-05: wind light, sky clear." when it says what its facts are about,
// else as "Key: value." sentences.
func (w *writer) facts(o object) string {
	var about, facts, all []string
	for _, m := range w.telling(o) {
		name, text := w.say.label(m.name), w.value(m.value)
		if ws := nameWords(m.name); len(ws) > 0 && aboutNames[ws[len(ws)-1]] {
			about = append(about, text)
		} else {
			facts = append(facts, name+" "+text)
		}
		all = append(all, sentence(capital(name)+": "+text))
	}
	if len(about) > 0 && len(facts) > 0 {
		return sentence(strings.Join(about, ", ") + ": " + strings.Join(facts, ", "))
	}
	return strings.Join(all, " ")
}

// aboutNames end the names of members that say which place or day the others are about.
var aboutNames = set("city town place country day date")

// telling returns the members of an object that are worth reading out; ids only when there is nothing else.
func (w *writer) telling(o object) object {
	var shown, ids object
	for _, m := range o {
		switch {
		case w.value(m.value) == "" || m.name == "note" || m.name == "message" || m.name == "ok":
		case hidden(m.name):
			ids = append(ids, m)
		default:
			shown = append(shown, m)
		}
	}
	if len(shown) == 0 {
		return ids
	}
	return shown
}

func capital(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
