package bench

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Arrivals returns a listener that notes when the first byte of each request came. A [Fake] that is served on it begins a
// call's time there, and not when the server has got to the call: what it takes to read a request is the model's time, not
// that of its caller.
func Arrivals(lis net.Listener) net.Listener { return &arrivalListener{lis} }

type arrivalListener struct{ net.Listener }

// Accept implements net.Listener.
func (l *arrivalListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &arrivalConn{Conn: c, begun: time.Now()}, nil
}

// arrivalConn is a connection that knows when it was first read from since arrival was last asked for it.
type arrivalConn struct {
	net.Conn
	begun time.Time
	first atomic.Int64 // after begun; 0: nothing was read
}

// Read implements net.Conn.
func (c *arrivalConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.first.CompareAndSwap(0, int64(time.Since(c.begun)))
	}
	return n, err
}

// LocalAddr implements net.Conn. It is the one thing of a connection that an HTTP server hands to its handlers.
func (c *arrivalConn) LocalAddr() net.Addr { return arrivalAddr{c.Conn.LocalAddr(), c} }

type arrivalAddr struct {
	net.Addr
	conn *arrivalConn
}

// arrival is when the request came whose body has been read, or what the caller took for it if the listener does not know.
func arrival(r *http.Request, begun time.Time) time.Time {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(arrivalAddr)
	if !ok {
		return begun
	}
	if first := addr.conn.first.Swap(0); first > 0 {
		return addr.conn.begun.Add(time.Duration(first))
	}
	return begun
}
