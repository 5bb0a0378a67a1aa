package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/suite"
)

// leaf reads the certificate of a role that 'quartet certs' made.
func leaf(t *testing.T, folder string) *x509.Certificate {
	t.Helper()
	return authorities(t, filepath.Join(folder, mtls.CertFile))[0]
}

func authorities(t *testing.T, path string) []*x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	certs, err := mtls.ParseCertificates(text)
	if err != nil {
		t.Fatal(err)
	}
	return certs
}

func makeCerts(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := quartet(t.Context(), nil, append([]string{"certs"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout, stderr
}

// scopeKeyFlags makes the keys of scopes and returns the flags that name them.
func scopeKeyFlags(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	makeCerts(t, "--out", dir, "--scope-only")
	return []string{"--scope-keys", filepath.Join(dir, "scope-keys", "keys.jwks"), "--scope-key", filepath.Join(dir, "scope-key", "key.jwk")}
}

func TestCertsServeTheirRoles(t *testing.T) {
	dir := t.TempDir()
	makeCerts(t, "--out", dir, "--hosts", "shop.internal, 10.1.2.3", "--kubernetes", "shop", "--specialists", "workshops")
	for _, role := range append(suite.Roles(), "workshops", mtls.Client) {
		folder := filepath.Join(dir, role)
		if _, err := mtls.Open(mtls.Config{Folder: folder, Role: role}); err != nil {
			t.Error(err)
			continue
		}
		cert := leaf(t, folder)
		if want := []*url.URL{{Scheme: "spiffe", Host: "quartet.local", Path: "/quartet/" + role}}; len(cert.URIs) != 1 || *cert.URIs[0] != *want[0] {
			t.Errorf("%s: URIs are %v, want %v", role, cert.URIs, want)
		}
		hosts := []string{"localhost", "127.0.0.1", "::1", role, "quartet-" + role, "quartet-" + role + ".shop.svc",
			"quartet-" + role + ".shop.svc.cluster.local", "shop.internal", "10.1.2.3"}
		for _, host := range hosts {
			if err := cert.VerifyHostname(host); (err == nil) != (role != mtls.Client) {
				t.Errorf("%s as %s: %v", role, host, err)
			}
		}
		if days := time.Until(cert.NotAfter).Hours() / 24; days < 89 || days > 90 {
			t.Errorf("%s is valid for %v days, want 90", role, days)
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".key") {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCertsRenewsLeavesAndKeepsItsAuthority(t *testing.T) {
	dir := t.TempDir()
	caFile := filepath.Join(dir, "search", mtls.CAFile)
	makeCerts(t, "--out", dir)
	ca, first := authorities(t, caFile)[0], leaf(t, filepath.Join(dir, "search"))
	_, said := makeCerts(t, "--out", dir)
	if got := authorities(t, caFile); len(got) != 1 || !got[0].Equal(ca) || !strings.Contains(said, "kept") {
		t.Errorf("the second run has %d authorities, the first is the same: %v; it says %q", len(got), got[0].Equal(ca), said)
	}
	if leaf(t, filepath.Join(dir, "search")).Equal(first) {
		t.Error("the leaf was not renewed")
	}
	makeCerts(t, "--out", dir, "--new-ca")
	if got := authorities(t, caFile); len(got) != 2 || got[0].Equal(ca) || !got[1].Equal(ca) {
		t.Errorf("after --new-ca there are %d authorities; want a new one and the old one", len(got))
	}
	makeCerts(t, "--out", dir, "--drop-old-ca")
	if got := authorities(t, caFile); len(got) != 1 || got[0].Equal(ca) {
		t.Errorf("after --drop-old-ca there are %d authorities; want the new one", len(got))
	}
	if _, err := mtls.Open(mtls.Config{Folder: filepath.Join(dir, "search"), Role: "search"}); err != nil {
		t.Error(err)
	}
}

func TestCertsRefusesToReplaceAnAuthorityThatItCannotUse(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"without its key":         func(dir string) error { return os.Remove(filepath.Join(dir, "ca", "ca.key")) },
		"without its certificate": func(dir string) error { return os.Remove(filepath.Join(dir, "ca", "ca.crt")) },
		"with another key": func(dir string) error {
			key, err := os.ReadFile(filepath.Join(dir, "search", "tls.key"))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "ca", "ca.key"), key, 0o600)
		},
	} {
		dir := t.TempDir()
		makeCerts(t, "--out", dir)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		before := leaf(t, filepath.Join(dir, "search"))
		code, _, stderr := quartet(t.Context(), nil, "certs", "--out", dir, "--new-ca")
		if code == 0 || strings.Count(stderr, "\n") > 2 || !leaf(t, filepath.Join(dir, "search")).Equal(before) {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
}

func TestCertsPrintsSecrets(t *testing.T) {
	stdout, _ := makeCerts(t, "--kubernetes", "shop")
	var list struct {
		Kind  string
		Items []struct {
			Kind, Type string
			Metadata   struct{ Name, Namespace string }
			Data       map[string][]byte
		}
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		if secret.Type != "kubernetes.io/tls" {
			continue
		}
		names = append(names, secret.Metadata.Name)
		if secret.Metadata.Namespace != "shop" || len(secret.Data) != 3 {
			t.Errorf("%s is in %q and has %d files", secret.Metadata.Name, secret.Metadata.Namespace, len(secret.Data))
		}
		folder := t.TempDir()
		for name, text := range secret.Data {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		role := strings.TrimSuffix(strings.TrimPrefix(secret.Metadata.Name, "quartet-"), "-tls")
		if _, err := mtls.Open(mtls.Config{Folder: folder, Role: role}); err != nil {
			t.Error(err)
		}
	}
	if want := len(suite.Roles()) + 1; list.Kind != "List" || len(names) != want {
		t.Errorf("a %s has the Secrets %v, want %d", list.Kind, names, want)
	}
	if strings.Contains(stdout, `"ca.key"`) {
		t.Error("the authority's key is printed")
	}
}

func TestCertsUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--out", "x", "y"}, {"--out", "x", "--leaf-days", "0"}, {"--out", "x", "--new-ca", "--drop-old-ca"},
		{"--out", "x", "--trust-domain", "a/b"},
	} {
		if code, _, stderr := quartet(t.Context(), nil, append([]string{"certs"}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}

func TestInsecureAndTLSExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	makeCerts(t, "--out", dir)
	for _, args := range [][]string{
		append([]string{"serve", "router", "--rules-only", "--insecure", "--listen", "127.0.0.1:0", "--tls", filepath.Join(dir, "router")}, scopeKeyFlags(t)...),
		{"up", "--insecure", "--port", "0", "--tls", dir},
	} {
		code, _, stderr := quartet(t.Context(), nil, args...)
		if code != exitUsage || !strings.Contains(stderr, "--insecure and --tls") {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	code, _, stderr := quartet(t.Context(), nil, "serve", "router", "--rules-only", "--listen", "127.0.0.1:0", "--tls", filepath.Join(dir, "search"))
	if code != exitFailure || !strings.Contains(stderr, "tls.crt names [spiffe://quartet.local/quartet/search]") {
		t.Errorf("the credentials of another role: exit code %d: %s", code, stderr)
	}
}

func TestListenRule(t *testing.T) {
	on := &tlsFlags{folder: "x"}
	for name, c := range map[string]struct {
		tls      *tlsFlags
		insecure bool
		allowed  bool
	}{
		"plaintext": {&tlsFlags{}, false, false},
		"insecure":  {&tlsFlags{}, true, true},
		"TLS":       {on, false, true},
	} {
		lis, err := c.tls.listen(t.Context(), "0.0.0.0:0", c.insecure)
		if (err == nil) != c.allowed {
			t.Errorf("%s beyond loopback: %v", name, err)
		}
		if err == nil {
			lis.Close()
		}
	}
}

func TestInsecureIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		insecure, asked bool
		want            string
	}{
		{true, false, "every caller may do everything"},
		{true, true, "with the tokens of callers, are not encrypted"},
		{false, false, ""},
	} {
		var log bytes.Buffer
		warnInsecure(newLogger(environment{err: &log}, 0), c.insecure, c.asked)
		if got := log.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: the log says %q", c, got)
		}
	}
}

func TestATokenInPlaintextIsWarnedOf(t *testing.T) {
	for target, warned := range map[string]bool{
		"127.0.0.1:7300": false, "localhost:7300": false, "[::1]:7300": false, "dns:///localhost:7300": false,
		"10.0.0.7:7300": true, "dns:///quartet-gateway:7300": true, "127.0.0.1.example.org:7300": true,
	} {
		for token, tls := range map[string]bool{"": false, "secret": false, "other": true} {
			var out bytes.Buffer
			f := &tlsFlags{}
			if tls {
				f.folder = t.TempDir() // without files
			}
			err := f.applyClient(&suite.Config{Peers: map[string]string{suite.Gateway: target}, Token: token}, environment{err: &out})
			if (err != nil) != tls {
				t.Error(err)
			}
			want := warned && token != "" && !tls
			if got := out.String(); strings.Contains(got, "in plaintext") != want || token != "" && strings.Contains(got, token) {
				t.Errorf("%s with the token %q, TLS %v: %q", target, token, tls, got)
			}
		}
	}
}

func TestCartCredentials(t *testing.T) {
	dir := t.TempDir()
	makeCerts(t, "--out", dir)
	for ca, want := range map[string]string{"": "", "system": "tls", filepath.Join(dir, "client", mtls.CAFile): "tls"} {
		creds, err := cartCredentials(ca)
		if err != nil || (creds == nil) != (want == "") {
			t.Errorf("%q: %v, %v", ca, creds, err)
		}
	}
	if _, err := cartCredentials(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "--cart-ca") {
		t.Errorf("a missing file: %v", err)
	}
}

// The services of one process call each other in memory, and serve TLS to others.
func TestUpServesTLS(t *testing.T) {
	dir := t.TempDir()
	makeCerts(t, "--out", dir)
	callers := filepath.Join(dir, "callers.json")
	code, token, stderr := quartet(t.Context(), nil, "token", "--name", "shop", "--store", "kites", "--right", "stores", "--right", "catalog", "--file", callers)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut output
	done := make(chan int, 1)
	go func() {
		args := []string{"up", "--port", "0", "--log-level", "ERROR", "--tls", dir, "--tokens", callers}
		done <- run(ctx, args, environment{get: func(string) string { return "" }, out: &out, err: &errOut})
	}()
	env := map[string]string{"QUARTET_TOKEN": strings.TrimSpace(token), "QUARTET_ADDR": addresses(t, &out, &errOut)["gateway"]}
	if text := out.String(); !strings.Contains(text, "grpcurl -cacert "+filepath.Join(dir, "client", "ca.crt")) ||
		!strings.Contains(text, " --tls "+filepath.Join(dir, "client")+` --token "$TOKEN"`) {
		t.Errorf("up says:\n%s", text)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"plaintext":  {nil, "Unavailable"},
		"TLS":        {[]string{"--tls", filepath.Join(dir, "client")}, "1 products loaded"},
		"other role": {[]string{"--tls", filepath.Join(dir, "support")}, "PermissionDenied"},
	} {
		_, loaded, stderr := quartet(ctx, env, append([]string{"load", "--timeout", "10s", "--store", "kites", writeStore(t)}, c.args...)...)
		if !strings.Contains(loaded+stderr, c.want) {
			t.Errorf("%s: want %q in:\n%s%s", name, c.want, loaded, stderr)
		}
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("up ended with %d:\n%s", code, errOut.String())
	}
}
