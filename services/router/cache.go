package router

import (
	"container/list"
	"sync"

	"golang.org/x/sync/singleflight"
)

// cache keeps the values that were used last. It is safe for concurrent use; use newCache to make one.
type cache[V any] struct {
	size     int
	building singleflight.Group

	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *cached[V], last used first
}

type cached[V any] struct {
	key   string
	value V
}

// newCache returns a cache of at most size values.
func newCache[V any](size int) *cache[V] {
	return &cache[V]{size: size, byKey: map[string]*list.Element{}, used: list.New()}
}

// get returns the value of a key, if it is there.
func (c *cache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*cached[V]).value, true
}

// getOrBuild returns the value of a key. Concurrent callers build a missing value once; no lock is held meanwhile.
func (c *cache[V]) getOrBuild(key string, build func() V) V {
	if v, ok := c.get(key); ok {
		return v
	}
	v, _, _ := c.building.Do(key, func() (any, error) {
		if v, ok := c.get(key); ok {
			return v, nil
		}
		v := build()
		c.put(key, v)
		return v, nil
	})
	return v.(V)
}

// put adds a value and drops the one that was not used for longest if there are too many.
func (c *cache[V]) put(key string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		e.Value.(*cached[V]).value = v
		c.used.MoveToFront(e)
		return
	}
	c.byKey[key] = c.used.PushFront(&cached[V]{key, v})
	if c.used.Len() > c.size {
		last := c.used.Back()
		c.used.Remove(last)
		delete(c.byKey, last.Value.(*cached[V]).key)
	}
}
