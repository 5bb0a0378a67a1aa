package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/quartet-commerce/quartet/services/suite"
)

// startTimeout is how long a command waits for a service that may be starting.
const startTimeout = 10 * time.Second

// dial connects to a service and waits until it serves, because a command is often typed right after the one that starts the services. If
// the service does not come, calls fail with the cause. The caller closes the connection.
func dial(ctx context.Context, role string, cfg suite.Config, env environment) (*grpc.ClientConn, error) {
	conn, err := suite.Dial(role, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	said := false
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.TransientFailure && !said {
			fmt.Fprintf(env.err, "waiting for %s at %s\n", role, strings.TrimPrefix(conn.Target(), "dns:///"))
			said = true
		}
		if state == connectivity.Idle {
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, state) {
			break
		}
	}
	return conn, nil
}

// gate holds back the connections of a listener until it is opened. They are not refused.
type gate struct {
	net.Listener
	opened, closed chan struct{}
	close          func() error
}

func newGate(l net.Listener) *gate {
	g := &gate{Listener: l, opened: make(chan struct{}), closed: make(chan struct{})}
	g.close = sync.OnceValue(func() error { close(g.closed); return l.Close() })
	return g
}

func (g *gate) Accept() (net.Conn, error) {
	select {
	case <-g.opened:
	case <-g.closed:
	}
	return g.Listener.Accept()
}

func (g *gate) Close() error { return g.close() }

// open lets connections in. It may be called once.
func (g *gate) open() { close(g.opened) }
