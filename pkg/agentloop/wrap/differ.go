package wrap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// excerptBytes bounds what is shown of a text on either side of the first difference.
const excerptBytes = 80

// differ returns where two requests differ first, and what stands there; an empty place if they do not. The conversation
// comes first, since that is where a run goes another way.
func differ(a, b *agentloop.Request) (where, inA, inB string) {
	for i := range max(len(a.Messages), len(b.Messages)) {
		place := fmt.Sprintf("messages[%d]", i)
		if i >= len(a.Messages) || i >= len(b.Messages) {
			return place, describe(a.Messages, i), describe(b.Messages, i)
		}
		x, y := a.Messages[i], b.Messages[i]
		switch {
		case x.Role != y.Role:
			return place + ".role", string(x.Role), string(y.Role)
		case x.Text != y.Text:
			return place + ".text", x.Text, y.Text
		case x.ToolCallID != y.ToolCallID:
			return place + ".tool_call_id", x.ToolCallID, y.ToolCallID
		case !slices.Equal(x.ToolCalls, y.ToolCalls):
			return place + ".tool_calls", encode(x.ToolCalls), encode(y.ToolCalls)
		case x.ProviderData != y.ProviderData:
			return place + ".provider_data", x.ProviderData, y.ProviderData
		}
	}
	for i := range max(len(a.Tools), len(b.Tools)) {
		place := fmt.Sprintf("tools[%d]", i)
		if i >= len(a.Tools) || i >= len(b.Tools) || a.Tools[i].Name != b.Tools[i].Name {
			return place + ".name", nameOf(a.Tools, i), nameOf(b.Tools, i)
		}
		if x, y := encode(a.Tools[i]), encode(b.Tools[i]); x != y {
			return place, x, y
		}
	}
	return differSettings(a, b)
}

// differSettings compares what is neither messages nor tools.
func differSettings(a, b *agentloop.Request) (where, inA, inB string) {
	x, y := *a, *b
	x.Messages, x.Tools, y.Messages, y.Tools = nil, nil, nil, nil
	if inA, inB = encode(x), encode(y); inA != inB {
		return "settings", inA, inB
	}
	return "", "", ""
}

func describe(messages []agentloop.Message, i int) string {
	if i >= len(messages) {
		return "nothing"
	}
	return string(messages[i].Role) + ": " + messages[i].Text
}

func nameOf(tools []agentloop.ToolSpec, i int) string {
	if i >= len(tools) {
		return "nothing"
	}
	return tools[i].Name
}

// encode returns a value as JSON: equal for values that mean the same, whether or not they have been through a file.
func encode[T any](v T) string {
	raw, err := json.Marshal(v)
	if err != nil { // a schema that is no JSON
		return fmt.Sprintf("%+v", v)
	}
	return string(raw)
}

// around cuts two texts to what surrounds their first difference.
func around(a, b string) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return excerpt(a, at), excerpt(b, at)
}

func excerpt(s string, at int) string {
	from, to := max(0, at-excerptBytes), min(len(s), at+excerptBytes)
	cut := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(s) {
		cut += "…"
	}
	return cut
}
