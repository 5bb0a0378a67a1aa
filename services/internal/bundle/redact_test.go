package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

func TestRedactReplacesWhatIsToldByItsForm(t *testing.T) {
	const salt = "turn_1"
	for _, c := range []struct {
		text string
		gone []string
		kept []string
	}{
		{"Write to ava.b+shop@mail.example, or call +49 30 1234567.", []string{"ava", "1234567"}, []string{"@mail.example", "Write to ", "or call +"}},
		{"Call 030 12345678 or 0171/1234567", []string{"12345678", "1234567"}, nil},
		{"Card 4111 1111 1111 1111, order QT-10029, 119.95 EUR, GTIN 4006381333932", []string{"4111 1111"}, []string{"QT-10029", "119.95", "4006381333932"}},
		{"line\nava@mail.example\ttab\u0001bea@mail.example", []string{"ava", "bea"}, []string{"line\n", "\ttab\u0001"}},
		{`{"query":"\nava@mail.example"}`, []string{"ava"}, []string{`{"query":"\n`}},
		{"2026-11-23T16:15:12.764Z took 0.000036274s, 20000000 tokens", nil, []string{"2026-11-23T16:15:12.764Z took 0.000036274s, 20000000 tokens"}},
	} {
		raw, err := json.Marshal(map[string]string{"text": c.text})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Text string }
		redacted := redact(raw, salt)
		if err := json.Unmarshal(redacted, &got); err != nil {
			t.Errorf("%s: %v", redacted, err)
		}
		for _, gone := range c.gone {
			if strings.Contains(got.Text, gone) {
				t.Errorf("%q has %q", got.Text, gone)
			}
		}
		for _, kept := range c.kept {
			if !strings.Contains(got.Text, kept) {
				t.Errorf("%q lacks %q", got.Text, kept)
			}
		}
		if string(redact(raw, salt)) != string(redacted) {
			t.Errorf("%q is redacted in two ways", c.text)
		}
	}
	if mail := []byte(`"ava@mail.example"`); string(redact(mail, "turn_1")) == string(redact(mail, "turn_2")) {
		t.Error("turns can be joined by an address")
	}
}

func TestPiecesAreJoined(t *testing.T) {
	call := func(index int, id, arguments string) agentloop.Chunk {
		return agentloop.Chunk{ToolCalls: []agentloop.ToolCallDelta{{Index: index, ID: id, Arguments: arguments}}}
	}
	in := []agentloop.Chunk{
		{Text: "ava"}, {Text: "@mail."}, {Text: "example"}, call(0, "c1", `{"a":`), call(0, "", `"b"`), call(0, "", `}`), call(1, "c2", `{`), call(1, "", `}`),
		{Text: "x"}, {FinishReason: agentloop.FinishStop},
	}
	want := []agentloop.Chunk{
		{Text: "ava@mail.example"}, call(0, "c1", `{"a":"b"}`), call(1, "c2", `{}`), {Text: "x"}, {FinishReason: agentloop.FinishStop},
	}
	if diff := cmp.Diff(want, joined(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
