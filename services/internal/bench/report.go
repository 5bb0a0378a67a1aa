package bench

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"
)

// The goals that figures are printed beside. Nothing passes or fails by them.
const (
	goalRatio         = 1.02
	goalRunAheadRatio = 0.77
	goalCPURatio      = 1.8
	goalKiB           = 210
)

// Report has the figures of a run. JSON omits figures that were not measured.
type Report struct {
	// IdealMS is the latency of the model calls on the critical path, in milliseconds.
	IdealMS float64 `json:"ideal_ms"`
	// MedianMS is the median time of a turn without run-ahead; Ratio is MedianMS over IdealMS.
	MedianMS float64 `json:"median_ms"`
	Ratio    float64 `json:"ratio"`
	// RunAheadMedianMS and RunAheadRatio are the same with run-ahead, over the same IdealMS.
	RunAheadMedianMS float64 `json:"run_ahead_median_ms,omitempty"`
	RunAheadRatio    float64 `json:"run_ahead_ratio,omitempty"`
	// BaselineMedianMS is the median time of the hand-written loop's turn.
	BaselineMedianMS float64 `json:"baseline_median_ms"`

	// CPUMS is the processor time of a turn, in milliseconds; BaselineCPUMS is the hand-written loop's; CPURatio is CPUMS over
	// BaselineCPUMS.
	CPUMS         float64 `json:"cpu_ms_per_turn"`
	BaselineCPUMS float64 `json:"baseline_cpu_ms_per_turn"`
	CPURatio      float64 `json:"cpu_ratio"`
	// RunAheadCPUMS is the processor time of a turn with run-ahead, in milliseconds.
	RunAheadCPUMS float64 `json:"run_ahead_cpu_ms_per_turn,omitempty"`
	// TurnsPerSecond and BaselineTurnsPerSecond are with a model that answers at once and shares the machine's cores.
	TurnsPerSecond         float64 `json:"turns_per_second"`
	BaselineTurnsPerSecond float64 `json:"baseline_turns_per_second"`

	// KiBInFlight is the memory of one of InFlight turns that wait for a model. Memory has its parts; nil: not measured.
	KiBInFlight float64 `json:"kib_per_turn_in_flight,omitempty"`
	Memory      *Memory `json:"memory,omitempty"`

	// The rest is the configuration and the machine.
	Turns       int    `json:"turns"`
	Concurrency int    `json:"concurrency"`
	InFlight    int    `json:"in_flight"`
	RunAhead    string `json:"run_ahead"`
	CPUs        int    `json:"cpus"`
	Go          string `json:"go"`
	Platform    string `json:"platform"`
}

func newReport(cfg Config) *Report {
	return &Report{
		IdealMS: milliseconds(PathCalls * cfg.Latency), Turns: cfg.Turns, Concurrency: cfg.Concurrency, InFlight: cfg.InFlight,
		RunAhead: cfg.RunAhead, CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func (r *Report) times(suite, baseline time.Duration) {
	r.MedianMS, r.BaselineMedianMS = milliseconds(suite), milliseconds(baseline)
	r.Ratio = over(r.MedianMS, r.IdealMS)
}

func (r *Report) loads(suite, baseline load) {
	r.CPUMS, r.BaselineCPUMS = milliseconds(suite.cpu), milliseconds(baseline.cpu)
	r.CPURatio = over(r.CPUMS, r.BaselineCPUMS)
	r.TurnsPerSecond, r.BaselineTurnsPerSecond = perSecond(suite.wall), perSecond(baseline.wall)
}

func (r *Report) ahead(took time.Duration, l load) {
	r.RunAheadMedianMS, r.RunAheadCPUMS = milliseconds(took), milliseconds(l.cpu)
	r.RunAheadRatio = over(r.RunAheadMedianMS, r.IdealMS)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func perSecond(d time.Duration) float64 { return over(1, d.Seconds()) }

// over is a quotient, and zero where there is none.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Print writes the figures as a table. state says where the suite kept its state.
func (r *Report) Print(w io.Writer, state string) {
	fmt.Fprintf(w, "one turn: two specialists with one tool call each, and a merge · %d model calls, %d of them in a row\n", CallsPerTurn, PathCalls)
	fmt.Fprintf(w, "%s on %s, %d cores · state: %s\n\n", r.Go, r.Platform, r.CPUs, state)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(figure, value string, ratio, goal float64, base string) {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", figure, value, number("%.3f", ratio), number("at most %g", goal), base)
	}
	ms := func(v float64) string { return fmt.Sprintf("%.2f ms", v) }
	ideal := "ideal " + ms(r.IdealMS)
	fmt.Fprintln(tab, "figure\tvalue\tof the base\tgoal\tbase")
	row("median turn", ms(r.MedianMS), r.Ratio, goalRatio, ideal)
	if r.RunAheadMedianMS > 0 {
		row("  run-ahead "+r.RunAhead, ms(r.RunAheadMedianMS), r.RunAheadRatio, goalRunAheadRatio, ideal)
	}
	row("  hand-written loop", ms(r.BaselineMedianMS), 0, 0, "")
	row("processor time of a turn", ms(r.CPUMS), r.CPURatio, goalCPURatio, "loop "+ms(r.BaselineCPUMS))
	if r.RunAheadCPUMS > 0 {
		row("  run-ahead "+r.RunAhead, ms(r.RunAheadCPUMS), 0, 0, "")
	}
	row("turns per second", fmt.Sprintf("%.0f", r.TurnsPerSecond), 0, 0, fmt.Sprintf("loop %.0f", r.BaselineTurnsPerSecond))
	if m := r.Memory; m != nil {
		row(fmt.Sprintf("memory of one of %d turns", m.Turns), fmt.Sprintf("%.0f KiB", m.Total), 0, goalKiB,
			fmt.Sprintf("heap %.0f, stacks %.0f, %.0f goroutines", m.Heap, m.Stacks, m.Goroutines))
	}
	_ = tab.Flush() // an error of w shows to its owner
}

// number formats a figure, and an absent one as a dash.
func number(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
