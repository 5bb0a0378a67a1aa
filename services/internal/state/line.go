package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotFirst says that a place in a line is not, or no longer, the first, so that whoever holds it must not write.
var ErrNotFirst = errors.New("not the first in line")

const (
	// pollFirst and pollLast bound the time between two looks of one who waits; it doubles in between.
	pollFirst = 5 * time.Millisecond
	pollLast  = 100 * time.Millisecond
	// leaveTimeout bounds leaving, which is done also after the caller's context has ended.
	leaveTimeout = time.Second
)

// enterScript takes or keeps a place and renews its lease, and removes those before it whose leases have run out. The
// server's clock counts, so the clocks of the processes may differ.
//
// KEYS: line, leases. ARGV: token, lease in milliseconds.
var enterScript = redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  redis.call('RPUSH', KEYS[1], ARGV[1])
end
redis.call('HSET', KEYS[2], ARGV[1], now + ARGV[2])
local first = redis.call('LINDEX', KEYS[1], 0)
while first ~= ARGV[1] and tonumber(redis.call('HGET', KEYS[2], first) or '0') < now do
  redis.call('LPOP', KEYS[1])
  redis.call('HDEL', KEYS[2], first)
  first = redis.call('LINDEX', KEYS[1], 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 10)
redis.call('PEXPIRE', KEYS[2], ARGV[2] * 10)
return first == ARGV[1] and 1 or 0
`)

// leaveScript gives a place up. KEYS: line, leases. ARGV: token.
var leaveScript = redis.NewScript(`
redis.call('LREM', KEYS[1], 1, ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
`)

// IsFirst is the condition, as the Lua of a Redis script, that a token is the first in the line of a place. A script that
// writes only if it holds is fenced: one whose lease has run out, and who may not know it, changes nothing. It takes the
// names of Lua expressions for the line's key and the token.
func IsFirst(line, token string) string {
	return fmt.Sprintf("redis.call('LINDEX', %s, 0) == %s", line, token)
}

// Place is a place in a line: those who want the same thing, one after the other, in the order in which they came, across
// processes. A place is held by a lease and is lost some time after its holder has died, so a line never stands still for
// longer than a lease. A Place is not safe for concurrent use, save that Keep may run beside the rest.
type Place struct {
	redis redis.UniversalClient
	key   string
	token string
	lease time.Duration
}

// NewPlace returns a place, not yet taken, in the line at key, which Key has made. The token must be unique. A lease must
// outlast the longest pause that a healthy process may make.
func NewPlace(client redis.UniversalClient, key, token string, lease time.Duration) *Place {
	return &Place{redis: client, key: key, token: token, lease: lease}
}

// Keys are the keys of the line: the tokens in order, and their leases. The first is what IsFirst wants.
func (p *Place) Keys() []string { return []string{p.key, p.key + ":leases"} }

// Token is the token of the place.
func (p *Place) Token() string { return p.token }

// Wait takes the place and waits until it is the first. Its errors are Redis's and the context's; then the place has been
// left again.
func (p *Place) Wait(ctx context.Context) error {
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		first, err := p.enter(ctx)
		if err == nil && first {
			return nil
		}
		if err == nil {
			err = sleep(ctx, pause)
		}
		if err != nil {
			_ = p.Leave(ctx) // the lease runs out anyway
			return Error("wait in line", err)
		}
	}
}

// Keep renews the lease until ctx ends, and returns nil then. It returns ErrNotFirst at once when the place is lost. While
// Redis can not be reached it goes on trying: nobody else can take the place either.
func (p *Place) Keep(ctx context.Context) error {
	for sleep(ctx, p.lease/3) == nil {
		switch first, err := p.enter(ctx); {
		case err == nil && !first:
			return ErrNotFirst
		case ctx.Err() != nil:
			return nil
		}
	}
	return nil
}

// Leave gives the place up, also when ctx has ended.
func (p *Place) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	err := leaveScript.Run(ctx, p.redis, p.Keys(), p.token).Err()
	if errors.Is(err, redis.Nil) {
		err = nil // the script returns nothing
	}
	return Error("leave line", err)
}

// enter takes the place or renews its lease, and reports whether it is the first.
func (p *Place) enter(ctx context.Context) (bool, error) {
	lease := strconv.FormatInt(p.lease.Milliseconds(), 10)
	return enterScript.Run(ctx, p.redis, p.Keys(), p.token, lease).Bool()
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
