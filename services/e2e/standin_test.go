package e2e

import (
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/eval/turns"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

//go:embed testdata/standin
var standinFiles embed.FS

var showScenarios = flag.String("scenarios", "", "print the replies that miss in this file: seen, held or steps; or both for all")

// The offline model answers most everyday messages in three stores of different trades, and none absurdly: with an order,
// a price or a promise that was not asked for.
func TestEverydayMessagesToTheOfflineModel(t *testing.T) {
	if racedetector.On {
		t.Skip("one turn after another, as in TestRecordedMessages, and minutes under the race detector")
	}
	h := newSystem(t)
	files, err := fs.Sub(standinFiles, "testdata/standin")
	if err != nil {
		t.Fatal(err)
	}
	sets, err := demo.Read(files, h.cfg.Time())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := load.Demo(t.Context(), h.data, set); err != nil {
			t.Fatal(err)
		}
	}
	scenarios, err := turns.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range []string{"seen", "held", "steps"} {
		type figure struct{ right, absurd, all int }
		figures := map[string]*figure{}
		for i, s := range scenarios {
			if !strings.HasPrefix(s.ID, half) {
				continue
			}
			f := figures[s.Store]
			if f == nil {
				f = &figure{}
				figures[s.Store] = f
			}
			f.all++
			run := turns.Ask(t.Context(), h.gateway, s, fmt.Sprint(half, i))
			if run.Err != nil {
				t.Fatalf("%s: %v", s.Messages, run.Err)
			}
			switch says := func(w string) bool { return strings.HasPrefix(w, "says ") }; {
			case run.Passed():
				f.right++
			case slices.ContainsFunc(run.Wrong, says):
				f.absurd++
			}
			if !run.Passed() && (*showScenarios == half || *showScenarios == "both") {
				t.Logf("%s %s: %s\n%s:\n%s\n", s.Store, s.Customer, s.Messages, strings.Join(run.Wrong, "; "), run.Reply.GetText())
				for _, r := range run.Reply.GetResults() {
					t.Log(r.GetAssignment().GetSpecialist(), r.GetAnswer().GetToolCalls())
				}
			}
		}
		for store, f := range figures {
			// The floors leave room for a message or two that a change to search or routing moves.
			if 100*f.right < 85*f.all {
				t.Errorf("%s, %s: %d of %d are right, want 85 %%", store, half, f.right, f.all)
			}
			if f.absurd > 0 {
				t.Errorf("%s, %s: %d replies are absurd", store, half, f.absurd)
			}
			t.Logf("%s, %s: %d of %d right, %d absurd", store, half, f.right, f.all, f.absurd)
		}
	}
}
