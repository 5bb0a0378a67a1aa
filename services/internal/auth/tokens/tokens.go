// Package tokens keeps the callers whose tokens are random values: a file has their names, the hashes of their tokens and their
// rights. The tokens themselves are shown once, when they are made, and stored nowhere.
package tokens

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

// Prefix begins every token that New makes, so that scanners for leaked secrets find it.
const Prefix = "qt_"

// New returns a new token of 256 random bits.
func New() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // it never fails
	return Prefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Hash returns the hash of a token as files have it.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Caller is one caller in a file.
type Caller struct {
	// Name of the caller, unique in the file: 1 to 64 of letters, digits, '.', '_' and '-'. Required.
	Name string `json:"name"`
	// SHA256 are the hashes of the caller's tokens, in hexadecimal digits. Several are accepted, so that a token can be replaced
	// while the old one is still in use. Required.
	SHA256 []string `json:"token_sha256"`
	// Grants are the caller's rights by store. Required.
	Grants []Grant `json:"grants"`
	// Customer is the only customer for whom the caller may act. Absent: any.
	Customer *string `json:"customer,omitempty"`
	// CustomerGroups are the groups that a caller with a Customer may name.
	CustomerGroups []string `json:"customer_groups,omitempty"`
	// Expires is when the caller's tokens stop working. Absent: never.
	Expires *time.Time `json:"expires,omitempty"`
	// CallsPerSecond replaces the server's limit for each store. Absent: the server's limit. -1: no limit.
	CallsPerSecond *float64 `json:"calls_per_second,omitempty"`
}

// Grant gives rights in one store.
type Grant struct {
	// Store is the id of a store, or "*" for every store.
	Store string `json:"store"`
	// Rights that hold there.
	Rights []auth.Right `json:"rights"`
}

// document is the content of a file.
type document struct {
	Callers []Caller `json:"callers"`
}

// hash is the hash of a token.
type hash = [sha256.Size]byte

// entry is what a token stands for.
type entry struct {
	caller  auth.Caller
	expires time.Time // zero: never
}

// File is a file of callers, which is read again when it changes. It is safe for concurrent use.
type File struct {
	content *reload.File[map[hash]entry]
}

// Open reads a file. Its errors say where the file is wrong. A logger of nil is slog.Default().
func Open(path string, log *slog.Logger) (*File, error) {
	content, err := reload.Open(path, parse, log)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return &File{content: content}, nil
}

// Authenticate implements auth.Authenticator. It looks a token up by its hash, so the time that it takes tells nothing of the
// tokens in the file.
func (f *File) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	found, ok := f.content.Get()[sha256.Sum256([]byte(token))]
	switch {
	case !ok:
		return auth.Caller{}, auth.InvalidToken(errors.New("no caller has this token"))
	case !found.expires.IsZero() && !time.Now().Before(found.expires):
		return auth.Caller{}, auth.InvalidToken(fmt.Errorf("the tokens of %q have expired", found.caller.Name))
	}
	return found.caller, nil
}

// parse reads the content of a file.
func parse(content []byte) (map[hash]entry, error) {
	doc, err := decode(content)
	if err != nil {
		return nil, err
	}
	byHash, names := make(map[hash]entry), make(map[string]bool)
	for i, c := range doc.Callers {
		at := fmt.Sprintf("callers[%d]", i)
		if err := c.check(at); err != nil {
			return nil, err
		}
		if names[c.Name] {
			return nil, fmt.Errorf("%s.name: %q is there twice", at, c.Name)
		}
		names[c.Name] = true
		e := entry{caller: c.caller()}
		if c.Expires != nil {
			e.expires = *c.Expires
		}
		for j, digits := range c.SHA256 {
			var h hash
			if n, err := hex.Decode(h[:], []byte(digits)); len(digits) != 2*len(h) || err != nil || n != len(h) {
				return nil, fmt.Errorf("%s.token_sha256[%d]: must be the SHA-256 of a token in 64 hexadecimal digits", at, j)
			}
			if _, taken := byHash[h]; taken {
				return nil, fmt.Errorf("%s.token_sha256[%d]: the same hash is there twice", at, j)
			}
			byHash[h] = e
		}
	}
	return byHash, nil
}

