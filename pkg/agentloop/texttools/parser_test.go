package texttools

import (
	"regexp"
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
	return parseWith(newParser(req, false), pieces...)
}

func parseWith(p *parser, pieces ...string) written {
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
	{"a list of calls", `<tool_call>[{"name":"a"},{"name":"b","arguments":{}}]</tool_call>`, written{"", calls("a", "", "b", "{}")}},
	{"a quote too many does not swallow the next call", `<tool_call>{"name":"a","arguments":{"q":"5" wide"}}</tool_call>and<tool_call>{"name":"b","arguments":{}}</tool_call>.`,
		written{"and.", calls("a", `{"name":"a","arguments":{"q":"5" wide"}}`, "b", "{}")}},
	{"no close tag at the end", `Wait. <tool_call>{"name":"a","arguments":{"k":1}}`, written{"Wait.", calls("a", `{"k":1}`)}},
	{"half a close tag at the end", `<tool_call>{"name":"a","arguments":{"k":1}}</tool_`, written{"", calls("a", `{"k":1}`)}},
	{"a brace too many at the end", `<tool_call>{"name":"a","arguments":{}}}`, written{"", calls("a", `{"name":"a","arguments":{}}}`)}},
	{"half a call at the end", `Well: <tool_call>{"name":"a","argum`, written{"Well:", calls("a", `{"name":"a","argum`)}},
	{"a mere number at the end", `<tool_call>4`, written{"", calls("", "4")}},
	{"the next call closes the one before", `<tool_call>{"name":"a"}<tool_call>{"name":"b"}</tool_call>`, written{"", calls("a", "", "b", "")}},
	{"an open tag twice", "<tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>", written{"", calls("b", "")}},
	{"a close tag alone is dropped", `Hm</tool_call>m`, written{"Hmm", nil}},
	{"half a tag at the end", `a <tool_cal`, written{"a ", nil}},
	{"what may be anything at the end is text", `a <too`, written{"a <too", nil}},
	{"escaped tags are text", `&lt;tool_call&gt;{"name":"a"}&lt;/tool_call&gt;`, written{`&lt;tool_call&gt;{"name":"a"}&lt;/tool_call&gt;`, nil}},
	{"tags count as they are spelled, not otherwise", `<TOOL_CALL>{"name":"a"}</ tool_call>`, written{`<TOOL_CALL>{"name":"a"}</ tool_call>`, nil}},
}

// offering offers two tools.
var offering = &agentloop.Request{
	Tools: []agentloop.ToolSpec{{Name: "find"}, {Name: "list_active_promotions"}},
	Messages: []agentloop.Message{
		{Role: agentloop.RoleUser, Text: `Say {"name":"find","arguments":{"q":"gold"}}!`},
	},
}

