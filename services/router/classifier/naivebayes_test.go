package classifier

import (
	"os"
	"slices"
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func mostLikelyOf(l *Classifier, text string, ignored ...int) (name string, sums []float64) {
	ws := splitWords(text)
	marks := make([]bool, len(ws))
	for _, i := range ignored {
		marks[i] = true
	}
	sums = make([]float64, l.lexicon.model.classes)
	l.lexicon.model.scores(ws, nil).addTo(sums, 0, len(ws), marks)
	best := slices.Index(sums, slices.Max(sums))
	if best == len(l.Specialists()) {
		return "background", sums
	}
	return l.lexicon.names[best], sums
}

func TestWordsAreLikelyForTheSpecialistWhoseExamplesHaveThem(t *testing.T) {
	l := New([]*specialistv1.Specialist{
		{Name: "garden", Examples: []string{"how do I prune a rose?", "when do I plant tulips?", "prune the pear tree"}},
		{Name: "kitchen", Examples: []string{"how do I bake a cake?", "when is the bread done?", "bake the bread"}},
	})
	for text, want := range map[string]string{
		"please prune it": "garden", "can one bake that": "kitchen", "TULIPS": "garden", "pruning": "garden",
		"I have two small children": "background",
	} {
		if got, sums := mostLikelyOf(l, text); got != want {
			t.Errorf("%q is likeliest %s (%.1f), want %s", text, got, sums, want)
		}
	}
	if got, sums := mostLikelyOf(l, "do not prune, bake", 2); got != "kitchen" {
		t.Errorf("with an ignored word it is likeliest %s (%.1f)", got, sums)
	}
	if _, sums := mostLikelyOf(l, ""); slices.ContainsFunc(sums, func(x float64) bool { return x != 0 }) {
		t.Errorf("no words have log odds: %.1f", sums)
	}
}

// A span of a message scores what it would score as a message of its own.
func TestASpanScoresWhatItsWordsDo(t *testing.T) {
	l := newFour()
	const text = "Is the blue tent still in stock, and how long does delivery to Graz take?"
	ws := splitWords(text)
	b := l.lexicon.model.scores(ws, nil)
	for lo := range ws {
		for hi := lo + 1; hi <= len(ws); hi++ {
			got, want := make([]float64, b.classes), make([]float64, b.classes)
			b.addTo(got, lo, hi, nil)
			l.lexicon.model.scores(ws[lo:hi], nil).addTo(want, 0, hi-lo, nil)
			for i := range got {
				if d := got[i] - want[i]; d > 1e-9 || d < -1e-9 {
					t.Fatalf("words %d to %d score %v, alone %v", lo, hi, got, want)
				}
			}
		}
	}
}

func TestExamplesAreEnoughToGetRequests(t *testing.T) {
	all := append(specialists(), &specialistv1.Specialist{Name: "repairs", Examples: []string{
		"can you mend my zip?", "my zip is stuck, can you mend it?", "what does mending a seam cost?", "patch a hole in my tent",
		"the seam came open, can you sew it?", "do you patch sleeping bags?", "how long does a patch take?", "sew on a button",
	}})
	l := New(all)
	for _, message := range []string{"can you patch my jacket?", "could somebody mend a seam", "do you sew on patches?"} {
		if got := names(classify(l, message)); !slices.Equal(got, []string{"repairs"}) {
			t.Errorf("Classify(%q) = %v, want repairs", message, got)
		}
	}
	for message, want := range map[string]string{"where is my order?": "support", "any discount codes?": "promotions"} {
		if got := names(classify(l, message)); !slices.Equal(got, []string{want}) {
			t.Errorf("Classify(%q) = %v, want %s", message, got, want)
		}
	}
}

// What has no mark between two requests is cut where the examples know two.
func TestRequestsThatRunIntoEachOtherAreParted(t *testing.T) {
	l := newFour()
	for message, want := range map[string][]string{
		"what else should I take along for a canoe trip my parcel has not arrived yet": {"recommend", "support"},
		"do you sell left handed scissors how long does delivery to Spain take":        {"search", "support"},
		"I want to return the shoes because they are too small for my feet":            {"support"},
	} {
		if got := names(classify(l, message)); !slices.Equal(got, want) {
			t.Errorf("Classify(%q) = %v, want %v", message, got, want)
		}
	}
}

// An example that is in a set would make the set's figures worth nothing.
func TestExamplesAreNoneOfTheMessagesThatAreMeasured(t *testing.T) {
	plain := func(text string) string {
		var words []string
		for _, w := range splitWords(text) {
			words = append(words, w.norm)
		}
		return strings.Join(words, " ")
	}
	measured := map[string]bool{}
	for _, file := range append([]string{"held.jsonl"}, tuningFiles...) {
		for _, c := range evalCases(t, file) {
			measured[plain(c.Text)] = true
		}
	}
	data, err := os.ReadFile("background.txt")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, p := range four {
		// The first ones are older than the sets, and what a store cannot do without: "where is my order?"
		examples = append(examples, p.GetExamples()[7:]...)
	}
	for _, e := range examples {
		if measured[plain(e)] {
			t.Errorf("%q is in a set", e)
		}
	}
}

func BenchmarkTrain(b *testing.B) {
	s := specialists()
	b.ReportAllocs()
	for b.Loop() {
		train(s)
	}
}
