package wrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type parts struct{ Text, Reasoning string }

func split(cfg ReasoningConfig, pieces ...string) parts {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	s := newSplitter(cfg)
	var p parts
	add := func(text, reasoning string) { p.Text += text; p.Reasoning += reasoning }
	for _, piece := range pieces {
		add(s.write(piece))
	}
	add(s.end())
	return p
}

var long = strings.Repeat("x", maxTagBytes)

var splitterCases = []struct {
	name string
	cfg  ReasoningConfig
	in   string
	want parts
}{
	{"no reasoning", ReasoningConfig{}, " \n a < b ", parts{" \n a < b ", ""}},
	{"a pair of tags", ReasoningConfig{}, "<think>\nhm\n</think>\n\nYes. ", parts{"Yes. ", "\nhm\n"}},
	{"other names, any case", ReasoningConfig{}, "<THINKING>a</Thinking><thought>b</THOUGHT><Reasoning>c</reasoning>d", parts{"d", "abc"}},
	{"attributes", ReasoningConfig{}, `<think effort="high" n=1>a</think >b`, parts{"b", "a"}},
	{"empty thoughts", ReasoningConfig{}, "<think></think>a<think/>b<think x />c", parts{"abc", ""}},
	{"in the middle", ReasoningConfig{}, "One <think>a</think> two", parts{"One  two", "a"}},
	{"unicode space before the answer", ReasoningConfig{}, "\u3000<think>a</think>\u00a0\u3000é", parts{"é", "a"}},
	{"not closed", ReasoningConfig{}, "Yes. <think>a </thin", parts{"Yes. ", "a </thin"}},
	{"closed by its own name only", ReasoningConfig{}, "<thinking>a</think>b</thinking>c", parts{"c", "a</think>b"}},
	{"no nesting", ReasoningConfig{}, "<think>a<think>b</think>c", parts{"c", "a<think>b"}},
	{"a stray close tag is dropped", ReasoningConfig{}, "<think>a</think>b</think>c", parts{"bc", "a"}},
	{"a close tag alone", ReasoningConfig{}, "\nHm, so.\n</think>\n\nYes.", parts{"Yes.", "\nHm, so.\n"}},
	{"a close tag first", ReasoningConfig{}, "</think>Yes.", parts{"Yes.", ""}},
	{"a close tag after just so much", ReasoningConfig{Hold: 4}, "abcd</think>e", parts{"e", "abcd"}},
	{"a close tag after too much", ReasoningConfig{Hold: 4}, "abcde</think>f", parts{"abcdef", ""}},
	{"opened by the template", ReasoningConfig{CloseOnly: true}, "a <b> </ think> </think>\nb</think>c", parts{"bc", "a <b> </ think> "}},
	{"opened by the template, and once more", ReasoningConfig{CloseOnly: true}, "\n<think>\na<think></think>b", parts{"b", "\n\na<think>"}},
	{"opened by the template, and no more once it thinks", ReasoningConfig{CloseOnly: true}, "\u3000<think>a</think>b", parts{"b", "\u3000<think>a"}},
	{"opened by the template, never closed", ReasoningConfig{CloseOnly: true}, "a", parts{"", "a"}},
	{"an answer of space", ReasoningConfig{}, "<think>a</think> \n", parts{"", "a"}},
	{"tags count in code", ReasoningConfig{}, "```\n<think>\n```\nmore", parts{"```\n", "\n```\nmore"}},
	{"what only looks like a tag", ReasoningConfig{}, "<thinker> <th> < think> </think x> <think <a> <think/ <thinkä>", parts{"<thinker> <th> < think> </think x> <think <a> <think/ <thinkä>", ""}},
	{"a tag of the greatest length", ReasoningConfig{}, "<think " + long[:maxTagBytes-8] + ">a", parts{"", "a"}},
	{"a tag that is too long", ReasoningConfig{}, "<think " + long + ">a", parts{"<think " + long + ">a", ""}},
	{"a tag that never ends", ReasoningConfig{}, "<think " + long, parts{"<think " + long, ""}},
	{"half a tag at the end", ReasoningConfig{}, "a </thi", parts{"a </thi", ""}},
	{"half a character at the end", ReasoningConfig{}, "<think>a</think> \xe3\x80", parts{"\xe3\x80", "a"}},
}

