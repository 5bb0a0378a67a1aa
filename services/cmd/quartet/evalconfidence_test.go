package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval/confidence"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
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
	if racedetector.On {
		t.Skip("one message after another, as in TestRecordedMessages of e2e, and long under the race detector")
	}
	t.Parallel()
	args := []string{"eval", "confidence", "--json"}
	for _, class := range []string{"strong", "weak"} {
		args = append(args, filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl")))
	}
	var r confidence.Report
	runJSON(t, &r, args...)
	// One message is routed in another way than when it was recorded, so no model answers it.
	if r.Replies+r.Failed != 52 || r.Failed > 1 || r.AUC == nil || *r.AUC < 0.8 || r.Brier == nil || *r.Brier > 0.15 {
		t.Errorf("figures %+v", r)
	}
	var trained confidence.Results
	runJSON(t, &trained, append(args, "--train", "--hold", "tea", "../../internal/eval/confidence/testdata/offline")...)
	if v := trained.Validated; v.Replies+trained.Held.Replies < 291 || *v.AUC < 0.7 || *v.Brier > *v.BrierOfMean-0.02 {
		t.Errorf("cross-validated: %+v", v)
	}
	if h := trained.Held; *h.AUC < 0.63 || *h.Brier > *h.BrierOfMean-0.01 {
		t.Errorf("store held out: %+v", h)
	}
}

func TestEvalConfidenceRecordsRepliesToBeJudged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const message = `{"n":"01","store_id":"demo","message":"Do you sell kayaks?"}`
	if err := os.WriteFile(filepath.Join(dir, "messages.jsonl"), []byte(message+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	replies := filepath.Join(dir, "replies.jsonl")
	if code, _, stderr := quartet(t.Context(), nil, "eval", "confidence", "--record", replies, dir); code != 0 {
		t.Fatal(stderr)
	}
	label := `{"n":"01","verdict":"good"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "labels.jsonl"), []byte(label), 0o600); err != nil {
		t.Fatal(err)
	}
	var r confidence.Report
	runJSON(t, &r, "eval", "confidence", "--json", dir)
	if r.Replies != 1 || r.Labels["good"] != 1 || *r.Brier == 0 || r.Handoff.Replies != 0 {
		t.Errorf("%+v", r)
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
