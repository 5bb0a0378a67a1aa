// Package orderhttp asks a store's own order system for orders over HTTP. It signs what it asks and believes nothing of
// what it is told that is not in the contract's form; whether an order may be shown is for its caller to check.
//
// The package must not import a service. docs/orders.md is the specification for those who write the other side.
package orderhttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// The headers of a signed request.
const (
	HeaderKey       = "Quartet-Key"
	HeaderTimestamp = "Quartet-Timestamp"
	HeaderNonce     = "Quartet-Nonce"
	HeaderSignature = "Quartet-Signature"
)

// scheme begins what is signed, so that a signature of another purpose or version never passes for one of this.
const scheme = "QUARTET-HMAC-SHA256"

// minSecret is the shortest secret in bytes: half of what HMAC-SHA256 can make use of is the least that resists guessing.
const minSecret = 16

// Key is a shared secret and the name under which the other side knows it.
type Key struct {
	// ID is sent with each request. 1 to 64 of letters, digits, '.', '_' and '-'. Required.
	ID string
	// Secret is at least 16 bytes, best 32 random ones. Never logged or sent. Required.
	Secret []byte
}

// Validate reports what is wrong with the key, without its secret.
func (k Key) Validate() error {
	switch {
	case !fault.ValidID(k.ID):
		return errors.New("order system: the id of a key must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
	case len(k.Secret) < minSecret:
		return fmt.Errorf("order system: the secret of key %q has %d bytes, must have at least %d", k.ID, len(k.Secret), minSecret)
	}
	return nil
}

// String is the key's id, so that a printed configuration has no secret.
func (k Key) String() string { return "key " + k.ID }

// GoString is String.
func (k Key) GoString() string { return k.String() }

// Signature is HMAC-SHA256, in lower-case hex, over six lines joined by line feeds: the scheme, the method, the escaped
// path, the timestamp in Unix seconds, the nonce, and the SHA-256 of the body in lower-case hex.
func (k Key) Signature(method, path string, at time.Time, nonce string, body []byte) string {
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, k.Secret)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%d\n%s\n%s", scheme, method, path, at.Unix(), nonce, hex.EncodeToString(sum[:]))
	return hex.EncodeToString(mac.Sum(nil))
}

// sign adds the headers to a request whose body is given apart.
func (k Key) sign(req *http.Request, at time.Time, nonce string, body []byte) {
	req.Header.Set(HeaderKey, k.ID)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(HeaderNonce, nonce)
	req.Header.Set(HeaderSignature, k.Signature(req.Method, req.URL.EscapedPath(), at, nonce, body))
}
