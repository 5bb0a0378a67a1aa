package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// timed returns the median time of a turn, one after the other, with a model that takes its time. The turns are those of
// the suite unless what says otherwise.
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
	runtime.GC() // what came before is not to be paid for now
	before, begun := cpuTime(), time.Now()
	if err := c.crowd(ctx, turn, n); err != nil {
		return load{}, err
	}
	wall, spent := time.Since(begun), cpuTime()-before
	return load{cpu: spent / time.Duration(n), wall: wall / time.Duration(n)}, nil
}

// crowd runs n turns, Concurrency of them at once, until all are done or one fails.
func (c Config) crowd(ctx context.Context, turn Turn, n int) error {
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

// profile runs one more load under the profiler, so that profiling weighs on no figure.
func (c Config) profile(ctx context.Context, turn Turn) error {
	if c.CPUProfile == nil {
		return nil
	}
	c.Progress(fmt.Sprintf("%d turns more for the profile", c.Turns))
	if err := pprof.StartCPUProfile(c.CPUProfile); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return c.crowd(ctx, turn, c.Turns)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	if n := len(d); n%2 == 0 {
		return (d[n/2-1] + d[n/2]) / 2
	}
	return d[len(d)/2]
}
