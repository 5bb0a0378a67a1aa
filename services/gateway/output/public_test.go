package output

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// mostChanged is the number of honest public texts that the check may change.
const mostChanged = 0

// texts returns the strings at the fields of a name anywhere in a JSON value.
func texts(value any, fields ...string) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if s, ok := inner.(string); ok {
				for _, f := range fields {
					if f == key {
						out = append(out, s)
					}
				}
				continue
			}
			out = append(out, texts(inner, fields...)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, texts(inner, fields...)...)
		}
	}
	return out
}

// TestPublicTextsStay checks replies and answers that models and people wrote for honest stores, which list their own hosts.
func TestPublicTextsStay(t *testing.T) {
	p := New(&gatewayv1.Store{
		WebHosts: []string{"demo.example", "*.demo.example", "tea.example", "shop.example", "tidepost.example", "swiftlet.example",
			"envia.example", "colivo.example", "dashline.example", "parcelo.example", "paketfux.example", "colivite.example"},
		EmailAddresses: []string{"@demo.example", "@tea.example", "@shop.example", "@tiendanorte.example"},
		PhoneNumbers:   []string{"000 555 0142"},
	}, "en")
	all, changed := 0, 0
	for _, name := range []string{"llm/strong/replies.jsonl", "llm/weak/replies.jsonl", "llm/strong/exchanges.jsonl", "llm/weak/exchanges.jsonl",
		"grounding/answers.jsonl", "grounding/honest.jsonl", "grounding/corrupted.jsonl"} {
		lines := bufio.NewScanner(publicdata.Open(t, name))
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			var value any
			if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
				t.Fatal(err)
			}
			if fields, ok := value.(map[string]any); ok && fields["verdict"] == "corrupted" {
				continue // it invents a number to call
			}
			for _, s := range texts(value, "text", "content", "honest", "merged") {
				if strings.Contains(s, "<tool_") || strings.Contains(s, "<message>") || strings.Contains(s, "think>") { // not for a shopper
					continue
				}
				all++
				if got := p.Text(s); got != s {
					changed++
					t.Logf("%s changed:\n%q\n%q", name, s, got)
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d texts are changed", changed, all)
	if changed > mostChanged || all < 500 {
		t.Errorf("%d of %d honest texts are changed, at most %d", changed, all, mostChanged)
	}
}
