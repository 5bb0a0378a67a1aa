package routing

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// shownConfusions is the number of confused pairs that are printed. JSON has all.
const shownConfusions = 10

// Print writes the figures for a person, within 100 columns unless the set's own names are long. note is a line about the
// model; empty: none.
func (r *Report) Print(w io.Writer, note string) {
	what := "router " + r.Router
	if r.Model != "" {
		what += " · model " + r.Model
	}
	fmt.Fprintf(w, "%s · %s\n", what, text.Count(r.Messages, "message"))
	if note != "" {
		fmt.Fprintln(w, note)
	}
	printSummary(w, r)
	printSpecialists(w, r.BySpecialist)
	printReliability(w, r.Reliability)
	printGroups(w, "specialists", r.ByParts)
	printGroups(w, "kind", r.ByKind)
	printGroups(w, "language", r.ByLanguage)
	printConfusions(w, r.Confusion)
	printMisses(w, r.Misses)
}

func printSummary(w io.Writer, r *Report) {
	fmt.Fprintln(w)
	for _, line := range []struct {
		name string
		rate Rate
	}{
		{"exact set accuracy", r.ExactSetAccuracy},
		{"over-split rate", r.OverSplitRate},
		{"under-split rate", r.UnderSplitRate},
		{"certain share", r.CertainShare},
		{"  with one specialist", r.CertainShareSingle},
		{"certain accuracy", r.CertainAccuracy},
		{"examples accuracy", r.ExamplesAccuracy},
		{"numbers, ids kept", r.Kept},
	} {
		fmt.Fprintf(w, "%-22s  %8s  %d of %d\n", line.name, line.rate.Percent(), line.rate.N, line.rate.Of)
	}
	fmt.Fprintf(w, "%-22s  rules %d · examples %d · model %d · fallback %d\n", "decided by",
		r.BySource["rules"], r.BySource["examples"], r.BySource["model"], r.BySource["fallback"])
	fmt.Fprintf(w, "%-22s  median %.0f µs · p99 %.0f µs\n", "time of a decision", r.MedianMicros, r.P99Micros)
}

func printSpecialists(w io.Writer, figures map[string]Specialist) {
	rows := [][]string{{"specialist", "precision", "recall", "f1", "support"}}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		f := figures[name]
		rows = append(rows, []string{name, f.Precision.Percent(), f.Recall.Percent(), f.F1.Percent(), strconv.Itoa(f.Support)})
	}
	eval.Table(w, rows)
}

func printReliability(w io.Writer, ranges []Range) {
	if len(ranges) == 0 {
		return
	}
	rows := [][]string{{"certainty", "messages", "right"}}
	for _, r := range ranges {
		rows = append(rows, []string{fmt.Sprintf("%.2f to %.2f", r.From, r.To), strconv.Itoa(r.Messages), r.Right.Percent()})
	}
	eval.Table(w, rows)
}

func printGroups(w io.Writer, by string, groups map[string]Summary) {
	if len(groups) == 0 {
		return
	}
	rows := [][]string{{by, "messages", "exact", "over-split", "under-split", "certain", "certain accuracy"}}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		rows = append(rows, []string{
			name, strconv.Itoa(g.Messages), g.ExactSetAccuracy.Percent(), g.OverSplitRate.Percent(), g.UnderSplitRate.Percent(),
			g.CertainShare.Percent(), g.CertainAccuracy.Percent(),
		})
	}
	eval.Table(w, rows)
}

// printConfusions prints the pairs of sets that differ.
func printConfusions(w io.Writer, all []Confusion) {
	wrong := slices.DeleteFunc(slices.Clone(all), func(c Confusion) bool { return slices.Equal(c.Gold, c.Got) })
	if len(wrong) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%8s  gold -> decided\n", "messages")
	for i, c := range wrong {
		if i == shownConfusions {
			fmt.Fprintf(w, "%8s  and %s more\n", "", text.Count(len(wrong)-i, "pair"))
			break
		}
		fmt.Fprintf(w, "%8d  %s\n", c.Messages, sentTo(c.Gold, c.Got))
	}
}

func printMisses(w io.Writer, misses []Miss) {
	for _, m := range misses {
		fmt.Fprintf(w, "\n%s  %s  (certainty %.2f, %s)\n  %q\n", m.ID, sentTo(m.Gold, m.Got), m.Certainty, m.Source, eval.Start(m.Text))
		for _, n := range m.Notes {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
}

func sentTo(gold, got []string) string {
	return strings.Join(gold, " + ") + " -> " + strings.Join(got, " + ")
}

// Percent returns the rate in per cent, or a dash when there is none.
func (r Rate) Percent() string {
	v, ok := r.Value()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
