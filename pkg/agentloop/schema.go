package agentloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// schema is a compiled JSON Schema of an object.
type schema struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
	leaves   map[*jsonschema.Schema]*jsonschema.Resolved // schemas inside that hold no others, to check them one by one
}

// schemaCache holds compiled schemas by reflect.Type or by text. Compiling takes 75 to 170 µs, about 5 % of the processor
// time of a turn, and callers make tools for every request.
var schemaCache = struct {
	sync.Mutex
	schemas map[any]*schema
}{schemas: make(map[any]*schema)}

// maxCachedSchemas limits the cache, because callers may make up any number of schemas.
const maxCachedSchemas = 256

// cachedSchema returns the schema of a key, compiled by the function at most once while it stays in the cache.
func cachedSchema(key any, compile func() (*schema, error)) (*schema, error) {
	schemaCache.Lock()
	defer schemaCache.Unlock()
	if s, ok := schemaCache.schemas[key]; ok {
		return s, nil
	}
	s, err := compile()
	if err != nil {
		return nil, err
	}
	if len(schemaCache.schemas) >= maxCachedSchemas {
		clear(schemaCache.schemas)
	}
	schemaCache.schemas[key] = s
	return s, nil
}

// schemaKey is the key of a derived schema in the cache.
type schemaKey struct {
	of        reflect.Type
	arguments bool
}

// schemaOf derives the schema of a type. It panics if there is none. That of arguments is as strict as any, but its text does not
// say that an object has no other properties: models read the text with each call, and write none either way.
func schemaOf(t reflect.Type, arguments bool) *schema {
	s, err := cachedSchema(schemaKey{t, arguments}, func() (*schema, error) {
		derived, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
		if err != nil {
			return nil, err
		}
		simplify(derived)
		if derived.Type == "object" && derived.Properties == nil {
			derived.Properties = map[string]*jsonschema.Schema{} // OpenAI requires the key
		}
		if arguments {
			setClosed(derived, false)
		}
		raw, err := json.Marshal(derived)
		if err != nil {
			return nil, err
		}
		if arguments {
			setClosed(derived, true)
		}
		return compileSchema(raw, derived)
	})
	if err != nil {
		panic(fmt.Sprintf("agentloop: no schema for %v: %v", t, err))
	}
	return s
}

// setClosed sets whether the objects of a schema that list properties, and say nothing of others, refuse others.
func setClosed(s *jsonschema.Schema, closed bool) {
	if s == nil {
		return
	}
	switch {
	case s.Properties == nil:
	case closed && s.AdditionalProperties == nil:
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	case !closed && isClosed(s):
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		setClosed(p, closed)
	}
	setClosed(s.Items, closed)
	setClosed(s.AdditionalProperties, closed)
}

// isClosed reports whether an object refuses properties that the schema does not list.
func isClosed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}

// openEnums removes the enums from a schema.
func openEnums(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Enum = nil
	for _, p := range s.Properties {
		openEnums(p)
	}
	openEnums(s.Items)
	openEnums(s.AdditionalProperties)
}

// parseSchema compiles a schema that is given as text. See setClosed and openEnums.
func parseSchema(raw json.RawMessage, closed, open bool) (*schema, error) {
	key := string(raw)
	if closed {
		key = "closed " + key
	}
	if open {
		key = "open " + key
	}
	return cachedSchema(key, func() (*schema, error) {
		var parsed jsonschema.Schema
		if err := json.Unmarshal(raw, &parsed); err != nil {
			return nil, err
		}
		if closed {
			setClosed(&parsed, true)
		}
		if open {
			openEnums(&parsed)
		}
		return compileSchema(bytes.Clone(raw), &parsed)
	})
}

