package bench

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A suite that stops for two seconds gets the turns of that time nevertheless, and their times have the wait in them.
func TestTurnsArriveAtTheirRateWhateverTheSuiteDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var inFlight, most atomic.Int64
		r, err := Arrivals{
			Rate: 100, Duration: 10 * time.Second,
			Ask: func(ctx context.Context) (Outcome, error) {
				n := inFlight.Add(1)
				defer inFlight.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if since := time.Since(begun); since > 4*time.Second && since < 6*time.Second {
					return Answered, sleep(ctx, 6*time.Second-since)
				}
				return Answered, sleep(ctx, 10*time.Millisecond)
			},
			Resources: func(context.Context) (Resources, error) { return Resources{MiB: 1, Goroutines: 2}, nil },
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := r.Outcomes[Answered]
		if p.Turns < 900 || p.Turns > 1100 || p.P50 != 10 || p.P90 < 500 || p.Max < 1900 || p.Max > 2000 {
			t.Errorf("figures: %+v", p)
		}
		if n := most.Load(); n < 150 {
			t.Errorf("at most %d turns were in flight; an open loop does not wait for replies", n)
		}
		if len(r.Resources) != 11 || r.Resources[10].Second != 10 {
			t.Errorf("resources: %+v", r.Resources)
		}
	})
}

func TestOutcomesOfArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r, err := Arrivals{
			Rate: 50, Duration: 4 * time.Second,
			Ask: func(context.Context) (Outcome, error) {
				switch n.Add(1) % 4 {
				case 0:
					return Failed, errors.New("no model")
				case 1:
					return Answered, nil
				default:
					return Shed, nil
				}
			},
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.ShedShare < .49 || r.ShedShare > .51 || r.FirstError != "no model" || r.Outcomes[Failed].Turns == 0 {
			t.Errorf("report: %+v", r)
		}
		var out strings.Builder
		r.Print(&out, time.Second)
		for _, want := range []string{"answered", "shed", "failed", "first error: no model"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing:\n%s", want, &out)
			}
		}
	})
}

func TestReadResources(t *testing.T) {
	const text = "# TYPE go_memory_used_bytes gauge\n" +
		"go_memory_used_bytes{go_memory_type=\"other\"} 3.145728e+06\n" +
		"go_memory_used_bytes{go_memory_type=\"stack\"} 1048576\n" +
		"go_goroutine_count{otel_scope_name=\"x\"} 42\n"
	r, err := readResources(strings.NewReader(text))
	if err != nil || r.MiB != 4 || r.Goroutines != 42 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := readResources(strings.NewReader("up 1\n")); err == nil {
		t.Error("metrics without the runtime's are no error")
	}
}
