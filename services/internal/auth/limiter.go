package auth

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// maxBuckets bounds the memory of a Limiter: about 150 bytes a bucket.
const maxBuckets = 16 << 10

// Limiter bounds the calls per second of each caller in each store, with bursts of one second's calls. It counts the calls of
// its own process only. It is safe for concurrent use; a nil Limiter allows everything.
type Limiter struct {
	perSecond float64 // of a caller without a rate of its own

	mu      sync.Mutex
	buckets map[bucketKey]*rate.Limiter
	swept   time.Time // when evict last looked at all buckets
}

type bucketKey struct{ caller, store string }

// NewLimiter returns a limiter for callers without a rate of their own. Zero or less: no limit for them.
func NewLimiter(perSecond float64) *Limiter {
	return &Limiter{perSecond: perSecond, buckets: make(map[bucketKey]*rate.Limiter)}
}

// Take counts a call. The error is a *fault.Exhausted that says how long to wait. Local callers have no limit.
func (l *Limiter) Take(c Caller, storeID string) error {
	if l == nil || c.Local {
		return nil
	}
	perSecond := c.Rate
	if perSecond == 0 {
		perSecond = l.perSecond
	}
	if perSecond <= 0 {
		return nil
	}
	if !fault.ValidID(storeID) {
		storeID = "" // names of any length and number share a bucket
	}
	now := time.Now()
	r := l.bucket(bucketKey{c.Name, storeID}, perSecond, now).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	r.CancelAt(now)
	return &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_RATE_LIMITED, What: "calls per second", RetryAfter: wait}
}

// bucket returns the bucket of a key, with the rate that holds now.
func (l *Limiter) bucket(key bucketKey, perSecond float64, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[key]
	switch {
	case !ok:
		if len(l.buckets) >= maxBuckets {
			l.evict(now)
		}
		b = rate.NewLimiter(rate.Limit(perSecond), burst(perSecond))
		l.buckets[key] = b
	case b.Limit() != rate.Limit(perSecond):
		b.SetLimitAt(now, rate.Limit(perSecond))
		b.SetBurstAt(now, burst(perSecond))
	}
	return b
}

// evict makes room for a bucket. It removes the buckets that are full, which a new bucket equals. It looks for them once a second
// at most, because a caller with rights in every store may name a new one with each call; in between it removes any bucket.
func (l *Limiter) evict(now time.Time) {
	if now.Sub(l.swept) >= time.Second {
		l.swept = now
		for key, b := range l.buckets {
			if b.TokensAt(now) >= float64(b.Burst()) {
				delete(l.buckets, key)
			}
		}
	}
	for key := range l.buckets {
		if len(l.buckets) < maxBuckets {
			return
		}
		delete(l.buckets, key)
	}
}

func burst(perSecond float64) int { return max(1, int(math.Ceil(perSecond))) }
