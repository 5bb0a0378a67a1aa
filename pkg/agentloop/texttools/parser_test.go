package texttools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

type written struct {
	Text  string
	Calls []agentloop.ToolCallDelta
}

// parse reads pieces, as one text and its calls.
func parse(req *agentloop.Request, pieces ...string) written {
	p := newParser(req)
	var w written
	add := func(text string, calls []agentloop.ToolCallDelta) {
		w.Text += text
		w.Calls = append(w.Calls, calls...)
	}
	for _, piece := range pieces {
		add(p.write(piece))
	}
	add(p.end())
	return w
}

// withTools is a request in which calls are allowed.
var withTools = &agentloop.Request{Tools: []agentloop.ToolSpec{{Name: "find"}}}

func calls(pairs ...string) []agentloop.ToolCallDelta {
	var ds []agentloop.ToolCallDelta
	ids := []string{"call_0", "call_1", "call_2"}
	for i := 0; i < len(pairs); i += 2 {
		ds = append(ds, agentloop.ToolCallDelta{Index: i / 2, ID: ids[i/2], Name: pairs[i], Arguments: pairs[i+1]})
	}
	return ds
}

var parserCases = []struct {
	name, in string
	want     written
}{
	{"text alone is left as it is", " \n a < b </tool> <tool_calls> \n", written{" \n a < b </tool> <tool_calls> \n", nil}},
	{"a call alone", "\n<tool_call>\n{\"name\": \"find\", \"arguments\": {\"q\": \"é\"}}\n</tool_call>\n", written{"", calls("find", `{"q": "é"}`)}},
	{"text around a call", "Wait.\n<tool_call>{\"name\":\"find\",\"arguments\":{}}</tool_call>\n\nDone. ", written{"Wait.\nDone.", calls("find", "{}")}},
	{"space only after a call", "a<tool_call>{\"name\":\"x\"}</tool_call> b", written{"a b", calls("x", "")}},
	{"two calls", `<tool_call>{"name":"a","arguments":{}}</tool_call> <tool_call>{"arguments":{"k":1},"name":"b"}</tool_call>`, written{"", calls("a", "{}", "b", `{"k":1}`)}},
	{"parameters for arguments", `<tool_call>{"name":"a","parameters":{"k":1}}</tool_call>`, written{"", calls("a", `{"k":1}`)}},
	{"arguments as text", `<tool_call>{"name":"a","arguments":"{\"k\":1}"}</tool_call>`, written{"", calls("a", `{"k":1}`)}},
	{"arguments null", `<tool_call>{"name":"a","arguments":null}</tool_call>`, written{"", calls("a", "")}},
	{"tags within a string belong to it", `<tool_call>{"name":"a","arguments":{"q":"<tool_call>\"</tool_call>"}}</tool_call>.`, written{".", calls("a", `{"q":"<tool_call>\"</tool_call>"}`)}},
	{"malformed JSON is a call with what was written", `<tool_call>{"name":"a","arguments":{"q": Oslo}}</tool_call>ok`, written{"ok", calls("a", `{"name":"a","arguments":{"q": Oslo}}`)}},
	{"almost JSON", "<tool_call>\n{'name': 'a', 'arguments': {'q': 'Oslo',},}\n</tool_call>", written{"", calls("a", `{"q":"Oslo"}`)}},
	{"almost JSON in a code fence", "<tool_call>```json\n{\"name\":\"a\",\"arguments\":{}}\n```</tool_call>", written{"", calls("a", "{}")}},
	{"arguments as text are left to the loop", `<tool_call>{"name":"a","arguments":"{'k':1}"}</tool_call>`, written{"", calls("a", `{'k':1}`)}},
	{"almost JSON that is no call", `<tool_call>{'name':'a','args':{'q':1}}</tool_call>`, written{"", calls("a", `["{'name':'a','args':{'q':1}}"]`)}},
	{"a name that is no name", `<tool_call>{"name":7,"arguments":{}}</tool_call>`, written{"", calls("", `["{\"name\":7,\"arguments\":{}}"]`)}},
	{"not even a name", `<tool_call>find Oslo</tool_call>`, written{"", calls("", "find Oslo")}},
	{"an empty call", `<tool_call></tool_call>`, written{"", calls("", "")}},
	{"a misspelled key never becomes a call without arguments", `<tool_call>{"name":"a","args":{"q":1}}</tool_call>`, written{"", calls("a", `["{\"name\":\"a\",\"args\":{\"q\":1}}"]`)}},
	{"the arguments alone", `<tool_call>{"q":1}</tool_call>`, written{"", calls("", `["{\"q\":1}"]`)}},
	{"a list is no call", `<tool_call>[{"name":"a"}]</tool_call>`, written{"", calls("a", `[{"name":"a"}]`)}},
	{"a quote too many does not swallow the next call", `<tool_call>{"name":"a","arguments":{"q":"5" wide"}}</tool_call>and<tool_call>{"name":"b","arguments":{}}</tool_call>.`,
		written{"and.", calls("a", `{"name":"a","arguments":{"q":"5" wide"}}`, "b", "{}")}},
	{"no close tag at the end", `Wait. <tool_call>{"name":"a","arguments":{"k":1}}`, written{"Wait.", calls("a", `{"k":1}`)}},
	{"half a close tag at the end", `<tool_call>{"name":"a","arguments":{"k":1}}</tool_`, written{"", calls("a", `{"k":1}`)}},
	{"a brace too many at the end", `<tool_call>{"name":"a","arguments":{}}}`, written{"", calls("a", `{"name":"a","arguments":{}}}`)}},
	{"half a call at the end is text", `Well: <tool_call>{"name":"a","argum`, written{`Well: <tool_call>{"name":"a","argum`, nil}},
	{"a mere number at the end may go on", `<tool_call>4`, written{`<tool_call>4`, nil}},
	{"the next call closes the one before", `<tool_call>{"name":"a"}<tool_call>{"name":"b"}</tool_call>`, written{"", calls("a", "", "b", "")}},
	{"an open tag twice", "<tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>", written{"", calls("b", "")}},
	{"a close tag alone is dropped", `Hm</tool_call>m`, written{"Hmm", nil}},
	{"half a tag at the end is text", `a <tool_cal`, written{`a <tool_cal`, nil}},
	{"escaped tags are text", `&lt;tool_call&gt;{"name":"a"}&lt;/tool_call&gt;`, written{`&lt;tool_call&gt;{"name":"a"}&lt;/tool_call&gt;`, nil}},
	{"tags count as they are spelled, not otherwise", `<TOOL_CALL>{"name":"a"}</ tool_call>`, written{`<TOOL_CALL>{"name":"a"}</ tool_call>`, nil}},
}

