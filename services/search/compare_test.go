package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// TestComparison compares products by an id and by a title, through the service.
func TestComparison(t *testing.T) {
	conn := dial(t, scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: compareTool, Arguments: `{"product_ids":["SHOE-1","moorhen dash"]}`}}},
		scripted.Step{Text: "The Kestrel Ridge trail running shoe costs more than the Moorhen Dash trail running shoe."},
	))
	load(t, conn, "s1")
	answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1"}, "which of these two?")
	c := answer.GetComparison()
	var ids []string
	for _, p := range c.GetProducts() {
		ids = append(ids, p.GetProductId())
	}
	if diff := cmp.Diff([]string{"SHOE-1", "SHOE-2"}, ids); diff != "" {
		t.Fatalf("products (-want +got):\n%s\n%v", diff, answer)
	}
	facts := make(map[string]string)
	for _, f := range c.GetFacts() {
		facts[f.GetName()] = strings.Join(f.GetValues(), " | ")
		if f.GetDiffers() != (f.GetValues()[0] != f.GetValues()[1]) {
			t.Errorf("%v", f)
		}
	}
	for name, want := range map[string]string{"price": "119.95 EUR | 89.95 EUR", "waterproof": "no | yes"} {
		if facts[name] != want {
			t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
	if len(answer.GetProducts()) != 2 {
		t.Errorf("%d products are named", len(answer.GetProducts()))
	}
}

func TestComparisonRefusesWithAdvice(t *testing.T) {
	for arguments, advice := range map[string]string{
		`{"product_ids":["SHOE-1"]}`:                 "name 2 to 5 products",
		`{"product_ids":["SHOE-1","shoe-1"]}`:        "1 of the products are known",
		`{"product_ids":["SHOE-1","gaming laptop"]}`: "not gaming laptop; find them with search_catalog first",
		`{"product_ids":["1","2","3","4","5","6"]}`:  "name 2 to 5 products",
	} {
		conn := dial(t, scripted.New(
			scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: compareTool, Arguments: arguments}}}, scripted.Step{Text: "I cannot."},
		))
		load(t, conn, "s1")
		answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1"}, "which of these two?")
		if got := answer.GetToolCalls()[0].GetError(); !strings.Contains(got, advice) || answer.GetComparison() != nil {
			t.Errorf("%s: error %q, want %q; %v", arguments, got, advice, answer.GetComparison())
		}
	}
}
