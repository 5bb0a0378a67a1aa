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
		"a folder that is not there": {[]string{"/no/such"}, "/no/such: open replies.jsonl"},
	} {
		code, _, stderr := quartet(t.Context(), nil, append([]string{"eval", "confidence"}, c.args...)...)
		if code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: code %d, %q; want 2, %q", name, code, stderr, c.says)
		}
	}
}

// The limits leave room for what is reached: the dates of the demo orders, and so what counts as unsupported, move with the day.
func TestConfidenceTellsGoodRepliesFromBadOnes(t *testing.T) {
	t.Parallel()
	args := []string{"eval", "confidence", "--json"}
	for _, class := range []string{"strong", "weak"} {
		args = append(args, filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl")))
	}
	code, out, stderr := quartet(t.Context(), nil, args...)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	var r confidence.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	t.Log(out)
	if r.Replies != 52 || r.Failed > 0 || r.AUC == nil || *r.AUC < 0.7 || r.Brier == nil || *r.Brier > 0.23 {
		t.Errorf("figures %s", out)
	}
}
