package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

const (
	// refreshInterval is how old the keys from a URL get before they are read again.
	refreshInterval = 5 * time.Minute
	// retryInterval is how long to wait after a failure.
	retryInterval = 15 * time.Second
	// unknownInterval is the shortest time between two readings because of tokens with unknown key ids, which anybody can send.
	unknownInterval = 10 * time.Second
	// fetchTimeout bounds one reading.
	fetchTimeout = 5 * time.Second
	// maxKeyBytes bounds what is read.
	maxKeyBytes = 1 << 20
)

// usable reports whether a key may sign tokens.
func usable(key jose.JSONWebKey) bool {
	if !key.Valid() || key.Use != "" && key.Use != "sig" ||
		key.Algorithm != "" && !slices.Contains(algorithms, jose.SignatureAlgorithm(key.Algorithm)) {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// file is a source of keys in a file.
type file struct{ content *reload.File[keySet] }

func openFile(path string, log *slog.Logger) (source, error) {
	content, err := reload.Open(path, parseKeys, log)
	if err != nil {
		return nil, err
	}
	return file{content}, nil
}

func (f file) find(_ context.Context, id string) ([]jose.JSONWebKey, error) {
	if found := f.content.Get().find(id); len(found) > 0 {
		return found, nil
	}
	return f.content.Refresh().find(id), nil
}

func (file) close() {}

// remote is a source of keys at a URL. One goroutine reads them, from openRemote until close.
type remote struct {
	url  string
	http *http.Client
	log  *slog.Logger
	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // asks for a reading

	set atomic.Pointer[keySet] // nil until the first reading that went well

	mu      sync.Mutex
	reading chan struct{} // closed after the reading that is asked for or under way; nil: none
	last    time.Time     // of the last reading
}

func openRemote(address string, log *slog.Logger) (source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the URL of the keys must be of https, without a user, or of http at a loopback address")
	}
	return newRemote(address, http.DefaultTransport, log), nil
}

func newRemote(address string, transport http.RoundTripper, log *slog.Logger) *remote {
	ctx, stop := context.WithCancel(context.Background())
	r := &remote{
		url: address, log: log, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), reading: make(chan struct{}),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
	return r
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (r *remote) close() {
	r.stop()
	<-r.done
	r.http.CloseIdleConnections()
}

// run reads the keys before they are old, and when a token has an unknown key id.
func (r *remote) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := refreshInterval
		if err := r.read(ctx); err != nil && ctx.Err() == nil {
			wait = retryInterval
			r.log.Error("the keys of the issuer of tokens cannot be read; the last good ones stay in use", "url", r.url, "error", err.Error())
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// read reads the keys once and tells those who wait.
func (r *remote) read(ctx context.Context) error {
	r.mu.Lock()
	if r.reading == nil {
		r.reading = make(chan struct{})
	}
	r.mu.Unlock()
	set, err := r.fetch(ctx)
	if err == nil {
		r.set.Store(&set)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.wake: // this reading was the answer
	default:
	}
	close(r.reading)
	r.reading, r.last = nil, time.Now()
	return err
}

func (r *remote) fetch(ctx context.Context) (keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxKeyBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxKeyBytes:
		return nil, errors.New("more than 1 MiB of keys")
	}
	return parseKeys(content)
}

// find implements source.
func (r *remote) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	if set := r.set.Load(); set != nil {
		if found := set.find(id); len(found) > 0 {
			return found, nil
		}
	}
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	if set := r.set.Load(); set != nil {
		return set.find(id), nil
	}
	return nil, &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "read the keys of the issuer of tokens", RetryAfter: retryInterval}
}

// refresh waits for newer keys, unless the last reading was just now.
func (r *remote) refresh(ctx context.Context) error {
	r.mu.Lock()
	if r.reading == nil {
		if time.Since(r.last) < unknownInterval {
			r.mu.Unlock()
			return nil
		}
		r.reading = make(chan struct{})
		r.wake <- struct{}{} // empty while nothing is asked for
	}
	reading := r.reading
	r.mu.Unlock()
	select {
	case <-reading:
		return nil
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
