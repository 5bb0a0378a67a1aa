package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the rules fill.
type schema struct {
	Type        string
	Nullable    bool
	Title       string
	Description string
	Enum        []string
	Properties  []property
	Required    []string
	Items       *schema
	// Values describes the values of an object with free keys; nil when the keys are fixed.
	Values  *schema
	Format  string
	Pattern string
	Default any
	Minimum *float64
	Maximum *float64
	// MaxItems and MaxLength are 0 when unlimited.
	MaxItems, MaxLength int
}

type property struct {
	name string
	*schema
}

func (s *schema) requires(name string) bool { return slices.Contains(s.Required, name) }

type rawSchema struct {
	Type                 json.RawMessage            `json:"type"`
	Title                string                     `json:"title"`
	Description          string                     `json:"description"`
	Enum                 []any                      `json:"enum"`
	Const                any                        `json:"const"`
	Properties           json.RawMessage            `json:"properties"`
	Required             []string                   `json:"required"`
	Items                json.RawMessage            `json:"items"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	OneOf                []json.RawMessage          `json:"oneOf"`
	AllOf                []json.RawMessage          `json:"allOf"`
	Ref                  string                     `json:"$ref"`
	Defs                 map[string]json.RawMessage `json:"$defs"`
	Definitions          map[string]json.RawMessage `json:"definitions"`
	Format               string                     `json:"format"`
	Pattern              string                     `json:"pattern"`
	Default              any                        `json:"default"`
	Minimum              *float64                   `json:"minimum"`
	Maximum              *float64                   `json:"maximum"`
	MaxItems             int                        `json:"maxItems"`
	MaxLength            int                        `json:"maxLength"`
}

// Bounds for schemas that refer to themselves.
const (
	maxSchemaDepth = 12
	maxSchemaNodes = 4000
)

// parseSchema reads a schema; no schema at all is an object without properties.
func parseSchema(raw json.RawMessage) (*schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		return &schema{Type: "object"}, nil
	}
	left := maxSchemaNodes
	p := schemaParser{defs: map[string]json.RawMessage{}, left: &left}
	return p.parse(raw, 0)
}

type schemaParser struct {
	defs map[string]json.RawMessage
	left *int
}

func (p schemaParser) parse(data json.RawMessage, depth int) (*schema, error) {
	if *p.left--; depth > maxSchemaDepth || *p.left < 0 {
		return &schema{Type: "string"}, nil
	}
	data = bytes.TrimSpace(data)
	if string(data) == "true" || string(data) == "false" {
		return &schema{}, nil
	}
	var raw rawSchema
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	for name, def := range raw.Defs {
		p.defs["#/$defs/"+name] = def
	}
	for name, def := range raw.Definitions {
		p.defs["#/definitions/"+name] = def
	}
	base, err := p.variant(raw, depth)
	if err != nil {
		return nil, err
	}
	if err := p.fill(base, raw, depth); err != nil {
		return nil, err
	}
	return base, nil
}

// variant resolves a reference, or picks the first choice that is not null.
func (p schemaParser) variant(raw rawSchema, depth int) (*schema, error) {
	if def, ok := p.defs[raw.Ref]; ok && raw.Ref != "" {
		return p.parse(def, depth+1)
	}
	out, nullable := &schema{}, false
	choices := append(append(slices.Clone(raw.AnyOf), raw.OneOf...), raw.AllOf...)
	for _, c := range choices {
		s, err := p.parse(c, depth+1)
		if err != nil {
			return nil, err
		}
		if s.Type == "null" {
			nullable = true
			continue
		}
		if out.Type == "" {
			out = s
		}
	}
	out.Nullable = out.Nullable || nullable
	return out, nil
}

func (p schemaParser) fill(s *schema, raw rawSchema, depth int) error {
	readType(s, raw.Type)
	if raw.Const != nil {
		raw.Enum = []any{raw.Const}
	}
	for _, e := range raw.Enum {
		if text, ok := e.(string); ok {
			s.Enum = append(s.Enum, text)
		}
	}
	s.Title = orElse(raw.Title, s.Title)
	s.Description = orElse(raw.Description, s.Description)
	s.Format = orElse(raw.Format, s.Format)
	s.Pattern = orElse(raw.Pattern, s.Pattern)
	s.Required = append(s.Required, raw.Required...)
	s.MaxItems, s.MaxLength = max(s.MaxItems, raw.MaxItems), max(s.MaxLength, raw.MaxLength)
	if raw.Default != nil {
		s.Default = raw.Default
	}
	if raw.Minimum != nil {
		s.Minimum = raw.Minimum
	}
	if raw.Maximum != nil {
		s.Maximum = raw.Maximum
	}
	if err := p.children(s, raw, depth); err != nil {
		return err
	}
	s.Type = orElse(s.Type, guessType(s))
	return nil
}

func (p schemaParser) children(s *schema, raw rawSchema, depth int) (err error) {
	if len(raw.Items) > 0 {
		if s.Items, err = p.parse(raw.Items, depth+1); err != nil {
			return err
		}
	}
	extra := raw.AdditionalProperties
	if len(extra) == 0 && raw.Properties == nil && s.Type == "object" {
		extra = json.RawMessage("true") // an object whose properties are not named takes any
	}
	if said := strings.TrimSpace(string(extra)); said != "" && said != "false" {
		if s.Values, err = p.parse(extra, depth+1); err != nil {
			return err
		}
	}
	if len(raw.Properties) == 0 {
		return nil
	}
	names, err := memberNames(raw.Properties)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw.Properties, &members); err != nil {
		return fmt.Errorf("parse properties: %w", err)
	}
	for _, name := range names {
		sub, err := p.parse(members[name], depth+1)
		if err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		s.Properties = append(s.Properties, property{name, sub})
	}
	return nil
}

// readType takes "string" as well as ["string", "null"].
func readType(s *schema, raw json.RawMessage) {
	var names []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		names = []string{one}
	} else if json.Unmarshal(raw, &names) != nil {
		return
	}
	for _, n := range names {
		if n == "null" && len(names) > 1 {
			s.Nullable = true
		} else {
			s.Type = n
		}
	}
}

func guessType(s *schema) string {
	switch {
	case len(s.Properties) > 0 || s.Values != nil:
		return "object"
	case s.Items != nil:
		return "array"
	}
	return "string"
}

// memberNames returns the names of a JSON object in the order they are written.
func memberNames(raw json.RawMessage) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("want an object, got %.20q", raw)
	}
	var names []string
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read member name: %w", err)
		}
		name, _ := tok.(string)
		names = append(names, name)
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, fmt.Errorf("read member %q: %w", name, err)
		}
	}
	return names, nil
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
