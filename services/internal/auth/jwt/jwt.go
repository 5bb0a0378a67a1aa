// Package jwt accepts JSON Web Tokens of one issuer as bearer tokens. The issuer's public keys are in a file, or at a URL.
//
// Only signatures by asymmetric keys are accepted. A token must have an expiry, the configured issuer and audience, and the
// claims of Claims, which say what its caller may do.
package jwt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// leeway is how much the clocks of the issuer and of this process may differ.
const leeway = 30 * time.Second

// algorithms are the signatures that are accepted.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Claims are the claims of a token that only Quartet reads. A list of one may be a plain string.
type Claims struct {
	// Stores are the ids of the stores in which the rights hold; "*" stands for all. Required.
	Stores jwt.Audience `json:"quartet_stores"`
	// Rights are the caller's rights in those stores. Rights that are not known here are ignored.
	Rights jwt.Audience `json:"quartet_rights"`
	// Customer is the only customer for whom the caller may act. Absent: any. A claim that is there must name a customer, so that
	// an empty value does not stand for all customers.
	Customer json.RawMessage `json:"quartet_customer,omitempty"`
	// CustomerGroups are the groups that a caller with a Customer may name.
	CustomerGroups jwt.Audience `json:"quartet_customer_groups,omitempty"`
}

// Config configures a Verifier. All fields but Logger are required.
type Config struct {
	// Keys is where the issuer's public keys are: the path of a JWKS file, or a URL of https (http for a loopback address).
	Keys string
	// Issuer is the claim "iss" of all tokens.
	Issuer string
	// Audience is in the claim "aud" of all tokens.
	Audience string
	// Logger hears of new keys, and of keys that cannot be read. Nil: slog.Default().
	Logger *slog.Logger
}

// source is where keys come from.
type source interface {
	// find returns the keys with an id. Where it knows none, it looks for newer keys first.
	find(ctx context.Context, id string) ([]jose.JSONWebKey, error)
	close()
}

// Verifier accepts the tokens of an issuer. It is safe for concurrent use.
type Verifier struct {
	cfg  Config
	keys source
}

// Open returns a verifier. It reads a file of keys at once, and a URL in the background, so it does not fail when the issuer is
// down. The caller closes the verifier.
func Open(cfg Config) (*Verifier, error) {
	switch {
	case cfg.Keys == "":
		return nil, errors.New("jwt: the place of the keys is required")
	case cfg.Issuer == "":
		return nil, errors.New("jwt: the issuer is required")
	case cfg.Audience == "":
		return nil, errors.New("jwt: the audience is required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	keys, err := open(cfg.Keys, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("jwt: %w", err)
	}
	return &Verifier{cfg: cfg, keys: keys}, nil
}

func open(place string, log *slog.Logger) (source, error) {
	if strings.Contains(place, "://") {
		return openRemote(place, log)
	}
	return openFile(place, log)
}

// Close stops the reading of keys and waits for its end.
func (v *Verifier) Close() { v.keys.close() }

// Authenticate implements auth.Authenticator.
func (v *Verifier) Authenticate(ctx context.Context, token string) (auth.Caller, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return auth.Caller{}, auth.InvalidToken(errors.New("not a signed JSON Web Token of an accepted algorithm"))
	}
	header := parsed.Headers[0]
	keys, err := v.keys.find(ctx, header.KeyID)
	if err != nil {
		return auth.Caller{}, err
	}
	err = errors.New("no key has the token's key id")
	for _, key := range keys {
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			err = errors.New("the key is for another algorithm")
			continue
		}
		var standard jwt.Claims
		var own Claims
		if err = parsed.Claims(key.Key, &standard, &own); err == nil {
			var caller auth.Caller
			if caller, err = v.caller(standard, own); err == nil {
				return caller, nil
			}
		}
	}
	return auth.Caller{}, auth.InvalidToken(err)
}

// caller checks the claims of a token whose signature is good.
func (v *Verifier) caller(standard jwt.Claims, own Claims) (auth.Caller, error) {
	if standard.Expiry == nil {
		return auth.Caller{}, errors.New("the token has no expiry")
	}
	err := standard.ValidateWithLeeway(
		jwt.Expected{Issuer: v.cfg.Issuer, AnyAudience: jwt.Audience{v.cfg.Audience}, Time: time.Now()}, leeway)
	switch {
	case err != nil:
		return auth.Caller{}, err
	case standard.Subject == "":
		return auth.Caller{}, errors.New("the token has no subject")
	}
	c := auth.Caller{Name: name(standard.Subject), CustomerGroups: own.CustomerGroups}
	if len(own.Customer) > 0 {
		if err := json.Unmarshal(own.Customer, &c.Customer); err != nil || !fault.ValidID(c.Customer) {
			return auth.Caller{}, errors.New("the claim quartet_customer is there and names no customer")
		}
	}
	var rights []auth.Right
	for _, r := range own.Rights {
		if slices.Contains(auth.Rights(), auth.Right(r)) {
			rights = append(rights, auth.Right(r))
		}
	}
	for _, store := range own.Stores {
		if store != auth.AnyStore && !fault.ValidID(store) {
			return auth.Caller{}, errors.New("the claim quartet_stores has something that is no store's id")
		}
		c.Grants = append(c.Grants, auth.Grant{Store: store, Rights: rights})
	}
	return c, nil
}

// name is the name of a caller with a subject. It equals no name in a file of tokens, and no other subject's. A subject that is
// no plain id, such as an e-mail address, is hashed, because names are logged.
func name(subject string) string {
	if !fault.ValidID(subject) {
		sum := sha256.Sum256([]byte(subject))
		return "jwt-sha256:" + hex.EncodeToString(sum[:16])
	}
	return "jwt:" + subject
}

// keySet are the usable keys of an issuer.
type keySet []jose.JSONWebKey

// find returns the keys with an id. A token without an id stands for the only key.
func (s keySet) find(id string) []jose.JSONWebKey {
	if id == "" && len(s) == 1 {
		return s
	}
	var found []jose.JSONWebKey
	for _, k := range s {
		if id != "" && k.KeyID == id {
			found = append(found, k)
		}
	}
	return found
}

// minRSABits is the shortest RSA key that is accepted.
const minRSABits = 2048

// parseKeys reads a JWKS. Keys that sign nothing, or by an algorithm that is not accepted, are left out, as RFC 7517 asks. One
// with a private or symmetric key is refused: it is no set to hand out.
func parseKeys(content []byte) (keySet, error) {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &doc); err != nil {
		return nil, errors.New("not a JSON Web Key Set")
	}
	var set keySet
	for i, raw := range doc.Keys {
		var secret struct {
			D json.RawMessage `json:"d"`
			K json.RawMessage `json:"k"`
		}
		if err := json.Unmarshal(raw, &secret); err != nil || secret.D != nil || secret.K != nil {
			return nil, fmt.Errorf("keys[%d]: must be a public key", i)
		}
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(bytes.Clone(raw)); err == nil && usable(key) {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("has no public key for signatures")
	}
	return set, nil
}