func compileSchema(raw json.RawMessage, s *jsonschema.Schema) (*schema, error) {
	if s.Type != "object" {
		return nil, errors.New("the schema's type is not \"object\"")
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	c := &schema{raw: raw, resolved: resolved, leaves: make(map[*jsonschema.Schema]*jsonschema.Resolved)}
	c.addLeaves(s)
	return c, nil
}

// addLeaves compiles the schemas inside of s that hold no others. One that refers to others is left to the whole schema.
func (c *schema) addLeaves(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties == nil && s.Items == nil && s.AdditionalProperties == nil {
		if leaf, err := s.Resolve(nil); err == nil {
			c.leaves[s] = leaf
		}
	}
	for _, p := range s.Properties {
		c.addLeaves(p)
	}
	c.addLeaves(s.Items)
	c.addLeaves(s.AdditionalProperties)
}

// simplify removes what a derived schema says about Go instead of the arguments: that slices, maps and pointers may be
// null, that maps may have anything, and the limits of 32-bit numbers. Models write better arguments from simple types.
func simplify(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	if reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{}) {
		s.AdditionalProperties = nil
	}
	if s.Maximum != nil && *s.Maximum >= math.MaxInt32 {
		s.Maximum = nil
	}
	if s.Minimum != nil && *s.Minimum <= math.MinInt32 {
		s.Minimum = nil
	}
	for _, p := range s.Properties {
		simplify(p)
	}
	simplify(s.Items)
	simplify(s.AdditionalProperties)
}

// check parses and validates an object, and returns it in one form: keys sorted, no space. It repairs an almost-JSON object
// first, makes its values fit the schema where that is safe, and reports that it did either. A null for an optional property
// counts as leaving the property out. The error names everything that does not fit.
func (s *schema) check(raw json.RawMessage) (checked json.RawMessage, repaired bool, err error) {
	object, err := parseObject(raw)
	if err != nil {
		text, ok := repair.Object(string(raw))
		if !ok {
			return nil, false, fmt.Errorf("want a JSON object: %w", err)
		}
		if object, err = parseObject(json.RawMessage(text)); err != nil {
			return nil, false, fmt.Errorf("want a JSON object: %w", err)
		}
		repaired = true
	}
	f := fitter{leaves: s.leaves}
	f.fit(object, s.resolved.Schema(), "")
	if len(f.faults) == 0 {
		if err := s.resolved.Validate(object); err != nil {
			f.faults = []string{shortValidationError(err)}
		}
	}
	if len(f.faults) > 0 {
		return nil, false, fmt.Errorf("against the schema: %s", strings.Join(f.faults, "; "))
	}
	checked, err = json.Marshal(object)
	return checked, repaired || f.changed, err
}

// validationPath matches the start of a validation error: the path of schemas to the failure. The last one says it all.
var validationPath = regexp.MustCompile(`^(?:validating [^ :]+: )*validating ([^ :]+: )`)

// shortValidationError returns where validation failed and why: "/properties/city: type: 7 has type ...".
func shortValidationError(err error) string {
	text := strings.TrimPrefix(validationPath.ReplaceAllString(err.Error(), "$1"), "root: ")
	return strings.ReplaceAll(text, "<invalid reflect.Value>", "null")
}

// parseObject decodes exactly one JSON object.
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
		return nil, fmt.Errorf("%w in %q", err, truncate(string(raw), 100))
	}
	if value, err = convertNumbers(value); err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("got %q", truncate(string(raw), 100))
	}
	return object, nil
}

// convertNumbers replaces each json.Number: integers by int64, so that long ids keep their digits, others by float64. The
// float64 of 3.0 is written back as 3, which Go decodes into an int.
func convertNumbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is too large", truncate(v.String(), 40))
		}
		return f, nil
	case map[string]any:
		for name := range v {
			if v[name], err = convertNumbers(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = convertNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// forbidsNull reports whether a schema lists types without null.
func forbidsNull(s *jsonschema.Schema) bool {
	return s.Type != "" && s.Type != "null" || len(s.Types) > 0 && !slices.Contains(s.Types, "null")
}
