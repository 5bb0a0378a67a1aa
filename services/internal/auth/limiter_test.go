package auth

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// taken counts the calls that a limiter lets through at once, up to a most, and returns the wait after the first that it refuses.
func taken(t *testing.T, l *Limiter, c Caller, store string, most int) (n int, wait time.Duration) {
	t.Helper()
	for ; n < most; n++ {
		err := l.Take(c, store)
		if err == nil {
			continue
		}
		var e *fault.Exhausted
		if !errors.As(err, &e) || e.Reason != commonv1.ErrorReason_ERROR_REASON_RATE_LIMITED {
			t.Fatal(err)
		}
		return n, e.RetryAfter
	}
	return n, 0
}

func TestCallersAreLimitedByStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(2)
		app, job := Caller{Name: "app"}, Caller{Name: "job", Rate: 0.5}
		for _, test := range []struct {
			caller Caller
			store  string
			want   int
			wait   time.Duration
		}{
			{app, "a", 2, 500 * time.Millisecond},
			{app, "b", 2, 500 * time.Millisecond},
			{job, "a", 1, 2 * time.Second},
			{Caller{Name: "free", Rate: -1}, "a", 1000, 0},
			{Caller{Name: "local", Local: true}, "a", 1000, 0},
		} {
			if n, wait := taken(t, l, test.caller, test.store, 1000); n != test.want || wait != test.wait {
				t.Errorf("%s in %s: %d calls, then %v; want %d, then %v", test.caller.Name, test.store, n, wait, test.want, test.wait)
			}
		}
		_, wait := taken(t, l, app, "a", 1)
		<-time.After(wait)
		if n, _ := taken(t, l, app, "a", 10); n != 1 {
			t.Errorf("after the wait that it was told, %d calls passed, want 1", n)
		}
		app.Rate = 4 // the file of tokens has changed
		if n, wait := taken(t, l, app, "a", 10); n != 0 || wait != 250*time.Millisecond {
			t.Errorf("with a new rate %d calls passed, then %v", n, wait)
		}
	})
	if n, _ := taken(t, nil, Caller{Name: "app"}, "a", 100); n != 100 {
		t.Errorf("without a limiter %d calls passed", n)
	}
	if n, _ := taken(t, NewLimiter(0), Caller{Name: "app"}, "a", 100); n != 100 {
		t.Errorf("without a limit %d calls passed", n)
	}
}

func TestTheMemoryOfALimiterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := NewLimiter(1), Caller{Name: "app"}
		for i := range 2 * maxBuckets {
			_ = l.Take(c, strconv.Itoa(i)) // the first call for each store passes
		}
		if n := len(l.buckets); n > maxBuckets {
			t.Errorf("%d buckets, want at most %d", n, maxBuckets)
		}
		<-time.After(time.Second)
		_ = l.Take(c, "y") // it is empty now, and the others are full
		for i := range maxBuckets {
			_ = l.Take(c, "n"+strconv.Itoa(i))
			if i == 0 {
				if n, _ := taken(t, l, c, "y", 1); n != 0 {
					t.Error("a bucket in use was evicted although others were full")
				}
			}
		}
		if n, _ := taken(t, NewLimiter(1), c, "no store's id", 2); n != 1 {
			t.Errorf("%d calls", n)
		}
		if l := NewLimiter(1); l.Take(c, "no id 1") != nil || l.Take(c, "no id 2") == nil {
			t.Error("names that are no ids do not share a bucket")
		}
	})
}
