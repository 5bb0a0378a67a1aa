package scope

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// NewKey makes a private key. Its id is its thumbprint (RFC 7638).
func NewKey() (jose.JSONWebKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("make scope key: %w", err)
	}
	return keyOf(private, "")
}

// NewPair returns a signer and a verifier of a key that nobody else has, for services that share a process.
func NewPair() (*Signer, *Verifier, error) {
	key, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	signer, err := NewSigner(key)
	return signer, NewVerifier(key), err
}

// keyOf gives a private key what identifies it. An empty id stands for the thumbprint.
func keyOf(private ed25519.PrivateKey, id string) (jose.JSONWebKey, error) {
	key := jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.EdDSA), Use: "sig"}
	if id != "" {
		return key, nil
	}
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("thumbprint of a scope key: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	return key, nil
}

// ParseKey reads a private Ed25519 key, as a JSON Web Key or as PKCS #8 in PEM.
func ParseKey(content []byte) (jose.JSONWebKey, error) {
	if block, _ := pem.Decode(content); block != nil {
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		private, ok := parsed.(ed25519.PrivateKey)
		if err != nil || !ok {
			return jose.JSONWebKey{}, errors.New("the PEM block is not a private Ed25519 key in PKCS #8")
		}
		return keyOf(private, "")
	}
	var key jose.JSONWebKey
	if err := json.Unmarshal(content, &key); err != nil {
		return jose.JSONWebKey{}, errors.New("neither a JSON Web Key nor a PEM block") // the cause may quote the key
	}
	private, ok := key.Key.(ed25519.PrivateKey)
	if !ok {
		return jose.JSONWebKey{}, errors.New(`not a private Ed25519 key: want "kty":"OKP", "crv":"Ed25519" and "d"`)
	}
	if key.KeyID != "" && !fault.ValidID(key.KeyID) {
		return jose.JSONWebKey{}, errors.New(`"kid" must be 1 to 64 characters of A-Z a-z 0-9 . _ -`)
	}
	return keyOf(private, key.KeyID)
}

// maxKeys is the most keys of a set: rotation needs two.
const maxKeys = 16

// ParseKeys reads a JSON Web Key Set of public Ed25519 keys.
func ParseKeys(content []byte) (*jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, errors.New(`not a JSON Web Key Set, such as {"keys":[...]}`) // the cause may quote a private key
	}
	if n := len(set.Keys); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("the set has %d keys, must have 1 to %d", n, maxKeys)
	}
	for i, key := range set.Keys {
		switch _, public := key.Key.(ed25519.PublicKey); {
		case !key.IsPublic():
			return nil, fmt.Errorf("keys[%d] is a private key: services must have public keys only", i)
		case !public:
			return nil, fmt.Errorf("keys[%d] is not an Ed25519 key", i)
		case !fault.ValidID(key.KeyID):
			return nil, fmt.Errorf(`keys[%d] needs a "kid" of 1 to 64 characters of A-Z a-z 0-9 . _ -`, i)
		case len(set.Key(key.KeyID)) > 1:
			return nil, fmt.Errorf(`keys[%d] has the same "kid" as another key`, i)
		}
	}
	return &set, nil
}
