package state

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// ErrLockLost says that the caller does not hold, or no longer holds, a queue lock and therefore must not write.
var ErrLockLost = errors.New("queue lock is not held")

const (
	// pollFirst is the pause before the second attempt to acquire a lock. It doubles up to pollNext for the token that is
	// next in the queue; tokens further back wait pollFar.
	pollFirst = 5 * time.Millisecond
	pollNext  = 20 * time.Millisecond
	pollFar   = 100 * time.Millisecond
	// answerTime is the most that a healthy Redis needs for an answer.
	answerTime = 50 * time.Millisecond
	// renewals is how often a lease is renewed in its time. The more, the longer Redis may be out of reach before it expires.
	renewals = 6
	// leaseTimeout bounds one renewal of a lease, and a release, which also happens after the caller's context has ended.
	leaseTimeout = time.Second
)

// QueueLockLua is the beginning of a script that works with queue locks itself. The first keys of such a script are those
// of QueueLock.Keys and its first arguments those of QueueLock.Args. QueueLockLua defines
//
//	acquire()  joins the queues one after the other, each only once the token heads the queues before it; renews the
//	           leases; removes tokens whose leases have expired from the heads. Returns 0 when the lock is held, else how
//	           many tokens are ahead in the queue where the token waits
//	held()     reports whether the token heads all queues. A script that writes only then is fenced: a process whose
//	           lease has expired changes nothing, even if the process does not know yet
//	release()  leaves all queues
//	key(i)     is the i-th of the other keys
//	arg(i)     is the i-th of the other arguments
//
//go:embed queuelock.lua
var QueueLockLua string

var (
	acquireScript = redis.NewScript(QueueLockLua + "return acquire()")
	renewScript   = redis.NewScript(QueueLockLua + "return renew() and 1 or 0")
	releaseScript = redis.NewScript(QueueLockLua + "release() return 0")
)

// QueueLock is a mutual exclusion lock across processes over one or several queues. Tokens get the lock in the order in
// which they join. The holder keeps the lock by a lease; a lock whose holder has died is free when its lease expires. A nil
// *QueueLock needs no queue and is always held. A QueueLock is safe for concurrent use.
type QueueLock struct {
	redis redis.UniversalClient
	keys  []string
	token string
	lease time.Duration
}

// NewQueueLock returns a lock, not yet acquired, on the queues at some keys, all of which share one cluster slot. The
// queues are joined in order, so callers that need several never deadlock if all name them in the same order. The token must
// be unique. The lease must outlast the longest pause of a healthy process.
func NewQueueLock(client redis.UniversalClient, token string, lease time.Duration, queues ...string) *QueueLock {
	l := &QueueLock{redis: client, token: token, lease: lease}
	for _, queue := range queues {
		l.keys = append(l.keys, queue, queue+":leases")
	}
	return l
}

// Keys returns the keys of a script that begins with QueueLockLua: those of the lock, then others.
func (l *QueueLock) Keys(others ...string) []string {
	if l == nil {
		return others
	}
	return append(l.keys[:len(l.keys):len(l.keys)], others...)
}

// Args returns the arguments of a script that begins with QueueLockLua: those of the lock, then others.
func (l *QueueLock) Args(others ...any) []any {
	if l == nil {
		return append([]any{0, "", 0}, others...)
	}
	return append([]any{len(l.keys) / 2, l.token, l.lease.Milliseconds()}, others...)
}

// Acquire waits until the lock is held. Its errors are those of Redis and of ctx; after an error the queues have been left.
func (l *QueueLock) Acquire(ctx context.Context) error {
	return l.AcquireBy(ctx, func(ctx context.Context) (int, error) {
		ahead, err := acquireScript.Run(ctx, l.redis, l.Keys(), l.Args()...).Int()
		return ahead, Error("acquire queue lock", err)
	})
}

// AcquireBy is Acquire with the caller's own script, which returns the result of acquire in QueueLockLua.
func (l *QueueLock) AcquireBy(ctx context.Context, attempt func(context.Context) (ahead int, err error)) error {
	for pause := pollFirst; ; pause = min(2*pause, pollNext) {
		ahead, err := 0, awaitEnd(ctx)
		if err == nil {
			ahead, err = attempt(ctx)
		}
		switch {
		case err == nil && ahead == 0:
			return nil
		case err == nil && ahead == 1:
			err = sleep(ctx, pause)
		case err == nil:
			err = sleep(ctx, pollFar)
		}
		if err != nil {
			_ = l.Release(ctx) // on failure, the lease expires
			return OrDeadline(ctx, "acquire queue lock", err)
		}
	}
}

// awaitEnd waits for the end of ctx, and returns its error, if Redis has too little time left to answer: a command that the
// deadline cuts short looks like a network failure.
func awaitEnd(ctx context.Context) error {
	if due, ok := ctx.Deadline(); ok && time.Until(due) < answerTime {
		<-ctx.Done()
	}
	return ctx.Err()
}

// OrDeadline returns err, or DeadlineExceeded if the deadline of ctx has passed: the error of a command that the deadline has
// cut short blames the network. What names the attempt. A nil err gives nil.
func OrDeadline(ctx context.Context, what string, err error) error {
	if due, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(due) {
		return fmt.Errorf("%s: %w", what, context.DeadlineExceeded)
	}
	return err
}

// KeepAlive renews the lease in the background until ctx ends or stop is called, which waits for the background work to end.
// If the lock is lost, KeepAlive calls lost once and ends; the lock never comes back. While Redis is out of reach, KeepAlive
// goes on trying: no other token can get the lock either. A nil lock is never lost.
func (l *QueueLock) KeepAlive(ctx context.Context, lost func()) (stop func()) {
	if l == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		ticker := time.NewTicker(l.lease / renewals)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if held, err := l.renew(ctx); err == nil && !held && ctx.Err() == nil {
				lost()
				return
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// renew renews the lease once. A panic becomes an error, like a Redis that is out of reach; the stack goes to the log.
func (l *QueueLock) renew(ctx context.Context) (held bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "panic in the renewal of a lease", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return renewScript.Run(ctx, l.redis, l.Keys(), l.Args()...).Bool()
}

// Release gives the lock up, or leaves the queues if the lock is not held yet, also when ctx has ended.
func (l *QueueLock) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	return Error("release queue lock", releaseScript.Run(ctx, l.redis, l.Keys(), l.Args()...).Err())
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
