package grounding_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// Figures of the public answers, of 48 each, which a change must not make worse.
const (
	mostHonestFlagged   = 0
	leastCorruptedFound = 33
)

// TestPublicAnswers measures the check on pairs of an honest and a corrupted answer that were written apart from it.
func TestPublicAnswers(t *testing.T) {
	lines := bufio.NewScanner(publicdata.Open(t, "grounding/answers.jsonl"))
	lines.Buffer(nil, 1<<20)
	type figures struct{ honest, flagged, corrupted, found int }
	kinds := map[string]figures{}
	for lines.Scan() {
		var a struct {
			Kind, Message, Text, Verdict string
			Payloads                     []struct{ Result json.RawMessage }
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		var results []string
		for _, p := range a.Payloads {
			results = append(results, plain(p.Result))
		}
		unsupported := len(check(a.Message, results, a.Text).Rejected()) > 0
		for _, kind := range []string{a.Kind, ""} {
			f := kinds[kind]
			if a.Verdict == "honest" {
				f.honest++
			} else {
				f.corrupted++
			}
			if unsupported && a.Verdict == "honest" {
				f.flagged++
			} else if unsupported {
				f.found++
			}
			kinds[kind] = f
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		f := kinds[kind]
		t.Logf("%-22s honest answers flagged: %d of %d; corrupted ones found: %d of %d", kind, f.flagged, f.honest, f.found, f.corrupted)
	}
	if all := kinds[""]; all.flagged > mostHonestFlagged || all.found < leastCorruptedFound {
		t.Errorf("%d honest answers are flagged, at most %d; %d corrupted ones are found, at least %d",
			all.flagged, mostHonestFlagged, all.found, leastCorruptedFound)
	}
}
