package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWebhookSecretPrintsTheSecretsOfAStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(strings.Repeat("a", 32)+"\n"+strings.Repeat("b", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	print := func(args ...string) (string, error) {
		var out strings.Builder
		err := runWebhookSecret(t.Context(), args, environment{out: &out, get: func(string) string { return "" }})
		return out.String(), err
	}
	one, err := print("tea", "--webhook-secrets", file)
	if err != nil {
		t.Fatal(err)
	}
	other, err := print("anvil", "--webhook-secrets", file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(one)
	if len(lines) != 2 || lines[0] == lines[1] || !strings.HasPrefix(lines[0], "whsec_") || strings.Contains(other, lines[0]) {
		t.Errorf("of one store %q, of another %q", one, other)
	}
	for want, args := range map[string][]string{
		"give one store": {"--webhook-secrets", file}, "is required": {"tea"}, "no such file": {"tea", "--webhook-secrets", file + "x"},
	} {
		if _, err := print(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", args, err, want)
		}
	}
}
