package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/quartet-commerce/quartet/services/internal/auth/tokens"
)

func TestMistakesInTheFlagsOfCallers(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(bad, []byte("{\n\"callers\": 7}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"keys without an issuer":      {[]string{"up", "--port", "0", "--jwks", "keys.json"}, 2, "--jwks needs"},
		"an issuer without keys":      {[]string{"up", "--port", "0", "--jwt-issuer", "x"}, 2, "need --jwks"},
		"keys over plain HTTP":        {[]string{"up", "--port", "0", "--jwks", "http://issuer.example/k", "--jwt-issuer", "x", "--jwt-audience", "y"}, 1, "must be of https"},
		"tokens that are not there":   {[]string{"up", "--port", "0", "--tokens", bad + "x"}, 1, "no such file"},
		"tokens that are no tokens":   {[]string{"up", "--port", "0", "--tokens", bad}, 1, "line 2: callers"},
		"a negative rate":             {[]string{"up", "--port", "0", "--caller-rate", "-1"}, 2, "must be 0 or more"},
		"a rate that is no number":    {[]string{"up", "--port", "0", "--caller-rate", "NaN"}, 2, "must be a number"},
		"a token without a name":      {[]string{"token", "--store", "demo", "--right", "ask"}, 2, "--name"},
		"a token without rights":      {[]string{"token", "--name", "app", "--store", "demo"}, 2, "--store and --right"},
		"a token for nothing":         {[]string{"token", "--name", "app"}, 2, "--store and --right"},
		"a right that nobody knows":   {[]string{"token", "--name", "app", "--store", "demo", "--right", "fly"}, 2, `"fly" is not a right`},
		"one more token for a nobody": {[]string{"token", "--name", "app", "--file", filepath.Join(t.TempDir(), "t.json")}, 1, `no caller "app"`},
	} {
		if code, _, stderr := quartet(t.Context(), nil, test.args...); code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%s: exit code %d, want %d; stderr %q lacks %q", name, code, test.code, stderr, test.says)
		}
	}
}

func TestTokenPrintsATokenAndItsEntry(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "token", "--name", "app", "--store", "demo", "--store", "kites", "--right", "ask",
		"--customer", "ava", "--expires", "24h", "--rate", "5")
	token, entry, _ := strings.Cut(out, "\n")
	if code != 0 || !strings.HasPrefix(token, tokens.Prefix) || strings.Contains(entry, token) {
		t.Fatalf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(path, []byte(`{"callers":[`+entry+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := tokens.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Authenticate(t.Context(), token)
	if err != nil || c.Name != "app" || c.Customer != "ava" || c.Rate != 5 || !c.May("kites", "ask") || c.May("kites", "carts") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestUpAsksForTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	token := func(args ...string) string {
		t.Helper()
		code, out, stderr := quartet(t.Context(), nil, append([]string{"token", "--file", path}, args...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return strings.TrimSpace(out)
	}
	loader := token("--name", "loader", "--store", "kites", "--right", "stores", "--right", "catalog")
	storefront := token("--name", "storefront", "--store", "kites", "--right", "ask")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut output
	done := startUp(ctx, &out, &errOut, "--tokens", path)
	addr := addresses(t, &out, &errOut)
	env := map[string]string{"QUARTET_ADDR": addr["gateway"]}
	for role, a := range addr {
		checkHealth(t, role, a)
	}
	data := writeStore(t)
	for token, says := range map[string]string{"": "Unauthenticated", "made-up": "Unauthenticated", storefront: "PermissionDenied", loader: "1 products loaded"} {
		env["QUARTET_TOKEN"] = token
		_, loaded, stderr := quartet(ctx, env, "load", "--store", "kites", data)
		if !strings.Contains(loaded+stderr, says) {
			t.Errorf("load says\n%s%s\nwant %q", loaded, stderr, says)
		}
	}
	for token, says := range map[string]string{loader: "PermissionDenied", storefront: "Harbour single-line kite"} {
		_, asked, stderr := quartet(ctx, nil, "ask", "--addr", addr["gateway"], "--token", token, "--store", "kites", "--customer", "", "do you have a kite?")
		if !strings.Contains(asked+stderr, says) {
			t.Errorf("ask says\n%s%s\nwant %q", asked, stderr, says)
		}
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("up ended with %d:\n%s", code, errOut.String())
	}
	for _, token := range []string{loader, storefront} {
		if strings.Contains(out.String()+errOut.String(), token) {
			t.Error("a token is in the output of the server")
		}
	}
}

func TestUpAcceptsJSONWebTokens(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "1", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, set, 0o600); err != nil {
		t.Fatal(err)
	}
	sign := func(audience string) string {
		t.Helper()
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
		if err != nil {
			t.Fatal(err)
		}
		token, err := josejwt.Signed(signer).Claims(map[string]any{"iss": "https://issuer.example", "aud": audience, "sub": "loader",
			"exp": time.Now().Add(time.Hour).Unix(), "quartet_stores": "kites", "quartet_rights": []string{"stores", "catalog"}}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut output
	done := startUp(ctx, &out, &errOut, "--jwks", path, "--jwt-issuer", "https://issuer.example", "--jwt-audience", "quartet")
	env := map[string]string{"QUARTET_ADDR": addresses(t, &out, &errOut)["gateway"]}
	data := writeStore(t)
	for audience, says := range map[string]string{"quartet": "1 products loaded", "another": "Unauthenticated"} {
		env["QUARTET_TOKEN"] = sign(audience)
		_, loaded, stderr := quartet(ctx, env, "load", "--store", "kites", data)
		if !strings.Contains(loaded+stderr, says) {
			t.Errorf("load says\n%s%s\nwant %q", loaded, stderr, says)
		}
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("up ended with %d:\n%s", code, errOut.String())
	}
	if !strings.Contains(errOut.String(), "caller=jwt:loader") {
		t.Errorf("the log does not name the caller:\n%s", errOut.String())
	}
}

// startUp runs 'quartet up' on free ports, without demo stores, and returns where its exit code will be.
func startUp(ctx context.Context, out, errOut *output, args ...string) <-chan int {
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"up", "--port", "0", "--demo=false", "--log-level", "DEBUG"}, args...),
			environment{get: func(string) string { return "" }, out: out, err: errOut})
	}()
	return done
}
