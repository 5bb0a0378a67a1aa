package texttools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/publicdata"
)

// Of the texts that two models wrote, four of the weak one are calls or end with one, and nothing else is changed.
func TestRecordedTexts(t *testing.T) {
	req := &agentloop.Request{}
	for _, name := range []string{
		"search_catalog", "get_cart_context", "similar_products", "list_active_promotions", "choose_promotion", "lookup_order",
		"search_policies", "suggest_handoff",
	} {
		req.Tools = append(req.Tools, agentloop.ToolSpec{Name: name})
	}
	for dir, want := range map[string]map[string]string{
		"llm/strong": {},
		"llm/weak": {
			"0019": "list_active_promotions {}",
			"0098": `similar_products {"query": "lightweight trekking poles"}`,
			"0100": `similar_products {"query": "camping lantern"}`,
			"0132": `similar_products {"query": "lightweight trekking poles"}`,
		},
	} {
		got, texts := make(map[string]string), 0
		for _, x := range publicdata.Lines[struct {
			ID         string
			Completion struct{ Content string }
		}](t, dir+"/exchanges.jsonl") {
			if x.Completion.Content == "" {
				continue
			}
			texts++
			w := parseWith(newParser(req, true), x.Completion.Content)
			for _, c := range w.Calls {
				got[x.ID] += c.Name + " " + c.Arguments
			}
			if len(w.Calls) == 0 && w.Text != x.Completion.Content || len(w.Calls) > 0 && strings.Contains(w.Text, "{") {
				t.Errorf("%s: %q became %q", x.ID, x.Completion.Content, w.Text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || texts < 50 {
			t.Errorf("%s: calls in %d texts (-want +got):\n%s", dir, texts, diff)
		}
	}
}
