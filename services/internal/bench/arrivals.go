package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Outcome is how a turn of an [Arrivals] ended.
type Outcome string

// Outcomes, in the order of the report.
const (
	Answered Outcome = "answered" // in full
	Degraded Outcome = "degraded" // a part failed, or the reply was not recorded
	Shed     Outcome = "shed"     // refused, because too many turns were in flight
	Failed   Outcome = "failed"   // any other error
)

// Arrivals is a load of turns that begin at a given rate, whether or not earlier ones have ended (an open loop). A closed loop, in which
// a client waits for its reply before it asks again, asks less of a suite that becomes slow, and so hides that it did.
type Arrivals struct {
	// Rate is the mean number of turns that begin in a second. The times between them are exponentially distributed.
	Rate float64
	// Duration is the time during which turns begin.
	Duration time.Duration
	// Ask runs a turn. Errors are those of [Failed] turns; the report has the first.
	Ask func(context.Context) (Outcome, error)
	// Resources measures the suite, 11 times from start to end. Nil: nothing does.
	Resources func(context.Context) (Resources, error)
	// Seed makes the times at which turns begin. The same seed makes the same times.
	Seed uint64
}

// Check says which of the numbers are out of range.
func (a Arrivals) Check() error {
	switch {
	case !(a.Rate > 0 && a.Rate <= 1e5):
		return fmt.Errorf("rate is %v turns a second, must be above 0 and at most 100000", a.Rate)
	case a.Duration <= 0:
		return fmt.Errorf("duration is %v, must be above 0", a.Duration)
	}
	return nil
}

// Resources is what a suite holds at a time.
type Resources struct {
	// Second is the time since the start.
	Second float64 `json:"second"`
	// MiB is the memory that Go's runtime has from the operating system and has not given back.
	MiB float64 `json:"mib"`
	// Goroutines is their number.
	Goroutines int `json:"goroutines"`
}

