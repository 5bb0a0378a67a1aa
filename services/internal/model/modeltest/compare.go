package modeltest

import (
	"encoding/json"
	"reflect"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// compact compares JSON by its value: order and space are the SDKs' own.
var compact = cmp.Options{
	cmp.Comparer(func(a, b json.RawMessage) bool { return sameJSON(a, b) }),
	cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && f.Name() == "Arguments" && p.Index(-2).Type() == reflect.TypeFor[agentloop.ToolCall]()
	}, cmp.Comparer(func(a, b string) bool { return sameJSON([]byte(a), []byte(b)) })),
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 {
		return (len(a) == 0 || string(a) == "{}") && (len(b) == 0 || string(b) == "{}") // no arguments
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
