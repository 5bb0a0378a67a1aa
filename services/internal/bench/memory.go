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

const (
	// heldPerTurn is how many calls of a turn hang: the second of each specialist.
	heldPerTurn = 2
	// startedAtOnce is how many turns may be on their way to where they hang: a crowd that comes all at once would be measured
	// with the buffers of its rush.
	startedAtOnce = 64
	// spareFiles is what a process has open beside the model's connections.
	spareFiles = 256
	// look is the time between two looks at what the model has seen.
	look = 20 * time.Millisecond
	// patience bounds the wait for turns to hang.
	patience = 5 * time.Minute
)

// FilesNeeded returns how many open files each of the two processes needs for turns in flight.
func FilesNeeded(inFlight int) uint64 { return uint64(heldPerTurn*inFlight + spareFiles) }

// Memory is what turns in flight hold, for each of them, in KiB, after a collection of garbage.
type Memory struct {
	// Turns in flight.
	Turns int `json:"turns"`
	// Total is what the process has from the operating system and would not give back. Heap and Stacks are in it.
	Total float64 `json:"kib_per_turn"`
	// Heap is the live objects.
	Heap float64 `json:"heap_kib_per_turn"`
	// Stacks of the goroutines.
	Stacks float64 `json:"stacks_kib_per_turn"`
	// Goroutines for each turn.
	Goroutines float64 `json:"goroutines_per_turn"`
}

// crowds measures the memory of turns in flight, and leaves the model as it was.
func (c Config) crowds(ctx context.Context, turn Turn, r *Report) error {
	for _, n := range slices.Compact([]int{smallCrowd, c.InFlight}) {
		if n > c.InFlight || n == 0 {
			continue
		}
		m, err := c.hang(ctx, turn, n)
		if err != nil {
			return fmt.Errorf("%d turns in flight: %w", n, err)
		}
		r.memory(m)
	}
	return c.Model.Set(ctx, Behaviour{})
}

// hang starts n turns that hang in a model call, measures what they hold, and ends them.
func (c Config) hang(ctx context.Context, turn Turn, n int) (Memory, error) {
	c.Progress(fmt.Sprintf("%d turns that wait for their specialists' second model call", n))
	if err := c.Model.Set(ctx, Behaviour{Hold: true}); err != nil {
		return Memory{}, err
	}
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
	if c.HeapProfile != nil && n == c.InFlight {
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
		if err := Sleep(ctx, look); err != nil {
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
