package grounding_test

import (
	"maps"
	"slices"
	"testing"
)

// Figures of the public answers, of 48 each, which a change must not make worse.
const (
	mostHonestFlagged   = 0
	leastCorruptedFound = 38
)

// TestPublicAnswers measures the check on pairs of an honest and a corrupted answer that were written apart from it.
func TestPublicAnswers(t *testing.T) {
	type figures struct{ honest, flagged, corrupted, found int }
	kinds := map[string]figures{}
	for _, a := range publicAnswers(t) {
		unsupported := len(a.evidence().Check(a.Text).Rejected()) > 0
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
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		f := kinds[kind]
		t.Logf("%-22s honest answers flagged: %d of %d; corrupted ones found: %d of %d", kind, f.flagged, f.honest, f.found, f.corrupted)
	}
	if all := kinds[""]; all.flagged > mostHonestFlagged || all.found < leastCorruptedFound {
		t.Errorf("%d honest answers are flagged, at most %d; %d corrupted ones are found, at least %d",
			all.flagged, mostHonestFlagged, all.found, leastCorruptedFound)
	}
}
