package agentloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"time"
)

// Tool is a name, a schema and a function. [NewTool] makes most tools; fill a Tool by hand if the schema is known only at
// run time.
//
// Data of the request (the caller's identity, a database) belongs in the closure of Run, never in the arguments: the model
// then cannot name another customer.
type Tool struct {
	// ToolSpec is what the model reads.
	ToolSpec
	// Effects marks a tool that changes something. Such a call never runs concurrently with other calls of its run.
	Effects bool
	// Final marks a tool whose successful call ends the run: the model is not asked again. Other calls of the same step still run.
	// The run's text is what the model wrote beside the calls, which may be nothing. After a failed call the run goes on.
	Final bool
	// OpenEnums makes the enums in Parameters proposals: the model reads them, and a call with another text is accepted.
	OpenEnums bool
	// Timeout limits one call. Zero: the loop's ToolTimeout.
	Timeout time.Duration
	// Run performs a call whose arguments fit the schema. The value is marshalled to JSON for the model; a string or
	// json.RawMessage is taken as it is. The model reads the text of an error, so an error must not hold secrets; only an error
	// of ctx itself ends the run. Run must return soon once ctx is done, because the loop waits for it. It must be safe for
	// concurrent use; with Effects only if several runs use the tool at the same time.
	Run func(ctx context.Context, call ToolCall) (any, error)

	schema *schema // of Parameters; nil until compiled for a tool filled by hand
}

// NewTool makes a tool from a function. The schema of the arguments is derived from In, a struct with json tags: a field
// with omitempty is optional, and the jsonschema tag is the field's description. Arguments are checked against the schema
// before fn runs, and those that In has no field for are refused, which the schema's text leaves out to save tokens. The schema of each In is derived once per process, so tools may be made for every request.
//
// NewTool panics if no schema can be derived from In, which is a programming error.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) Tool {
	s := schemaOf(reflect.TypeFor[In](), true)
	return Tool{
		ToolSpec: ToolSpec{Name: name, Description: description, Parameters: s.raw},
		schema:   s,
		Run: func(ctx context.Context, call ToolCall) (any, error) {
			var in In
			if err := json.Unmarshal(argumentsOf(call), &in); err != nil {
				return nil, fmt.Errorf("arguments: %w", err)
			}
			return fn(ctx, in)
		},
	}
}

// argumentsOf returns the call's arguments. No arguments at all mean an empty object.
func argumentsOf(call ToolCall) json.RawMessage {
	if call.Arguments == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(call.Arguments)
}

// toolName is what all providers accept as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// compile checks a tool and compiles its schema.
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
	if t.schema != nil && !t.OpenEnums && bytes.Equal(t.schema.raw, t.Parameters) {
		return t, nil
	}
	var err error
	narrowed := t.schema != nil // what In has no field for is refused still
	if t.schema, err = parseSchema(t.Parameters, narrowed, t.OpenEnums); err != nil {
		return t, fmt.Errorf("tool %q: parameters: %w", t.Name, err)
	}
	return t, nil
}