func TestSplitter(t *testing.T) {
	for _, c := range splitterCases {
		t.Run(c.name, func(t *testing.T) {
			if got := split(c.cfg, c.in); got != c.want {
				t.Errorf("in one piece (-want +got):\n%s", cmp.Diff(c.want, got))
			}
			bytes := make([]string, len(c.in))
			for i := range c.in {
				if got := split(c.cfg, c.in[:i], c.in[i:]); got != c.want {
					t.Errorf("cut at %d (-want +got):\n%s", i, cmp.Diff(c.want, got))
				}
			}
			for i := range len(c.in) {
				bytes[i] = c.in[i : i+1]
			}
			if got := split(c.cfg, bytes...); got != c.want {
				t.Errorf("byte by byte (-want +got):\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

func TestWithoutAHoldReasoningIsTakenBackUntilTextIsYielded(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   parts
	}{
		{[]string{"ab</think>\nc<think>d</think>e"}, parts{"ce", "abd"}},
		{[]string{" ", "\nab</think>c"}, parts{"c", " \nab"}},
		{[]string{"a", "b</think>c<think>d</think>e"}, parts{"abce", "d"}},
		{[]string{"<think>a</think>b</think>c"}, parts{"bc", "a"}},
	} {
		s := newSplitter(ReasoningConfig{})
		var got parts
		add := func(text, reasoning string) { got.Text += text; got.Reasoning += reasoning }
		for _, piece := range c.pieces {
			add(s.write(piece))
		}
		add(s.end())
		if got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.pieces, got, c.want)
		}
	}
}

func TestOnlyWhatMayBeATagIsHeld(t *testing.T) {
	s := newSplitter(ReasoningConfig{Hold: 3})
	for _, c := range []struct{ in, text, reasoning string }{
		{"abc", "", ""}, {"d", "abcd", ""}, {"e <", "e ", ""}, {"t", "", ""}, {"r>", "<tr>", ""},
		{"<think", "", ""}, {" x>hm</", "", "hm"}, {"x", "", "</x"}, {"</think>ok", "ok", ""},
	} {
		if text, reasoning := s.write(c.in); text != c.text || reasoning != c.reasoning {
			t.Errorf("write(%q) = %q, %q; want %q, %q", c.in, text, reasoning, c.text, c.reasoning)
		}
	}
}

// FuzzSplitter: however a text is cut, the same comes of it; nothing is added; no whole tag is left in the answer.
func FuzzSplitter(f *testing.F) {
	for _, c := range splitterCases {
		f.Add(c.in, 2, 7, c.cfg.Hold, c.cfg.CloseOnly)
	}
	f.Fuzz(func(t *testing.T, in string, i, j, hold int, closeOnly bool) {
		cfg := ReasoningConfig{Hold: max(hold, 0), CloseOnly: closeOnly}
		i = min(max(0, i), len(in))
		j = min(max(i, j), len(in))
		whole := split(cfg, in)
		if cut := split(cfg, in[:i], in[i:j], in[j:]); cut != whole {
			t.Fatalf("%q cut at %d and %d (-whole +cut):\n%s", in, i, j, cmp.Diff(whole, cut))
		}
		if len(whole.Text)+len(whole.Reasoning) > len(in) {
			t.Fatalf("%q grew: %+v", in, whole)
		}
		if !closeOnly && !strings.Contains(in, "<") && whole.Text != in {
			t.Fatalf("%q has no tags, got %+v", in, whole)
		}
		for _, name := range tagNames {
			if n := strings.Count(whole.Text, "<"+name+">"); n > 0 && !strings.Contains(strings.ReplaceAll(in, "<"+name+">", ""), "<") {
				t.Fatalf("%q leaves a tag in %q", in, whole.Text)
			}
		}
	})
}
