package agentloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tool is a name, a schema and a function. Most tools are made by [NewTool]; a Tool filled by hand serves where the
// schema is known only at run time.
//
// Whatever the tool needs beyond the model's arguments (who is asking, which database) belongs into Run's closure,
// never into the arguments: a model can then not name another customer.
type Tool struct {
	// ToolSpec is what the model is told.
	ToolSpec
	// Effects is true for a tool that changes something. Such a call never runs beside others of its run.
	Effects bool
	// Timeout bounds one call. Zero: the loop's ToolTimeout.
	Timeout time.Duration
	// Run performs a call whose arguments have passed the schema. The value is marshalled to JSON for the model, except
	// that a string and a json.RawMessage are taken as they are. An error is told to the model in its own words, so it
	// must not hold secrets; only an error of ctx itself ends the run. Run must return soon once ctx is done, for the loop
	// waits for it, and must be safe for concurrent use; with Effects only where several runs use the tool at the same time.
	Run func(ctx context.Context, call ToolCall) (any, error)

	schema derived // of Parameters; empty until compiled for a tool filled by hand
}

// NewTool makes a tool from a function. The schema of the arguments is derived from In, a struct whose fields have
// json tags; a field with omitempty is optional, and the jsonschema tag is its description. Arguments are checked
// against the schema before fn runs. The schema of each In is derived once per process, so that tools may be made for
// every request, with closures over its data.
//
// NewTool panics if no schema can be derived from In, which is a fault in the program.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) Tool {
	d := derive(reflect.TypeFor[In]())
	return Tool{
		ToolSpec: ToolSpec{Name: name, Description: description, Parameters: d.raw},
		schema:   d,
		Run: func(ctx context.Context, call ToolCall) (any, error) {
			var in In
			if err := json.Unmarshal(argumentsOf(call), &in); err != nil {
				return nil, fmt.Errorf("arguments: %w", err)
			}
			return fn(ctx, in)
		},
	}
}

// argumentsOf returns the call's arguments, where none at all stand for an empty object.
func argumentsOf(call ToolCall) json.RawMessage {
	if call.Arguments == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(call.Arguments)
}

// derived is a schema in its forms: as sent, as checked, and as checked at a glance.
type derived struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
	shape    *shape
}

// validate returns the validator's error of a value that does not fit. The validator runs on a stack of its own: it takes
// 8 KiB, and a stack that has grown stays large for as long as the run then waits for its model.
func (d derived) validate(value any) (err error) {
	if d.shape.fits(value) {
		return nil
	}
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = d.resolved.Validate(value)
	}()
	<-done
	if panicked != nil {
		panic(panicked) // the caller's to recover, as if nothing had been apart
	}
	return err
}

// derivedByType remembers what derive has made: compiling a schema costs more than a step of the loop.
var derivedByType sync.Map // reflect.Type -> derived

func derive(t reflect.Type) derived {
	if d, ok := derivedByType.Load(t); ok {
		return d.(derived)
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		panic(fmt.Sprintf("agentloop: no schema for %v: %v", t, err))
	}
	plain(schema)
	if schema.Type != "object" {
		panic(fmt.Sprintf("agentloop: %v is not a struct or a map", t))
	}
	if schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{} // OpenAI wants the key even when there is nothing in it
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("agentloop: schema of %v: %v", t, err))
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("agentloop: schema of %v: %v", t, err))
	}
	d, _ := derivedByType.LoadOrStore(t, derived{raw: raw, resolved: resolved, shape: shapeOf(schema)})
	return d.(derived)
}

// plain takes out what a derived schema says of Go rather than of the arguments: that slices, maps and pointers may be
// null, and the bounds of 32-bit numbers. Models write better arguments from plain types.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	if s.Maximum != nil && *s.Maximum >= math.MaxInt32 {
		s.Maximum = nil
	}
	if s.Minimum != nil && *s.Minimum <= math.MinInt32 {
		s.Minimum = nil
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// toolName is what providers take for the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// compile checks a tool and prepares one that was filled by hand.
func (t Tool) compile() (Tool, error) {
	if !toolName.MatchString(t.Name) {
		return t, fmt.Errorf("tool name %q: want 1 to 64 letters, digits, '_' or '-'", t.Name)
	}
	if t.Run == nil {
		return t, fmt.Errorf("tool %q has no function", t.Name)
	}
	if t.Timeout < 0 {
		return t, fmt.Errorf("tool %q has a negative timeout", t.Name)
	}
	if t.schema.resolved != nil && bytes.Equal(t.schema.raw, t.Parameters) {
		return t, nil
	}
	schema, err := compiledSchemas.of(t.Parameters)
	if err != nil {
		return t, fmt.Errorf("tool %q: parameters: %w", t.Name, err)
	}
	t.schema = schema
	return t, nil
}

// maxSchemas bounds what is remembered of schemas that were given as text, of which there may be any number.
const maxSchemas = 256

// compiledSchemas remembers schemas that were given as text, since the same are given again and again.
var compiledSchemas = schemaCache{byText: map[string]derived{}}

// schemaCache compiles schemas. Safe for concurrent use.
type schemaCache struct {
	mu     sync.Mutex
	byText map[string]derived
}

// of returns the compiled form of a schema for objects.
func (c *schemaCache) of(raw json.RawMessage) (derived, error) {
	c.mu.Lock()
	known, ok := c.byText[string(raw)]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return derived{}, err
	}
	if schema.Type != "object" {
		return derived{}, errors.New("the schema's type is not \"object\"")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return derived{}, err
	}
	made := derived{raw: slices.Clone(raw), resolved: resolved, shape: shapeOf(&schema)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byText) >= maxSchemas {
		clear(c.byText)
	}
	c.byText[string(raw)] = made
	return made, nil
}
