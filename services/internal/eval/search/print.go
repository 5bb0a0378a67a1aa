package search

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/eval"
)

// Print writes the figures for a person.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "products: %d · queries: %d, without a relevant product: %d, of these nothing certain found: %d · judgments: %d\n",
		r.Products, r.Queries, r.WithoutRelevant, r.RightlyNone, r.Judgments)
	rows := [][]string{{"legs", "nDCG@10", "nDCG@5", "first", "condensed", "recall@100", "unjudged", "no answer", "missed", "median", "p99"}}
	changes := [][]string{{"against lexical", "nDCG@10", "better", "worse", "p (sign)", "p (random)", "condensed", "better", "worse", "p (sign)", "p (random)"}}
	pipelines := slices.Sorted(maps.Keys(r.Legs)) // each goes on with the name of the one before
	for _, name := range pipelines {
		rows = append(rows, figuresRow(name, r.Legs[name].Figures))
		if c := r.Legs[name].AgainstFirst; c != nil {
			changes = append(changes, slices.Concat([]string{name}, changeCells(c.NDCG10), changeCells(c.CondensedNDCG10)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Baselines)) {
		b := r.Baselines[name]
		row := figuresRow(name, b.Figures)
		rows = append(rows, append(row[:len(row)-2], "-", "-"))
		changes = append(changes, slices.Concat([]string{name}, changeCells(b.AgainstFirst.NDCG10), changeCells(b.AgainstFirst.CondensedNDCG10)))
	}
	eval.Table(w, rows)
	if len(changes) > 1 {
		eval.Table(w, changes)
	}
	fmt.Fprintf(w, "\nloaded in %.0f ms, first answer after %.0f ms", r.LoadMillis, r.IndexMillis)
	if r.EmbedMillis > 0 {
		fmt.Fprintf(w, ", all vectors after %.0f ms", r.EmbedMillis)
	}
	fmt.Fprintln(w)
	for _, name := range pipelines {
		if n := r.Legs[name].Incomplete; n > 0 {
			fmt.Fprintf(w, "%s: %d queries were answered without a leg that failed, so the figures are not those of all its legs\n", name, n)
		}
	}
	for _, m := range r.Misses {
		printMiss(w, m)
	}
}

// printMiss prints a query whose first 10 hits are not the best.
func printMiss(w io.Writer, m Miss) {
	fmt.Fprintf(w, "\n%q  nDCG@10 %.3f · condensed %.3f · recall@100 %.3f\n", m.Query, m.NDCG10, m.CondensedNDCG10, m.Recall100)
	for i, h := range m.Hits {
		grade := "-"
		if h.Grade != nil {
			grade = strconv.Itoa(*h.Grade)
		}
		fmt.Fprintf(w, "  %2d  %2s  %s  %s\n", i+1, grade, h.ProductID, eval.Start(h.Title))
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(w, "  relevant and not found: %s\n", strings.Join(m.Missing, " "))
	}
}

func figuresRow(name string, f Figures) []string {
	unjudged := "-"
	if v, ok := f.Unjudged10.Value(); ok {
		unjudged = fmt.Sprintf("%.0f %%", 100*v)
	}
	return []string{
		name, mean(f.NDCG10), mean(f.NDCG5), mean(f.First), mean(f.CondensedNDCG10), mean(f.Recall100), unjudged,
		strconv.Itoa(f.NoAnswer), strconv.Itoa(f.Missed), fmt.Sprintf("%.1f ms", f.P50), fmt.Sprintf("%.1f ms", f.P99),
	}
}

// changeCells are what a figure has won or lost.
func changeCells(c Change) []string {
	by := "-"
	if v, ok := c.Mean.Value(); ok {
		by = fmt.Sprintf("%+.3f", v)
	}
	return []string{by, strconv.Itoa(c.Improved), strconv.Itoa(c.Worsened), fmt.Sprintf("%.3f", c.SignTest), fmt.Sprintf("%.3f", c.RandomizationTest)}
}

// mean returns a mean with three digits, or a dash when there is none.
func mean(m Mean) string {
	v, ok := m.Value()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}
