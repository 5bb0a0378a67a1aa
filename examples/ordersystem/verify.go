package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// window is how far a timestamp of a request may be from the local clock.
	window = 5 * time.Minute
	// maxBody bounds the body of a request, in bytes.
	maxBody = 16 << 10
	// maxNonces bounds the nonces that are remembered. When there are more, requests are refused rather than forgotten.
	maxNonces = 100_000
	// maxNonce bounds one of them, in bytes.
	maxNonce = 128
)

// verifier checks that the sender of a request knows a key, is fresh, and comes for the first time. It is safe for
// concurrent use.
type verifier struct {
	keys map[string][]byte // live keys by id: one, or two while they are changed
	now  func() time.Time

	mu     sync.Mutex
	nonces map[string]time.Time // seen, until when each is remembered
	oldest time.Time            // no nonce is forgotten before
}

func newVerifier(keys map[string][]byte, now func() time.Time) *verifier {
	return &verifier{keys: keys, now: now, nonces: make(map[string]time.Time)}
}

// verify returns the body of a request that may be answered. An error says why it may not; it is for the log, not for
// the caller.
func (v *verifier) verify(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read body: %w", err)
	case len(body) > maxBody:
		return nil, errors.New("the body is too long")
	}
	key, known := v.keys[r.Header.Get("Quartet-Key")]
	if !known {
		key = []byte("an unknown key takes as long as a wrong signature")
	}
	stamp, nonce := r.Header.Get("Quartet-Timestamp"), r.Header.Get("Quartet-Nonce")
	got, err := hex.DecodeString(r.Header.Get("Quartet-Signature"))
	if want := sign(key, r.Method, r.URL.EscapedPath(), stamp, nonce, body); !hmac.Equal(got, want) || err != nil || !known {
		return nil, errors.New("the signature is wrong")
	}
	// From here on the request is verified.
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, errors.New("the timestamp is no number")
	}
	at, now := time.Unix(seconds, 0), v.now()
	if at.Before(now.Add(-window)) || at.After(now.Add(window)) {
		return nil, errors.New("the timestamp is too far from now")
	}
	return body, v.first(nonce, at.Add(window), now)
}

// first notes a nonce until its request would be too old anyway, and refuses one that is noted.
func (v *verifier) first(nonce string, until, now time.Time) error {
	if nonce == "" || len(nonce) > maxNonce {
		return errors.New("the nonce has a bad length")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.After(v.oldest) {
		v.forget(now)
	}
	switch _, seen := v.nonces[nonce]; {
	case seen:
		return errors.New("the request came before")
	case len(v.nonces) >= maxNonces:
		return errors.New("too many requests to remember")
	}
	v.nonces[nonce] = until
	return nil
}

// forget drops the nonces of requests that are too old by now. It looks at all of them, so at most once a minute.
func (v *verifier) forget(now time.Time) {
	for nonce, until := range v.nonces {
		if until.Before(now) {
			delete(v.nonces, nonce)
		}
	}
	v.oldest = now.Add(time.Minute)
}

// sign returns the HMAC-SHA256 over the six lines of a request.
func sign(key []byte, method, path, timestamp, nonce string, body []byte) []byte {
	sum := sha256.Sum256(body)
	var text bytes.Buffer
	fmt.Fprintf(&text, "QUARTET-HMAC-SHA256\n%s\n%s\n%s\n%s\n%x", method, path, timestamp, nonce, sum)
	mac := hmac.New(sha256.New, key)
	mac.Write(text.Bytes())
	return mac.Sum(nil)
}
