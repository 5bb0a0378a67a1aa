package state

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotFirst says that a place in a line is not, or no longer, the first, so that whoever holds it must not write.
var ErrNotFirst = errors.New("not the first in line")

const (
	// pollFirst is the time until the second look of one who waits. It doubles from look to look up to pollNext for the
	// one who comes next, and is pollFar for those behind.
	pollFirst = 5 * time.Millisecond
	pollNext  = 20 * time.Millisecond
	pollFar   = 100 * time.Millisecond
	// answerTime is what Redis needs for an answer at the most, while it is well.
	answerTime = 50 * time.Millisecond
	// keepTimeout bounds one renewal of a lease, and leaving, which is done also after the caller's context has ended.
	keepTimeout = time.Second
)

// Lua begins a script that works with places itself. Its first keys are those of Place.Keys and its first arguments those
// of Place.Args. It defines
//
//	enter()  takes or keeps the places, each only once the place is the first in the lines before, renews their leases,
//	         and removes those at the head whose leases have run out; returns how many are ahead in the line in which it
//	         waits, and 0 when it is the first in all
//	first()  tells whether it is the first in all. A script that writes only then is fenced: one whose lease has run
//	         out, and who may not know it, changes nothing
//	leave()  gives the places up
//	key(i)   is the i-th of the other keys
//	arg(i)   is the i-th of the other arguments
//
//go:embed line.lua
var Lua string

var (
	enterScript = redis.NewScript(Lua + "return enter()")
	renewScript = redis.NewScript(Lua + "return renew() and 1 or 0")
	leaveScript = redis.NewScript(Lua + "leave() return 0")
)

// Place is a place in one or several lines: those who want the same thing, one after the other, in the order in which they
// came, across processes. A place is held by a lease and is lost some time after its holder has died, so a line never
// stands still for longer than a lease. A nil *Place is the first in no line at all. A Place is safe for concurrent use.
type Place struct {
	redis redis.UniversalClient
	keys  []string
	token string
	lease time.Duration
}

// NewPlace returns a place, not yet taken, in the lines at some keys, which Key has made. They are entered one after the
// other, so that those who want several things never wait for each other if all name them in the same order. The token
// must be unique. A lease must outlast the longest pause that a healthy process may make.
func NewPlace(client redis.UniversalClient, token string, lease time.Duration, lines ...string) *Place {
	p := &Place{redis: client, token: token, lease: lease}
	for _, line := range lines {
		p.keys = append(p.keys, line, line+":leases")
	}
	return p
}

// Keys returns the first keys of a script that begins with Lua, and then others.
func (p *Place) Keys(others ...string) []string {
	if p == nil {
		return others
	}
	return append(p.keys[:len(p.keys):len(p.keys)], others...)
}

// Args returns the first arguments of a script that begins with Lua, and then others.
func (p *Place) Args(others ...any) []any {
	if p == nil {
		return append([]any{0, "", 0}, others...)
	}
	return append([]any{len(p.keys) / 2, p.token, p.lease.Milliseconds()}, others...)
}

// Wait takes the place and waits until it is the first. Its errors are Redis's and the context's; then the place has been
// left again.
func (p *Place) Wait(ctx context.Context) error {
	return p.WaitBy(ctx, func(ctx context.Context) (int, error) {
		ahead, err := enterScript.Run(ctx, p.redis, p.Keys(), p.Args()...).Int()
		return ahead, Error("wait in line", err)
	})
}

// WaitBy is Wait with a script of the caller's own, which returns what enter of Lua returned.
func (p *Place) WaitBy(ctx context.Context, enter func(context.Context) (ahead int, err error)) error {
	for pause := pollFirst; ; pause = min(2*pause, pollNext) {
		ahead, err := 0, awaitEnd(ctx)
		if err == nil {
			ahead, err = enter(ctx)
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
			_ = p.Leave(ctx) // the lease runs out anyway
			return inTime(ctx, err)
		}
	}
}

// awaitEnd waits for the end of ctx, and returns its error, if too little is left for Redis to answer: a command that the
// deadline cuts short looks like a network that is down.
func awaitEnd(ctx context.Context) error {
	if due, ok := ctx.Deadline(); ok && time.Until(due) < answerTime {
		<-ctx.Done()
	}
	return ctx.Err()
}

// inTime returns err, or that time is up when it is: a command that was cut short by the deadline says that the network
// was too slow.
func inTime(ctx context.Context, err error) error {
	if due, ok := ctx.Deadline(); ok && !time.Now().Before(due) {
		return fmt.Errorf("wait in line: %w", context.DeadlineExceeded)
	}
	return err
}

// Keep renews the lease until ctx ends or stop is called, which waits for a renewal under way. It calls lost when the place
// is lost; it does not come back. While Redis can not be reached it goes on trying: nobody else can take the place either. A
// nil place is never lost.
func (p *Place) Keep(ctx context.Context, lost func()) (stop func()) {
	if p == nil {
		return func() {}
	}
	var mu sync.Mutex // held by a renewal
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(p.lease/3, func() { // and no goroutine in between: there is a place for each turn in flight
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		switch kept, err := p.renew(ctx); {
		case ctx.Err() != nil:
		case err == nil && !kept:
			lost()
		default:
			timer.Reset(p.lease / 3)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

func (p *Place) renew(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	return renewScript.Run(ctx, p.redis, p.Keys(), p.Args()...).Bool()
}

// Leave gives the place up, also when ctx has ended.
func (p *Place) Leave(ctx context.Context) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	return Error("leave line", leaveScript.Run(ctx, p.redis, p.Keys(), p.Args()...).Err())
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
