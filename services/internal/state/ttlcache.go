package state

import (
	"context"
	"sync"
	"time"
)

// maxCached bounds the entries of a TTLCache. A full cache is cleared.
const maxCached = 4096

// TTLCache caches values of a store that every turn needs, each for a short time. Forget makes a change visible to its own
// process at once; other processes see the change when their entry expires.
//
// Values are shared: callers must not modify them. A TTLCache is safe for concurrent use. NewTTLCache makes one.
type TTLCache[V any] struct {
	ttl time.Duration

	mu      sync.Mutex
	entries map[string]cached[V]
	forgets int // number of calls of Forget
}

type cached[V any] struct {
	value V
	until time.Time
}

// NewTTLCache returns an empty cache. With a ttl of zero, the cache keeps nothing.
func NewTTLCache[V any](ttl time.Duration) *TTLCache[V] {
	return &TTLCache[V]{ttl: ttl, entries: make(map[string]cached[V])}
}

// Get returns the cached value of a key, or else reads it. Get returns errors of read and does not cache them. Several
// callers may read a key at the same time. A value that was being read during a Forget is not cached.
func (c *TTLCache[V]) Get(ctx context.Context, key string, read func(context.Context) (V, error)) (V, error) {
	c.mu.Lock()
	entry, ok := c.entries[key]
	forgets := c.forgets
	c.mu.Unlock()
	start := time.Now()
	if ok && start.Before(entry.until) {
		return entry.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets == forgets {
		if len(c.entries) >= maxCached {
			clear(c.entries)
		}
		c.entries[key] = cached[V]{value: value, until: start.Add(c.ttl)}
	}
	return value, nil
}

// Forget makes the next Get of a key read. Call it after every attempt to change the value, successful or not.
func (c *TTLCache[V]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	delete(c.entries, key)
}

// Clear forgets all keys.
func (c *TTLCache[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	clear(c.entries)
}
