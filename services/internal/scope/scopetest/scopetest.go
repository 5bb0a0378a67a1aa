// Package scopetest signs scopes in tests. All tests of a process share one key.
//
// Only tests import it.
package scopetest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

type pair struct {
	key      jose.JSONWebKey
	signer   *scope.Signer
	verifier *scope.Verifier
}

var keys = sync.OnceValue(func() pair {
	key, err := scope.NewKey()
	if err != nil {
		panic(err)
	}
	signer, err := scope.NewSigner(key)
	if err != nil {
		panic(err)
	}
	return pair{key, signer, scope.NewVerifier(key)}
})

// Signer signs with the key of the process's tests.
func Signer() *scope.Signer { return keys().signer }

// Verifier knows the key of the process's tests.
func Verifier() *scope.Verifier { return keys().verifier }

// KeysFile writes the public key that Verifier knows into a file, as a JSON Web Key Set, and returns its path.
func KeysFile(t testing.TB) string {
	t.Helper()
	key := keys().key
	content, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.jwks")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Context returns a context whose outgoing calls carry sc, signed. Without reads, sc gets all of them, and without an expiry, an
// hour.
func Context(ctx context.Context, t testing.TB, sc scope.Scope) context.Context {
	t.Helper()
	if sc.Reads == nil {
		sc.Reads = scope.Reads()
	}
	if sc.Expiry.IsZero() {
		sc.Expiry = time.Now().Add(time.Hour)
	}
	token, err := Signer().Sign(sc)
	if err != nil {
		t.Fatal(err)
	}
	return scope.WithToken(scope.NewContext(ctx, sc), token)
}
