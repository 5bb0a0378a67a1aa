package scope

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-jose/go-jose/v4"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

const (
	// Leeway is how far the clock of a service may be ahead of the gateway's. A token is accepted for so long after its expiry.
	Leeway = 5 * time.Second
	// maxToken bounds a token in bytes; a scope with as many groups as are allowed fits.
	maxToken = 8 << 10
)

// Verifier verifies signed scopes with public Ed25519 keys. It is safe for concurrent use.
type Verifier struct {
	// Now is the clock. Nil: time.Now. It must not be changed once the verifier is in use.
	Now func() time.Time

	keys    func() *jose.JSONWebKeySet
	refresh func() *jose.JSONWebKeySet // reads the keys anew
}

// NewVerifier returns a verifier of some keys, of which it uses the public halves.
func NewVerifier(keys ...jose.JSONWebKey) *Verifier {
	var set jose.JSONWebKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Public())
	}
	get := func() *jose.JSONWebKeySet { return &set }
	return &Verifier{keys: get, refresh: get}
}

// OpenVerifier returns a verifier of the keys in a file, which ParseKeys reads. Changes of the file count within reload.Interval, and
// at once for a token with an unknown key.
func OpenVerifier(path string, log *slog.Logger) (*Verifier, error) {
	file, err := reload.Open(path, ParseKeys, log)
	if err != nil {
		return nil, fmt.Errorf("scope keys: %w", err)
	}
	return &Verifier{keys: file.Get, refresh: file.Refresh}, nil
}

// Verify returns the scope of a token. Errors are *fault.Unauthenticated with SCOPE_INVALID or SCOPE_EXPIRED. Whether the
// audience is the right one is for the caller to check.
func (v *Verifier) Verify(token string) (Scope, error) {
	if len(token) > maxToken {
		return Scope{}, invalid("is too long", nil)
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return Scope{}, invalid("is not a compact JWS signed with EdDSA", err)
	}
	header := signed.Signatures[0].Protected
	if header.ExtraHeaders[jose.HeaderType] != tokenType {
		return Scope{}, invalid(fmt.Sprintf("is a token of another type, not %q", tokenType), nil)
	}
	key := v.keys().Key(header.KeyID)
	if len(key) == 0 {
		key = v.refresh().Key(header.KeyID)
	}
	if len(key) == 0 {
		return Scope{}, invalid("is signed with a key that this service does not have", nil)
	}
	payload, err := signed.Verify(key[0])
	if err != nil {
		return Scope{}, invalid("has a wrong signature", err)
	}
	return v.read(payload)
}

// read returns the scope of a payload whose signature is right.
func (v *Verifier) read(payload []byte) (Scope, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return Scope{}, invalid("has a payload that is not understood", err)
	}
	s := Scope{
		StoreID: c.Store, CustomerID: c.Customer, CustomerGroups: c.Groups, CartID: c.Cart, Locale: c.Locale, ThreadID: c.Thread,
		TurnID: c.Turn, Reads: c.Reads, Audience: c.Audience, Expiry: time.Unix(c.Expiry, 0),
	}
	if err := s.check(); err != nil {
		return Scope{}, invalid("has an identifier that does not have its form", err)
	}
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	if !now().Before(s.Expiry.Add(Leeway)) {
		return Scope{}, &fault.Unauthenticated{
			Reason: commonv1.ErrorReason_ERROR_REASON_SCOPE_EXPIRED, Description: "the scope has expired; ask the gateway again",
		}
	}
	return s, nil
}

// Missing is the error of a call that needs a scope and has none.
func Missing() error {
	return &fault.Unauthenticated{
		Reason:      commonv1.ErrorReason_ERROR_REASON_SCOPE_MISSING,
		Description: "the call needs a signed scope in its metadata; the gateway makes one for each turn, and 'quartet scope' for trials",
	}
}

// Invalid is the error of a call whose scope is not one, for the reason that the description gives, such as "is sent twice".
func Invalid(description string) error { return invalid(description, nil) }

func invalid(description string, cause error) error {
	return &fault.Unauthenticated{
		Reason: commonv1.ErrorReason_ERROR_REASON_SCOPE_INVALID, Description: "the scope " + description, Err: cause,
	}
}
