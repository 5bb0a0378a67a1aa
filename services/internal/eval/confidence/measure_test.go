package confidence

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/confidence"
)

func near(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s is %s, want %v", name, show(got), want)
	}
}

func TestMeasureComparesConfidenceWithLabels(t *testing.T) {
	r, err := Measure([]Reply{
		{Confidence: 1, Label: "good"}, {Confidence: 0.5, Label: "good"},
		{Confidence: 0.5, Label: "bad", HandedOff: true}, {Confidence: 0.3, Label: "bad"},
		{Confidence: 0.35, Label: "flawed", HandedOff: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Brier", r.Brier, (0.25+0.25+0.09+0.0225)/5)
	near(t, "Brier of the mean", r.BrierOfMean, 0.2) // the mean is 0.5, and all but the flawed one are 0.5 off
	near(t, "AUC", r.AUC, 3.5/4)                     // one pair is equal
	near(t, "handoff precision", r.Handoff.Precision, 0.5)
	near(t, "handoff recall", r.Handoff.Recall, 0.5)
	h := r.Thresholds[2]
	if h.Below != 0.4 || h.Replies != 2 {
		t.Errorf("threshold %+v", h)
	}
	near(t, "precision below 0.4", h.Precision, 0.5)
	last := r.Curve[bins-1] // a confidence of 1 belongs to it
	if last.Replies != 1 || r.Curve[0].Replies != 0 || r.Curve[0].Quality != nil {
		t.Errorf("curve %+v", r.Curve)
	}
	near(t, "quality of the last bin", last.Quality, 1)
	var out bytes.Buffer
	r.Print(&out)
	for _, want := range []string{"5 judged replies: 2 good, 1 flawed, 2 bad", "0.2 to 0.4", "confidence below 0.40"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestMeasureWithoutRepliesHasNoFigures(t *testing.T) {
	r, err := Measure(nil)
	if err != nil || r.Brier != nil || r.AUC != nil || r.Handoff.Precision != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Measure([]Reply{{Label: "fine"}}); err == nil {
		t.Error("an unknown label passed")
	}
}

func TestTrainingLearnsWhatTellsGoodFromBad(t *testing.T) {
	var replies []Reply
	for i := range 20 {
		source := []string{"one", "two"}[i%2]
		supported, unsupported := confidence.Features{0: 1, 4: 1}, confidence.Features{0: 1}
		replies = append(replies, Reply{Source: source, Label: "good", Answers: []confidence.Features{supported}},
			Reply{Source: source, Label: "bad", Answers: []confidence.Features{supported, unsupported}})
	}
	held := []Reply{{Label: "bad", Answers: []confidence.Features{{0: 1, 4: 1}}, Failed: true}}
	s, err := Study(replies, held)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Unseen) != 7 { // two ways, each for all and for both sources, and the store
		t.Fatalf("parts %+v", s.Unseen)
	}
	for _, p := range s.Unseen[:6] {
		if *p.Report.AUC != 1 || *p.Report.Brier > 0.1 {
			t.Errorf("%s: AUC %v, Brier %v", p.Name, *p.Report.AUC, *p.Report.Brier)
		}
	}
	near(t, "Brier of the failed reply", s.Held.Brier, 0)
	for _, p := range s.Without {
		if worse := *p.Report.Brier > *s.Validated.Brier+0.01; worse && !strings.Contains(p.Name, "claim") {
			t.Errorf("without %q, which says nothing: Brier %v, with it %v", p.Name, *p.Report.Brier, *s.Validated.Brier)
		}
	}
	var out bytes.Buffer
	s.Print(&out)
	if !strings.Contains(out.String(), "by the other sources: two") {
		t.Error(out.String())
	}
	if _, err := Study([]Reply{{Label: "fine"}}, nil); err == nil {
		t.Error("an unknown label is accepted")
	}
}
