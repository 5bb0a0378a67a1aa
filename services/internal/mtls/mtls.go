// Package mtls is the TLS between Quartet's services: credentials from files that may change while a process runs, the
// role that a certificate names, and the rules that say which role may call what.
//
// The module advancedtls of gRPC reloads files too, but its servers either require a client certificate or do not ask for one.
// Quartet's servers ask without requiring, because the backends of stores come with tokens.
package mtls

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// The names of the files in a folder of credentials, as cert-manager and Secrets of the type kubernetes.io/tls have them.
const (
	CertFile = "tls.crt" // the leaf and its intermediates
	KeyFile  = "tls.key" // the key of the leaf
	CAFile   = "ca.crt"  // the CAs that peers are verified against, one or more
)

// Config says where credentials are and whose they are.
type Config struct {
	// Folder holds CertFile, KeyFile and CAFile. Required.
	Folder string
	// TrustDomain is the trust domain of all roles. Empty means DefaultTrustDomain.
	TrustDomain string
	// Role is the role that the leaf must name. Empty allows any leaf, which suits a process that only calls.
	Role string
	// Logger is told of new files that cannot be used. Nil discards it.
	Logger *slog.Logger
}

// Credentials are the TLS credentials of one process. Each handshake reads the files again, so a renewed leaf or a new set of
// CAs counts from the next connection on; connections that are open stay open. While the files are bad, the
// last good ones stay in use. Credentials are safe for concurrent use.
type Credentials struct {
	cfg Config
	log *slog.Logger

	mu     sync.Mutex
	files  files
	loaded loaded
	failed string // the error that was logged last, so that it is logged once
}

// Open loads the credentials. The error is one line that names the file that cannot be used, and why.
func Open(cfg Config) (*Credentials, error) {
	if cfg.TrustDomain == "" {
		cfg.TrustDomain = DefaultTrustDomain
	}
	if err := CheckTrustDomain(cfg.TrustDomain); err != nil {
		return nil, err
	}
	c := &Credentials{cfg: cfg, log: cfg.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.files, err = read(cfg.Folder); err != nil {
		return nil, fmt.Errorf("TLS credentials: %w", err)
	}
	if c.loaded, err = c.load(c.files); err != nil {
		return nil, fmt.Errorf("TLS credentials in %s: %w", cfg.Folder, err)
	}
	return c, nil
}

// TrustDomain returns the trust domain that roles are of.
func (c *Credentials) TrustDomain() string { return c.cfg.TrustDomain }

// Server returns the credentials of a server. It asks clients for a certificate but does not require one; a certificate that
// is presented must chain to a CA of the folder.
func (c *Credentials) Server() credentials.TransportCredentials { return transport{c: c} }

// HTTP returns the configuration of an HTTP server with the same certificate. It asks clients, which are browsers, for none.
func (c *Credentials) HTTP() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		cfg := c.serverConfig()
		cfg.ClientAuth, cfg.NextProtos = tls.NoClientCert, []string{"h2", "http/1.1"}
		return cfg, nil
	}}
}

// Client returns the credentials of a client that calls the service of a role. The server's certificate must chain to a CA
// of the folder, and name both the host that was dialled and the role.
func (c *Credentials) Client(role string) credentials.TransportCredentials {
	return transport{c: c, role: role}
}

// transport makes a new tls.Config for each handshake, from the files of that moment.
type transport struct {
	c    *Credentials
	role string // of the server; empty on the server's side
}

func (t transport) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(t.c.clientConfig(t.role)).ClientHandshake(ctx, authority, conn)
}

func (t transport) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(t.c.serverConfig()).ServerHandshake(conn)
}

func (t transport) Info() credentials.ProtocolInfo { return credentials.NewTLS(&tls.Config{}).Info() }

func (t transport) Clone() credentials.TransportCredentials { return t }

func (t transport) OverrideServerName(string) error {
	return errors.New("the server's name is that of the target")
}

func (c *Credentials) serverConfig() *tls.Config {
	l := c.current()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{l.leaf},
		ClientCAs:    l.roots,
		ClientAuth:   tls.VerifyClientCertIfGiven,
		// A resumed session would not be verified against the CAs of the moment.
		SessionTicketsDisabled: true,
	}
}

