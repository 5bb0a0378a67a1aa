package state

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const (
	// embeddedTick is the interval between expiries of keys.
	embeddedTick = 50 * time.Millisecond
	// embeddedRest bounds the processor time of expiry: the server rests so many times as long as an expiry took.
	embeddedRest = 20
)

// EmbeddedServer is a Redis-compatible server in this process, for `quartet up` and for tests. It listens on a loopback port
// and has a random password. Keys expire by the real clock, up to 50 ms early or late. Closing the server loses its data.
type EmbeddedServer struct {
	server *miniredis.Miniredis
	url    string
	stop   func()
	ticker sync.WaitGroup
}

// Embedded starts a server. The caller must close it.
func Embedded() (*EmbeddedServer, error) {
	m := miniredis.NewMiniRedis()
	password := rand.Text()
	m.RequireAuth(password)
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	stopped := make(chan struct{})
	e := &EmbeddedServer{
		server: m, url: "redis://:" + password + "@" + m.Addr() + "/0",
		stop: sync.OnceFunc(func() { close(stopped) }),
	}
	e.ticker.Go(func() { e.expire(stopped) })
	return e, nil
}

// expire ages the keys until stopped is closed. The server's own expiry would go over all keys at each command.
func (e *EmbeddedServer) expire(stopped <-chan struct{}) {
	last, wait := time.Now(), embeddedTick
	for {
		select {
		case <-stopped:
			return
		case <-time.After(wait):
		}
		now := time.Now()
		e.server.FastForward(now.Sub(last))
		last, wait = now, max(embeddedTick, embeddedRest*time.Since(now))
	}
}

// URL returns the URL for Open. The URL holds the password: do not log it.
func (e *EmbeddedServer) URL() string { return e.url }

// Close stops the server and waits for its goroutines. It may be called more than once, and never fails.
func (e *EmbeddedServer) Close() error {
	e.stop()
	e.ticker.Wait()
	e.server.Close()
	return nil
}
