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
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
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

// exchange is what go-openai is not to see of a call, or does not tell. It belongs to the goroutine of the call.
type exchange struct {
	request    []byte                 // the body to send
	again      func() ([]byte, error) // makes that anew
	retryAfter time.Duration          // that a refusal asks for
	body       *body                  // of the answer; nil: there is none
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// tap is a RoundTripper that sends the exchange's request in place of go-openai's, see wireRequest, and takes answers aside,
// which are read here: go-openai drops an error beside choices, the
// reasoning of some endpoints and the lack of an index, and knows no answer that streams unasked or does not although
// asked. Refusals are left to it but for their headers, which it drops.
type tap struct {
	next http.RoundTripper
	key  string // never to be repeated in an error
}

// standIn is what go-openai gets to read in place of an answer.
const standIn = "{}"

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	call, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if ok && req.Body != nil {
		var err error
		if req, err = call.fill(req); err != nil {
			return nil, err
		}
	}
	resp, err := next.RoundTrip(req)
	if err != nil || !ok {
		return resp, err
	}
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		call.retryAfter = RetryAfter(resp.Header, time.Now())
		resp.Body = &limitedBody{Reader: io.LimitReader(resp.Body, 1<<20), Closer: resp.Body}
	case resp.StatusCode < http.StatusMultipleChoices:
		call.body = newBody(resp.Body, resp.Header.Get("Content-Type"), t.key)
		resp.Body = io.NopCloser(strings.NewReader(standIn))
	}
	return resp, nil
}

// fill returns a request with the exchange's body. The one that it is made of is closed, as RoundTrip must. What is sent is
// not kept: a call waits for its answer most of its life, and seldom has to be sent again.
func (e *exchange) fill(req *http.Request) (*http.Request, error) {
	req.Body.Close()
	sent := e.request
	if sent == nil { // a redirection asks for it again
		var err error
		if sent, err = e.again(); err != nil {
			return nil, err
		}
	}
	filled := *req
	filled.ContentLength = int64(len(sent))
	filled.GetBody = func() (io.ReadCloser, error) {
		sent, err := e.again()
		return &sending{sent}, err
	}
	filled.Body, e.request = &sending{sent}, nil
	return &filled, nil
}

// sending is the body of a request, which lets go of what was read.
type sending struct {
	rest []byte
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.rest = nil
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer. It does nothing: it may come while another goroutine reads.
func (s *sending) Close() error { return nil }

// limitedBody is the body of a refusal, of which go-openai reads all that there is, and does not close it.
type limitedBody struct {
	io.Reader
	io.Closer
}

// Read implements io.Reader; it closes the body at its end.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.Close()
	}
	return n, err
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
