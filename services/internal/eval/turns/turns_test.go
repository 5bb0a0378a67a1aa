package turns

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// reply is one part of search, with a call that failed and one that did not, and one part that failed.
func reply() *gatewayv1.AskResponse {
	return &gatewayv1.AskResponse{
		Text:  "Die Lampe kostet 49 EUR und ist in drei Farben auf Lager.",
		Usage: &commonv1.Usage{InputTokens: 100, OutputTokens: 20}, Cost: &commonv1.Cost{AmountMicros: 40, CurrencyCode: "USD"},
		Results: []*gatewayv1.AssignmentResult{
			{
				Assignment: &routerv1.Assignment{Specialist: "search"},
				Outcome: &gatewayv1.AssignmentResult_Answer{Answer: &specialistv1.Answer{ToolCalls: []*specialistv1.ToolCall{
					{ToolName: "search_catalog", Error: "bad"}, {ToolName: "search_catalog"}, {ToolName: "compare_products", Error: "bad"},
				}}},
			},
			{Assignment: &routerv1.Assignment{Specialist: "support"}, Outcome: &gatewayv1.AssignmentResult_Failure{Failure: &gatewayv1.Failure{Code: "UNAVAILABLE"}}},
		},
		SuggestedActions: []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_AddToCart{AddToCart: &specialistv1.AddToCart{ProductId: "L"}}}},
	}
}

func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		s    Scenario
		want []string
	}{
		"all is there": {Scenario{
			Says: []string{"LAMPE", "dollar|eur"}, Never: []string{"Stuhl"}, Specialists: []string{"search"}, Tools: []string{"search_catalog"},
			Actions: []string{"add_to_cart"}, Language: "de-AT",
		}, nil},
		"nothing is": {Scenario{
			Says: []string{"Tisch|Stuhl"}, Never: []string{"lampe"}, Specialists: []string{"support"}, Tools: []string{"compare_products"},
			Actions: []string{"hand_off"}, Language: "fr",
		}, []string{`does not say "Tisch|Stuhl"`, `is in "de", not "fr"`, "no action hand_off", "no specialist support", "no tool compare_products", `says "lampe"`}},
	} {
		if diff := cmp.Diff(tt.want, tt.s.Judge(reply())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadReportsAllThatIsWrong(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	good := "- {id: a, store: demo, messages: [hi], says: [hello]}\n"
	if got, err := Read(fstest.MapFS{"a.yaml": file(good), "note.txt": file("no list")}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	_, err := Read(fstest.MapFS{
		"a.yaml": file(good + "- {id: b, store: demo, messages: [hi]}\n- {id: c, messages: [hi], says: [a]}\n- {id: d, store: demo, messages: [hi], actions: [buy]}\n" +
			"- {id: e, store: demo, messages: [hi], language: German language}\n"),
		"b.yaml": file(good), "c.yaml": file("- {id: f, mesages: [hi]}\n"),
	})
	for _, want := range []string{
		"a.yaml: scenario 2 (b): nothing is checked", "scenario 3 (c): id, store and messages", "unknown action \"buy\"", "is no BCP 47 tag",
		"b.yaml: scenario 1 (a): the id is also in a.yaml", "mesages",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if _, err := Read(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is taken")
	}
}

func TestFiguresAndReports(t *testing.T) {
	s := func(id, store string) Scenario { return Scenario{ID: id, Store: store, Messages: []string{"<hi>"}} }
	runs := []Run{
		{Scenario: s("a", "one"), Reply: reply(), Took: 10 * time.Millisecond, Score: &Score{Helpful: 4, Reason: "short"}},
		{Scenario: s("b", "one"), Reply: &gatewayv1.AskResponse{Text: "No."}, Wrong: []string{`does not say "x"`}, Took: 30 * time.Millisecond, Unscored: errors.New("9 of 5")},
		{Scenario: s("c", "two"), Err: errors.New("down")},
	}
	want := []Figures{
		{Store: "one", Runs: 2, Passed: 1, PassRate: 0.5, MedianMillis: 30, InputTokens: 50, OutputTokens: 10, CostMicros: 40, Unpriced: 1, MeanScore: 4, Unscored: 1},
		{Store: "two", Runs: 1, Errors: 1},
		{Store: "all", Runs: 3, Passed: 1, PassRate: 1. / 3, Errors: 1, MedianMillis: 30, InputTokens: 50, OutputTokens: 10, CostMicros: 40, Unpriced: 1, MeanScore: 4, Unscored: 1},
	}
	if diff := cmp.Diff(want, Measure(runs)); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	var text, page bytes.Buffer
	if err := errors.Join(Print(&text, runs, true), HTML(&page, runs)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"b (one): <hi>\n  does not say \"x\"\n  No.\n", "c (two): <hi>\n  down", "helpful 4.0 of 5   1 not scored", "not scored: b: 9 of 5"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	if p := page.String(); !strings.Contains(p, "&lt;hi&gt;") || strings.Count(p, `class="wrong"`) != 2 {
		t.Errorf("the page is\n%s", p)
	}
}

func TestJudgeBy(t *testing.T) {
	good := scripted.New(scripted.Step{Text: `{"helpful": 4, "reason": "short"}`})
	score, err := JudgeBy(context.Background(), good, Scenario{Messages: []string{"a lamp?"}}, reply())
	if err != nil || score.Helpful != 4 || score.Reason != "short" {
		t.Errorf("%v, %v", score, err)
	}
	if _, err := JudgeBy(context.Background(), scripted.New(scripted.Step{Text: `{"helpful": 9, "reason": "great"}`}), Scenario{}, reply()); err == nil {
		t.Error("9 of 5 is taken")
	}
}