// Percentiles are of the time from when a turn should have begun to its end, in milliseconds.
type Percentiles struct {
	Turns int     `json:"turns"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// ArrivalsReport has the figures of [Arrivals].
type ArrivalsReport struct {
	// Rate is the number of turns that began in a second.
	Rate float64 `json:"turns_per_second"`
	// Seconds is the time until the last turn ended.
	Seconds float64 `json:"seconds"`
	// Outcomes has those that happened.
	Outcomes map[Outcome]Percentiles `json:"outcomes"`
	// ShedShare is the share of turns that were refused, from 0 to 1.
	ShedShare float64 `json:"shed_share"`
	// FirstError is that of the first turn that failed.
	FirstError string `json:"first_error,omitempty"`
	// Resources are measured at regular times.
	Resources []Resources `json:"resources,omitempty"`
}

// Run begins the turns and waits for all of them.
func (a Arrivals) Run(ctx context.Context) (*ArrivalsReport, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	random := rand.New(rand.NewPCG(a.Seed, 0))
	var (
		mu     sync.Mutex
		took   = make(map[Outcome][]time.Duration)
		report = &ArrivalsReport{Outcomes: make(map[Outcome]Percentiles)}
		wg     sync.WaitGroup
		turns  int
		failed error // of a.Resources
	)
	begun := time.Now()
	if a.Resources != nil {
		wg.Go(func() { report.Resources, failed = a.watch(ctx, begun) })
	}
	for due := a.next(random); due < a.Duration; due += a.next(random) {
		if err := sleep(ctx, due-time.Since(begun)); err != nil {
			break
		}
		turns++
		wg.Go(func() {
			outcome, err := a.Ask(ctx)
			mu.Lock()
			defer mu.Unlock()
			took[outcome] = append(took[outcome], time.Since(begun)-due)
			if err != nil && outcome == Failed && report.FirstError == "" {
				report.FirstError = err.Error()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, fmt.Errorf("load: resources: %w", failed)
	}
	report.Rate, report.Seconds = float64(turns)/a.Duration.Seconds(), time.Since(begun).Seconds()
	for outcome, d := range took {
		report.Outcomes[outcome] = percentiles(d)
	}
	report.ShedShare = over(float64(len(took[Shed])), float64(turns))
	return report, nil
}

// next is the time from one turn's beginning to that of the next.
func (a Arrivals) next(random *rand.Rand) time.Duration {
	return time.Duration(random.ExpFloat64() / a.Rate * float64(time.Second))
}

// watch measures the resources at the start and after each tenth of the duration.
func (a Arrivals) watch(ctx context.Context, begun time.Time) ([]Resources, error) {
	var out []Resources
	for i := range 11 {
		if err := sleep(ctx, a.Duration*time.Duration(i)/10-time.Since(begun)); err != nil {
			return out, err
		}
		second := time.Since(begun).Seconds()
		r, err := a.Resources(ctx)
		if err != nil {
			return out, err
		}
		r.Second = second
		out = append(out, r)
	}
	return out, nil
}

func percentiles(d []time.Duration) Percentiles {
	slices.Sort(d)
	at := func(share float64) float64 { return milliseconds(d[int(share*float64(len(d)-1))]) }
	return Percentiles{Turns: len(d), P50: at(.5), P90: at(.9), P99: at(.99), Max: at(1)}
}

// Print writes the figures as a table. Ideal is the time of the model calls one after the other; zero: not known.
func (r *ArrivalsReport) Print(w io.Writer, ideal time.Duration) {
	fmt.Fprintf(w, "%.1f turns a second began, in an open loop; times are from when a turn should have begun\n\n", r.Rate)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "outcome\tturns\tp50 ms\tp90 ms\tp99 ms\tmax ms\tp99 over the ideal")
	for _, outcome := range []Outcome{Answered, Degraded, Shed, Failed} {
		p, ok := r.Outcomes[outcome]
		if !ok {
			continue
		}
		ratio := "-"
		if ideal > 0 && outcome == Answered {
			ratio = fmt.Sprintf("%.2f", p.P99/milliseconds(ideal))
		}
		fmt.Fprintf(tab, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%s\n", outcome, p.Turns, p.P50, p.P90, p.P99, p.Max, ratio)
	}
	_ = tab.Flush() // an error of w shows to its owner
	fmt.Fprintf(w, "\nshed: %.1f %% of turns\n", 100*r.ShedShare)
	if r.FirstError != "" {
		fmt.Fprintf(w, "first error: %s\n", r.FirstError)
	}
	for _, m := range r.Resources {
		fmt.Fprintf(w, "after %6.1f s: %.0f MiB, %d goroutines\n", m.Second, m.MiB, m.Goroutines)
	}
}

// OwnResources measures this process.
func OwnResources(context.Context) (Resources, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Resources{MiB: float64(m.Sys-m.HeapReleased) / (1 << 20), Goroutines: runtime.NumGoroutine()}, nil
}

// ScrapedResources measures the process whose Prometheus endpoint has the URL.
func ScrapedResources(url string) func(context.Context) (Resources, error) {
	return func(ctx context.Context) (Resources, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return Resources{}, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return Resources{}, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return Resources{}, fmt.Errorf("%s: %s", url, resp.Status)
		}
		return readResources(resp.Body)
	}
}

// readResources reads Go's runtime metrics in Prometheus's text format.
func readResources(text io.Reader) (Resources, error) {
	var r Resources
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		_, value, ok := strings.Cut(rest, "} ")
		if !ok {
			name, value, _ = strings.Cut(lines.Text(), " ")
		}
		if name != "go_memory_used_bytes" && name != "go_goroutine_count" {
			continue
		}
		value, _, _ = strings.Cut(value, " ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Resources{}, fmt.Errorf("%s: %w", name, err)
		}
		if name == "go_goroutine_count" {
			r.Goroutines = int(v)
		} else {
			r.MiB += v / (1 << 20)
		}
	}
	if err := lines.Err(); err != nil {
		return Resources{}, err
	}
	if r.MiB == 0 || r.Goroutines == 0 {
		return Resources{}, errors.New("no go_memory_used_bytes or go_goroutine_count among the metrics")
	}
	return r, nil
}
