package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// timed returns the median time of turns that run one after the other, with the configured latency. what names turns that are
// not the suite's.
func (c Config) timed(ctx context.Context, turn Turn, what string) (time.Duration, error) {
	n := min(timedTurns, c.Turns)
	c.Progress(fmt.Sprintf("%s%d turns one after the other, %v for each model call", what, n, c.Latency))
	if err := c.Model.Set(ctx, Behaviour{Latency: c.Latency}); err != nil {
		return 0, err
	}
	took := make([]time.Duration, n)
	for i := range took {
		begun := time.Now()
		if err := turn(ctx); err != nil {
			return 0, err
		}
		took[i] = time.Since(begun)
	}
	return median(took), nil
}

// load is what turns cost when the model answers at once.
type load struct {
	cpu  time.Duration // for each turn, of all cores together
	wall time.Duration // for each turn, of those that run at once
}

// loads measures turns under load, in rounds in which each has its turn, and returns the medians.
func (c Config) loads(ctx context.Context, turns ...Turn) ([]load, error) {
	c.Progress(fmt.Sprintf("%d turns, %d at once, with a model that answers at once", c.Turns, c.Concurrency))
	if err := c.Model.Set(ctx, Behaviour{}); err != nil {
		return nil, err
	}
	parts := min(rounds, c.Turns)
	cpu, wall := make([][]time.Duration, len(turns)), make([][]time.Duration, len(turns))
	for range parts {
		for i, turn := range turns {
			l, err := c.load(ctx, turn, c.Turns/parts)
			if err != nil {
				return nil, err
			}
			cpu[i], wall[i] = append(cpu[i], l.cpu), append(wall[i], l.wall)
		}
	}
	out := make([]load, len(turns))
	for i := range turns {
		out[i] = load{cpu: median(cpu[i]), wall: median(wall[i])}
	}
	return out, nil
}

// load runs n turns, Concurrency of them at once.
func (c Config) load(ctx context.Context, turn Turn, n int) (load, error) {
	runtime.GC() // earlier garbage does not count
	before, begun := cpuTime(), time.Now()
	if err := c.run(ctx, turn, n); err != nil {
		return load{}, err
	}
	wall, spent := time.Since(begun), cpuTime()-before
	return load{cpu: spent / time.Duration(n), wall: wall / time.Duration(n)}, nil
}

// run runs n turns, Concurrency of them at once, until all are done or one fails.
func (c Config) run(ctx context.Context, turn Turn, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan struct{}, n)
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	var wg sync.WaitGroup
	for range min(c.Concurrency, n) {
		wg.Go(func() {
			for range todo {
				if ctx.Err() != nil {
					return
				}
				if err := turn(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// profile runs one more load under the profiler, so that profiling slows no measurement.
func (c Config) profile(ctx context.Context, turn Turn) error {
	if c.CPUProfile == nil {
		return nil
	}
	c.Progress(fmt.Sprintf("%d turns more for the profile", c.Turns))
	if err := pprof.StartCPUProfile(c.CPUProfile); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return c.run(ctx, turn, c.Turns)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	if n := len(d); n%2 == 0 {
		return (d[n/2-1] + d[n/2]) / 2
	}
	return d[len(d)/2]
}

const (
	// heldPerTurn is how many calls of a turn hang: the second of each specialist.
	heldPerTurn = 2
	// startedAtOnce is how many turns start together. More would be measured with the buffers of a burst.
	startedAtOnce = 64
	// spareFiles is the number of files that a process has open beside the model's connections.
	spareFiles = 256
	// look is the time between two looks at what the model has seen.
	look = 20 * time.Millisecond
	// patience bounds the wait for turns to hang.
	patience = 5 * time.Minute
)

// Memory is what each of some waiting turns holds, in KiB, after garbage collection.
type Memory struct {
	// Turns in flight.
	Turns int `json:"turns"`
	// Total is what the process has from the operating system and cannot give back. It includes Heap and Stacks.
	Total float64 `json:"kib_per_turn"`
	// Heap is live objects.
	Heap float64 `json:"heap_kib_per_turn"`
	// Stacks is the stacks of goroutines.
	Stacks float64 `json:"stacks_kib_per_turn"`
	// Goroutines is their number.
	Goroutines float64 `json:"goroutines_per_turn"`
}

// hang starts n turns that hang in a model call, measures what they hold, and ends them.
func (c Config) hang(ctx context.Context, turn Turn, n int) (m Memory, err error) {
	c.Progress(fmt.Sprintf("%d turns that wait for their specialists' second model call", n))
	if err := c.Model.Set(ctx, Behaviour{Hold: true}); err != nil {
		return Memory{}, err
	}
	defer func() { err = errors.Join(err, c.Model.Set(context.WithoutCancel(ctx), Behaviour{})) }()
	ctx, cancel := context.WithCancel(ctx)
	turns := &sync.WaitGroup{}
	defer turns.Wait()
	defer cancel()
	before := footprint()
	failed := make(chan error, n)
	for started := 0; started < n; {
		for range min(startedAtOnce, n-started) {
			turns.Go(func() { failed <- turn(ctx) })
			started++
		}
		if err := c.hanging(ctx, started, failed); err != nil {
			return Memory{}, err
		}
	}
	after := footprint()
	if c.HeapProfile != nil {
		if err := pprof.Lookup("heap").WriteTo(c.HeapProfile, 0); err != nil {
			return Memory{}, fmt.Errorf("heap profile: %w", err)
		}
	}
	return after.per(n, before), nil
}

// hanging waits until all turns that were started hang.
func (c Config) hanging(ctx context.Context, started int, failed <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		seen, err := c.Model.Seen(ctx)
		if err != nil {
			return err
		}
		if seen.Held >= int64(heldPerTurn*started) {
			return nil
		}
		select {
		case err := <-failed:
			return errors.Join(errors.New("a turn ended that should hang"), err)
		default:
		}
		if err := sleep(ctx, look); err != nil {
			return fmt.Errorf("%d of %d calls hang: %w", seen.Held, heldPerTurn*started, err)
		}
	}
}

// held is what the process holds, in bytes.
type held struct {
	total, heap, stacks uint64
	goroutines          int
}

// footprint collects garbage, gives back what is free, and returns what is left.
func footprint() held {
	runtime.GC() // what finalizers and pools let go is collected the second time
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return held{total: m.Sys - m.HeapReleased, heap: m.HeapAlloc, stacks: m.StackInuse, goroutines: runtime.NumGoroutine()}
}

// per returns what came to it since before, for each of n turns.
func (h held) per(n int, before held) Memory {
	kib := func(now, then uint64) float64 { return (float64(now) - float64(then)) / 1024 / float64(n) }
	return Memory{
		Turns: n, Total: kib(h.total, before.total), Heap: kib(h.heap, before.heap), Stacks: kib(h.stacks, before.stacks),
		Goroutines: float64(h.goroutines-before.goroutines) / float64(n),
	}
}
