package registry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
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

// registryOf returns a registry of one specialist, which takes some time to describe itself.
func registryOf(waits time.Duration) (*Registry, *describer) {
	d := &describer{waits: waits}
	d.purpose.Store("Finds things.")
	return New([]Peer{{Name: "search", Client: d}}, scopetest.Signer(), slog.New(slog.DiscardHandler)), d
}

func TestToolsAreNotOfferedAndStoresShareWhatIsTheSame(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, peer := registryOf(0)
	one, _ := d.Describe(ctx, "one")
	two, _ := d.Describe(ctx, "two")
	if one[0].GetTools() != nil || one[0].GetPurpose() == "" || one[0] != two[0] {
		t.Errorf("described as %v and %v", one, two)
	}
	peer.purpose.Store("Finds hats.")
	if three, _ := d.Describe(ctx, "three"); three[0].GetPurpose() != "Finds hats." || one[0].GetPurpose() != "Finds things." {
		t.Errorf("described as %v and %v", one, three)
	}
}

func TestOneTurnRenewsADescriptionForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := registryOf(500 * time.Millisecond)
		describe := func() time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			if found, notes := d.Describe(ctx, "demo"); len(found) != 1 {
				t.Errorf("notes %v", notes)
			}
			return time.Since(begun)
		}
		describe()
		time.Sleep(TTL)
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

func left(ctx context.Context) time.Duration {
	due, _ := ctx.Deadline()
	return time.Until(due)
}

func TestDescribingTakesNoMoreThanAQuarterOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := registryOf(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if found, notes := d.Describe(ctx, "demo"); len(found) != 1 || len(notes) != 1 || left(ctx) != 750*time.Millisecond {
			t.Errorf("%v left, %v, %v", left(ctx), found, notes)
		}
		time.Sleep(firstTimeout) // the call goes on for other turns
	})
}

// Turns in a new store wait for one description. A turn that stops waiting does not end the call, and a specialist that has
// never described itself has more time.
func TestACrowdAsksForAFirstDescriptionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := registryOf(3 * time.Second)
		var wg sync.WaitGroup
		describe := func(limit time.Duration, wantNotes int) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if found, notes := d.Describe(ctx, "demo"); len(found) != 1 || len(notes) != wantNotes {
					t.Errorf("within %v: %v, %v", limit, found, notes)
				}
			})
		}
		describe(4*time.Second, 1) // has a quarter of that for it, which is too little
		synctest.Wait()
		for range 100 {
			describe(time.Minute, 0)
		}
		wg.Wait()
		if n := peer.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A crowd in another store waits no longer than one would alone: then what was said of the first store stands in for all.
func TestACrowdThatWaitsInVainMakesDoWithWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, peer := registryOf(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		d.Describe(ctx, "demo")
		peer.waits = time.Hour
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if found, notes := d.Describe(ctx, "other"); len(found) != 1 {
					t.Errorf("notes %v", notes)
				}
			})
		}
		begun := time.Now()
		wg.Wait()
		if took := time.Since(begun); took != Timeout {
			t.Errorf("after %v", took)
		}
	})
}

func TestTheVersionIsWorkedOutWhenADescriptionChanges(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, peer := registryOf(0)
	versionOf := func(store string) (string, []*specialistv1.Specialist) {
		found, _ := d.Describe(ctx, store)
		return d.Version(store, found), found
	}
	one, found := versionOf("one")
	if again, _ := versionOf("one"); one == "" || again != one {
		t.Errorf("versions %q and %q of the same", one, again)
	}
	if two, _ := versionOf("two"); two != one {
		t.Errorf("two stores that are told the same have versions %q and %q", one, two)
	}
	d.versions["one"] = version{found, "kept"}
	if again, _ := versionOf("one"); again != "kept" {
		t.Error("it is worked out for each message")
	}
	peer.purpose.Store("Finds hats.")
	d.entries[entryKey{"one", "search"}].until = d.entries[entryKey{"one", "search"}].until.Add(-2 * TTL)
	changed, now := versionOf("one")
	if changed == one || changed == "kept" || found[0] == now[0] {
		t.Errorf("version %q after a change", changed)
	}
	// The other store is still told the old words, and in the end the new ones.
	d.entries[entryKey{"two", "search"}].until = d.entries[entryKey{"one", "search"}].until.Add(-2 * TTL)
	if two, _ := versionOf("two"); two != changed {
		t.Errorf("version %q of the other store", two)
	}
}

// panicking is a client whose Describe panics.
type panicking struct {
	specialistv1.SpecialistServiceClient
}

func (panicking) Describe(context.Context, *specialistv1.DescribeRequest, ...grpc.CallOption) (*specialistv1.DescribeResponse, error) {
	panic("kaboom")
}

func TestPanicInDescribeCostsThatSpecialistOnly(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, peer := registryOf(0)
	r := New([]Peer{{Name: "support", Client: panicking{}}, {Name: "search", Client: peer}}, scopetest.Signer(), slog.New(slog.DiscardHandler))
	if found, notes := r.Describe(ctx, "demo"); len(found) != 2 || len(notes) != 1 {
		t.Errorf("found %v, notes %v", found, notes)
	}
}
