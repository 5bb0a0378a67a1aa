package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// inprocScheme begins the targets that a Network resolves.
const inprocScheme = "inproc:///"

// pipeBytes is the buffer of an in-memory connection, in each direction.
const pipeBytes = 256 << 10

// Network is a set of named in-memory listeners. Services that share a process, or a test, meet there: all but the
// socket is as over TCP. Dialing a name before anybody listens fails as a dead host would, and works later.
// It is safe for concurrent use.
type Network struct {
	mu        sync.Mutex
	closed    bool
	listeners map[string]*memoryListener
}

// NewNetwork returns a network without listeners.
func NewNetwork() *Network {
	return &Network{listeners: map[string]*memoryListener{}}
}

// Listen returns a listener that "inproc:///NAME" targets reach. A name can be taken again once its listener is closed.
func (n *Network) Listen(name string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("listen on %s%s: %w", inprocScheme, name, net.ErrClosed)
	}
	if _, taken := n.listeners[name]; taken || name == "" {
		return nil, fmt.Errorf("listen on %s%s: the name is empty or taken", inprocScheme, name)
	}
	l := &memoryListener{Listener: bufconn.Listen(pipeBytes), network: n, name: name}
	n.listeners[name] = l
	return l, nil
}

// Close closes all listeners. Connections that were made go on until their ends close them.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	open := make([]*memoryListener, 0, len(n.listeners))
	for _, l := range n.listeners {
		open = append(open, l)
	}
	n.mu.Unlock()
	var errs []error
	for _, l := range open {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (n *Network) dial(ctx context.Context, name string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[name]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nothing listens on %s%s", inprocScheme, name)
	}
	return l.DialContext(ctx)
}

func (n *Network) remove(l *memoryListener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[l.name] == l {
		delete(n.listeners, l.name)
	}
}

// memoryListener frees its name when it is closed.
type memoryListener struct {
	*bufconn.Listener
	network *Network
	name    string
}

func (l *memoryListener) Close() error {
	l.network.remove(l)
	return l.Listener.Close()
}

// Accept marks the connection, so that a server with TLS knows that it needs none.
func (l *memoryListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return memoryConn{conn}, nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.name) }

// memoryAddr is the name of a listener.
type memoryAddr string

func (memoryAddr) Network() string  { return "inproc" }
func (a memoryAddr) String() string { return inprocScheme + string(a) }
