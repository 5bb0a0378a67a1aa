package state

import (
	"crypto/rand"
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// EmbeddedServer is a Redis-compatible server in this process, for `quartet up` and for tests. It listens on a loopback
// port, with a password of its own. What it holds is gone when it is closed.
type EmbeddedServer struct {
	server *miniredis.Miniredis
	url    string
}

// Embedded starts a server. The caller closes it.
func Embedded() (*EmbeddedServer, error) {
	m := miniredis.NewMiniRedis()
	password := rand.Text()
	m.RequireAuth(password)
	m.ClockTTL(true) // keys expire by the clock, without which they would live for ever
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	return &EmbeddedServer{server: m, url: "redis://:" + password + "@" + m.Addr() + "/0"}, nil
}

// URL returns what Open takes. It holds the password: do not log it.
func (e *EmbeddedServer) URL() string { return e.url }

// Close stops the server and waits for its goroutines. It may be called more than once, and never fails.
func (e *EmbeddedServer) Close() error {
	e.server.Close()
	return nil
}
