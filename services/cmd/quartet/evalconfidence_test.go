package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval/confidence"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

func TestEvalConfidenceMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":                    {nil, "give at least one folder"},
		"a folder that is not there": {[]string{"/no/such"}, "/no/such: open messages.jsonl"},
	} {
		code, _, stderr := quartet(t.Context(), nil, append([]string{"eval", "confidence"}, c.args...)...)
		if code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: code %d, %q; want 2, %q", name, code, stderr, c.says)
		}
	}
}

func TestConfidenceTellsGoodRepliesFromBadOnes(t *testing.T) {
	t.Parallel()
	args := []string{"eval", "confidence", "--json"}
	for _, class := range []string{"strong", "weak"} {
		args = append(args, filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl")))
	}
	var r confidence.Report
	runJSON(t, &r, args...)
	if r.Replies != 52 || r.Failed > 0 || r.AUC == nil || *r.AUC < 0.8 || r.Brier == nil || *r.Brier > 0.15 {
		t.Errorf("figures %+v", r)
	}
	var trained struct {
		Weights   []float64
		Validated confidence.Report
	}
	runJSON(t, &trained, append(args, "--train", "../../internal/eval/confidence/testdata/offline")...)
	if v := trained.Validated; len(trained.Weights) == 0 || v.Replies != 122 || *v.Brier >= *v.BrierOfMean {
		t.Errorf("with unseen replies: %+v", trained)
	}
}

// runJSON runs a command and reads what it prints.
func runJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	code, out, stderr := quartet(t.Context(), nil, args...)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatal(err)
	}
	t.Log(out)
}