// recognizedCases are answers in the formats of open models. The first four are recorded.
var recognizedCases = []struct {
	name, in string
	want     written
}{
	{"bare JSON", `{"name": "list_active_promotions", "parameters": {}}`, written{"", calls("list_active_promotions", "{}")}},
	{"Hermes", "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"query\": \"lightweight trekking poles\"}}\n</tool_call>",
		written{"", calls("find", `{"query": "lightweight trekking poles"}`)}},
	{"python tag", `<|python_tag|>{"name": "find", "parameters": {"query": "camping lantern"}}`, written{"", calls("find", `{"query": "camping lantern"}`)}},
	{"JSON after text", "The time to ask for a return ended on 20 September 2026.\n\n{\"name\": \"find\", \"arguments\": {\"query\": \"lightweight trekking poles\"}}",
		written{"The time to ask for a return ended on 20 September 2026.", calls("find", `{"query": "lightweight trekking poles"}`)}},

	{"a python tag before several", `<|python_tag|>{"name":"find","parameters":{"q":1}}; {"name":"other","parameters":{}}<|eom_id|>`, written{"", calls("find", `{"q":1}`, "other", "{}")}},
	{"a python tag before code", `<|python_tag|>find.call(q="x")`, written{"", calls("find", `find.call(q="x")`)}},
	{"Mistral", `[TOOL_CALLS] [{"name": "find", "arguments": {"q": "it's [here]"}}, {"name": "other", "arguments": {}}]`, written{"", calls("find", `{"q": "it's [here]"}`, "other", "{}")}},
	{"Mistral in single quotes", `[TOOL_CALLS][{'name': 'find', 'arguments': {'q': 'x'}}]`, written{"", calls("find", `{"q":"x"}`)}},
	{"Mistral, newer", `Wait. [TOOL_CALLS]find[ARGS]{"q": "}"}[TOOL_CALLS]other[CALL_ID]abc123def[ARGS]{"a":{}}`, written{"Wait.", calls("find", `{"q": "}"}`, "other", `{"a":{}}`)}},
	{"Mistral without a mark for the arguments", `[TOOL_CALLS]find {"q":1}`, written{"", calls("find", `{"q":1}`)}},
	{"Qwen3-Coder", "<tool_call>\n<function=find>\n<parameter=q>\n12\" pan, it's\n</parameter>\n<parameter=max>\n150\n</parameter>\n</function>\n</tool_call>",
		written{"", calls("find", `{"max":"150","q":"12\" pan, it's"}`)}},
	{"Qwen3-Coder without the outer tag", "Wait.\n<function=find>\n<parameter=q>\na\nb\n</parameter>\n</function>\n</tool_call> Well.", written{"Wait.\nWell.", calls("find", `{"q":"a\nb"}`)}},
	{"function tags around JSON", `<function=find>{"q":1}</function><function=other></function>`, written{"", calls("find", `{"q":1}`, "other", "")}},
	{"GLM", "<tool_call>find\n<arg_key>q</arg_key>\n<arg_value>tea</arg_value>\n</tool_call>", written{"", calls("find", `{"q":"tea"}`)}},
	{"a code fence", "Let me look:\n```json\n{\"name\": \"find\", \"arguments\": {\"q\": 1}}\n```\nDone.", written{"Let me look:\nDone.", calls("find", `{"q": 1}`)}},
	{"backticks", "`{\"name\": \"find\"}`", written{"", calls("find", "")}},
	{"a list", `[ {"name":"find","arguments":{}} ]`, written{"", calls("find", "{}")}},
	{"one below the other", "{\"name\":\"find\",\"parameters\":{\"q\":1}}\n{\"name\":\"find\",\"parameters\":{\"q\":2}}", written{"", calls("find", `{"q":1}`, "find", `{"q":2}`)}},
	{"as in OpenAI's API", `{"tool_calls":[{"id":"x","type":"function","function":{"name":"find","arguments":"{\"q\":1}"}}]}`, written{"", calls("find", `{"q":1}`)}},
	{"a function's name", `{"type":"function","function":"find","parameters":{"q":1}}`, written{"", calls("find", `{"q":1}`)}},
	{"a brace too many", `{"name":"find","arguments":{}}} Well.`, written{"Well.", calls("find", "{}")}},
	{"malformed JSON that names a tool", `{"name":"find","arguments":{"q": Oslo}}`, written{"", calls("find", `{"name":"find","arguments":{"q": Oslo}}`)}},
	{"a tool's name deeper in JSON", `{"next":{"name":"find","arguments":{}}}`, written{"", calls("find", `["{\"next\":{\"name\":\"find\",\"arguments\":{}}}"]`)}},
	{"arguments that a user's message has", `[TOOL_CALLS]find[ARGS]{"q":"gold"}`, written{"", calls("find", `{"q":"gold"}`)}},
	{"a long mark", "[TOOL_CALLS]" + strings.Repeat(" ", maxMark) + `find{"q":1}`, written{"", calls("find", `find{"q":1}`)}},
	{"half of an element", "<function=find>\n<parameter=q>\na\n</parameter>", written{"", calls("find", "<function=find>\n<parameter=q>\na\n</parameter>")}},
	{"half of a call in GLM's format", "<tool_call>find\n<arg_key>q</arg_key>\n<arg_value>tea</arg_value>", written{"", calls("", "find\n<arg_key>q</arg_key>\n<arg_value>tea</arg_value>")}},
	{"a user's words", `You said {"name":"find","arguments":{"q":"gold"}}.`, written{"You said .", calls("find", `["{\"name\":\"find\",\"arguments\":{\"q\":\"gold\"}}"]`)}},

	{"a tool that is not offered", `Well: {"name":"search_products","parameters":{"q":"tent"}}`, written{"Well:", calls("search_products", `{"q":"tent"}`)}},
	{"the end of a message", "Three fit.<|im_end|><|endoftext|>", written{"Three fit.", nil}},

	{"JSON that names no tool", `Sizes: {"name": "Gully 3", "sizes": [41, 42]}; [{"name":"x"}].`, written{`Sizes: {"name": "Gully 3", "sizes": [41, 42]}; [{"name":"x"}].`, nil}},
	{"JSON in a code fence that names no tool", "```json\n{\"a\": 1}\n```\n", written{"```json\n{\"a\": 1}\n```\n", nil}},
	{"text with brackets", "{size} [link](https://x.example) [ ] {} [[x]] `a` ``` ```go\nx{}\n``` a<b <|x|> [TOOL", written{"{size} [link](https://x.example) [ ] {} [[x]] `a` ``` ```go\nx{}\n``` a<b <|x|> ", nil}},
}

func TestParser(t *testing.T) {
	for _, c := range parserCases {
		t.Run(c.name, func(t *testing.T) { parseInPieces(t, withTools, false, c.in, c.want) })
	}
}

