package agentloop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// fitter makes a decoded value fit a schema where the value has one possible meaning, and collects what does not fit, so
// that a model reads all faults of a call at once.
type fitter struct {
	leaves  map[*jsonschema.Schema]*jsonschema.Resolved
	changed bool
	faults  []string
}

// fit returns value as the schema wants it, or records why that is not possible.
func (f *fitter) fit(value any, s *jsonschema.Schema, path string) any {
	if s == nil {
		return value
	}
	if want := wantedType(s); want != "" && !hasType(value, want) && (value != nil || forbidsNull(s)) {
		converted, ok := f.convert(value, want, s)
		if !ok {
			f.fault(path, "got %s, want %s", show(value), describe(s, want))
			return value
		}
		value, f.changed = converted, true
	}
	switch v := value.(type) {
	case map[string]any:
		f.object(v, s, path)
		return v
	case []any:
		for i := range v {
			v[i] = f.fit(v[i], s.Items, fmt.Sprintf("%s[%d]", path, i))
		}
		return v
	case string:
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
			match, ok := only(slices.Values(s.Enum), func(e any) bool { text, ok := e.(string); return ok && fold(text) == fold(v) })
			if !ok {
				f.fault(path, "got %s, want %s", show(value), describe(s, "string"))
				return value
			}
			value, f.changed = match, true
		}
	}
	if leaf := f.leaves[s]; leaf != nil {
		if err := leaf.Validate(value); err != nil {
			f.fault(path, "%s", shortValidationError(err))
		}
	}
	return value
}

func (f *fitter) fault(path, format string, args ...any) {
	f.faults = append(f.faults, path+": "+fmt.Sprintf(format, args...))
}

// object fits the properties of an object.
func (f *fitter) object(v map[string]any, s *jsonschema.Schema, path string) {
	join := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	closed := isClosed(s)
	if s.PatternProperties == nil && (closed || s.AdditionalProperties == nil) {
		for _, given := range slices.Sorted(maps.Keys(v)) {
			if s.Properties[given] != nil {
				continue
			}
			if meant, ok := meantProperty(given, s, v); ok {
				v[meant], f.changed = v[given], true
				delete(v, given)
			} else if closed {
				f.fault(join(given), "unknown, the names are [%s]", strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
				delete(v, given)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property := s.Properties[name]
		if property == nil {
			v[name] = f.fit(v[name], s.AdditionalProperties, join(name))
			continue
		}
		optional := !slices.Contains(s.Required, name)
		if optional && v[name] == nil && forbidsNull(property) {
			delete(v, name) // leaving the property out is what models mean
			continue
		}
		before := len(f.faults)
		fitted := f.fit(v[name], property, join(name))
		if optional && len(f.faults) > before && isNothing(v[name]) {
			f.faults, f.changed = f.faults[:before], true
			delete(v, name)
			continue
		}
		v[name] = fitted
	}
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			f.fault(join(name), "missing, want %s", describe(s.Properties[name], wantedType(s.Properties[name])))
		}
	}
}

// convert returns a value of another type as a schema wants it, if only one value can be meant. Text of a number becomes a
// number only if it is one in JSON: "12,5" and "007" may mean something else.
func (f *fitter) convert(value any, want string, s *jsonschema.Schema) (any, bool) {
	if list, ok := value.([]any); ok && len(list) == 1 {
		return list[0], hasType(list[0], want)
	}
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch want {
	case "string":
		switch v := value.(type) {
		case int64:
			return strconv.FormatInt(v, 10), true
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64), true
		case bool:
			return strconv.FormatBool(v), true
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	case "number", "integer":
		if !isText || !json.Valid([]byte(text)) {
			return nil, false
		}
		number, err := convertNumbers(json.Number(text))
		return number, err == nil && hasType(number, want)
	case "object":
		if object, ok := repair.Object(text); ok && isText {
			parsed, err := parseObject(json.RawMessage(object))
			return parsed, err == nil
		}
	case "array":
		switch {
		case isText && (text == "" || isNothing(text)):
			return []any{}, text == "" // the word may be an element
		case isText && strings.HasPrefix(text, "["):
			// As the property of an object, a list goes through the same repairs.
			object, ok := repair.Object(`{"list":` + text + `}`)
			if !ok {
				return nil, false
			}
			parsed, err := parseObject(json.RawMessage(object))
			list, isList := parsed["list"].([]any)
			return list, err == nil && isList
		case value != nil:
			return []any{value}, true
		}
	}
	return nil, false
}

// meantProperty returns the property that a misspelt name stands for: the only property not given that differs in case,
// spaces, underscores and hyphens, or that has one letter more or less, as in color and colour or the plural. An exchanged
// letter does not count, because it tells height from weight.
func meantProperty(given string, s *jsonschema.Schema, v map[string]any) (string, bool) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return min(len(a), len(b)) >= 5 && oneMore(a, b) },
	} {
		meant, ok := only(maps.Keys(s.Properties), func(name string) bool {
			_, taken := v[name]
			return !taken && same(fold(given), fold(name))
		})
		if ok {
			return meant, true
		}
	}
	return "", false
}

// oneMore reports whether one text is the other with one byte more.
func oneMore(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a) != len(b)+1 {
		return false
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	return a[i+1:] == b[i:]
}

// only returns the only element that matches.
func only[T any](all func(yield func(T) bool), matches func(T) bool) (match T, ok bool) {
	n := 0
	for v := range all {
		if matches(v) {
			match = v
			n++
		}
	}
	return match, n == 1
}

// fold removes what spellings of a name differ in.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// isNothing reports whether a value is how models write that there is none.
func isNothing(value any) bool {
	text, ok := value.(string)
	return ok && slices.Contains([]string{"", "null", "none"}, strings.ToLower(strings.TrimSpace(text)))
}

// wantedType returns the only type besides null that a schema allows, or "".
func wantedType(s *jsonschema.Schema) string {
	if s == nil {
		return ""
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		return types[0]
	}
	if s.Type == "null" {
		return ""
	}
	return s.Type
}

// hasType reports whether a decoded value has a type other than null.
func hasType(value any, want string) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case int64:
		return want == "integer" || want == "number"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}

// show returns a value as the model wrote it, shortened.
func show(value any) string {
	raw, _ := json.Marshal(value) // never fails for decoded JSON
	return truncate(string(raw), 100)
}

// describe says what a schema wants.
func describe(s *jsonschema.Schema, want string) string {
	switch {
	case s != nil && len(s.Enum) > 0:
		return "one of " + show(s.Enum)
	case want == "":
		return "a value"
	case strings.ContainsRune("aeiou", rune(want[0])):
		return "an " + want
	}
	return "a " + want
}
