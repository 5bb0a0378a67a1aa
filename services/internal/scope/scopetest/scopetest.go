// Package scopetest signs scopes in tests. All tests of a process share one key.
//
// Only tests import it.
package scopetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

type pair struct {
	signer   *scope.Signer
	verifier *scope.Verifier
}

var keys = sync.OnceValue(func() pair {
	signer, verifier, err := scope.NewPair()
	if err != nil {
		panic(err)
	}
	return pair{signer, verifier}
})

// Signer signs with the key of the process's tests.
func Signer() *scope.Signer { return keys().signer }

// Verifier knows the key of the process's tests.
func Verifier() *scope.Verifier { return keys().verifier }

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
