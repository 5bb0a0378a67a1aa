package agentloop

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzCheck gives anything a model may write to the parsers of answers and arguments. What they let through must fit the
// type, and be in a form that they let through unchanged.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"name":"x","list":[{"n":1}],"more":{"y":null}}`, "```json\n{\"name\":\"x\"}\n```", `{"a":{"name":"x"}`, `{{{{`, `{"name":"{"}`,
		`null`, `{"name":"\ud800","n":1e400}`, `{"n":12345678901234567890,"name":""}`, `{"name":null}`, `{"list":[null]}`, ``, `{"name":"x"} {`,
	} {
		f.Add(s)
	}
	type shape struct {
		Name string                    `json:"name"`
		N    *float64                  `json:"n,omitempty"`
		List []struct{ N int8 }        `json:"list,omitempty"`
		More map[string]map[string]any `json:"more,omitempty"`
	}
	tool := Tool{schema: derive(reflect.TypeFor[shape]())}
	f.Fuzz(func(t *testing.T, text string) {
		found := findObject(text)
		if !strings.Contains(text, string(found)) {
			t.Errorf("found %q, which is not in the text", found)
		}
		args, err := tool.check(found)
		if err != nil {
			if args != nil {
				t.Errorf("arguments %s beside error %v", args, err)
			}
			return
		}
		var v shape
		if err := json.Unmarshal(args, &v); err != nil {
			t.Errorf("%s passed the check: %v", args, err)
		}
		again, err := tool.check(args)
		if err != nil || !bytes.Equal(args, again) {
			t.Errorf("%s becomes %s, error %v", args, again, err)
		}
	})
}

// FuzzCutJSON cuts JSON everywhere. What is left must be JSON, valid UTF-8 and within the limit.
func FuzzCutJSON(f *testing.F) {
	for _, s := range []string{
		`{"items":[{"title":"one, ë","n":[1,2,{"x":null}]},{"title":"two \"\\u00e9\" \\"}],"total":2}`,
		`["\\\\\\","]","}"]`, `"just text, and long"`, `{"a,b":"c:d","e":true}`, `[[[[[1,2],3],4],5],6]`, ` { "a" : [ 1 , 2 ] } `,
	} {
		for limit := range len(s) {
			f.Add(s, limit)
		}
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || limit >= len(text) || !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		got := cutJSON(text, limit)
		if got == "" {
			return
		}
		if !json.Valid([]byte(got)) || !utf8.ValidString(got) || len(got) > limit {
			t.Errorf("%q cut to %d is %q", text, limit, got)
		}
	})
}

// FuzzPaired mends any conversation so that every call is answered once, and leaves one in order alone.
func FuzzPaired(f *testing.F) {
	f.Add("uabTaTb.u")
	f.Add("TaTb.uaTaTaTb.bTa")
	f.Add("a.b.c.")
	f.Fuzz(func(t *testing.T, text string) {
		var messages []Message
		for i := 0; i < len(text); i++ {
			switch c := text[i]; c {
			case 'T':
				i++
				if i < len(text) {
					messages = append(messages, Message{Role: RoleTool, ToolCallID: text[i : i+1]})
				}
			case 'a', 'b', 'c':
				if n := len(messages); n > 0 && messages[n-1].Role == RoleAssistant {
					messages[n-1].ToolCalls = append(messages[n-1].ToolCalls, ToolCall{ID: string(c)})
					continue
				}
				messages = append(messages, Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: string(c)}}})
			default:
				messages = append(messages, Message{Role: RoleUser})
			}
		}
		mended := paired(messages)
		if !inOrder(mended) {
			t.Errorf("%q is not in order: %+v", text, mended)
		}
		if diff := cmp.Diff(mended, paired(mended)); diff != "" {
			t.Errorf("%q mended twice:\n%s", text, diff)
		}
	})
}
