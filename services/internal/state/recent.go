package state

import (
	"context"
	"sync"
	"time"
)

// maxRecent bounds how many values a Recent keeps; beyond it, it begins anew.
const maxRecent = 4096

// Recent keeps what was read for a moment, so that what every turn needs is not read anew for each. A change is seen by
// the process that makes it at once, if that calls Forget, and by the others when the moment has passed.
//
// Values are shared: they must not be modified. A Recent is safe for concurrent use; use NewRecent to make one.
type Recent[V any] struct {
	moment time.Duration

	mu      sync.Mutex
	kept    map[string]recent[V]
	forgets int // how often something was forgotten
}

type recent[V any] struct {
	value V
	until time.Time
}

// NewRecent returns one that keeps a value for a moment. With none it keeps nothing.
func NewRecent[V any](moment time.Duration) *Recent[V] {
	return &Recent[V]{moment: moment, kept: make(map[string]recent[V])}
}

// Get returns the value of a key, by read unless that is known. Errors of read are returned and not kept. Several callers
// may read at once; what was read before something was forgotten is not kept.
func (r *Recent[V]) Get(ctx context.Context, key string, read func(context.Context) (V, error)) (V, error) {
	r.mu.Lock()
	known, ok := r.kept[key]
	forgets := r.forgets
	r.mu.Unlock()
	begun := time.Now()
	if ok && begun.Before(known.until) {
		return known.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets == forgets {
		if len(r.kept) >= maxRecent {
			clear(r.kept)
		}
		r.kept[key] = recent[V]{value: value, until: begun.Add(r.moment)}
	}
	return value, nil
}

// Forget makes the next Get of a key read. It is called after a change, whether or not that is known to have succeeded.
func (r *Recent[V]) Forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgets++
	delete(r.kept, key)
}
