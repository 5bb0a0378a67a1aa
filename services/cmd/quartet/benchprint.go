package main

import (
	"fmt"
	"io"

	"github.com/quartet-commerce/quartet/services/internal/bench"
)

// The goals that figures are printed beside. Nothing passes or fails.
const (
	goalRatio         = 1.02
	goalRunAheadRatio = 0.77
	goalCPURatio      = 1.8
	goalKiB           = 210
)

// printBench prints the figures for a person.
func printBench(w io.Writer, r *bench.Report, state string) {
	fmt.Fprintf(w, "one turn: two specialists with one tool call each, and a merge · %d model calls, %d of them in a row\n",
		bench.CallsPerTurn, bench.PathCalls)
	fmt.Fprintf(w, "%s on %s, %d cores · state: %s\n", r.Go, r.Platform, r.CPUs, state)
	goal := func(at float64) string { return fmt.Sprintf("at most %g", at) }
	ms := func(v float64) string { return fmt.Sprintf("%.2f ms", v) }
	rows := [][]string{{"figure", "value", "of the base", "goal", "base"}}
	add := func(name, value, ratio, goal, base string) {
		rows = append(rows, []string{name, value, ratio, goal, base})
	}
	add("median turn", ms(r.MedianMS), times(r.Ratio), goal(goalRatio), "ideal "+ms(r.IdealMS))
	if r.RunAheadMedianMS > 0 {
		add("  running ahead ("+r.RunAhead+")", ms(r.RunAheadMedianMS), times(r.RunAheadRatio), goal(goalRunAheadRatio), "ideal "+ms(r.IdealMS))
	}
	add("  hand-written loop", ms(r.BaselineMedianMS), "", "", "")
	add("processor time of a turn", ms(r.CPUMS), times(r.CPURatio), goal(goalCPURatio), "loop "+ms(r.BaselineCPUMS))
	if r.RunAheadCPUMS > 0 {
		add("  running ahead", ms(r.RunAheadCPUMS), "", "", "")
	}
	add("turns per second", fmt.Sprintf("%.0f", r.TurnsPerSecond), "", "", fmt.Sprintf("loop %.0f", r.BaselineTurnsPerSecond))
	for _, m := range r.Memory {
		limit := ""
		if m.Turns == r.InFlight {
			limit = goal(goalKiB)
		}
		add(fmt.Sprintf("memory of one of %d turns", m.Turns), fmt.Sprintf("%.0f KiB", m.Total), "", limit,
			fmt.Sprintf("heap %.0f, stacks %.0f, %.0f goroutines", m.Heap, m.Stacks, m.Goroutines))
	}
	printTable(w, rows)
}

func times(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", ratio)
}
