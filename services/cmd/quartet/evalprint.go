package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
)

const (
	// shownConfusions is how many confused pairs are printed; --json has all.
	shownConfusions = 10
	// shownText is how much of a message is printed, in characters.
	shownText = 90
)

// printReport prints the figures for a person, within 100 columns unless the set's own names are long.
func printReport(w io.Writer, r *routing.Report, note string) {
	what := "router " + r.Router
	if r.Model != "" {
		what += " · model " + r.Model
	}
	fmt.Fprintf(w, "%s · %s\n", what, count(r.Messages, "message"))
	if note != "" {
		fmt.Fprintln(w, note)
	}
	printSummary(w, r)
	printSpecialists(w, r.BySpecialist)
	printGroups(w, "kind", r.ByKind)
	printGroups(w, "language", r.ByLanguage)
	printConfusions(w, r.Confusion)
	printMisses(w, r.Misses)
}

func printSummary(w io.Writer, r *routing.Report) {
	fmt.Fprintln(w)
	for _, line := range []struct {
		name string
		rate routing.Rate
	}{
		{"exact set accuracy", r.ExactSetAccuracy},
		{"over-split rate", r.OverSplitRate},
		{"under-split rate", r.UnderSplitRate},
		{"certain share", r.CertainShare},
		{"  with one specialist", r.CertainShareSingle},
		{"certain accuracy", r.CertainAccuracy},
	} {
		fmt.Fprintf(w, "%-22s  %8s  %d of %d\n", line.name, percent(line.rate), line.rate.N, line.rate.Of)
	}
	fmt.Fprintf(w, "%-22s  rules %d · model %d · backstop %d\n", "decided by",
		r.BySource["rules"], r.BySource["model"], r.BySource["backstop"])
	fmt.Fprintf(w, "%-22s  median %.0f µs · p99 %.0f µs\n", "time of a decision", r.MedianMicros, r.P99Micros)
}

func printSpecialists(w io.Writer, figures map[string]routing.Specialist) {
	rows := [][]string{{"specialist", "precision", "recall", "f1", "support"}}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		f := figures[name]
		rows = append(rows, []string{name, percent(f.Precision), percent(f.Recall), percent(f.F1), strconv.Itoa(f.Support)})
	}
	printTable(w, rows)
}

func printGroups(w io.Writer, by string, groups map[string]routing.Summary) {
	if len(groups) == 0 {
		return
	}
	rows := [][]string{{by, "messages", "exact", "over-split", "under-split", "certain", "certain accuracy"}}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		rows = append(rows, []string{
			name, strconv.Itoa(g.Messages), percent(g.ExactSetAccuracy), percent(g.OverSplitRate), percent(g.UnderSplitRate),
			percent(g.CertainShare), percent(g.CertainAccuracy),
		})
	}
	printTable(w, rows)
}

// printConfusions prints the pairs of sets that differ.
func printConfusions(w io.Writer, all []routing.Confusion) {
	wrong := slices.DeleteFunc(slices.Clone(all), func(c routing.Confusion) bool { return slices.Equal(c.Gold, c.Got) })
	if len(wrong) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%8s  gold -> decided\n", "messages")
	for i, c := range wrong {
		if i == shownConfusions {
			fmt.Fprintf(w, "%8s  and %s more\n", "", count(len(wrong)-i, "pair"))
			break
		}
		fmt.Fprintf(w, "%8d  %s\n", c.Messages, sentTo(c.Gold, c.Got))
	}
}

func printMisses(w io.Writer, misses []routing.Miss) {
	for _, m := range misses {
		fmt.Fprintf(w, "\n%s  %s  (certainty %.2f, %s)\n  %q\n", m.ID, sentTo(m.Gold, m.Got), m.Certainty, m.Source, start(m.Text, shownText))
		for _, n := range m.Notes {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
}

func sentTo(gold, got []string) string {
	return strings.Join(gold, " + ") + " -> " + strings.Join(got, " + ")
}

// printTable prints rows in columns, the first column set left and the others right.
func printTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(w, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w)
	}
}

// percent returns a rate in per cent, or a dash when there is none.
func percent(r routing.Rate) string {
	v, ok := r.Value()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

// start returns at most n characters of s.
func start(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
