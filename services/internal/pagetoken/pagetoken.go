// Package pagetoken makes tokens of pages: texts that callers send back as they are. A token is no secret and holds no right; a
// service checks what it says as it checks every other field. The package must not import a service.
package pagetoken

import (
	"encoding/base64"
	"strings"
)

// maxBytes bounds a token. Longer ones are not read.
const maxBytes = 1_000

// New returns a token of parts, which must not hold line breaks.
func New(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\n")))
}

// Parse returns the parts of a token, and false for what is no token of n parts.
func Parse(token string, n int) ([]string, bool) {
	if len(token) > maxBytes {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(raw), "\n")
	return parts, err == nil && len(parts) == n
}
