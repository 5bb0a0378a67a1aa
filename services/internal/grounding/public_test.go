package grounding_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// Figures of the public answers, of 48 each, which a change must not make worse.
const (
	mostHonestFlagged   = 0
	leastCorruptedFound = 43
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

// TestRecordedAnswers measures the check on what language models answered from the tools of the specialists. Those of the strong model are
// true; the weak one was wrong on purpose.
func TestRecordedAnswers(t *testing.T) {
	for _, model := range []string{"strong", "weak"} {
		answers, flagged := 0, 0
		for d := json.NewDecoder(publicdata.Open(t, "llm/"+model+"/exchanges.jsonl")); d.More(); {
			var x struct {
				Request struct {
					Messages []struct{ Role, Content string }
				}
				Completion struct{ Content any }
			}
			if err := d.Decode(&x); err != nil {
				t.Fatal(err)
			}
			text, _ := x.Completion.Content.(string)
			var e grounding.Evidence
			results := 0
			for _, m := range x.Request.Messages {
				switch m.Role {
				case "tool": // between lines that fence it in
					inner := m.Content[strings.Index(m.Content, "\n")+1:]
					e.AddResult("", inner[:strings.LastIndex(inner, "\n")])
					results++
				case "user":
					e.AddText(m.Content)
				}
			}
			if text == "" || results == 0 {
				continue
			}
			answers++
			if rejected := e.Check(text).Rejected(); len(rejected) > 0 {
				flagged++
				t.Logf("%s: %q in: %s", model, rejected.Texts(5), text)
			}
		}
		t.Logf("%s: %d of %d answers flagged", model, flagged, answers)
		if answers == 0 || (flagged > 0) != (model == "weak") {
			t.Errorf("%d of %d answers of the %s model are flagged", flagged, answers, model)
		}
	}
}
