package agentloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// check parses and validates arguments against the tool's schema, and returns them in one form: keys sorted, no
// space. Almost-JSON is repaired first, and reported. A null for an optional property counts as leaving it out, since that
// is what models mean by it.
func (t Tool) check(raw json.RawMessage) (checked json.RawMessage, repaired bool, err error) {
	arguments, err := parseObject(raw)
	if err != nil {
		if arguments, repaired = parseRepaired(raw); !repaired {
			return nil, false, fmt.Errorf("want a JSON object: %w", err)
		}
	}
	dropNulls(arguments, t.schema.resolved.Schema())
	if err := t.schema.validate(arguments); err != nil {
		return nil, false, fmt.Errorf("against the schema: %s", faultOf(err))
	}
	checked, err = json.Marshal(arguments)
	return checked, repaired, err
}

// parseRepaired decodes what parseObject refused, if it can be read in one way.
func parseRepaired(raw json.RawMessage) (map[string]any, bool) {
	object, ok := repair.Object(string(raw))
	if !ok {
		return nil, false
	}
	arguments, err := parseObject(json.RawMessage(object))
	return arguments, err == nil
}

// validating is how the validator's errors begin: with the way to the fault, of which the last stop says all.
var validating = regexp.MustCompile(`^(?:validating [^ :]+: )*validating ([^ :]+: )`)

// faultOf says what the validator found, and where: "/properties/city: type: 7 has type ...".
func faultOf(err error) string {
	text := strings.TrimPrefix(validating.ReplaceAllString(err.Error(), "$1"), "root: ")
	return strings.ReplaceAll(text, "<invalid reflect.Value>", "null")
}

// parseObject decodes one JSON object and nothing else.
func parseObject(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	err := dec.Decode(&value)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("more text after the first value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, cut(string(raw), 100))
	}
	if value, err = numbers(value); err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("got %q", cut(string(raw), 100))
	}
	return object, nil
}

// numbers replaces each json.Number: whole ones by an int64, so that a long id keeps all its digits, others by a float64.
// The float64 of 3.0 is written back as 3, which Go decodes into an int.
func numbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is too large", cut(v.String(), 40))
		}
		return f, nil
	case map[string]any:
		for name := range v {
			if v[name], err = numbers(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// dropNulls leaves out the properties that are null though optional and not meant to be null.
func dropNulls(value any, schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, p := range v {
			s := schema.Properties[name]
			if p == nil && s != nil && typed(s) && !slices.Contains(schema.Required, name) {
				delete(v, name)
				continue
			}
			if s == nil {
				s = schema.AdditionalProperties
			}
			dropNulls(p, s)
		}
	case []any:
		for _, item := range v {
			dropNulls(item, schema.Items)
		}
	}
}

// typed reports whether a schema names types, null not among them.
func typed(s *jsonschema.Schema) bool {
	return s.Type != "" && s.Type != "null" || len(s.Types) > 0 && !slices.Contains(s.Types, "null")
}
