package router

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// decision is what became of a recorded message: what the model said, as "specialist: sub-query", and the decisions.
type decision struct {
	class, id, message string
	said               []string
	provisional, final *routerv1.RoutingDecision
}

// recorded routes the recorded messages for which there is a model's answer.
func recorded(t *testing.T) (all []decision) {
	t.Helper()
	for _, class := range []string{"strong", "weak"} {
		recording, err := bundle.ReadRecording(os.DirFS(filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl"))))
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range recording.Turns {
			m := &bundle.RecordedModel{}
			m.Choose(turn)
			d := decision{class: class, id: turn.ID, message: turn.Ask.GetMessage()}
			model := fakeModel{func(ctx context.Context, req *agentloop.Request) (string, error) {
				said := ""
				for c, err := range m.Generate(ctx, req) {
					if err != nil {
						return "", err
					}
					said += c.Text
				}
				answer, _, err := agentloop.Generate[classification](ctx, agentloop.GenerateConfig{
					Model: says(said), Name: outputName, Schema: json.RawMessage(acceptedSchema), MaxOutputTokens: maxOutputTokens,
				}, nil, d.message)
				for _, a := range answer.Assignments {
					d.said = append(d.said, a.Specialist+": "+a.SubQuery)
				}
				return said, err
			}}
			got := route(t, Config{Model: model, AlwaysAskModel: true}, request(d.message))
			if d.provisional, d.final = got[0], got[len(got)-1]; len(d.said) > 0 {
				all = append(all, d)
			}
		}
	}
	return all
}

// Language models routed every recorded message right, so what they said is what was asked for: no part is added, lost or changed
// but for words that are no content.
func TestWhatRecordedModelsSaidStands(t *testing.T) {
	all := recorded(t)
	for _, d := range all {
		var want, got [][]string
		for _, a := range d.final.GetAssignments() {
			got = append(got, append(classifier.ContentTerms(a.GetSubQuery()), a.GetSpecialist()))
		}
		for _, said := range d.said {
			name, query, _ := strings.Cut(said, ": ")
			want = append(want, append(classifier.ContentTerms(query), name))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: the model said %q, and the router decided %q", d.class, d.id, d.said, assignments(d.final))
		}
	}
	if len(all) < 30 {
		t.Errorf("%d recorded answers, want at least 30", len(all))
	}
}

// Run-ahead starts the provisional assignments above a confidence: the gateway's is two thirds. The test logs how many of them the
// recorded models confirm, in messages that the router asks a model about; the others are wasted. It fails if more than
// one in three of those is wasted: then running ahead does not pay.
func TestRunAheadOnRecordedAnswers(t *testing.T) {
	all := recorded(t)
	for _, least := range []float64{0, 0.5, 2.0 / 3, 0.8, 0.9, classifier.Threshold} {
		started, confirmed, rightSpecialist := 0, 0, 0
		for _, d := range all {
			for _, p := range d.provisional.GetAssignments() {
				if d.provisional.GetCertainty() >= classifier.Threshold || p.GetConfidence() < least {
					continue
				}
				started++
				same := func(a *routerv1.Assignment) bool { return a.GetAssignmentId() == p.GetAssignmentId() }
				its := func(a *routerv1.Assignment) bool { return a.GetSpecialist() == p.GetSpecialist() }
				if slices.ContainsFunc(d.final.GetAssignments(), same) {
					confirmed++
				}
				if slices.ContainsFunc(d.final.GetAssignments(), its) {
					rightSpecialist++
				}
			}
		}
		t.Logf("confidence %.2f and above: %d started, %d confirmed, %d wasted, %d for a specialist that the model chose too",
			least, started, confirmed, started-confirmed, rightSpecialist)
		if least == 2.0/3 && 3*confirmed < 2*started {
			t.Errorf("%d of %d are confirmed, want at least two thirds", confirmed, started)
		}
	}
}
