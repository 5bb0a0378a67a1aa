package agentloop_test

import (
	"context"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

type priceRange struct {
	Min float64 `json:"min,omitempty" jsonschema:"at least"`
	Max *int32  `json:"max,omitempty"`
}

type searchArgs struct {
	Query   string                  `json:"query" jsonschema:"what to look for"`
	Options map[string]string       `json:"options,omitempty"`
	IDs     []string                `json:"ids,omitempty"`
	Price   *priceRange             `json:"price,omitempty" jsonschema:"in units of the currency"`
	Ranges  []priceRange            `json:"ranges"`
	Sorted  *bool                   `json:"sorted,omitempty"`
	Since   time.Time               `json:"since,omitzero"`
	Small   uint8                   `json:"small,omitempty"`
	Nested  map[string][]priceRange `json:"nested,omitempty"`
	Two     [2]uint32               `json:"two,omitempty"`
}

// What models are told must be plain, compact, in the order of the fields, and an object with properties.
func TestSchemasAreDerived(t *testing.T) {
	cases := []struct {
		name string
		tool agentloop.Tool
		want string
	}{
		{
			"a struct", agentloop.NewTool("search", "", func(context.Context, searchArgs) (any, error) { return nil, nil }),
			`{"type":"object","properties":{` +
				`"query":{"type":"string","description":"what to look for"},` +
				`"options":{"type":"object","additionalProperties":{"type":"string"}},` +
				`"ids":{"type":"array","items":{"type":"string"}},` +
				`"price":{"type":"object","properties":{"min":{"type":"number","description":"at least"},"max":{"type":"integer"}},"description":"in units of the currency"},` +
				`"ranges":{"type":"array","items":{"type":"object","properties":{"min":{"type":"number","description":"at least"},"max":{"type":"integer"}}}},` +
				`"sorted":{"type":"boolean"},` +
				`"since":{"type":"string"},` +
				`"small":{"type":"integer","minimum":0,"maximum":255},` +
				`"nested":{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","properties":{"min":{"type":"number","description":"at least"},"max":{"type":"integer"}}}}},` +
				`"two":{"type":"array","items":{"type":"integer","minimum":0},"minItems":2,"maxItems":2}` +
				`},"required":["query","ranges"]}`,
		},
		{
			"nothing", agentloop.NewTool("now", "", func(context.Context, struct{}) (any, error) { return nil, nil }),
			`{"type":"object","properties":{}}`,
		},
		{
			"a pointer", agentloop.NewTool("now", "", func(context.Context, *priceRange) (any, error) { return nil, nil }),
			`{"type":"object","properties":{"min":{"type":"number","description":"at least"},"max":{"type":"integer"}}}`,
		},
		{
			"a map", agentloop.NewTool("any", "", func(context.Context, map[string]int) (any, error) { return nil, nil }),
			`{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(c.tool.Parameters); got != c.want {
				t.Errorf("schema\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestNewToolPanicsWithoutAnObject(t *testing.T) {
	type loop struct {
		Next *loop `json:"next"`
	}
	cases := map[string]func(){
		"text":      func() { agentloop.NewTool("a", "", func(context.Context, string) (any, error) { return nil, nil }) },
		"a list":    func() { agentloop.NewTool("a", "", func(context.Context, []int) (any, error) { return nil, nil }) },
		"recursion": func() { agentloop.NewTool("a", "", func(context.Context, loop) (any, error) { return nil, nil }) },
		"a channel": func() {
			agentloop.NewTool("a", "", func(context.Context, struct{ C chan int }) (any, error) { return nil, nil })
		},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestSchemasAreDerivedOnce(t *testing.T) {
	derive := func() agentloop.Tool {
		return agentloop.NewTool("search", "", func(context.Context, searchArgs) (any, error) { return nil, nil })
	}
	if first, second := derive(), derive(); &first.Parameters[0] != &second.Parameters[0] {
		t.Error("the schema of one type was derived twice")
	}
}