// However an answer is cut into pieces, its calls are found.
func TestRecognizedFormats(t *testing.T) {
	for _, c := range recognizedCases {
		for i := range c.want.Calls {
			c.want.Calls[i].Index = -1
		}
		t.Run(c.name, func(t *testing.T) { parseInPieces(t, offering, true, c.in, c.want) })
	}
}

func parseInPieces(t *testing.T, req *agentloop.Request, any bool, in string, want written) {
	t.Helper()
	parse := func(pieces ...string) written { return parseWith(newParser(req, any), pieces...) }
	if diff := cmp.Diff(want, parse(in)); diff != "" {
		t.Fatalf("in one piece (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, parse(strings.Split(in, "")...)); diff != "" {
		t.Fatalf("by characters (-want +got):\n%s", diff)
	}
	for i := range len(in) + 1 {
		if diff := cmp.Diff(want, parse(in[:i], in[i:])); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", i, diff)
		}
	}
}

// An answer may end anywhere: at its limit of tokens, for example. Then nothing of a call is text, except fewer bytes than
// tell a call from text, and what is not complete has no arguments that could be run.
func TestNoFragmentOfACallIsText(t *testing.T) {
	for _, c := range recognizedCases {
		if len(c.want.Calls) == 0 {
			continue
		}
		for end := range c.in {
			got := parseWith(newParser(offering, true), c.in[:end])
			rest, whole := []byte(compact(got.Text)), compact(c.want.Text)
			for len(rest) > 0 && whole != "" && rest[0] == whole[0] {
				rest, whole = rest[1:], whole[1:]
			}
			if len(rest) > 4 && !strings.HasPrefix("```json", string(rest)) {
				t.Errorf("%s: %q shows %q", c.name, c.in[:end], got.Text)
			}
			for i, d := range got.Calls {
				if _, ok := repair.Object(d.Arguments); ok && (i >= len(c.want.Calls) || d.Arguments != c.want.Calls[i].Arguments) {
					t.Errorf("%s: %q is a call with %s", c.name, c.in[:end], d.Arguments)
				}
			}
		}
	}
}

func compact(text string) string { return strings.Join(strings.Fields(text), "") }

// Ordinary text goes out at once, up to what may start a call.
func TestRecognizingDoesNotStallText(t *testing.T) {
	p := newParser(offering, true)
	for _, c := range []struct{ in, want string }{
		{"Hello [", "Hello"}, {"you](x) {", " [you](x)"}, {"a} `", " {a}"}, {"b` <", " `b`"}, {"b> 3", " <b> 3"}, {"{\"a\":", ""}, {"1} z", "{\"a\":1} z"}, {"[T", ""}, {"x", "[Tx"},
	} {
		if text, calls := p.write(c.in); text != c.want || len(calls) > 0 {
			t.Errorf("write(%q) = %q, %v; want %q", c.in, text, calls, c.want)
		}
	}
}

func TestOnlyAPossibleTagIsHeldBack(t *testing.T) {
	p := newParser(withTools, false)
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

var xml = regexp.MustCompile(`<parameter=|<arg_key>|<function=`)

// FuzzParser: however a text is cut, the same comes of it; a text without tags stays as it is; ids are not used twice; what
// is not well formed has no arguments that could be run.
func FuzzParser(f *testing.F) {
	for _, c := range append(parserCases, recognizedCases...) {
		f.Add(c.in, 3, 9)
	}
	f.Add(`</tool_call>{"name&:7,"arguments":{}}</too`, 3, 9)
	f.Add("tool``````{", 3, 9)
	f.Fuzz(func(t *testing.T, in string, i, j int) {
		i = min(max(0, i), len(in))
		j = min(max(i, j), len(in))
		whole := parse(withTools, in)
		if diff := cmp.Diff(whole, parse(withTools, in[:i], in[i:j], in[j:])); diff != "" {
			t.Fatalf("%q cut at %d and %d (-whole +cut):\n%s", in, i, j, diff)
		}
		rest, ok := strings.CutPrefix(strings.ReplaceAll(in, closeTag, ""), whole.Text)
		if !strings.Contains(in, "<tool") && (len(whole.Calls) > 0 || !ok || rest != "" && !isPrefixOf(rest, openTag, closeTag)) {
			t.Fatalf("%q has no calls, got %+v", in, whole)
		}
		recognized := parseWith(newParser(offering, true), in)
		if diff := cmp.Diff(recognized, parseWith(newParser(offering, true), in[:i], in[i:j], in[j:])); diff != "" {
			t.Fatalf("%q recognized, cut at %d and %d (-whole +cut):\n%s", in, i, j, diff)
		}
		if !strings.ContainsAny(in, "<[{") && (len(recognized.Calls) > 0 || recognized.Text != in) {
			t.Fatalf("%q is no call, got %+v", in, recognized)
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
			if _, ok := repair.Object(c.Arguments); ok && !xml.MatchString(in) && !strings.Contains(in, "arguments") && !strings.Contains(in, "parameters") && !strings.Contains(in, `\u`) {
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
