package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pieceOf is an event of a real stream, with the text as it is encoded.
func pieceOf(text string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default",` +
		`"system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"` + text + `"},"logprobs":null,"finish_reason":null}],"usage":null}`
}

// callOf is an event with a list of tool calls.
func callOf(calls string) string {
	return strings.Replace(pieceOf("x"), `"content":"x"`, `"tool_calls":[`+calls+`]`, 1)
}

// sameAsDecode checks that an event which quick takes in is taken in as decode does, and reports whether it was.
func sameAsDecode(t *testing.T, raw string) bool {
	t.Helper()
	for _, before := range []answer{{}, {model: "m"}, {choices: true, text: true, calls: true}} {
		fast, slow := before, before
		got, ok := fast.quick([]byte(raw))
		if !ok {
			if fast != before {
				t.Errorf("%q was refused, and has left something behind: %+v", raw, fast)
			}
			return false
		}
		want, err := slow.decodeAny([]byte(raw))
		if err != nil {
			t.Errorf("%q is taken, and is wrong: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: chunk (-want +got):\n%s", raw, diff)
		}
		if diff := cmp.Diff(slow, fast, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%q: state (-want +got):\n%s", raw, diff)
		}
	}
	return true
}

func TestPlainPiecesOfTextAreTakenQuickly(t *testing.T) {
	for name, raw := range map[string]string{
		"a word":         pieceOf(" boots"),
		"nothing":        pieceOf(""),
		"other letters":  pieceOf("größe 鞋 👟"),
		"escapes":        pieceOf(`a\n\"b\"\u00e9 \ud83d\udc5f \\`),
		"half an emoji":  pieceOf(`\ud83d`),
		"a role":         `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}`,
		"no words":       `{"choices":[{"delta":{"content":null,"tool_calls":null,"reasoning_content":null}}]}`,
		"spread out":     " {\n\t\"model\" : \"m\" , \"choices\" : [ { \"delta\" : { } , \"index\" : 0 } ] } \r\n",
		"the next model": strings.Replace(pieceOf("x"), `"model":"m"`, `"model":"n"`, 1),
		"a call's begin": strings.Replace(pieceOf("x"), `"content":"x"`,
			`"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]`, 1),
		"a call's piece":          callOf(`{"index":2,"function":{"arguments":"{\"a\":"}}`),
		"a call without an index": callOf(`{"id":null,"function":{"name":null,"arguments":"1}"}}`),
		"an end":                  strings.Replace(pieceOf("x"), `"finish_reason":null`, `"finish_reason":"tool_calls"`, 1),
		"a usage": `{"model":"m","choices":[],"usage":{"prompt_tokens":0,"completion_tokens":123456789012345678,"total_tokens":3,` +
			`"prompt_tokens_details":null,"completion_tokens_details":null}}`,
		"an empty usage":  `{"choices":[],"usage":{}}`,
		"an unset number": strings.Replace(pieceOf("x"), `1700000000`, `null`, 1),
	} {
		if !sameAsDecode(t, raw) {
			t.Errorf("%s: %q is left to the slow decoder", name, raw)
		}
	}
}

func TestWhatIsNoPlainPieceIsLeftToTheDecoder(t *testing.T) {
	for _, raw := range []string{
		"", "{", "null", "[]", "{}", `{"model":"m"}`, pieceOf("x") + "}", pieceOf("x") + " x", strings.TrimSuffix(pieceOf("x"), "}"),
		pieceOf("a\nb"), pieceOf("\xff"), pieceOf(`\x`), pieceOf(`a\`), strings.Replace(pieceOf("x"), "1700000000", "017", 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":1.5}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":-1}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":01}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":1e3}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{"prompt_tokens":12345678901234567890}`, 1),
		strings.Replace(pieceOf("x"), `"usage":null`, `"usage":{},"usage":{}`, 1),
		strings.Replace(pieceOf("x"), `"finish_reason":null`, `"finish_reason":"stop","finish_reason":"length"`, 1),
		callOf(`{"index":0,"function":{"arguments":{}}}`), callOf(`{"index":0,"index":1,"function":{"arguments":""}}`),
		callOf(`{"index":0,"id":"a","id":"b"}`), callOf(`{"function":{"name":"a"},"function":{"arguments":"b"}}`),
		callOf(`{"function":{"arguments":"a","arguments":"b"}}`), callOf(`{"function":{"name":"a","name":"b"}}`),
		callOf(`{"index":0},{"index":1}`), callOf(`{"index":"0"}`), callOf(`{"custom":{}}`), callOf(``),
		strings.Replace(pieceOf("x"), `"usage":null`, `"error":{"message":"m"}`, 1),
		strings.Replace(pieceOf("x"), `"index":0`, `"index":1`, 1),
		strings.Replace(pieceOf("x"), `"index":0`, `"index":0.5`, 1),
		strings.Replace(pieceOf("x"), `"content"`, `"Content"`, 1),
		strings.Replace(pieceOf("x"), `"content":"x"`, `"content":"x","content":"y"`, 1),
		strings.Replace(pieceOf("x"), `"content":"x"`, `"content":"x","reasoning_content":"y"`, 1),
		strings.Replace(pieceOf("x"), `"content":"x"`, `"content":["x"]`, 1),
		strings.Replace(pieceOf("x"), `"content":"x"`, `"tool_calls":[]`, 1),
		strings.Replace(pieceOf("x"), `"delta"`, `"message"`, 1),
		strings.Replace(pieceOf("x"), `null}]`, `null},{"index":0,"delta":{"content":"z"}}]`, 1),
		strings.Replace(pieceOf("x"), `"model":"m"`, `"model":"m","model":"n"`, 1),
		strings.Replace(pieceOf("x"), `"choices":[`, `"choices":[],"choices":[`, 1),
	} {
		if sameAsDecode(t, raw) {
			t.Errorf("%q was taken", raw)
		}
	}
}

func FuzzQuick(f *testing.F) {
	f.Add(pieceOf(`a\n`))
	f.Add(`{"choices":[{"delta":{}}],"usage":null}`)
	f.Fuzz(func(t *testing.T, raw string) { sameAsDecode(t, raw) })
}

func BenchmarkDecodeAPiece(b *testing.B) {
	raw := []byte(pieceOf(" a pair of boots"))
	b.ReportAllocs()
	for b.Loop() {
		a := answer{model: "m"}
		if _, err := a.decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
