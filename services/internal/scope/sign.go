package scope

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/quartet-commerce/quartet/services/internal/reload"
)

const (
	// tokenType is the typ header of a signed scope, so that no token made for another purpose stands for one.
	tokenType = "quartet-scope"
	// Grace is how long a scope outlives the deadline of its turn, for calls that end late.
	Grace = 5 * time.Second
)

// claims is the payload of a token.
type claims struct {
	Audience string   `json:"aud"`
	Expiry   int64    `json:"exp"` // seconds since 1970
	Store    string   `json:"store"`
	Customer string   `json:"customer,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Cart     string   `json:"cart,omitempty"`
	Locale   string   `json:"locale,omitempty"`
	Thread   string   `json:"thread,omitempty"`
	Turn     string   `json:"turn,omitempty"`
	Reads    []Read   `json:"reads,omitempty"`
}

// Signer signs scopes with a private Ed25519 key. It is safe for concurrent use.
type Signer struct {
	signer func() jose.Signer
}

// NewSigner returns a signer of one key.
func NewSigner(key jose.JSONWebKey) (*Signer, error) {
	signer, err := joseSigner(key)
	if err != nil {
		return nil, err
	}
	return &Signer{signer: func() jose.Signer { return signer }}, nil
}

// OpenSigner returns a signer of the key in a file, which ParseKey reads. Another key in the file is used within
// reload.Interval.
func OpenSigner(path string, log *slog.Logger) (*Signer, error) {
	file, err := reload.Open(path, func(content []byte) (jose.Signer, error) {
		key, err := ParseKey(content)
		if err != nil {
			return nil, err
		}
		return joseSigner(key)
	}, log)
	if err != nil {
		return nil, fmt.Errorf("scope key: %w", err)
	}
	return &Signer{signer: file.Get}, nil
}

func joseSigner(key jose.JSONWebKey) (jose.Signer, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, new(jose.SignerOptions).WithType(tokenType))
	if err != nil {
		return nil, fmt.Errorf("scope key: %w", err)
	}
	return signer, nil
}

// Sign returns the token of a scope, which must have a store, an audience and an expiry. The expiry is rounded up to a second.
func (s *Signer) Sign(sc Scope) (string, error) {
	if err := sc.check(); err != nil {
		return "", fmt.Errorf("sign scope: %w", err)
	}
	payload, err := json.Marshal(claims{
		Audience: sc.Audience, Expiry: sc.Expiry.Add(time.Second - 1).Unix(), Store: sc.StoreID, Customer: sc.CustomerID,
		Groups: sc.CustomerGroups, Cart: sc.CartID, Locale: sc.Locale, Thread: sc.ThreadID, Turn: sc.TurnID, Reads: sc.Reads,
	})
	if err != nil {
		return "", fmt.Errorf("sign scope: %w", err)
	}
	signed, err := s.signer().Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign scope: %w", err)
	}
	return signed.CompactSerialize()
}

// Outgoing returns a context whose outgoing calls carry sc, which expires Grace after the deadline of ctx. The context carries sc
// itself, too.
func (s *Signer) Outgoing(ctx context.Context, sc Scope) (context.Context, error) {
	due, ok := ctx.Deadline()
	if !ok {
		due = time.Now().Add(time.Minute)
	}
	sc.Expiry = due.Add(Grace)
	token, err := s.Sign(sc)
	if err != nil {
		return nil, err
	}
	return WithToken(NewContext(ctx, sc), token), nil
}
