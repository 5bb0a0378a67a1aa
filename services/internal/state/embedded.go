package state

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// EmbeddedServer is a Redis-compatible server in this process, for `quartet up` and for tests. It listens on a loopback
// port, with a password of its own. Keys go some 20 ms after their time, or later when there are very many. What it holds is
// gone when it is closed.
type EmbeddedServer struct {
	server *miniredis.Miniredis
	url    string
	stop   func() // ends the clock, once
	ticks  sync.WaitGroup
}

const (
	// tick is the shortest time between two looks for keys whose time has come.
	tick = 20 * time.Millisecond
	// tickShare bounds what looking takes, which grows with the number of keys: one part of so many of the time.
	tickShare = 50
)

// Embedded starts a server. The caller closes it.
func Embedded() (*EmbeddedServer, error) {
	m := miniredis.NewMiniRedis()
	password := rand.Text()
	m.RequireAuth(password)
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	done := make(chan struct{})
	e := &EmbeddedServer{
		server: m, url: "redis://:" + password + "@" + m.Addr() + "/0", stop: sync.OnceFunc(func() { close(done) }),
	}
	e.ticks.Go(func() { e.expire(done) })
	return e, nil
}

// expire lets time pass for the keys, which would live for ever otherwise, until done is closed. The server can do so by
// itself, but then walks through all keys with every command.
func (e *EmbeddedServer) expire(done <-chan struct{}) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	last := time.Now()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		now := time.Now()
		e.server.FastForward(now.Sub(last))
		last = now
		timer.Reset(max(tick, tickShare*time.Since(now)))
	}
}

// URL returns what Open takes. It holds the password: do not log it.
func (e *EmbeddedServer) URL() string { return e.url }

// Close stops the server and waits for its goroutines. It may be called more than once, and never fails.
func (e *EmbeddedServer) Close() error {
	e.stop()
	e.ticks.Wait()
	e.server.Close()
	return nil
}
