package mtls_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
)

// handshake connects a client with a server over TCP, and returns the connection's two ends as each saw it. The error is the
// client's or else the server's.
func handshake(t *testing.T, server, client credentials.TransportCredentials) (serverSide, clientSide tls.ConnectionState, err error) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	type result struct {
		info credentials.AuthInfo
		err  error
	}
	served := make(chan result, 1)
	go func() {
		conn, err := lis.Accept()
		if err != nil {
			served <- result{nil, err}
			return
		}
		defer conn.Close()
		_, info, err := server.ServerHandshake(conn)
		served <- result{info, err}
	}()
	conn, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, info, clientErr := client.ClientHandshake(t.Context(), lis.Addr().String(), conn)
	if clientErr != nil {
		conn.Close()
	}
	r := <-served
	conn.Close()
	if err := errors.Join(clientErr, r.err); err != nil {
		return tls.ConnectionState{}, tls.ConnectionState{}, err
	}
	return r.info.(credentials.TLSInfo).State, info.(credentials.TLSInfo).State, nil
}

func serial(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, mtls.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := mtls.ParseCertificates(text)
	if err != nil {
		t.Fatal(err)
	}
	return chain[0].SerialNumber.String()
}

func TestHandshakeNamesBothRoles(t *testing.T) {
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	search := certstest.Open(t, certstest.Role(t, ca, dir, "search"), "search")
	gateway := certstest.Open(t, certstest.Role(t, ca, dir, "gateway"), "gateway")
	serverSide, clientSide, err := handshake(t, search.Server(), gateway.Client("search"))
	if err != nil {
		t.Fatal(err)
	}
	if role, ok := mtls.RoleOf(serverSide.VerifiedChains[0][0], mtls.DefaultTrustDomain); !ok || role != "gateway" {
		t.Errorf("the server saw the role %q, %v", role, ok)
	}
	if clientSide.Version != tls.VersionTLS13 || clientSide.NegotiatedProtocol != "h2" {
		t.Errorf("the connection is %s with %q", tls.VersionName(clientSide.Version), clientSide.NegotiatedProtocol)
	}
	old := credentials.NewTLS(&tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	if _, _, err := handshake(t, search.Server(), old); err == nil {
		t.Error("the server speaks TLS 1.2")
	}
}

func TestClientRefusesAServerOfAnotherRoleNameOrCA(t *testing.T) {
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	gateway := certstest.Open(t, certstest.Role(t, ca, dir, "gateway"), "gateway")
	folder, err := ca.Role(certs.Leaf{TrustDomain: mtls.DefaultTrustDomain, Role: "support", Hosts: []string{"elsewhere"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := certs.Write(dir, []certs.Folder{folder}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server *mtls.Credentials
		role   string
		want   string
	}{
		"another role": {certstest.Open(t, certstest.Role(t, ca, dir, "search"), "search"), "support", "want spiffe://quartet.local/quartet/support"},
		"another name": {certstest.Open(t, filepath.Join(dir, "support"), "support"), "support", "127.0.0.1"},
		"another CA": {certstest.Open(t, certstest.Role(t, certstest.NewCA(t, nil), t.TempDir(), "search"), "search"), "search",
			"unknown authority"},
	} {
		if _, _, err := handshake(t, c.server.Server(), gateway.Client(c.role)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestServerTakesNoCertificateButNoWrongOne(t *testing.T) {
	ca := certstest.NewCA(t, nil)
	folder := certstest.Role(t, ca, t.TempDir(), "search")
	search := certstest.Open(t, folder, "search")
	trusted, err := credentials.NewClientTLSFromFile(filepath.Join(folder, mtls.CAFile), "")
	if err != nil {
		t.Fatal(err)
	}
	serverSide, _, err := handshake(t, search.Server(), trusted)
	if err != nil || len(serverSide.VerifiedChains) != 0 {
		t.Errorf("without a certificate: %v, chains %v", err, serverSide.VerifiedChains)
	}
	// The stranger trusts the server, so that only the server can refuse.
	stranger := certstest.Role(t, certstest.NewCA(t, ca), t.TempDir(), "gateway")
	_, _, err = handshake(t, search.Server(), certstest.Open(t, stranger, "gateway").Client("search"))
	if err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with a certificate of another CA: %v", err)
	}
}

func TestNewLeafCountsFromTheNextHandshake(t *testing.T) {
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	folder := certstest.Role(t, ca, dir, "search")
	search := certstest.Open(t, folder, "search")
	gateway := certstest.Open(t, certstest.Role(t, ca, dir, "gateway"), "gateway")
	first := serial(t, folder)
	for range 2 {
		want := serial(t, folder)
		_, clientSide, err := handshake(t, search.Server(), gateway.Client("search"))
		if err != nil {
			t.Fatal(err)
		}
		if got := clientSide.PeerCertificates[0].SerialNumber.String(); got != want {
			t.Errorf("the server presents %s; the file holds %s", got, want)
		}
		certstest.Role(t, ca, dir, "search")
	}
	if serial(t, folder) == first {
		t.Fatal("the leaf was not renewed")
	}
}

// A CA is replaced in three steps: all trust both, leaves are renewed, all trust the new one alone.
func TestCAIsReplacedWithoutAGap(t *testing.T) {
	dir, old := t.TempDir(), certstest.NewCA(t, nil)
	search := certstest.Open(t, certstest.Role(t, old, dir, "search"), "search")
	gateway := certstest.Open(t, certstest.Role(t, old, dir, "gateway"), "gateway")
	connect := func(step string) {
		t.Helper()
		if _, _, err := handshake(t, search.Server(), gateway.Client("search")); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	connect("old CA")
	next := certstest.NewCA(t, old)
	both, _, err := next.PEM()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"search", "gateway"} {
		write(t, filepath.Join(dir, role, mtls.CAFile), both)
		connect("both CAs trusted by " + role)
	}
	for _, role := range []string{"gateway", "search"} {
		certstest.Role(t, next, dir, role)
		connect("new leaf of " + role)
	}
	stranger := certstest.Open(t, certstest.Role(t, old, t.TempDir(), "gateway"), "gateway")
	next.DropFormer()
	for _, role := range []string{"search", "gateway"} {
		certstest.Role(t, next, dir, role)
		connect("new CA alone for " + role)
	}
	if _, _, err := handshake(t, search.Server(), stranger.Client("search")); err == nil {
		t.Error("a leaf of the dropped CA is still taken")
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// spoiled are contents that make credentials of the role search unusable, by what the error says.
func spoiled(t *testing.T, ca *certs.CA) map[string]map[string][]byte {
	t.Helper()
	file := func(folder, name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	other := certstest.Role(t, certstest.NewCA(t, nil), t.TempDir(), "search")
	gateway := certstest.Role(t, ca, t.TempDir(), "gateway")
	expired, key, err := ca.Issue(certs.Leaf{TrustDomain: mtls.DefaultTrustDomain, Role: "search", Hosts: []string{"localhost"}, Lifetime: -time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]map[string][]byte{
		"tls.crt: no certificate in PEM":  {mtls.CertFile: []byte("garbage")},
		"tls.crt: a PEM block is of type": {mtls.CertFile: file(other, mtls.KeyFile)},
		"tls.key: ":                       {mtls.KeyFile: file(other, mtls.KeyFile)},
		"ca.crt: no certificate in PEM":   {mtls.CAFile: nil},
		"ca.crt: not PEM after the last":  {mtls.CAFile: append(file(other, mtls.CAFile), "-----BEGIN CERT"...)},
		"tls.crt is not good for ca.crt":  {mtls.CAFile: file(other, mtls.CAFile)},
		"tls.crt expired at":              {mtls.CertFile: expired, mtls.KeyFile: key},
		"tls.crt names [spiffe://quartet.local/quartet/gateway]": {
			mtls.CertFile: file(gateway, mtls.CertFile), mtls.KeyFile: file(gateway, mtls.KeyFile)},
	}
}

func TestBadFilesAreRefusedAtStartInOneLine(t *testing.T) {
	ca := certstest.NewCA(t, nil)
	cases := spoiled(t, ca)
	for want, files := range cases {
		folder := certstest.Role(t, ca, t.TempDir(), "search")
		for name, text := range files {
			write(t, filepath.Join(folder, name), text)
		}
		_, err := mtls.Open(mtls.Config{Folder: folder, Role: "search"})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), folder) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with the folder and %q", err, want)
		}
	}
	for _, name := range []string{mtls.CertFile, mtls.KeyFile, mtls.CAFile} {
		folder := certstest.Role(t, ca, t.TempDir(), "search")
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := mtls.Open(mtls.Config{Folder: folder}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestBadNewFilesKeepTheOldCredentials(t *testing.T) {
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	gateway := certstest.Open(t, certstest.Role(t, ca, dir, "gateway"), "gateway")
	for want, files := range spoiled(t, ca) {
		folder := certstest.Role(t, ca, dir, "search")
		var log bytes.Buffer
		search, err := mtls.Open(mtls.Config{Folder: folder, Role: "search", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		first := serial(t, folder)
		for name, text := range files {
			write(t, filepath.Join(folder, name), text)
		}
		for range 2 {
			_, clientSide, err := handshake(t, search.Server(), gateway.Client("search"))
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if got := clientSide.PeerCertificates[0].SerialNumber.String(); got != first {
				t.Errorf("%s: the server presents %s, want the old %s", want, got, first)
			}
		}
		if n := strings.Count(log.String(), want); n != 1 || !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("%q was logged %d times, want once as an error:\n%s", want, n, log.String())
		}
		certstest.Role(t, ca, dir, "search")
		_, clientSide, err := handshake(t, search.Server(), gateway.Client("search"))
		if err != nil || clientSide.PeerCertificates[0].SerialNumber.String() != serial(t, folder) {
			t.Errorf("%s: good files after bad ones are not taken: %v", want, err)
		}
	}
}

// The kubelet writes a new folder, and swaps the link "..data" that the files are links through.
func TestMountedSecretIsReadAsOneVersion(t *testing.T) {
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	gateway := certstest.Open(t, certstest.Role(t, ca, dir, "gateway"), "gateway")
	mount := t.TempDir()
	swap := func(version string) {
		t.Helper()
		made := certstest.Role(t, ca, t.TempDir(), "search")
		if err := os.Rename(made, filepath.Join(mount, version)); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(mount, "..data_tmp")
		if err := errors.Join(os.Symlink(version, link), os.Rename(link, filepath.Join(mount, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	swap("..1")
	for _, name := range []string{mtls.CertFile, mtls.KeyFile, mtls.CAFile} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(mount, name)); err != nil {
			t.Fatal(err)
		}
	}
	search := certstest.Open(t, mount, "search")
	// A reader of the files one by one could see this: the key of the first version and the certificate of the second.
	key := filepath.Join(mount, mtls.KeyFile)
	if err := errors.Join(os.Remove(key), os.Symlink(filepath.Join("..1", mtls.KeyFile), key)); err != nil {
		t.Fatal(err)
	}
	swap("..2")
	_, clientSide, err := handshake(t, search.Server(), gateway.Client("search"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := clientSide.PeerCertificates[0].SerialNumber.String(), serial(t, mount); got != want {
		t.Errorf("the server presents %s; the file holds %s", got, want)
	}
}

func TestExpiryWithoutNewFilesIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := certstest.NewCA(t, nil)
		folder := certstest.Role(t, ca, t.TempDir(), "search")
		var log bytes.Buffer
		search, err := mtls.Open(mtls.Config{Folder: folder, Role: "search", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), certs.DefaultLeafLifetime+time.Hour)
		defer cancel()
		<-ctx.Done()
		near, far := net.Pipe()
		far.Close()
		if _, _, err := search.Server().ServerHandshake(near); err == nil {
			t.Error("a handshake with nobody succeeded")
		}
		if !strings.Contains(log.String(), "tls.crt expired at") {
			t.Errorf("the log says %q", log.String())
		}
	})
}

func TestRoleOfTakesOneURIOfTheTrustDomain(t *testing.T) {
	ca := certstest.NewCA(t, nil)
	for _, c := range []struct{ domain, role, want string }{
		{"quartet.local", "search", "search"},
		{"other.local", "search", ""},
		{"quartet.local", "search/extra", ""},
		{"quartet.local", "", ""},
		{"quartet.local", "search?x=1", "search?x=1"}, // escaped in the URI: another role, not "search"
	} {
		cert, _, err := ca.Issue(certs.Leaf{TrustDomain: c.domain, Role: c.role})
		if err != nil {
			t.Fatal(err)
		}
		chain, err := mtls.ParseCertificates(cert)
		if err != nil {
			t.Fatal(err)
		}
		role, ok := mtls.RoleOf(chain[0], mtls.DefaultTrustDomain)
		if (c.want != "") != ok || ok && role != c.want {
			t.Errorf("%v names %q, %v; want %q", chain[0].URIs, role, ok, c.want)
		}
	}
	cert, _, err := ca.Issue(certs.Leaf{TrustDomain: "quartet.local", Role: "search"})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := mtls.ParseCertificates(cert)
	if err != nil {
		t.Fatal(err)
	}
	chain[0].URIs = append(chain[0].URIs, mtls.ID("quartet.local", "gateway"))
	if role, ok := mtls.RoleOf(chain[0], mtls.DefaultTrustDomain); ok {
		t.Errorf("a certificate with two URIs names %q", role)
	}
}
