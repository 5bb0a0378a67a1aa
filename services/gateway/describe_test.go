package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// describer is a client that describes itself after a second, with a purpose and a tool.
type describer struct {
	specialistv1.SpecialistServiceClient
	asked   atomic.Int64
	purpose atomic.Value
	waits   time.Duration
}

func (d *describer) Describe(ctx context.Context, _ *specialistv1.DescribeRequest, _ ...grpc.CallOption) (*specialistv1.DescribeResponse, error) {
	d.asked.Add(1)
	select {
	case <-time.After(d.waits):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &specialistv1.DescribeResponse{Specialist: &specialistv1.Specialist{
		Name: "search", Purpose: d.purpose.Load().(string), Tools: []*specialistv1.ToolInfo{{Name: "look", ParametersJson: "{}"}},
	}}, nil
}

// directoryOf is a directory of one specialist.
func directoryOf(waits time.Duration) (*directory, *describer) {
	d := &describer{waits: waits}
	d.purpose.Store("Finds things.")
	return newDirectory([]Peer{{Name: "search", Client: d}}), d
}

func TestToolsAreNotOfferedAndStoresShareWhatIsTheSame(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, peer := directoryOf(0)
	one, _ := d.describe(ctx, "one")
	two, _ := d.describe(ctx, "two")
	if one[0].GetTools() != nil || one[0].GetPurpose() == "" || one[0] != two[0] {
		t.Errorf("described as %v and %v", one, two)
	}
	peer.purpose.Store("Finds hats.")
	if three, _ := d.describe(ctx, "three"); three[0].GetPurpose() != "Finds hats." || one[0].GetPurpose() != "Finds things." {
		t.Errorf("described as %v and %v", one, three)
	}
}

func TestOneTurnRenewsADescriptionForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := directoryOf(500 * time.Millisecond)
		describe := func() time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			if found, notes := d.describe(ctx, "demo"); len(found) != 1 {
				t.Errorf("notes %v", notes)
			}
			return time.Since(begun)
		}
		describe()
		time.Sleep(describeTTL)
		var slow atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if describe() > 0 {
					slow.Add(1)
				}
			})
		}
		wg.Wait()
		if peer.asked.Load() != 2 || slow.Load() != 1 {
			t.Errorf("asked %d times, and %d turns waited", peer.asked.Load(), slow.Load())
		}
	})
}

func TestDescribingTakesNoMoreThanAQuarterOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := directoryOf(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if found, notes := d.describe(ctx, "demo"); len(found) != 0 || len(notes) != 1 || timeLeft(ctx) != 750*time.Millisecond {
			t.Errorf("%v left, %v, %v", timeLeft(ctx), found, notes)
		}
	})
}

// A crowd in a store that nobody has asked in before waits for one description; a caller that leaves hands the asking on, and
// a specialist that was never heard has more time.
func TestACrowdAsksForAFirstDescriptionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := directoryOf(3 * time.Second)
		var wg sync.WaitGroup
		describe := func(limit time.Duration, want int) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if found, notes := d.describe(ctx, "demo"); len(found) != want {
					t.Errorf("within %v: %v, %v", limit, found, notes)
				}
			})
		}
		describe(4*time.Second, 0) // has a quarter of that for it, which is too little
		synctest.Wait()
		for range 100 {
			describe(time.Minute, 1)
		}
		wg.Wait()
		if n := peer.asked.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A crowd in another store waits no longer than one would alone: then what was said of the first store stands in for all.
func TestACrowdThatWaitsInVainMakesDoWithWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := directoryOf(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		d.describe(ctx, "demo")
		peer.waits = time.Hour
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if found, notes := d.describe(ctx, "other"); len(found) != 1 {
					t.Errorf("notes %v", notes)
				}
			})
		}
		begun := time.Now()
		wg.Wait()
		if took := time.Since(begun); took != describeTimeout {
			t.Errorf("after %v", took)
		}
	})
}
