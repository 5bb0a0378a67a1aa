package repair_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/publicdata"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

var mended = []struct{ name, in, want string }{
	{"an object stays as it is", `{ "a" : "x" }`, `{ "a" : "x" }`},
	{"space around it", "\n {\"a\":1}\t", `{"a":1}`},
	{"a code fence", "```json\n{\"a\":1}\n```", `{"a":1}`},
	{"a code fence in one line", "```{'a':1}```", `{"a":1}`},
	{"written as a string", `"{\"a\":\"x\\ny\"}"`, `{"a":"x\ny"}`},
	{"written as a string, and mended", `"{'a': True,}"`, `{"a":true}`},
	{"written as a string, in a code fence", "```\n{\"a\":1}\n```", `{"a":1}`},
	{"commas too many at the end", `{"a":[1,[2,],],"b":{"c":3,},}`, `{"a":[1,[2]],"b":{"c":3}}`},
	{"Python's constants", `{"a":True,"b":[False,None]}`, `{"a":true,"b":[false,null]}`},
	{"JSON's constants", `{'a':true,'b':[false,null]}`, `{"a":true,"b":[false,null]}`},
	{"single quotes", `{'a': 'x y', 'b': ['', 'é']}`, `{"a":"x y","b":["","é"]}`},
	{"escaped quotes in single ones", `{'a': 'it\'s 5\" wide'}`, `{"a":"it's 5\" wide"}`},
	{"an escaped single quote in double ones", `{"a": "it\'s"}`, `{"a":"it's"}`},
	{"raw control characters", "{\"a\":\"x\ny\tz\x01\"}", `{"a":"x\ny\tz\u0001"}`},
	{"escapes stay", `{'a':"\u00e9\\\n\/"}`, `{"a":"\u00e9\\\n\/"}`},
	{"names without quotes", `{a: 1, $b_2: {c: 2}}`, `{"a":1,"$b_2":{"c":2}}`},
	{"comments", "/* one */ { // two\n \"a\" /*:*/ : /* '\" */ 1, // \"b\": 2\n } // three", `{"a":1}`},
	{"no comments in strings", `{'a':"/* x */ // y"}`, `{"a":"/* x */ // y"}`},
	{"Unicode space", "\u00a0{\u2003'a'\ufeff:\u00a01}", `{"a":1}`},
	{"numbers as written", `{'a':[-0.50e+3,12345678901234567890,0]}`, `{"a":[-0.50e+3,12345678901234567890,0]}`},
	{"nothing in it", "{ // nothing\n}", `{}`},
	{"deep", `{'a':` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`},
}

func TestAlmostJSONIsRepaired(t *testing.T) {
	for _, c := range mended {
		t.Run(c.name, func(t *testing.T) {
			got, ok := repair.Object(c.in)
			if !ok || got != c.want {
				t.Errorf("%q becomes %q, %v; want %q", c.in, got, ok, c.want)
			}
		})
	}
}

var refused = []struct{ name, in string }{
	{"nothing", ""},
	{"null", "null"},
	{"a list", `["a"]`},
	{"a list, mended", `['a',]`},
	{"a string", `"Oslo"`},
	{"a string within a string", `"\"{}\""`},
	{"cut in a string", `{"a":"Os`},
	{"cut after a key", `{"a":`},
	{"cut after a value", `{"a":1`},
	{"cut after a comma", `{"a":1,`},
	{"cut in a comment", `{"a":1}/* x`},
	{"cut in a code fence", "```json\n{\"a\":1}\n"},
	{"cut in single quotes", `{'a':'x`},
	{"cut after a backslash", `{'a':'\`},
	{"a closing bracket too many", `{"a":1}}`},
	{"the wrong closing bracket", `{"a":[1}`},
	{"a quote that is missing", `{"a":"x,"b":"y"}`},
	{"a quote too many", `{"a":"5" wide"}`},
	{"an apostrophe in single quotes", `{'a':'it's'}`},
	{"a double quote in single ones", `{'a':'5" wide'}`},
	{"a comma that is missing", `{"a":1 "b":2}`},
	{"a colon that is missing", `{"a" 1}`},
	{"a comma at the start", `{,"a":1}`},
	{"two commas", `{"a":[1,,2]}`},
	{"only a comma", `{"a":[,]}`},
	{"two objects", `{"a":1}{"a":2}`},
	{"the same object twice, which may be two calls", `{"a":1}{"a":1}`},
	{"text before", `Sure: {"a":1}`},
	{"text after", `{"a":1} and more`},
	{"a word as a value", `{"city":Oslo}`},
	{"an address as a value", `{"a":http://x.example/}`},
	{"undefined", `{"a":undefined}`},
	{"not a number", `{"a":NaN}`},
	{"a constant in another case", `{"a":TRUE}`},
	{"a leading zero", `{"a":05}`},
	{"a plus", `{"a":+5}`},
	{"half a number", `{"a":5.}`},
	{"an unknown escape", `{'a':'\d'}`},
	{"half an escape", `{'a':'\u12'}`},
	{"a backslash before a line feed", "{'a':'x\\\ny'}"},
	{"a key that is a number", `{5:1}`},
	{"a key of two words", `{a b:1}`},
	{"no key", `{:1}`},
	{"typographic quotes", `{“a”:“b”}`},
	{"an ellipsis", `{"a":[1,...]}`},
	{"too deep", `{'a':` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`},
	{"deeper than the stack", `{'a':` + strings.Repeat("[", 10_000_000)},
}

func TestAmbiguousTextIsRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := repair.Object(c.in); ok || got != "" {
				t.Errorf("it becomes %q", got)
			}
		})
	}
}

// A public suite of almost-JSON, made for a library that guesses. What is mended here must mean what it expects; nearly all
// of the rest is text that ends early, lacks quotes or is no object. Each input is tried as it is and as the value of a
// property, since most are no objects.
func TestPublicCases(t *testing.T) {
	var same, ours, left int // objects that are JSON, mended, refused
	for _, c := range publicdata.Lines[publicCase](t, "toolcalls/jsonrepair.jsonl") {
		for _, around := range [][2]string{{"", ""}, {`{"x": `, "\n}"}} {
			in := around[0] + c.Input + around[1]
			got, ok := repair.Object(in)
			switch {
			case !ok:
				left++
				continue
			case json.Valid([]byte(in)):
				same++
			default:
				ours++
			}
			if want := around[0] + c.Expected + around[1]; c.Kind != "repair" || !equal(t, want, got) {
				t.Errorf("%s: %q becomes %s, want %s", c.Test, in, got, want)
			}
		}
	}
	t.Logf("%d are JSON, %d mended, %d refused", same, ours, left)
	if same != 38 || ours != 50 || left != 334 {
		t.Errorf("%d are JSON, %d mended, %d refused: not as documented", same, ours, left)
	}
}

type publicCase struct{ Test, Input, Expected, Kind string }

// equal reports whether two texts are JSON of one value.
func equal(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Errorf("%q, %q: %v", a, b, err)
	}
	return cmp.Equal(x, y)
}

var (
	tokens   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*`)
	noise    = regexp.MustCompile(`\\u00[01][0-9A-Fa-f]|\\[bfnrt"']|[\x00-\x1f"']|\\(?s:(.))`)
	bare     = func(s string) string { return noise.ReplaceAllString(s, "$1") }
	hostiles = []string{`{{{{`, "```", `{"a":"\`, `{'`, `{/*`, `"{`, "{\"a\":\"\xff\"}", `{"a":/**/-}`, `{a`, "```x{}```", `{'\'':0}`}
)

// FuzzObject: JSON objects stay as they are; what comes out is a JSON object, is not mended again, and each of its strings,
// keys and numbers stands in the text, in that order.
func FuzzObject(f *testing.F) {
	for _, c := range mended {
		f.Add(c.in)
	}
	for _, c := range refused {
		if len(c.in) < 1000 {
			f.Add(c.in)
		}
	}
	for _, s := range hostiles {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, ok := repair.Object(in)
		if trimmed := strings.TrimSpace(in); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) && got != trimmed {
			t.Fatalf("%q is JSON, and becomes %q", in, got)
		}
		if !ok {
			if got != "" {
				t.Fatalf("%q is refused, and becomes %q", in, got)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(got), &object); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || object == nil {
			t.Fatalf("%q becomes %q: %v", in, got, err)
		}
		if again, ok := repair.Object(got); !ok || again != got {
			t.Fatalf("%q becomes %q, then %q", in, got, again)
		}
		var inner string
		if json.Unmarshal([]byte(in), &inner) == nil {
			in = inner
		}
		rest := bare(in)
		for _, token := range tokens.FindAllString(got, -1) {
			i := strings.Index(rest, bare(token))
			if i < 0 {
				t.Fatalf("%q becomes %q: %s is not in it", in, got, token)
			}
			rest = rest[i+len(bare(token)):]
		}
	})
}
