package judge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
)

const answer = "Good day! The kettle holds 1.7 l.\n- It whistles.\n- Code TEA-5 saves 5 EUR."

func ask(t *testing.T, output string) *judge.Verdict {
	t.Helper()
	v, result, err := judge.Ask(t.Context(), scripted.New(scripted.Step{Text: output}), nil, judge.Case{Given: []string{"a kettle"}, Answer: answer})
	if err != nil || result.Usage.ModelCalls != 1 {
		t.Fatal(result, err)
	}
	return v
}

func TestDecide(t *testing.T) {
	var e grounding.Evidence
	e.AddResult("c1", `{"title":"Kettle","volume":"1.5 l"}`)
	code := e.Check(answer)
	const right, wrong = grounding.Supported, grounding.Unsupported
	type claim struct {
		Text    string
		Verdict grounding.Verdict
		Why     string
	}
	for _, tt := range []struct {
		name, output string
		want         []claim
	}{
		{"nothing is wrong", `{"wrong":[]}`, []claim{{"1.7", right, ""}, {"TEA-5", wrong, ""}, {"5 EUR", right, ""}}},
		{"what code finds wrong is", `{"wrong":[{"sentence":2,"why":"it is 1.5 l"}]}`, []claim{
			{"The kettle holds 1.7 l.", wrong, "it is 1.5 l"}, {"1.7", wrong, ""}, {"TEA-5", wrong, ""}, {"5 EUR", right, ""},
		}},
		{"what code passes is wrong", `{"wrong":[{"sentence":3,"why":"no result\nsays so"}]}`, []claim{
			{"1.7", right, ""}, {"- It whistles.", wrong, "no result says so"}, {"TEA-5", wrong, ""}, {"5 EUR", right, ""},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []claim
			for _, c := range ask(t, tt.output).Decide(answer, code) {
				if answer[c.Start:c.End] != c.Text {
					t.Errorf("%q is at %q", c.Text, answer[c.Start:c.End])
				}
				why := ""
				if len(c.Sources) > 0 {
					why = c.Sources[0].Value
				}
				got = append(got, claim{c.Text, c.Verdict, why})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	var none *judge.Verdict
	if diff := cmp.Diff(code, none.Decide(answer, code)); diff != "" || slices.ContainsFunc(none.Of(answer), func(d judge.Decision) bool { return d.IsRead }) {
		t.Error("no verdict decides something", diff)
	}
}

// Sentences that the model has not read are decided by code.
func TestDecideOnAFurtherSentence(t *testing.T) {
	var e grounding.Evidence
	const further = "It whistles. It weighs 900 g."
	claims := ask(t, `{"wrong":[]}`).Decide(further, e.Check(further))
	if len(claims) != 1 || claims[0].Verdict != grounding.Unsupported {
		t.Error(claims)
	}
}

// Lines of a list are often equal. Each has its own decision, and what is left after a wrong one was dropped is right.
func TestEqualSentences(t *testing.T) {
	const list = "Dune Lamp\n- In stock.\nReed Lamp\n- In stock."
	v, _, err := judge.Ask(t.Context(), scripted.New(scripted.Step{Text: `{"wrong":[{"sentence":2,"why":"sold out"}]}`}), nil, judge.Case{Answer: list})
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(text string) (at []int) {
		for _, c := range v.Decide(text, nil) {
			at = append(at, c.Start)
		}
		return at
	}
	if got := wrong(list); !slices.Equal(got, []int{len("Dune Lamp\n")}) {
		t.Errorf("wrong at %v", got)
	}
	v, _, err = judge.Ask(t.Context(), scripted.New(scripted.Step{Text: `{"wrong":[{"sentence":1,"why":"sold out"}]}`}), nil, judge.Case{Answer: "It is here. It is red. It is here."})
	if err != nil {
		t.Fatal(err)
	}
	if got := wrong("It is here. It is red. It is here."); !slices.Equal(got, []int{0}) {
		t.Errorf("wrong at %v", got)
	}
	if got := wrong("It is red. It is here."); len(got) > 0 {
		t.Errorf("what is left is wrong at %v", got)
	}
}

func TestWhatAMergeLeavesOut(t *testing.T) {
	for output, want := range map[string][]bool{
		`{"wrong":[],"missing":[2]}`: {true, false},
		`{"wrong":[],"missing":[]}`:  {true, true},
		`{"wrong":[]}`:               {false, false},
	} {
		model := scripted.New(scripted.Step{Text: output})
		v, _, err := judge.Ask(t.Context(), model, nil, judge.Case{Results: []string{"It is 39 EUR.", "It is red."}, Answer: "It is 39 EUR.", IsMerge: true})
		if err != nil || v.HasSaid(0) != want[0] || v.HasSaid(1) != want[1] {
			t.Errorf("%s: %v, %v, %v, want %v", output, v.HasSaid(0), v.HasSaid(1), err, want)
		}
		if question := model.Requests()[0].Messages[1].Text; !strings.Contains(question, `"missing"`) {
			t.Errorf("the model is not asked what is missing:\n%s", question)
		}
	}
	var none *judge.Verdict
	if none.HasSaid(0) {
		t.Error("without a verdict, something is said")
	}
}

func TestAModelThatCannotJudge(t *testing.T) {
	for name, output := range map[string]string{
		"prose": "All of it is right.", "another object": `{"score":5}`, "no such sentence": `{"wrong":[{"sentence":5,"why":"?"}]}`, "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			step := scripted.Step{Text: output}
			v, _, err := judge.Ask(t.Context(), scripted.New(step, step, step), nil, judge.Case{Answer: answer})
			if v != nil || !errors.Is(err, agentloop.ErrBadOutput) && !errors.Is(err, agentloop.ErrNoAnswer) {
				t.Errorf("%v, %v", v, err)
			}
			if output != "" && strings.Contains(err.Error(), output) {
				t.Errorf("the error quotes the model: %v", err)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			v, result, err := judge.Ask(t.Context(), scripted.New(scripted.Step{Hang: true}), nil, judge.Case{Answer: answer})
			if took := time.Since(begun); v != nil || !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
				t.Errorf("%v, %v after %v", v, err, took)
			}
			if u := result.Usage; u.InputTokens < 400 || !u.Estimated {
				t.Errorf("what it has read counts as %+v", u)
			}
		})
	})
}

func TestAdd(t *testing.T) {
	run := &agentloop.Result{Text: "Hello.", Steps: make([]agentloop.StepRecord, 2), Usage: agentloop.Usage{InputTokens: 5, ModelCalls: 2}, Cost: &agentloop.Cost{Micros: 7, Currency: "EUR"}}
	judging := &agentloop.Result{Text: "{}", Steps: make([]agentloop.StepRecord, 1), Usage: agentloop.Usage{InputTokens: 4, ModelCalls: 1}, Cost: &agentloop.Cost{Micros: 2, Currency: "EUR"}}
	sum := judge.Add(run, judging)
	if sum.Text != "Hello." || len(sum.Steps) != 3 || sum.Usage.InputTokens != 9 || sum.Usage.ModelCalls != 3 || sum.Cost.Micros != 9 {
		t.Errorf("%+v", sum)
	}
	judging.Cost = nil
	if judge.Add(run, judging).Cost != nil {
		t.Error("an unknown cost counts as none")
	}
	if judge.Add(run, nil) != run || judge.Add(nil, judging) != judging || run.Usage.InputTokens != 5 {
		t.Error("a missing result changes the other")
	}
}
