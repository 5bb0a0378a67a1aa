package state_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// BenchmarkScriptFromIdle measures, in microseconds, the median of one script's round trip from a process that did nothing
// for 25 ms to a Redis server that did not either.
func BenchmarkScriptFromIdle(b *testing.B) {
	const idle = 25 * time.Millisecond
	client, err := state.Open(b.Context(), redistest.Single(b))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	script := redis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)`)
	var took []time.Duration
	for b.Loop() {
		time.Sleep(idle)
		begun := time.Now()
		if err := script.Run(b.Context(), client, []string{"k"}, "v").Err(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "us/script")
}
