package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	flag "github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"

	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

// tlsFlags say with which certificates a process serves and calls.
type tlsFlags struct {
	folder string
	domain string
}

func addTLSFlags(fs *flag.FlagSet, usage string) *tlsFlags {
	f := &tlsFlags{}
	fs.StringVar(&f.folder, "tls", "", usage)
	trustDomainFlag(fs, &f.domain)
	return f
}

func trustDomainFlag(fs *flag.FlagSet, domain *string) {
	fs.StringVar(domain, "trust-domain", mtls.DefaultTrustDomain, "`name` that the URI of a certificate begins with: spiffe://NAME/quartet/ROLE")
}

const (
	tlsUsage       = "`folder` with tls.crt, tls.key and ca.crt, which may change at any time; 'quartet certs' makes one for each role"
	tlsUsageUp     = "`folder` with a folder for each role, as 'quartet certs' makes it; calls between the services stay in memory"
	tlsUsageClient = "`folder` with tls.crt, tls.key and ca.crt, such as the folder \"client\" that 'quartet certs' makes (default: plaintext)"
)

// on reports whether TLS is configured.
func (f *tlsFlags) on() bool { return f.folder != "" }

// apply loads the credentials of a role.
func (f *tlsFlags) apply(cfg *suite.Config, role string, logger *slog.Logger) error {
	if !f.on() {
		return nil
	}
	return f.load(cfg, role, role, f.folder, logger)
}

// applyAll loads the credentials of all roles.
func (f *tlsFlags) applyAll(cfg *suite.Config, logger *slog.Logger) error {
	if !f.on() {
		return nil
	}
	for _, role := range suite.Roles() {
		if err := f.load(cfg, role, role, filepath.Join(f.folder, role), logger); err != nil {
			return err
		}
	}
	return nil
}

// applyClient loads the credentials of a command that calls services, whatever role they name. Without them, it warns of a token
// that would cross a network in plaintext.
func (f *tlsFlags) applyClient(cfg *suite.Config, env environment) error {
	if !f.on() {
		for _, target := range cfg.Peers {
			if cfg.Token != "" && !onLoopback(target) {
				fmt.Fprintf(env.err, "warning: the token goes to %s in plaintext; --tls encrypts it\n", target)
				break
			}
		}
		return nil
	}
	return f.load(cfg, mtls.Client, "", f.folder, nil)
}

// onLoopback reports whether a target is of this machine by its address, or by the name localhost.
func onLoopback(target string) bool {
	address := target[strings.LastIndexByte(target, '/')+1:]
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (f *tlsFlags) load(cfg *suite.Config, key, role, folder string, logger *slog.Logger) error {
	c, err := mtls.Open(mtls.Config{Folder: folder, TrustDomain: f.domain, Role: role, Logger: logger})
	if err != nil {
		return err
	}
	if cfg.TLS == nil {
		cfg.TLS = make(map[string]*mtls.Credentials)
	}
	cfg.TLS[key] = c
	return nil
}

// listen opens a TCP listener: on any address with TLS or with --insecure, and else on loopback only.
func (f *tlsFlags) listen(ctx context.Context, addr string, insecure bool) (net.Listener, error) {
	if !f.on() {
		return rpc.Listen(addr, insecure)
	}
	if insecure {
		return nil, usagef("--insecure and --tls exclude each other")
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return lis, nil
}

// warnInsecure says in the log what --insecure means, which depends on whether callers are asked for credentials.
func warnInsecure(logger *slog.Logger, insecure, asked bool) {
	switch {
	case insecure && asked:
		logger.Warn("--insecure: other machines may connect, and calls, with the tokens of callers, are not encrypted")
	case insecure:
		logger.Warn("--insecure: other machines may connect, every caller may do everything, and calls are not encrypted")
	}
}

// cartCA is the value of --cart-ca for the authorities that the system trusts.
const cartCASystem = "system"

// cartCredentials returns the credentials for calls of a cart service of the store's own. An empty ca means plaintext.
func cartCredentials(ca string) (credentials.TransportCredentials, error) {
	switch ca {
	case "":
		return nil, nil
	case cartCASystem:
		return credentials.NewTLS(nil), nil
	}
	c, err := credentials.NewClientTLSFromFile(ca, "")
	if err != nil {
		return nil, fmt.Errorf("--cart-ca %s: %w", ca, err)
	}
	return c, nil
}
