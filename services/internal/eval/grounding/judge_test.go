package grounding

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// What a strong language model, which read the texts without knowing which are wrong, makes of the checks. docs/evaluation.md has the
// figures. The model's verdicts are kept, so this tests what is made of them.
func TestWithTheVerdictsOfAStrongModel(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	read := func(in *os.File) Outputs {
		t.Helper()
		defer in.Close()
		o, err := ReadOutputs(in)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	open := func(name string) *os.File {
		t.Helper()
		f, err := os.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	sets := map[string][]Case{}
	for _, name := range []string{"shops-unread", "styles-unread", "honest-unread"} {
		cases, err := Read(open(name + ".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		sets[name] = cases
	}
	for _, name := range []string{"answers", "honest", "corrupted"} {
		cases, err := Read(publicdata.Open(t, "grounding/"+name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		sets["public"] = append(sets["public"], cases...)
	}
	for _, set := range []struct {
		name            string
		missed, flagged int // answers and merges
	}{{"shops-unread", 0, 1}, {"styles-unread", 0, 0}, {"honest-unread", 0, 3}, {"public", 0, 1}} {
		cases := sets[set.name]
		r := Measure(t.Context(), cases, read(open("judged-"+set.name+".jsonl")))
		t.Logf("%s: %d of %d caught; %d of %d answers flagged, %d of %d merges harmed", set.name, r.Caught.N, r.Caught.Of, r.Flagged.N, r.Flagged.Of, r.Harmed.N, r.Harmed.Of)
		if r.Judged != len(cases) || r.Caught.Of-r.Caught.N > set.missed || r.Flagged.N+r.Harmed.N > set.flagged {
			t.Errorf("%s: want at most %d missed and %d flagged or harmed, of %d judged", set.name, set.missed, set.flagged, len(cases))
		}
	}
}

func TestJudge(t *testing.T) {
	cases, err := Read(strings.NewReader(answerLine + `"text":"It is red.","verdict":"honest"}` + strings.Replace(sectionPart, "m1", "m2", 1) + `"merged":"It is red.","wrong":"red"}`))
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.Func(func(req *agentloop.Request) scripted.Step {
		if strings.Contains(req.Messages[1].Text, "3 May") { // the merge
			return scripted.Step{Text: `{"wrong":[{"sentence":1,"why":"no answer says so"}]}`}
		}
		return scripted.Step{Err: errors.New("busy")}
	})
	heard := 0
	out, err := Judge(t.Context(), cases, model, 2, func(done int) { heard = done })
	if err == nil || !strings.Contains(err.Error(), "case a1: ") || len(out) != 1 || heard != 2 {
		t.Fatalf("%v, %v, heard of %d", out, err, heard)
	}
	r := Measure(t.Context(), cases, out)
	if r.Judged != 1 || r.Caught.N != 1 || r.Flagged.N != 0 {
		t.Errorf("%+v", r.Figures)
	}
	if r := Measure(t.Context(), cases, Outputs{"a1": "no verdict", "m2": out["m2"]}); r.Judged != 1 {
		t.Errorf("%d were judged, though one output is broken", r.Judged)
	}
	var file bytes.Buffer
	if err := out.Write(&file); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadOutputs(&file); err != nil || again["m2"] != out["m2"] {
		t.Errorf("%v, %v", again, err)
	}
	if CheckIDs(cases) != nil || CheckIDs(append(cases, cases[0])) == nil {
		t.Error("ids are not checked")
	}
	for _, bad := range []string{`{"id":"","output":"{}"}`, `{"id":"a","output":"{}"} {"id":"a","output":"{}"}`, `{"id":1}`} {
		if _, err := ReadOutputs(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
