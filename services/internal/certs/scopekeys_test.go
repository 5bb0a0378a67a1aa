package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/reload"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// step takes a step in a folder, as 'quartet certs --rotate-scope-key' does.
func step(t *testing.T, dir, name string) {
	t.Helper()
	folders, err := ScopeFolders(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, folders); err != nil {
		t.Fatal(err)
	}
}

func TestScopeKeysRotateInThreeSteps(t *testing.T) {
	dir := t.TempDir()
	step(t, dir, "")
	key, keys := filepath.Join(dir, ScopeKeyFolder, ScopeKeyFile), filepath.Join(dir, ScopeKeysFolder, ScopeKeysFile)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has mode %v, %v", info.Mode(), err)
	}
	synctest.Test(t, func(t *testing.T) {
		signer, err := scope.OpenSigner(key, nil)
		if err != nil {
			t.Fatal(err)
		}
		verifier, err := scope.OpenVerifier(keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		sc := scope.Scope{StoreID: "demo", Audience: "search", Expiry: time.Now().Add(time.Hour)}
		var tokens []string
		for _, name := range []string{"", "", Publish, Use, Retire, ""} {
			step(t, dir, name)
			<-time.After(2 * reload.Interval)
			token, err := signer.Sign(sc)
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, token)
			if _, err := verifier.Verify(token); err != nil {
				t.Errorf("after %q: %v", name, err)
			}
			if _, err := verifier.Verify(tokens[0]); (err == nil) != (len(tokens) < 5) {
				t.Errorf("a scope from before the rotation after %q: %v", name, err)
			}
		}
		kid := func(token string) string { return strings.Split(token, ".")[0] }
		if kid(tokens[0]) != kid(tokens[2]) || kid(tokens[2]) == kid(tokens[3]) || kid(tokens[3]) != kid(tokens[5]) {
			t.Errorf("another key signs at another step: %v", tokens)
		}
	})
}

func TestScopeKeysAreNotMixedUp(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{Use, "now"} {
		if _, err := ScopeFolders(dir, name); err == nil || !strings.Contains(err.Error(), Publish) {
			t.Errorf("step %q: %v", name, err)
		}
	}
	step(t, dir, Publish)
	step(t, dir, Use)
	if _, err := ScopeFolders(dir, Use); err == nil {
		t.Error("a key was used twice")
	}
	if err := os.Remove(filepath.Join(dir, ScopeKeysFolder, ScopeKeysFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := ScopeFolders(dir, ""); err == nil || !strings.Contains(err.Error(), "only one of") {
		t.Errorf("without the public keys: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ScopeKeysFolder, ScopeKeysFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ScopeFolders(dir, ""); err == nil || !strings.Contains(err.Error(), ScopeKeysFile) {
		t.Errorf("with a broken file: %v", err)
	}
}
