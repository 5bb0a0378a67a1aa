package retrieval

import "sync"

// Memo remembers what was made of keys, such as the stems of words. It is safe for concurrent use; use NewMemo to make one.
type Memo[K comparable] struct {
	most  int
	mu    sync.RWMutex
	known map[K]string
}

// NewMemo returns one that remembers at most so many keys, which must be positive; beyond it, it begins anew.
func NewMemo[K comparable](most int) *Memo[K] {
	return &Memo[K]{most: most, known: make(map[K]string)}
}

// Get returns what was made of a key, if it is remembered.
func (m *Memo[K]) Get(key K) (string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	made, ok := m.known[key]
	return made, ok
}

// Put remembers what was made of a key.
func (m *Memo[K]) Put(key K, made string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= m.most {
		clear(m.known)
	}
	m.known[key] = made
}
