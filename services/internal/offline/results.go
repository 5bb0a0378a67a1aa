package offline

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is what one tool call returned.
type result struct {
	tool  string
	args  any // as called
	value any // the first JSON value of the content, or its text
}

// findings are the results of a turn, in the order of the calls.
type findings struct{ results []result }

var fenceRE = regexp.MustCompile(`(?m)^\s*(?:</?[A-Za-z][^>\n]*>|` + "```" + `\w*)\s*$`)

// parseResult takes fences off a tool message and returns the first JSON value in it; text without JSON stays text.
func parseResult(s string) any {
	s = strings.TrimSpace(fenceRE.ReplaceAllString(s, ""))
	for i := 0; i < len(s); i++ {
		if s[i] != '{' && s[i] != '[' {
			continue
		}
		if v, ok := decode(s[i:]); ok {
			return v
		}
		break
	}
	if v, ok := decode(s); ok && json.Valid([]byte(s)) {
		return v
	}
	return s // "12.50 EUR" begins with a number and is none
}

// decode reads the first JSON value of s. Objects become object, so that the order of their members stays.
func decode(s string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	v, err := decodeValue(dec)
	return v, err == nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		out := object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, field{key.(string), v})
		}
		_, err = dec.Token()
		return out, err
	case json.Delim('['):
		out := []any{}
		for dec.More() {
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err = dec.Token()
		return out, err
	}
	if _, stray := tok.(json.Delim); stray {
		return nil, io.ErrUnexpectedEOF
	}
	return tok, nil
}

// scalar is the text of a JSON value that is no list and no object.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return ""
}

// scalarField returns the first of the named members that has a text.
func scalarField(o object, names ...string) string {
	for _, n := range names {
		if v, ok := o.get(n); ok {
			if s := scalar(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// singular makes a member's name comparable: "product_ids" and "productId" are both "product_id".
func singular(name string) string {
	ws := nameWords(name)
	if len(ws) == 0 {
		return ""
	}
	last := ws[len(ws)-1]
	switch {
	case strings.HasSuffix(last, "ies"):
		last = last[:len(last)-3] + "y"
	case strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && len(last) > 2:
		last = last[:len(last)-1]
	}
	ws[len(ws)-1] = last
	return strings.Join(ws, "_")
}

// candidate is a value found under a name, with the object that holds it.
type candidate struct {
	value string
	item  object
}

// named collects the values under a name, the latest result first. The id of an item in "books" counts as book_id.
func (f *findings) named(name string) []candidate {
	if f == nil {
		return nil
	}
	want := singular(name)
	var out []candidate
	for _, r := range slices.Backward(f.results) {
		collect(r.value, "", want, &out)
	}
	return out
}

func collect(v any, parent, want string, out *[]candidate) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(e, parent, want, out)
		}
	case object:
		for _, m := range v {
			key := singular(m.name)
			if key == want || parent != "" && parent+"_"+key == want {
				for _, s := range scalars(m.value) {
					*out = append(*out, candidate{s, v})
				}
				continue
			}
			collect(m.value, key, want, out)
		}
	}
}

func scalars(v any) []string {
	if list, ok := v.([]any); ok {
		var out []string
		for _, e := range list {
			if s := scalar(e); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	if s := scalar(v); s != "" {
		return []string{s}
	}
	return nil
}

// values returns the different values under a name, without items that are not eligible.
func (f *findings) values(name string) ([]any, bool) {
	var out []any
	for _, c := range f.named(name) {
		if !refused(c.item) && !slices.Contains(out, any(c.value)) {
			out = append(out, c.value)
		}
	}
	return out, len(out) > 0
}

// refused reports whether an item says of itself that it is not available.
func refused(item object) bool {
	for _, key := range []string{"eligible", "applicable", "available", "applies"} {
		if v, ok := item.get(key); ok && v == false {
			return true
		}
	}
	return false
}

// rulesOut reports whether the results say that the item with this value is not available.
func (f *findings) rulesOut(name, value string) bool {
	return slices.ContainsFunc(f.named(name), func(c candidate) bool { return strings.EqualFold(c.value, value) && refused(c.item) })
}

// best picks one value under a name: the one the question points at, else the greatest saving, else the first.
func (f *findings) best(name string, ask text) (string, object) {
	all := slices.DeleteFunc(f.named(name), func(c candidate) bool { return refused(c.item) })
	if len(all) == 0 {
		return "", nil
	}
	for _, w := range ask.words {
		if n, ok := ordinals[w.norm]; ok && n < len(all) {
			return all[n].value, all[n].item
		}
	}
	at, score := 0, 0.0
	speaks := termsOf(ask)
	for i, c := range all {
		title := bag{}
		title.addText(scalarField(c.item, "title", "name"), 1)
		s := 0.0
		for w := range title {
			if speaks[w] >= 1 {
				s++
			}
		}
		s += 0.001 * amount(scalarField(c.item, "saving", "savings")) / (1 + amount(scalarField(all[0].item, "saving", "savings")))
		if s > score {
			at, score = i, s
		}
	}
	return all[at].value, all[at].item
}

var amountRE = regexp.MustCompile(`\d+(?:[.,]\d+)?`)

// amount is the first number in s, 0 without one.
func amount(s string) float64 {
	if v := number(amountRE.FindString(s)); v != nil {
		return *v
	}
	return 0
}

// subjects are words for what the results are about: categories, else titles.
func (f *findings) subjects() []string {
	for _, name := range []string{"category", "tag", "topic", "title", "name"} {
		vals, ok := f.values(name)
		if !ok {
			continue
		}
		var out []string
		for _, v := range vals[:min(len(vals), 3)] {
			out = append(out, strings.Fields(strings.ToLower(v.(string)))...)
		}
		return out
	}
	return nil
}

// isEmpty reports whether a result holds nothing: no items in any list, or a count of none.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case object:
		lists, full := 0, 0
		for _, m := range v {
			if list, ok := m.value.([]any); ok {
				lists++
				full += len(list)
			}
			if n := singular(m.name); (n == "total" || n == "count" || n == "found") && (scalar(m.value) == "0" || m.value == false) && lists == 0 {
				return true
			}
		}
		return len(v) == 0 || lists > 0 && full == 0 && scalarField(v, "text", "answer", "status") == ""
	}
	return false
}

// failure returns the error that a result tells of, or "".
func failure(v any) string {
	switch v := v.(type) {
	case object:
		if e, ok := v.get("error"); ok && e != nil && e != false {
			if inner, ok := e.(object); ok {
				return orElse(scalarField(inner, "message", "description", "code"), string(encode(inner)))
			}
			if e == true {
				return orElse(scalarField(v, "message", "detail", "note"), "unknown error")
			}
			return scalar(e)
		}
		if scalarField(v, "status") == "error" {
			return scalarField(v, "message", "detail")
		}
	case string:
		if low := strings.ToLower(strings.TrimSpace(v)); strings.HasPrefix(low, "error") || strings.HasPrefix(low, "tool error") {
			at := strings.IndexAny(v, ":")
			return strings.TrimSpace(v[at+1:])
		}
	}
	return ""
}

// sameJSON compares two values whatever the order of their members.
func sameJSON(a, b any) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(v any) []byte {
	var plain any
	if json.Unmarshal(encode(v), &plain) != nil {
		return nil
	}
	return encode(plain)
}
