package openai

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// exchange is what go-openai does not tell of a call. It belongs to the goroutine of the call.
type exchange struct {
	retryAfter time.Duration
	body       *eventBody // nil: no stream was opened
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// done reports whether the endpoint said that the stream is complete.
func (e *exchange) done() bool { return e.body != nil && e.body.done }

// drain reads what is left after the last event, a few bytes as a rule, because a connection whose answer was not read to
// its end can not be used again. It waits for a moment only.
func (e *exchange) drain(cancel context.CancelFunc) {
	if e.body == nil {
		return
	}
	t := time.AfterFunc(100*time.Millisecond, cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, e.body, 4<<10)
}

// tap is a RoundTripper that notes what go-openai drops.
type tap struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	call, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if err != nil || !ok {
		return resp, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		call.retryAfter = RetryAfter(resp.Header, time.Now())
		resp.Body = &limitedBody{Reader: io.LimitReader(resp.Body, 1<<20), Closer: resp.Body}
		return resp, nil
	}
	call.body = &eventBody{body: resp.Body, lines: bufio.NewReader(resp.Body)}
	resp.Body = call.body
	return resp, nil
}

// limitedBody is the body of an error, of which go-openai reads all that there is, and does not close it.
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

// RetryAfter returns the wait that the headers of a refusal ask for, in seconds, milliseconds or as a date; 0 if none. It is
// the same for all providers that adapters speak to.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// eventBody passes on the lines of an event stream that matter. go-openai keeps all other lines in memory until the end
// and, once there are any, can no longer read an error event.
type eventBody struct {
	body  io.ReadCloser
	lines *bufio.Reader
	rest  []byte // of the current line
	err   error
	done  bool // "[DONE]" was seen
}

var (
	dataPrefix  = []byte("data:")
	errorPrefix = []byte(`{"error"`)
	doneMark    = []byte("[DONE]")
)

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var line []byte
		line, b.err = b.lines.ReadBytes('\n')
		b.rest = b.filter(line)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// filter returns what go-openai may see of a line.
func (b *eventBody) filter(line []byte) []byte {
	if len(line) > 0 && !bytes.HasSuffix(line, []byte("\n")) {
		line = append(line, '\n') // go-openai would pass over a last line without a line feed
	}
	trimmed := bytes.TrimSpace(line)
	for _, prefix := range []string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(trimmed, []byte(prefix)) {
			return nil
		}
	}
	data, ok := bytes.CutPrefix(trimmed, dataPrefix)
	if !ok {
		return line
	}
	data = bytes.TrimSpace(data)
	switch {
	case bytes.Equal(data, doneMark):
		b.done = true
	case bytes.HasPrefix(data, errorPrefix):
		// With a space in front go-openai takes it for any other event, and it is decoded here whatever its form.
		return []byte("data: { " + string(data[1:]) + "\n")
	}
	return line
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.body.Close() }
