package scope

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

func newKey(t testing.TB) jose.JSONWebKey {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSigner(t testing.TB, key jose.JSONWebKey) *Signer {
	t.Helper()
	s, err := NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sign(t testing.TB, key jose.JSONWebKey, sc Scope) string {
	t.Helper()
	token, err := newSigner(t, key).Sign(sc)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// shopper is a scope with all fields.
func shopper() Scope {
	return Scope{
		StoreID: "demo", CustomerID: "ava", CustomerGroups: []string{"vip", "staff"}, CartID: "k.2", Locale: "de-AT", ThreadID: "th_3",
		TurnID: "tu_4", Reads: []Read{ReadCarts, ReadOrders}, Audience: "support", Expiry: time.Unix(2_000_000_000, 0),
	}
}

// before returns a clock that stands still some time before the scope of shopper expires.
func before(d time.Duration) func() time.Time {
	return func() time.Time { return shopper().Expiry.Add(-d) }
}

// wantReason fails unless err says that a scope is not accepted, for a reason and without quoting the token.
func wantReason(t *testing.T, what, token string, err error, reason commonv1.ErrorReason) {
	t.Helper()
	var refused *fault.Unauthenticated
	if !errors.As(err, &refused) || refused.Reason != reason {
		t.Errorf("%s: got %v, want %v", what, err, reason)
		return
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 10 && strings.Contains(refused.Public(), part) {
			t.Errorf("%s: the description quotes the token: %s", what, refused.Public())
		}
	}
}

const (
	isInvalid = commonv1.ErrorReason_ERROR_REASON_SCOPE_INVALID
	isExpired = commonv1.ErrorReason_ERROR_REASON_SCOPE_EXPIRED
)

func TestASignedScopeIsRead(t *testing.T) {
	key := newKey(t)
	v := NewVerifier(newKey(t), key)
	v.Now = before(time.Minute)
	for name, want := range map[string]Scope{
		"all fields": shopper(),
		"a guest's":  {StoreID: "demo", Audience: "router", Expiry: shopper().Expiry},
	} {
		got, err := v.Verify(sign(t, key, want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestALargeScopeFits(t *testing.T) {
	key, id := newKey(t), strings.Repeat("x", 64)
	sc := Scope{StoreID: id, CustomerID: id, CartID: id, Locale: id, ThreadID: id, TurnID: id, Audience: id, Reads: Reads(), Expiry: time.Now().Add(time.Hour)}
	for range maxGroups {
		sc.CustomerGroups = append(sc.CustomerGroups, id)
	}
	if _, err := NewVerifier(key).Verify(sign(t, key, sc)); err != nil {
		t.Error(err)
	}
}

func TestExpiry(t *testing.T) {
	key := newKey(t)
	token := sign(t, key, shopper())
	for name, tt := range map[string]struct {
		left     time.Duration
		accepted bool
	}{
		"in time":                        {time.Second, true},
		"with the service's clock ahead": {-Leeway + time.Millisecond, true},
		"replayed after the leeway":      {-Leeway, false},
		"replayed the next day":          {-24 * time.Hour, false},
		"with the service's clock late":  {24 * time.Hour, true},
	} {
		v := NewVerifier(key)
		v.Now = before(tt.left)
		_, err := v.Verify(token)
		if tt.accepted && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !tt.accepted {
			wantReason(t, name, token, err, isExpired)
		}
	}
}

// encode makes the parts of a token.
func encode(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func TestForgeriesAreRefused(t *testing.T) {
	key, other := newKey(t), newKey(t)
	v := NewVerifier(key)
	v.Now = before(time.Minute)
	good := sign(t, key, shopper())
	parts := strings.Split(good, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var payload map[string]any
	if err := json.Unmarshal(raw, &payload); err != nil {
		t.Fatal(err)
	}
	payload["customer"] = "bob"
	header := map[string]any{"alg": "EdDSA", "kid": key.KeyID, "typ": tokenType}
	resigned := func(k jose.JSONWebKey, alg jose.SignatureAlgorithm, signing any, typ jose.ContentType) string {
		t.Helper()
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: signing, KeyID: k.KeyID}}, new(jose.SignerOptions).WithType(typ))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign(raw)
		if err != nil {
			t.Fatal(err)
		}
		token, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	public := key.Key.(ed25519.PrivateKey).Public().(ed25519.PublicKey)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	withAlg := func(alg string) string {
		h := map[string]any{"alg": alg, "kid": key.KeyID, "typ": tokenType}
		return encode(t, h) + "." + parts[1] + "."
	}
	stranger := other
	stranger.KeyID = key.KeyID
	for name, token := range map[string]string{
		"nothing":                               "",
		"a word":                                "ava",
		"no algorithm":                          withAlg("none"),
		"no algorithm, in capitals":             withAlg("None"),
		"no signature":                          encode(t, header) + "." + parts[1] + ".",
		"the public key as an HMAC secret":      resigned(key, jose.HS256, []byte(public), tokenType),
		"RSA":                                   resigned(key, jose.RS256, rsaKey, tokenType),
		"another key under its own id":          sign(t, other, shopper()),
		"another key under the known id":        sign(t, stranger, shopper()),
		"another customer in the payload":       parts[0] + "." + encode(t, payload) + "." + parts[2],
		"another header":                        encode(t, map[string]any{"alg": "EdDSA", "kid": key.KeyID, "typ": tokenType, "x": 1}) + "." + parts[1] + "." + parts[2],
		"the signature of another scope":        parts[0] + "." + parts[1] + "." + strings.Split(sign(t, key, Scope{StoreID: "b", Audience: "a", Expiry: shopper().Expiry}), ".")[2],
		"a key of its own in the header":        encode(t, map[string]any{"alg": "EdDSA", "typ": tokenType, "jwk": map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(public)}}) + "." + parts[1] + "." + parts[2],
		"a token of another type":               resigned(key, jose.EdDSA, key.Key, "JWT"),
		"a token without a type":                resigned(key, jose.EdDSA, key.Key, ""),
		"a part cut off":                        good[:len(good)-1],
		"a part too many":                       good + ".x",
		"more than any scope needs":             strings.Repeat("x", maxToken+1),
		"JSON in place of the compact encoding": `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
	} {
		_, err := v.Verify(token)
		wantReason(t, name, token, err, isInvalid)
	}
	if _, err := v.Verify(good); err != nil {
		t.Errorf("the scope that all of these imitate: %v", err)
	}
}

// The gateway checks its requests, but a verifier does not rely on it.
func TestIdentifiersMustHaveTheirForm(t *testing.T) {
	key := newKey(t)
	v := NewVerifier(key)
	v.Now = before(time.Minute)
	signer, err := joseSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Scope){
		"a store that is a path":   func(s *Scope) { s.StoreID = "../x" },
		"no store":                 func(s *Scope) { s.StoreID = "" },
		"no audience":              func(s *Scope) { s.Audience = "" },
		"a customer that is long":  func(s *Scope) { s.CustomerID = strings.Repeat("x", 65) },
		"a cart with a space":      func(s *Scope) { s.CartID = "a b" },
		"a locale with a colon":    func(s *Scope) { s.Locale = "de:AT" },
		"a thread with a brace":    func(s *Scope) { s.ThreadID = "{x}" },
		"a turn with an accent":    func(s *Scope) { s.TurnID = "é" },
		"a group with a space":     func(s *Scope) { s.CustomerGroups = []string{"vip", "big spender"} },
		"too many groups":          func(s *Scope) { s.CustomerGroups = strings.Split(strings.Repeat("g,", 64)+"g", ",") },
		"a read that is no name":   func(s *Scope) { s.Reads = []Read{"*"} },
		"more reads than any kind": func(s *Scope) { s.Reads = make([]Read, 65) },
	} {
		sc := shopper()
		change(&sc)
		if _, err := newSigner(t, key).Sign(sc); err == nil {
			t.Errorf("%s: it was signed", name)
		}
		signed, err := signer.Sign([]byte(mustJSON(t, claims{
			Audience: sc.Audience, Expiry: sc.Expiry.Unix(), Store: sc.StoreID, Customer: sc.CustomerID, Groups: sc.CustomerGroups,
			Cart: sc.CartID, Locale: sc.Locale, Thread: sc.ThreadID, Turn: sc.TurnID, Reads: sc.Reads,
		})))
		if err != nil {
			t.Fatal(err)
		}
		token, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(token)
		wantReason(t, name, token, err, isInvalid)
	}
}

func mustJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func keySet(t testing.TB, keys ...jose.JSONWebKey) string {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Public())
	}
	return mustJSON(t, set)
}

// The steps are those of docs/security.md: the new public key everywhere, then the new private key, then without the old one.
func TestKeysRotateWithoutARefusal(t *testing.T) {
	dir := t.TempDir()
	private, public := filepath.Join(dir, "key.jwk"), filepath.Join(dir, "keys.jwks")
	old, next := newKey(t), newKey(t)
	writeFile(t, private, mustJSON(t, old))
	writeFile(t, public, keySet(t, old))
	synctest.Test(t, func(t *testing.T) {
		signer, err := OpenSigner(private, nil)
		if err != nil {
			t.Fatal(err)
		}
		verifier, err := OpenVerifier(public, nil)
		if err != nil {
			t.Fatal(err)
		}
		sc := shopper()
		sc.Expiry = time.Now().Add(time.Hour)
		var calls sync.WaitGroup
		var verified atomic.Int64
		done := make(chan struct{})
		for range 4 {
			calls.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(10 * time.Millisecond):
					}
					token, err := signer.Sign(sc)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := verifier.Verify(token); err != nil {
						t.Error(err)
						return
					}
					verified.Add(1)
				}
			})
		}
		oldToken := sign(t, old, sc)
		<-time.After(2 * reload.Interval)
		writeFile(t, public, keySet(t, old, next))
		<-time.After(2 * reload.Interval)
		writeFile(t, private, mustJSON(t, next))
		<-time.After(2 * reload.Interval)
		if _, err := verifier.Verify(oldToken); err != nil {
			t.Errorf("a turn that had begun before the switch: %v", err)
		}
		writeFile(t, public, keySet(t, next))
		<-time.After(2 * reload.Interval)
		close(done)
		calls.Wait()
		_, err = verifier.Verify(oldToken)
		wantReason(t, "the key that was removed", oldToken, err, isInvalid)
		if _, err := verifier.Verify(sign(t, next, sc)); err != nil || verified.Load() < 1000 {
			t.Errorf("after the rotation: %v; %d scopes were verified", err, verified.Load())
		}
	})
}

// A file that reaches a service later than the gateway's is looked for as soon as it is needed.
func TestAnUnknownKeyIsLookedForAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.jwks")
	old, next := newKey(t), newKey(t)
	writeFile(t, path, keySet(t, old))
	synctest.Test(t, func(t *testing.T) {
		verifier, err := OpenVerifier(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(reload.Interval / 2)
		writeFile(t, path, keySet(t, old, next))
		sc := shopper()
		sc.Expiry = time.Now().Add(time.Minute)
		if _, err := verifier.Verify(sign(t, next, sc)); err != nil {
			t.Error(err)
		}
	})
}

func TestParseKey(t *testing.T) {
	key := newKey(t)
	private := key.Key.(ed25519.PrivateKey)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, content := range map[string]string{"a JWK": mustJSON(t, key), "PEM": asPEM} {
		if got, err := ParseKey([]byte(content)); err != nil || got.KeyID != key.KeyID || !private.Equal(got.Key.(ed25519.PrivateKey)) {
			t.Errorf("%s: %v %v", name, got.KeyID, err)
		}
	}
	secret := base64.RawURLEncoding.EncodeToString(private.Seed())
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaDER, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"nothing":              "",
		"the public half":      mustJSON(t, key.Public()),
		"a broken JWK":         strings.Replace(mustJSON(t, key), `"d":"`, `"d":"!`, 1),
		"a symmetric key":      mustJSON(t, jose.JSONWebKey{Key: []byte(secret), KeyID: "x"}),
		"a key id like a path": mustJSON(t, jose.JSONWebKey{Key: private, KeyID: "../x"}),
		"PEM of RSA":           string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rsaDER})),
		"PEM of nothing":       "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		_, err := ParseKey([]byte(content))
		if err == nil || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseKeys(t *testing.T) {
	key := newKey(t)
	nameless, twin := key.Public(), newKey(t)
	nameless.KeyID, twin.KeyID = "", key.KeyID
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	set := func(keys ...jose.JSONWebKey) string { return mustJSON(t, jose.JSONWebKeySet{Keys: keys}) }
	for name, tt := range map[string]struct{ content, want string }{
		"nothing":         {"", "Key Set"},
		"no keys":         {`{"keys":[]}`, "has 0 keys"},
		"too many":        {set(slices.Repeat([]jose.JSONWebKey{key.Public()}, maxKeys+1)...), "has 17 keys"},
		"a private key":   {set(key), "keys[0] is a private key"},
		"a symmetric key": {set(jose.JSONWebKey{Key: []byte("secret-secret"), KeyID: "x"}), "keys[0] is"},
		"an RSA key":      {set(key.Public(), jose.JSONWebKey{Key: rsaKey.Public(), KeyID: "x"}), "keys[1] is not an Ed25519 key"},
		"no id":           {set(nameless), "kid"},
		"an id twice":     {set(key.Public(), twin.Public()), "same"},
	} {
		_, err := ParseKeys([]byte(tt.content))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-secret") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if got, err := ParseKeys([]byte(keySet(t, key, newKey(t)))); err != nil || len(got.Keys) != 2 {
		t.Errorf("two keys: %v", err)
	}
}

func TestFilesThatAreBadAtStartAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	writeFile(t, path, "x")
	if _, err := OpenSigner(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("signer: %v", err)
	}
	if _, err := OpenVerifier(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("verifier: %v", err)
	}
}

func TestOutgoingExpiresAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ctx, err := newSigner(t, key).Outgoing(ctx, Scope{StoreID: "demo", Audience: "search"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewVerifier(key).Verify(Token(ctx))
		if want := time.Now().Add(10*time.Second + Grace); err != nil || !got.Expiry.Equal(want) {
			t.Errorf("expires %v, want %v: %v", got.Expiry, want, err)
		}
		if sc, _ := FromContext(ctx); sc.StoreID != "demo" || !sc.Expiry.Equal(got.Expiry) {
			t.Errorf("the context has %+v", sc)
		}
		if _, err := newSigner(t, key).Outgoing(ctx, Scope{}); err == nil {
			t.Error("a scope without a store was signed")
		}
	})
}

func BenchmarkSign(b *testing.B) {
	signer, sc := newSigner(b, newKey(b)), shopper()
	for b.Loop() {
		if _, err := signer.Sign(sc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	key := newKey(b)
	v := NewVerifier(key)
	v.Now = before(time.Minute)
	token := sign(b, key, shopper())
	for b.Loop() {
		if _, err := v.Verify(token); err != nil {
			b.Fatal(err)
		}
	}
}
