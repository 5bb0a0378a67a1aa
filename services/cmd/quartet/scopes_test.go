package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func TestServeNeedsTheKeysOfScopes(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := quartet(t.Context(), nil, "certs", "--scope-only", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca")); err == nil {
		t.Error("--scope-only made certificates")
	}
	keys := filepath.Join(dir, "scope-keys", "keys.jwks")
	model := []string{"--model", "m", "--model-url", "http://127.0.0.1:1/v1", "--redis", "", "--listen", "127.0.0.1:0"}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no public keys":           {[]string{"serve", "router", "--rules-only", "--listen", "127.0.0.1:0"}, exitUsage, "'quartet certs --out DIR'"},
		"no private key":           {append([]string{"serve", "gateway", "--scope-keys", keys}, model...), exitUsage, "--scope-key is required"},
		"a private key for public": {[]string{"serve", "router", "--rules-only", "--listen", "127.0.0.1:0", "--scope-keys", filepath.Join(dir, "scope-key", "key.jwk")}, exitFailure, "key.jwk"},
	} {
		if code, _, stderr := quartet(t.Context(), nil, c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
}

func TestScopePrintsAToken(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := quartet(t.Context(), nil, "certs", "--scope-only", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	key := filepath.Join(dir, "scope-key", "key.jwk")
	verifier, err := scope.OpenVerifier(filepath.Join(dir, "scope-keys", "keys.jwks"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want scope.Scope
	}{
		"as in a turn": {[]string{"--customer", "ava", "--audience", "support"},
			scope.Scope{StoreID: "demo", CustomerID: "ava", CartID: "ava", Audience: "support", Reads: []scope.Read{scope.ReadOrders, scope.ReadPolicies, scope.ReadCarts}}},
		"by hand": {[]string{"--cart", "k", "--groups", "vip, staff", "--locale", "de", "--audience", "loyalty", "--reads", "orders,points"},
			scope.Scope{StoreID: "demo", CustomerGroups: []string{"vip", "staff"}, CartID: "k", Locale: "de", Audience: "loyalty", Reads: []scope.Read{scope.ReadOrders, "points"}}},
		"no reads": {[]string{"--audience", "search", "--reads", "none"}, scope.Scope{StoreID: "demo", Audience: "search"}},
	} {
		code, stdout, stderr := quartet(t.Context(), nil, append([]string{"scope", "--key", key, "--store", "demo"}, c.args...)...)
		got, err := verifier.Verify(strings.TrimSpace(stdout))
		got.Expiry = c.want.Expiry
		if diff := cmp.Diff(c.want, got); code != 0 || err != nil || diff != "" {
			t.Errorf("%s: exit code %d, %v: %s (-want +got):\n%s", name, code, err, stderr, diff)
		}
	}
	for _, args := range [][]string{
		{}, {"--key", key, "--store", "demo"}, {"--key", key, "--store", "demo", "--audience", "loyalty"},
		{"--key", key, "--store", "a b", "--audience", "search"}, {"--key", key, "--store", "demo", "--audience", "search", "--ttl", "-1s"},
		{"--key", key, "--store", "demo", "--audience", "search", "--reads", "a b"},
	} {
		if code, _, stderr := quartet(t.Context(), nil, append([]string{"scope"}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}