func (c *Credentials) clientConfig(role string) *tls.Config {
	l := c.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    l.roots,
		// Unlike Certificates, this also sends a certificate that the server does not trust. The handshake then
		// fails, which says more than a call without a role.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &l.leaf, nil },
		VerifyConnection: func(s tls.ConnectionState) error {
			if got, ok := RoleOf(s.PeerCertificates[0], c.cfg.TrustDomain); !ok || got != role {
				return fmt.Errorf("the server's certificate names %s; want %s", uris(s.PeerCertificates[0]), ID(c.cfg.TrustDomain, role))
			}
			return nil
		},
	}
}

// loaded is what the files hold.
type loaded struct {
	leaf  tls.Certificate
	roots *x509.CertPool
}

// current returns what the files hold now, or what they held when they were last good.
func (c *Credentials) current() loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.reload()
	if err == nil {
		err = inTime(c.loaded.leaf.Leaf)
	}
	switch {
	case err == nil:
		c.failed = ""
	case err.Error() != c.failed:
		c.failed = err.Error()
		c.log.Error("TLS credentials: the files cannot be used; the last good ones stay in use",
			slog.String("folder", c.cfg.Folder), slog.Any("error", err))
	}
	return c.loaded
}

// reload takes over the files if they have changed and are good. c.mu must be held.
func (c *Credentials) reload() error {
	f, err := read(c.cfg.Folder)
	if err != nil || f.equal(c.files) {
		return err
	}
	l, err := c.load(f)
	if err != nil {
		return err
	}
	c.files, c.loaded = f, l
	c.log.Info("TLS credentials: new files are in use", slog.String("folder", c.cfg.Folder),
		slog.Time("expires", l.leaf.Leaf.NotAfter))
	return nil
}

// files are the contents of a folder of credentials.
type files struct{ cert, key, ca []byte }

func (f files) equal(g files) bool {
	return bytes.Equal(f.cert, g.cert) && bytes.Equal(f.key, g.key) && bytes.Equal(f.ca, g.ca)
}

// read reads the three files. In a mounted Secret they are links through the link "..data", which one rename swaps:
// following it once gives three files of the same version.
func read(folder string) (f files, err error) {
	if version, err := filepath.EvalSymlinks(filepath.Join(folder, "..data")); err == nil {
		folder = version
	}
	for _, file := range []struct {
		name    string
		content *[]byte
	}{{CertFile, &f.cert}, {KeyFile, &f.key}, {CAFile, &f.ca}} {
		if *file.content, err = os.ReadFile(filepath.Join(folder, file.name)); err != nil {
			return files{}, err
		}
	}
	return f, nil
}

// load parses and checks the files. Its errors name the file.
func (c *Credentials) load(f files) (l loaded, err error) {
	chain, err := ParseCertificates(f.cert)
	if err != nil {
		return l, fmt.Errorf("%s: %w", CertFile, err)
	}
	cas, err := ParseCertificates(f.ca)
	if err != nil {
		return l, fmt.Errorf("%s: %w", CAFile, err)
	}
	if l.leaf, err = tls.X509KeyPair(f.cert, f.key); err != nil {
		return l, fmt.Errorf("%s: %w", KeyFile, err)
	}
	if err := inTime(chain[0]); err != nil {
		return l, err
	}
	l.roots = x509.NewCertPool()
	for _, ca := range cas {
		l.roots.AddCert(ca)
	}
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if c.cfg.Role != "" && c.cfg.Role != Client {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	for _, usage := range usages {
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: l.roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return l, fmt.Errorf("%s is not good for %s: %w", CertFile, CAFile, err)
		}
	}
	if role, ok := RoleOf(chain[0], c.cfg.TrustDomain); c.cfg.Role != "" && (!ok || role != c.cfg.Role) {
		return l, fmt.Errorf("%s names %s; want %s", CertFile, uris(chain[0]), ID(c.cfg.TrustDomain, c.cfg.Role))
	}
	return l, nil
}

// ParseCertificates returns the certificates of a PEM file, of which there is at least one.
func ParseCertificates(text []byte) (certs []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		switch {
		case block == nil && len(certs) == 0:
			return nil, errors.New("no certificate in PEM")
		case block == nil && len(bytes.TrimSpace(text)) > 0:
			return nil, errors.New("not PEM after the last certificate")
		case block == nil:
			return certs, nil
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("a PEM block is of type %q, want CERTIFICATE", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
}

// inTime refuses a leaf that is not valid now, with the same text at any time.
func inTime(leaf *x509.Certificate) error {
	switch now := time.Now(); {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%s is not valid before %s", CertFile, leaf.NotBefore.Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%s expired at %s", CertFile, leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}
