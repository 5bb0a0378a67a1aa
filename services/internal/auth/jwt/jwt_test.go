package jwt

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	issuer   = "https://issuer.example"
	audience = "quartet"
)

// signingKey is a key of an issuer.
type signingKey struct {
	id  string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func newKey(t *testing.T, id string, alg jose.SignatureAlgorithm) signingKey {
	t.Helper()
	var key crypto.Signer
	var err error
	switch {
	case alg == jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case alg == jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case alg == jose.ES384:
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case alg == jose.ES512:
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, minRSABits)
	}
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, alg, key}
}

// jwks is a set of the public parts of keys.
func jwks(t *testing.T, keys ...signingKey) string {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.key.Public(), KeyID: k.id, Use: "sig"})
	}
	content, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

type claims map[string]any

// good are the claims of a token that is accepted, with changes. A nil value removes a claim.
func good(changes claims) claims {
	now := time.Now()
	out := claims{
		"iss": issuer, "aud": audience, "sub": "web", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"quartet_stores": []string{"demo"}, "quartet_rights": []string{"ask", "threads"},
	}
	for name, value := range changes {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func (k signingKey) token(t *testing.T, c claims) string {
	t.Helper()
	return sign(t, jose.SigningKey{Algorithm: k.alg, Key: k.key}, k.id, c)
}

func sign(t *testing.T, key jose.SigningKey, id string, c claims) string {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		opts = opts.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(key, opts)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any(c)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// fromFile is a verifier with keys in a file.
func fromFile(t *testing.T, content string) (*Verifier, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := Open(Config{Keys: path, Issuer: issuer, Audience: audience, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v, path
}

func TestEveryAsymmetricAlgorithmIsAccepted(t *testing.T) {
	rsaKey := newKey(t, "r", jose.RS256)
	var keys []signingKey
	for _, alg := range algorithms {
		k := rsaKey
		if strings.HasPrefix(string(alg), "E") {
			k = newKey(t, string(alg), alg)
			keys = append(keys, k)
			continue
		}
		k.alg = alg
		keys = append(keys, k)
	}
	v, _ := fromFile(t, jwks(t, keys...))
	want := auth.Caller{Name: "jwt:web", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightAsk, auth.RightThreads}}}}
	for _, k := range keys {
		got, err := v.Authenticate(t.Context(), k.token(t, good(nil)))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", k.alg, err, diff)
		}
	}
}

func TestClaims(t *testing.T) {
	k := newKey(t, "k", jose.EdDSA)
	v, _ := fromFile(t, jwks(t, k))
	now := time.Now()
	for name, test := range map[string]struct {
		changes claims
		ok      bool
	}{
		"all there":                     {nil, true},
		"several audiences":             {claims{"aud": []string{"other", audience}}, true},
		"expired within the leeway":     {claims{"exp": now.Add(-leeway / 2).Unix()}, true},
		"expired":                       {claims{"exp": now.Add(-leeway - 2*time.Second).Unix()}, false},
		"no expiry":                     {claims{"exp": nil}, false},
		"not yet valid":                 {claims{"nbf": now.Add(leeway + 10*time.Second).Unix()}, false},
		"valid within the leeway":       {claims{"nbf": now.Add(leeway / 2).Unix()}, true},
		"issued in the future":          {claims{"iat": now.Add(leeway + 10*time.Second).Unix()}, false},
		"another issuer":                {claims{"iss": "https://other.example"}, false},
		"no issuer":                     {claims{"iss": nil}, false},
		"another audience":              {claims{"aud": "other"}, false},
		"no audience":                   {claims{"aud": nil}, false},
		"no subject":                    {claims{"sub": nil}, false},
		"bad store":                     {claims{"quartet_stores": []string{"de mo"}}, false},
		"bad kind of stores":            {claims{"quartet_stores": 7}, false},
		"an empty customer is not any":  {claims{"quartet_customer": ""}, false},
		"a customer that is null":       {claims{"quartet_customer": json.RawMessage("null")}, false},
		"a customer that is a number":   {claims{"quartet_customer": 7}, false},
		"rights that nobody knows here": {claims{"quartet_rights": []string{"ask", "fly"}}, true},
	} {
		got, err := v.Authenticate(t.Context(), k.token(t, good(test.changes)))
		var e *fault.Unauthenticated
		if (err == nil) != test.ok || err != nil && (!errors.As(err, &e) || got.Name != "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := v.Authenticate(t.Context(), k.token(t, good(claims{"sub": "ava@mail.example", "quartet_stores": "*", "quartet_rights": "ask",
		"quartet_customer": "ava", "quartet_customer_groups": []string{"members"}})))
	want := auth.Caller{Name: got.Name, Customer: "ava", CustomerGroups: []string{"members"},
		Grants: []auth.Grant{{Store: "*", Rights: []auth.Right{auth.RightAsk}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !strings.HasPrefix(got.Name, "jwt-sha256:") || strings.Contains(got.Name, "ava") {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A caller's name owns its request ids and its limits, so no subject may choose the name that a hash gives to another.
func TestNoSubjectHasTheNameOfAHashedOne(t *testing.T) {
	hashed := name("ava@mail.example")
	for _, subject := range []string{strings.TrimPrefix(hashed, "jwt:"), hashed, strings.TrimPrefix(hashed, "jwt-sha256:")} {
		if name(subject) == hashed {
			t.Errorf("the subject %q has the name of another", subject)
		}
	}
}

func TestForgeriesAreRefused(t *testing.T) {
	k, other := newKey(t, "k", jose.RS256), newKey(t, "k", jose.RS256)
	v, _ := fromFile(t, jwks(t, k))
	token := k.token(t, good(nil))
	parts := strings.Split(token, ".")
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	public, err := x509.MarshalPKIXPublicKey(k.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: other.key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	ownKey, err := jwt.Signed(embedded).Claims(map[string]any(good(nil))).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	more, err := json.Marshal(good(claims{"quartet_stores": "*"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"empty":                        "",
		"not a token":                  "qt_abc",
		"two parts":                    parts[0] + "." + parts[1],
		"alg none":                     part(`{"alg":"none","kid":"k"}`) + "." + parts[1] + ".",
		"alg None with a signature":    part(`{"alg":"None","kid":"k"}`) + "." + parts[1] + "." + parts[2],
		"another key with the same id": other.token(t, good(nil)),
		"a key of its own in it":       ownKey,
		"no signature":                 parts[0] + "." + parts[1] + ".",
		"more rights":                  parts[0] + "." + part(string(more)) + "." + parts[2],
		"HS256 with the public key":    sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, "k", good(nil)),
		"an id that nobody knows":      sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: k.key}, "x", good(nil)),
		"critical header":              part(`{"alg":"RS256","kid":"k","crit":["exp"],"exp":1}`) + "." + parts[1] + "." + parts[2],
	} {
		got, err := v.Authenticate(t.Context(), forged)
		var e *fault.Unauthenticated
		if !errors.As(err, &e) || got.Name != "" || forged != "" && strings.Contains(err.Error(), forged) || e.Public() != "the bearer token is unknown, malformed or expired" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := v.Authenticate(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestATokenWithoutKeyIDNeedsASetOfOneKey(t *testing.T) {
	k, other := newKey(t, "k", jose.EdDSA), newKey(t, "o", jose.EdDSA)
	anonymous := signingKey{"", k.alg, k.key}
	one, _ := fromFile(t, jwks(t, k))
	if _, err := one.Authenticate(t.Context(), anonymous.token(t, good(nil))); err != nil {
		t.Error(err)
	}
	two, _ := fromFile(t, jwks(t, k, other))
	if _, err := two.Authenticate(t.Context(), anonymous.token(t, good(nil))); err == nil {
		t.Error("a token without key id is accepted although there are two keys")
	}
}

func TestAChangedKeyFileIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := newKey(t, "1", jose.EdDSA), newKey(t, "2", jose.EdDSA)
		v, path := fromFile(t, jwks(t, old))
		<-time.After(time.Second)
		if err := os.WriteFile(path, []byte(jwks(t, old, next)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, k := range []signingKey{next, old} { // the unknown id is looked for at once
			if _, err := v.Authenticate(t.Context(), k.token(t, good(nil))); err != nil {
				t.Errorf("key %s: %v", k.id, err)
			}
		}
		if err := os.WriteFile(path, []byte(jwks(t, next)), 0o600); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		if _, err := v.Authenticate(t.Context(), old.token(t, good(nil))); err == nil {
			t.Error("a key that was removed is still in use")
		}
	})
}

func TestKeysThatAreNoUseAreLeftOut(t *testing.T) {
	k := newKey(t, "k", jose.ES256)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(key jose.JSONWebKey) string {
		content, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	goodKey := raw(jose.JSONWebKey{Key: k.key.Public(), KeyID: "k", Algorithm: "ES256"})
	for name, test := range map[string]struct {
		keys string
		want int // -1: an error
	}{
		"one":             {goodKey, 1},
		"of another kind": {goodKey + `,{"kty":"XYZ","kid":"z"}`, 1},
		"for encryption":  {goodKey + "," + raw(jose.JSONWebKey{Key: k.key.Public(), KeyID: "e", Use: "enc"}), 1},
		"for ECDH":        {goodKey + "," + raw(jose.JSONWebKey{Key: k.key.Public(), KeyID: "e", Algorithm: "ECDH-ES"}), 1},
		"weak":            {goodKey + "," + raw(jose.JSONWebKey{Key: &weak.PublicKey, KeyID: "w"}), 1},
		"nothing left":    {raw(jose.JSONWebKey{Key: &weak.PublicKey, KeyID: "w"}), -1},
		"none":            {"", -1},
		"private":         {raw(jose.JSONWebKey{Key: k.key, KeyID: "p"}), -1},
		"symmetric":       {goodKey + "," + raw(jose.JSONWebKey{Key: []byte("secret"), KeyID: "s"}), -1},
		"no object":       {goodKey + ",7", -1},
	} {
		set, err := parseKeys([]byte(`{"keys":[` + test.keys + `]}`))
		if test.want < 0 != (err != nil) || err == nil && len(set) != test.want {
			t.Errorf("%s: %d keys, %v", name, len(set), err)
		}
	}
	if _, err := parseKeys([]byte("<html>")); err == nil {
		t.Error("a page is taken for keys")
	}
}

// endpoint is a fake of the issuer's URL.
type endpoint struct {
	calls  atomic.Int32
	answer func(*http.Request) (int, string, error)
}

func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	e.calls.Add(1)
	status, body, err := e.answer(req)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: req,
		Header: http.Header{"Location": {"https://elsewhere.example/keys"}}}, nil
}

func fromURL(e *endpoint) *Verifier {
	log := slog.New(slog.DiscardHandler)
	return &Verifier{cfg: Config{Issuer: issuer, Audience: audience, Logger: log}, keys: newRemote("https://issuer.example/keys", e, log)}
}

func TestKeysFromAURL(t *testing.T) {
	one, two, stranger := newKey(t, "1", jose.EdDSA), newKey(t, "2", jose.EdDSA), newKey(t, "3", jose.EdDSA)
	synctest.Test(t, func(t *testing.T) {
		type answer struct {
			status int
			body   string
		}
		var now atomic.Value
		now.Store(answer{http.StatusOK, jwks(t, one)})
		e := &endpoint{answer: func(*http.Request) (int, string, error) { a := now.Load().(answer); return a.status, a.body, nil }}
		v := fromURL(e)
		defer v.Close()
		check := func(step string, k signingKey, ok bool, calls int32) {
			t.Helper()
			_, err := v.Authenticate(t.Context(), k.token(t, good(nil)))
			if (err == nil) != ok || e.calls.Load() != calls {
				t.Errorf("%s: %v after %d readings, want %d", step, err, e.calls.Load(), calls)
			}
		}
		check("the first token waits for the keys", one, true, 1)
		now.Store(answer{http.StatusOK, jwks(t, one, two)})
		check("an unknown id right after a reading", two, false, 1)
		<-time.After(unknownInterval)
		check("an unknown id later", two, true, 2)
		for range 100 {
			check("strangers", stranger, false, 2)
		}
		<-time.After(unknownInterval)
		check("a stranger later", stranger, false, 3)

		now.Store(answer{http.StatusBadGateway, ""})
		<-time.After(2 * refreshInterval)
		synctest.Wait()
		if e.calls.Load() < 4 {
			t.Errorf("nothing was read in the background: %d readings", e.calls.Load())
		}
		check("the issuer is down", two, true, e.calls.Load())
		now.Store(answer{http.StatusOK, jwks(t, two)})
		<-time.After(retryInterval)
		synctest.Wait()
		check("the issuer is back, without the old key", two, true, e.calls.Load())
		check("the old key", one, false, e.calls.Load())
	})
}

func TestManyUnknownKeysCauseOneReading(t *testing.T) {
	k, next := newKey(t, "1", jose.EdDSA), newKey(t, "2", jose.EdDSA)
	synctest.Test(t, func(t *testing.T) {
		first := true
		e := &endpoint{answer: func(*http.Request) (int, string, error) {
			if first {
				first = false
				return http.StatusOK, jwks(t, k), nil
			}
			<-time.After(time.Second)
			return http.StatusOK, jwks(t, k, next), nil
		}}
		v := fromURL(e)
		defer v.Close()
		<-time.After(unknownInterval + time.Second)
		results := make(chan error, 50)
		token := next.token(t, good(nil))
		for range cap(results) {
			go func() {
				_, err := v.Authenticate(t.Context(), token)
				results <- err
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if n := e.calls.Load(); n != 2 {
			t.Errorf("%d readings, want 2", n)
		}
	})
}

func TestAnIssuerThatNeverAnsweredIsUnavailable(t *testing.T) {
	k := newKey(t, "1", jose.EdDSA)
	for name, answer := range map[string]func(*http.Request) (int, string, error){
		"down":      func(*http.Request) (int, string, error) { return 0, "", errors.New("connection refused") },
		"redirects": func(*http.Request) (int, string, error) { return http.StatusFound, "", nil },
		"endless": func(*http.Request) (int, string, error) {
			return http.StatusOK, jwks(t, k) + strings.Repeat(" ", maxKeyBytes), nil
		},
		"a page": func(*http.Request) (int, string, error) { return http.StatusOK, "<html>", nil },
		"silent": func(req *http.Request) (int, string, error) {
			<-req.Context().Done()
			return 0, "", req.Context().Err()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := fromURL(&endpoint{answer: answer})
			defer v.Close()
			begun := time.Now()
			_, err := v.Authenticate(t.Context(), k.token(t, good(nil)))
			var e *fault.Unavailable
			if !errors.As(err, &e) || time.Since(begun) > fetchTimeout {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			<-time.After(unknownInterval)
			if _, err := v.Authenticate(ctx, k.token(t, good(nil))); err == nil {
				t.Errorf("%s: accepted", name)
			}
		})
	}
}

func TestOpenRefusesABadConfiguration(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Keys: "https://issuer.example/keys", Audience: audience},
		{Keys: "https://issuer.example/keys", Issuer: issuer},
		{Keys: "http://issuer.example/keys", Issuer: issuer, Audience: audience},
		{Keys: "http://localhost.issuer.example/keys", Issuer: issuer, Audience: audience},
		{Keys: "ftp://127.0.0.1/keys", Issuer: issuer, Audience: audience},
		{Keys: "https://user:pass@issuer.example/keys", Issuer: issuer, Audience: audience},
		{Keys: "https://", Issuer: issuer, Audience: audience},
		{Keys: filepath.Join(t.TempDir(), "missing"), Issuer: issuer, Audience: audience},
	} {
		if v, err := Open(cfg); err == nil {
			v.Close()
			t.Errorf("%+v is accepted", cfg)
		} else if strings.Contains(err.Error(), "pass") {
			t.Errorf("%v", err)
		}
	}
}
