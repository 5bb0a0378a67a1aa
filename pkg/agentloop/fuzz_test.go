package agentloop

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// FuzzCheck gives anything a model may write to the parsers of answers and arguments. What they let through must fit the
// type, and be in a form that they let through unchanged.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"name":"x","list":[{"n":1}],"more":{"y":null}}`, "```json\n{\"name\":\"x\"}\n```", `{"a":{"name":"x"}`, `{{{{`, `{"name":"{"}`,
		`null`, `{"name":"\ud800","n":1e400}`, `{"n":12345678901234567890,"name":""}`, `{"name":null}`, `{"list":[null]}`, ``, `{"name":"x"} {`,
	} {
		f.Add(text)
	}
	type shape struct {
		Name string                    `json:"name"`
		N    *float64                  `json:"n,omitempty"`
		List []struct{ N int8 }        `json:"list,omitempty"`
		More map[string]map[string]any `json:"more,omitempty"`
	}
	s := schemaOf(reflect.TypeFor[shape](), true)
	f.Fuzz(func(t *testing.T, text string) {
		found, work, err := findObject(t.Context(), text)
		if err != nil || work > maxFindWork(text)+len(text)+minDecode {
			t.Errorf("%d bytes of work for %d bytes of text, error %v", work, len(text), err)
		}
		if _, almost := repair.Object(text); !almost && !strings.Contains(text, string(found)) {
			t.Errorf("found %q, which is not in the text", found)
		}
		args, _, err := s.check(found)
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
		again, repaired, err := s.check(args)
		if err != nil || repaired || !bytes.Equal(args, again) {
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

// FuzzPairToolCalls checks that every call of any conversation is answered once, in order, and that pairing twice changes nothing.
func FuzzPairToolCalls(f *testing.F) {
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
		paired := pairToolCalls(messages)
		if !inOrder(paired) {
			t.Errorf("%q is not in order: %+v", text, paired)
		}
		if diff := cmp.Diff(paired, pairToolCalls(paired)); diff != "" {
			t.Errorf("%q paired twice:\n%s", text, diff)
		}
	})
}

// FuzzAccumulator puts calls together from any pieces. Nothing of what came is lost or made up, and every id is one of its own.
func FuzzAccumulator(f *testing.F) {
	f.Add([]byte("\x01\x01\x01{\x01\x00\x00}\x02\x02\x01{}"))
	f.Add([]byte("\x00\x01\x01a\x00\x00\x00b\x00\x02\x02c\x00\x01\x00d"))
	f.Add([]byte("\x01\x01\x01{\x01\x02\x01}\x01\x00\x01{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ids, names := []string{"", "a", "call_0_0"}, []string{"", "x", "y"}
		earlier := []Message{{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a"}, {ID: "call_0_1"}}}}
		a, want := newAccumulator(0, len(data)), make(map[string]int) // of each letter of the arguments, how often it came
		for ; len(data) >= 4; data = data[4:] {
			d := ToolCallDelta{
				Index: int(data[0]%4) - 1, ID: ids[data[1]%3], Name: names[data[2]%3], Arguments: string(data[3:4]),
			}
			want[d.Arguments]++
			a.addCall(d)
		}
		m := a.message(earlier)
		got, taken := make(map[string]int), map[string]bool{"": true, "a": true, "call_0_1": true}
		for _, c := range m.ToolCalls {
			if taken[c.ID] {
				t.Errorf("id %q is taken", c.ID)
			}
			taken[c.ID] = true
			for i := range len(c.Arguments) {
				got[c.Arguments[i:i+1]]++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces (-want +got):\n%s", diff)
		}
	})
}

// inOrder reports whether the answers follow their calls one for one, in the order of the calls.
func inOrder(messages []Message) bool {
	var open []ToolCall
	for _, m := range messages {
		if m.Role == RoleTool {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return false
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return false
		}
		open = m.ToolCalls
		for i := range open {
			if slices.ContainsFunc(open[:i], func(c ToolCall) bool { return c.ID == open[i].ID }) {
				return false
			}
		}
	}
	return len(open) == 0
}
