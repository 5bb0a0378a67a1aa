package bench

import (
	"runtime"
	"time"
)

// Report is the figures of a run. Those that were not measured are absent from JSON.
type Report struct {
	// IdealMS is the latency of the model calls on the critical path, in milliseconds.
	IdealMS float64 `json:"ideal_ms"`
	// MedianMS is the median time of a turn that does not run ahead; Ratio is that over IdealMS.
	MedianMS float64 `json:"median_ms"`
	Ratio    float64 `json:"ratio"`
	// RunAheadMedianMS and RunAheadRatio are the same for a turn that runs ahead. IdealMS stays that without.
	RunAheadMedianMS float64 `json:"run_ahead_median_ms,omitempty"`
	RunAheadRatio    float64 `json:"run_ahead_ratio,omitempty"`
	// BaselineMedianMS is the median time of the hand-written loop's turn.
	BaselineMedianMS float64 `json:"baseline_median_ms"`

	// CPUMS is the processor time of a turn, in milliseconds; CPURatio is that over BaselineCPUMS, the hand-written loop's.
	CPUMS         float64 `json:"cpu_ms_per_turn"`
	BaselineCPUMS float64 `json:"baseline_cpu_ms_per_turn"`
	CPURatio      float64 `json:"cpu_ratio"`
	// RunAheadCPUMS is that of a turn that runs ahead.
	RunAheadCPUMS float64 `json:"run_ahead_cpu_ms_per_turn,omitempty"`
	// TurnsPerSecond with a model that answers at once and shares the machine's cores.
	TurnsPerSecond         float64 `json:"turns_per_second"`
	BaselineTurnsPerSecond float64 `json:"baseline_turns_per_second"`
	RunAheadTurnsPerSecond float64 `json:"run_ahead_turns_per_second,omitempty"`

	// KiBInFlight is the memory of a turn among InFlight ones that wait for a model; KiBInFlight1000 among 1,000.
	KiBInFlight     float64  `json:"kib_per_turn_in_flight,omitempty"`
	KiBInFlight1000 float64  `json:"kib_per_turn_in_flight_1000,omitempty"`
	Memory          []Memory `json:"memory,omitempty"`

	// What was measured, and on what.
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
	r.RunAheadTurnsPerSecond = perSecond(l.wall)
}

func (r *Report) memory(m Memory) {
	r.Memory = append(r.Memory, m)
	if m.Turns == smallCrowd {
		r.KiBInFlight1000 = m.Total
	}
	if m.Turns == r.InFlight {
		r.KiBInFlight = m.Total
	}
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