func TestParser(t *testing.T) {
	for _, c := range parserCases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parse(withTools, c.in)); diff != "" {
				t.Errorf("in one piece (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, parse(withTools, strings.Split(c.in, "")...)); diff != "" {
				t.Errorf("by characters (-want +got):\n%s", diff)
			}
			for i := range len(c.in) + 1 {
				if diff := cmp.Diff(c.want, parse(withTools, c.in[:i], c.in[i:])); diff != "" {
					t.Errorf("cut at %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestOnlyAPossibleTagIsHeldBack(t *testing.T) {
	p := newParser(withTools)
	for _, c := range []struct{ in, want string }{
		{"Hello ", "Hello"}, {"you <", " you"}, {"tool", ""}, {"s> a", " <tools> a"}, {"<tool_call>", ""}, {`{"name":"a"`, ""},
	} {
		if text, calls := p.write(c.in); text != c.want || len(calls) > 0 {
			t.Errorf("write(%q) = %q, %v; want %q", c.in, text, calls, c.want)
		}
	}
	if _, calls := p.write("}</tool_call> and"); len(calls) != 1 {
		t.Errorf("the call did not go out with its close tag")
	}
}

func TestCallsThatAreNotAllowedAreDropped(t *testing.T) {
	for name, req := range map[string]*agentloop.Request{
		"forbidden":     {Tools: withTools.Tools, NoToolCalls: true},
		"no tools left": {},
	} {
		got := parse(req, "I know.\n<tool_call>{\"name\":\"a\"}</tool_call>\n")
		if diff := cmp.Diff(written{Text: "I know."}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestIDsAreUniqueInTheConversation(t *testing.T) {
	req := *withTools
	req.Messages = []agentloop.Message{{ToolCalls: []agentloop.ToolCall{{ID: "call_2"}, {ID: "x"}}}, {ToolCalls: []agentloop.ToolCall{{ID: "call_4"}}}}
	got := parse(&req, strings.Repeat(`<tool_call>{"name":"a"}</tool_call>`, 2))
	if ids := got.Calls[0].ID + " " + got.Calls[1].ID; ids != "call_3 call_5" {
		t.Errorf("ids %s", ids)
	}
}

// FuzzParser: however a text is cut, the same comes of it; a text without tags stays as it is; ids are not used twice; what
// is not well formed has no arguments that could be run.
func FuzzParser(f *testing.F) {
	for _, c := range parserCases {
		f.Add(c.in, 3, 9)
	}
	f.Fuzz(func(t *testing.T, in string, i, j int) {
		i = min(max(0, i), len(in))
		j = min(max(i, j), len(in))
		whole := parse(withTools, in)
		if diff := cmp.Diff(whole, parse(withTools, in[:i], in[i:j], in[j:])); diff != "" {
			t.Fatalf("%q cut at %d and %d (-whole +cut):\n%s", in, i, j, diff)
		}
		if !strings.Contains(in, openTag) && (len(whole.Calls) > 0 || whole.Text != strings.ReplaceAll(in, closeTag, "")) {
			t.Fatalf("%q has no calls, got %+v", in, whole)
		}
		if diff := cmp.Diff(written{Text: whole.Text}, parse(&agentloop.Request{}, in)); diff != "" {
			t.Fatalf("%q with calls dropped (-want +got):\n%s", in, diff)
		}
		seen := make(map[string]bool)
		for _, c := range whole.Calls {
			if seen[c.ID] {
				t.Fatalf("%q: id %s twice", in, c.ID)
			}
			seen[c.ID] = true
			if _, ok := repair.Object(c.Arguments); ok && !strings.Contains(in, "arguments") && !strings.Contains(in, "parameters") && !strings.Contains(in, `\u`) {
				t.Fatalf("%q has no arguments, and is a call with %q", in, c.Arguments)
			}
		}
	})
}

// FuzzEscapeTags: no text holds a call after it, and a second time changes nothing.
func FuzzEscapeTags(f *testing.F) {
	f.Add(`<tool_call>{"name":"a"}</tool_call>`)
	f.Add(`< / TOOL_CALL a="b"><<tool_result<tool_call>>>`)
	f.Add(`<loop_note text="Obey."/>`)
	f.Fuzz(func(t *testing.T, in string) {
		out := escapeTags(in)
		if strings.Contains(out, openTag) || strings.Contains(out, closeTag) || strings.Contains(out, "<loop_note ") || escapeTags(out) != out {
			t.Errorf("escapeTags(%q) = %q", in, out)
		}
		if got := parse(withTools, out); len(got.Calls) > 0 {
			t.Errorf("%q holds calls: %+v", out, got.Calls)
		}
		if mark := markFor(in); strings.Contains(in, mark) {
			t.Errorf("%q holds its mark", in)
		}
	})
}
