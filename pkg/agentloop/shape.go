package agentloop

import (
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is a schema of the kind that most tools have: objects, lists, texts and numbers, with bounds. It tells in a
// fraction of the validator's time, and of its stack, that a value fits. Where it can not tell, the validator is asked,
// which also says what is wrong. A nil shape can never tell. The zero value is the schema that everything fits.
type shape struct {
	types            []string // none: any
	enum             []any    // texts; nil: any
	minimum, maximum *float64
	minLength        *int
	maxLength        *int
	items            *shape // nil: any
	minItems         *int
	maxItems         *int
	properties       map[string]*shape
	others           *shape // properties that have no name; nil: any
	closed           bool   // there may be none of those
	required         []string
}

// shapeOf returns a schema's shape, or nil if the schema says more than a shape can hold.
func shapeOf(s *jsonschema.Schema) *shape {
	out := &shape{
		types: s.Types, enum: s.Enum, minimum: s.Minimum, maximum: s.Maximum, minLength: s.MinLength, maxLength: s.MaxLength,
		minItems: s.MinItems, maxItems: s.MaxItems, required: s.Required,
	}
	if s.Type != "" {
		out.types = []string{s.Type}
	}
	if !onlyShape(*s) || slices.ContainsFunc(s.Enum, func(e any) bool { _, ok := e.(string); return !ok }) {
		return nil
	}
	if s.Items != nil {
		if out.items = shapeOf(s.Items); out.items == nil {
			return nil
		}
	}
	out.closed = reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{Not: &jsonschema.Schema{}}) // as a false is kept
	if s.AdditionalProperties != nil && !out.closed {
		if out.others = shapeOf(s.AdditionalProperties); out.others == nil {
			return nil
		}
	}
	out.properties = make(map[string]*shape, len(s.Properties))
	for name, p := range s.Properties {
		if out.properties[name] = shapeOf(p); out.properties[name] == nil {
			return nil
		}
	}
	return out
}

// onlyShape reports whether a schema has nothing but what a shape holds, and what is not for checking.
func onlyShape(s jsonschema.Schema) bool {
	s.Type, s.Types, s.Enum, s.Minimum, s.Maximum, s.MinLength, s.MaxLength = "", nil, nil, nil, nil, nil, nil
	s.Items, s.MinItems, s.MaxItems, s.Properties, s.AdditionalProperties, s.Required = nil, nil, nil, nil, nil, nil
	s.Title, s.Description, s.Comment, s.Default, s.Examples, s.PropertyOrder = "", "", "", nil, nil, nil
	return reflect.DeepEqual(s, jsonschema.Schema{})
}

// fits reports whether a value certainly fits. Numbers are int64 or float64.
func (s *shape) fits(value any) bool {
	if s == nil {
		return false
	}
	if s.enum != nil && !slices.Contains(s.enum, value) {
		return false
	}
	switch v := value.(type) {
	case nil:
		return s.is("null")
	case bool:
		return s.is("boolean")
	case string:
		return s.is("string") && s.fitsText(v)
	case int64:
		return (s.is("integer") || s.is("number")) && exact(v) && s.fitsNumber(float64(v))
	case float64:
		return s.is("number") && s.fitsNumber(v)
	case []any:
		return s.is("array") && s.fitsList(v)
	case map[string]any:
		return s.is("object") && s.fitsObject(v)
	}
	return false
}

func (s *shape) is(kind string) bool { return len(s.types) == 0 || slices.Contains(s.types, kind) }

// exact reports whether a number is the same as a float64.
func exact(n int64) bool { return -1<<53 <= n && n <= 1<<53 }

func (s *shape) fitsNumber(n float64) bool {
	return (s.minimum == nil || n >= *s.minimum) && (s.maximum == nil || n <= *s.maximum)
}

func (s *shape) fitsText(text string) bool {
	if s.minLength == nil && s.maxLength == nil {
		return true
	}
	return within(utf8.RuneCountInString(text), s.minLength, s.maxLength)
}

func (s *shape) fitsList(items []any) bool {
	for _, item := range items {
		if s.items != nil && !s.items.fits(item) {
			return false
		}
	}
	return within(len(items), s.minItems, s.maxItems)
}

func (s *shape) fitsObject(object map[string]any) bool {
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		p, named := s.properties[name]
		if !named {
			p = s.others
		}
		switch {
		case !named && s.closed, p != nil && !p.fits(value):
			return false
		}
	}
	return true
}

func within(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}
