package openai

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// NewTransport returns a transport for many calls at once to one host, for this and other adapters of models. Go's default
// keeps two idle connections for each host and so opens a new one for almost every call.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Requests are larger than Go's 4 KiB too, and are then written past the buffer; events that stream are smaller. A
		// connection that waits for a model keeps both.
		WriteBufferSize: 1 << 10,
		ReadBufferSize:  1 << 10,
		// HTTP/2 shares one connection among all calls: find out when it is dead.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// dialer makes connections.
var dialer = net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

// conn is a connection that has what is left of a body written from where it is. Go's own has it copied, into a buffer that
// is made for that.
type conn struct{ net.Conn }

// ReadFrom implements io.ReaderFrom.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok { // as the transport bounds bodies to the length that it has announced
		body, ok := limited.R.(interface {
			io.WriterTo
			Len() int
		})
		if ok && int64(body.Len()) <= limited.N {
			n, err := body.WriteTo(c.Conn)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// maxWait bounds what is believed of a header.
const maxWait = 1e6 * time.Second

// RetryAfter returns the wait that the headers of a refusal ask for, in seconds, milliseconds or as a date; without those,
// until the limits of OpenAI's that are used up (x-ratelimit-remaining-... is 0) are reset. Zero: they say nothing that can
// be believed. It is the same for all providers that adapters speak to.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	wait := waitOf(h.Get("Retry-After-Ms"), time.Millisecond)
	if v := strings.TrimSpace(h.Get("Retry-After")); wait == 0 && v != "" {
		if at, err := http.ParseTime(v); err == nil {
			wait = at.Sub(now)
		} else {
			wait = waitOf(v, time.Second)
		}
	} else if wait == 0 {
		wait = max(resetOf(h, "Requests"), resetOf(h, "Tokens"))
	}
	if wait < 0 || wait > maxWait {
		return 0
	}
	return wait
}

// waitOf returns a number of units as a wait; 0 for what is none.
func waitOf(number string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if wait := n * float64(unit); err == nil && wait > 0 && wait < float64(maxWait) {
		return time.Duration(wait)
	}
	return 0
}

// resetOf returns when a limit is reset, which OpenAI says as "1s" or "6m0s"; 0 unless it is used up.
func resetOf(h http.Header, limit string) time.Duration {
	reset, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + limit))
	if err != nil || h.Get("X-Ratelimit-Remaining-"+limit) != "0" {
		return 0
	}
	return reset
}
