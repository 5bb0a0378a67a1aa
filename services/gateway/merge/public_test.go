package merge

import (
	"bufio"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// Figures of the public merges, of 63 each, which a change must not make worse.
const (
	mostWithheld    = 0
	mostDoubled     = 2
	leastCorrupted  = 54
	mostPlainFailed = 2 // of those that state no sum and round nothing
)

// publicMerge is a merged text that was written apart from the checks: an honest one, or one with a wrong fact.
type publicMerge struct {
	mergeCase
	Kind, Merged string
	// Wrong must not reach the shopper; "#1" says that the second section is missing.
	Wrong string
}

func publicMerges(t *testing.T, name string) []publicMerge {
	t.Helper()
	lines := bufio.NewScanner(publicdata.Open(t, "grounding/"+name))
	lines.Buffer(nil, 1<<20)
	var all []publicMerge
	for lines.Scan() {
		var m publicMerge
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// kindCount is how many cases of a kind there are, and to how many of them something applies.
type kindCount struct{ all, hits int }

func count(kinds map[string]kindCount, kind string, hit bool) {
	c := kinds[kind]
	c.all++
	if hit {
		c.hits++
	}
	kinds[kind] = c
}

func logKinds(t *testing.T, what string, kinds map[string]kindCount) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("  %s %s: %d of %d", kind, what, kinds[kind].hits, kinds[kind].all)
	}
}

func TestPublicHonestMerges(t *testing.T) {
	kinds := map[string]kindCount{}
	withheld, doubled, failed, plainFailed := 0, 0, 0, 0
	all := publicMerges(t, "honest.jsonl")
	for _, m := range all {
		passed, missing, err := m.passed(m.Honest, true)
		isWithheld, isDoubled := err != nil || passed != strings.TrimSpace(m.Honest), len(missing) > 0
		count(kinds, m.Kind, isWithheld || isDoubled)
		if isWithheld {
			withheld++
		}
		if isDoubled {
			doubled++
		}
		if isWithheld || isDoubled {
			failed++
			if m.Kind != "sum" && m.Kind != "rounding" {
				plainFailed++
			}
		}
	}
	t.Logf("of %d honest merges %d are withheld or cut, %d get a section twice, %d either; without sums and rounding: %d",
		len(all), withheld, doubled, failed, plainFailed)
	logKinds(t, "withheld, cut or doubled", kinds)
	if withheld > mostWithheld || doubled > mostDoubled || plainFailed > mostPlainFailed {
		t.Errorf("at most %d, %d and %d without sums and rounding", mostWithheld, mostDoubled, mostPlainFailed)
	}
}

func TestPublicCorruptedMerges(t *testing.T) {
	kinds := map[string]kindCount{}
	caught := 0
	all := publicMerges(t, "corrupted.jsonl")
	for _, m := range all {
		passed, missing, _ := m.passed(m.Merged, true)
		isCaught := !strings.Contains(passed, m.Wrong)
		if section, ok := strings.CutPrefix(m.Wrong, "#"); ok {
			n, err := strconv.Atoi(section)
			isCaught = err == nil && slices.Contains(missing, n)
		}
		count(kinds, m.Kind, isCaught)
		if isCaught {
			caught++
		}
	}
	t.Logf("%d of %d corrupted merges are caught", caught, len(all))
	logKinds(t, "caught", kinds)
	if caught < leastCorrupted {
		t.Errorf("at least %d", leastCorrupted)
	}
}