// decode reads a document strictly. Its errors have the line.
func decode(content []byte) (document, error) {
	var doc document
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	err := d.Decode(&doc)
	offset := d.InputOffset()
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err, offset = errors.New("there is more after the end of the object"), d.InputOffset()
		}
	}
	if err == nil {
		return doc, nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
		err = fmt.Errorf("%s: must be of type %s, not a %s", kind.Field, kind.Type, kind.Value)
	}
	line := 1 + bytes.Count(content[:min(max(offset, 0), int64(len(content)))], []byte("\n"))
	return doc, fmt.Errorf("line %d: %s", line, strings.TrimPrefix(err.Error(), "json: "))
}

// Check returns what is wrong with a caller.
func (c Caller) Check() error { return c.check("caller") }

// check returns what is wrong with a caller at a place of the file.
func (c Caller) check(at string) error {
	switch {
	case !fault.ValidID(c.Name):
		return fmt.Errorf("%s.name: must be 1 to 64 of letters, digits, '.', '_' and '-'", at)
	case c.Name == auth.LocalName:
		return fmt.Errorf("%s.name: %q stands for callers without credentials", at, c.Name)
	case len(c.SHA256) == 0:
		return fmt.Errorf("%s.token_sha256: is required", at)
	case len(c.Grants) == 0:
		return fmt.Errorf("%s.grants: is required", at)
	case c.Customer != nil && !fault.ValidID(*c.Customer):
		return fmt.Errorf("%s.customer: must be the id of a customer, or be left out", at)
	case len(c.CustomerGroups) > 0 && c.Customer == nil:
		return fmt.Errorf("%s.customer_groups: needs customer", at)
	case c.CallsPerSecond != nil && *c.CallsPerSecond <= 0 && *c.CallsPerSecond != -1:
		return fmt.Errorf("%s.calls_per_second: must be more than 0, or -1 for no limit", at)
	}
	for i, g := range c.Grants {
		if g.Store != auth.AnyStore && !fault.ValidID(g.Store) {
			return fmt.Errorf("%s.grants[%d].store: must be the id of a store, or %q", at, i, auth.AnyStore)
		}
		if len(g.Rights) == 0 {
			return fmt.Errorf("%s.grants[%d].rights: is required", at, i)
		}
		for j, r := range g.Rights {
			if !slices.Contains(auth.Rights(), r) {
				return fmt.Errorf("%s.grants[%d].rights[%d]: %q is not a right; the rights are %q", at, i, j, r, auth.Rights())
			}
		}
	}
	return nil
}

// caller is the caller as interceptors and services see it.
func (c Caller) caller() auth.Caller {
	out := auth.Caller{Name: c.Name, CustomerGroups: c.CustomerGroups}
	for _, g := range c.Grants {
		out.Grants = append(out.Grants, auth.Grant{Store: g.Store, Rights: g.Rights})
	}
	if c.Customer != nil {
		out.Customer = *c.Customer
	}
	if c.CallsPerSecond != nil {
		out.Rate = *c.CallsPerSecond
	}
	return out
}

// Add adds a caller to a file, or makes the file. A caller without grants must be there already: it gets one more token. The
// file is replaced in one step, so no server reads half of it.
func Add(path string, c Caller) error {
	var doc document
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if doc, err = decode(content); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	i := slices.IndexFunc(doc.Callers, func(other Caller) bool { return other.Name == c.Name })
	switch {
	case i >= 0 && len(c.Grants) > 0:
		return fmt.Errorf("%s: has the caller %q already; leave its rights out to give it one more token", path, c.Name)
	case i >= 0:
		doc.Callers[i].SHA256 = append(doc.Callers[i].SHA256, c.SHA256...)
	case len(c.Grants) == 0:
		return fmt.Errorf("%s: has no caller %q; give its stores and rights", path, c.Name)
	default:
		doc.Callers = append(doc.Callers, c)
	}
	if content, err = json.MarshalIndent(doc, "", "  "); err != nil {
		return err
	}
	content = append(content, '\n')
	if _, err := parse(content); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return reload.Replace(path, content, mode)
}
