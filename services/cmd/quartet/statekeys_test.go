package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestStateKeysAreMadeAndUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	for _, args := range [][]string{{file}, {file, "--store", "demo"}, {file, "--store", "demo", "--after", "1h"}} {
		code, out, stderr := quartet(t.Context(), nil, append([]string{"state-keys"}, args...)...)
		if code != 0 || !strings.HasPrefix(out, "key ") {
			t.Fatalf("%v: exit code %d, %s%s", args, code, out, stderr)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for key := range strings.SplitSeq(string(raw), `"key": "`) {
			if key, _, ok := strings.Cut(key, `"`); ok && len(key) > 40 && strings.Contains(out, key) {
				t.Errorf("the key is printed: %s", out)
			}
		}
	}
	code, out, stderr := quartet(t.Context(), nil, "ask", "--state-keys", file, "where is my order?")
	if code != 0 || !strings.Contains(out, "encrypted") {
		t.Errorf("exit code %d:\n%s%s", code, out, stderr)
	}
}

func TestStateFlagsThatAreRefused(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.json")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"state-keys"}, exitUsage, "one file"},
		{[]string{"state-keys", none, "--after", "-1h"}, exitUsage, "--after"},
		{[]string{"state-keys", none, "--store", "no store"}, exitFailure, "no store"},
		{[]string{"ask", "--state-plaintext", "hello"}, exitUsage, "--state-keys"},
		{[]string{"ask", "--state-keys", none, "hello"}, exitFailure, none},
	} {
		code, _, stderr := quartet(t.Context(), nil, c.args...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit code %d:\n%s", c.args, code, stderr)
		}
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a refused command has made a file")
	}
}

func TestEachServiceWithStateEncrypts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	if code, _, stderr := quartet(t.Context(), nil, "state-keys", file); code != 0 {
		t.Fatal(stderr)
	}
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	args := append([]string{"--model-url", "http://localhost/v1", "--model", "m", "--redis", server.URL(), "--state-keys", file}, scopeKeyFlags(t)...)
	for _, role := range suite.Roles() {
		cfg, closeState := serveConfig(t, role, args)
		if err := closeState(); err != nil {
			t.Error(err)
		}
		if (cfg.Sealer == nil) != (role == suite.Router) { // the router keeps nothing
			t.Errorf("%s: sealer %v", role, cfg.Sealer)
		}
	}
}
