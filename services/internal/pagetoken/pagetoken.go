// Package pagetoken makes tokens of pages: texts that callers send back as they are. A token is no secret and holds no right; a
// service checks what it says as it checks every other field. The package must not import a service.
package pagetoken

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/fault"
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

// Read returns what parse reads in the page_token of a request, and notes a token that it refuses. Without a token it returns the zero
// value, which must be the first page.
func Read[P any](c *fault.Checker, token string, parse func(string) (P, bool)) P {
	var first P
	if token == "" {
		return first
	}
	place, ok := parse(token)
	if !ok {
		Refuse(c)
		return first
	}
	return place
}

// Refuse notes that the page_token of a request is none that the method returned.
func Refuse(c *fault.Checker) {
	c.Addf("page_token", "is not a token of this method; use next_page_token of the response before")
}

// ID returns the token of the page after an id, in a list by id; "" for no id.
func ID(id string) string {
	if id == "" {
		return ""
	}
	return New(id)
}

// ParseID reads a token that ID has made.
func ParseID(token string) (string, bool) {
	parts, ok := Parse(token, 1)
	if !ok || parts[0] == "" {
		return "", false
	}
	return parts[0], true
}

// Cursor is a place in a list by time, the newest first: after an entry. Entries of the same time are by id, the greatest first. The zero
// value is before all entries.
type Cursor struct {
	Score int64  // time of the entry
	ID    string // of the entry
}

// Token returns the cursor as a token; "" for the zero value.
func (c Cursor) Token() string {
	if c.ID == "" {
		return ""
	}
	return New(strconv.FormatInt(c.Score, 10), c.ID)
}

// ParseCursor reads a token that Cursor.Token has made.
func ParseCursor(token string) (Cursor, bool) {
	parts, ok := Parse(token, 2)
	if !ok || !fault.ValidID(parts[1]) {
		return Cursor{}, false
	}
	score, err := strconv.ParseInt(parts[0], 10, 64)
	return Cursor{Score: score, ID: parts[1]}, err == nil
}

// Passes reports whether an entry comes after the cursor.
func (c Cursor) Passes(entry Cursor) bool {
	return c.ID == "" || entry.Score < c.Score || entry.Score == c.Score && entry.ID < c.ID
}

// Each calls list with the token of each page, from the first one on, until list returns no next token or an error.
func Each(list func(token string) (next string, err error)) error {
	for token := ""; ; {
		next, err := list(token)
		if err != nil || next == "" {
			return err
		}
		token = next
	}
}
