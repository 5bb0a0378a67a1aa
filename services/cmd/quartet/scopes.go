package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/suite"
	flag "github.com/spf13/pflag"
)

// scopeFlags say with which keys the scopes of turns are signed and verified.
type scopeFlags struct{ key, keys string }

func addScopeFlags(fs *flag.FlagSet) *scopeFlags {
	f := &scopeFlags{}
	fs.StringVar(&f.key, "scope-key", "", "gateway: `file` with the private key that signs the scopes of turns, as 'quartet certs' makes it; it may change at any time")
	fs.StringVar(&f.keys, "scope-keys", "", "`file` with the public keys that verify the scopes of turns, as 'quartet certs' makes it; it may change at any time")
	return f
}

// apply opens the keys of a role.
func (f *scopeFlags) apply(cfg *suite.Config, role string, logger *slog.Logger) (err error) {
	const made = "'quartet certs --out DIR' makes it: DIR/"
	if f.keys == "" {
		return usagef("--scope-keys is required: the file with the public keys of scopes; %sscope-keys/keys.jwks", made)
	}
	if cfg.Scopes, err = scope.OpenVerifier(f.keys, logger); err != nil || role != suite.Gateway {
		return err
	}
	if f.key == "" {
		return usagef("--scope-key is required: the file with the private key of scopes; %sscope-key/key.jwk", made)
	}
	cfg.ScopeSigner, err = scope.OpenSigner(f.key, logger)
	return err
}

// scopePair sets the keys of services that share a process: the key in a file, or else one that nobody has.
func scopePair(cfg *suite.Config, file string) (err error) {
	if file == "" {
		cfg.ScopeSigner, cfg.Scopes, err = scope.NewPair()
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	key, err := scope.ParseKey(content)
	if err != nil {
		return fmt.Errorf("--scope-key %s: %w", file, err)
	}
	cfg.Scopes = scope.NewVerifier(key)
	cfg.ScopeSigner, err = scope.NewSigner(key)
	return err
}

const scopeAbout = `Prints a signed scope, with which a person calls a specialist or another service as the gateway does in a turn:
grpcurl -H "quartet-scope: $(quartet scope --key FILE --store demo --audience search)" ...
Whoever has the key can read every store, so keep it where only the gateway and its operators reach it.`

func runScope(_ context.Context, args []string, env environment) error {
	fs := newFlags("scope", "", scopeAbout, env)
	var sc scope.Scope
	key := fs.String("key", "", "`file` with the private key, such as DIR/scope-key/key.jwk of 'quartet certs --out DIR'")
	fs.StringVar(&sc.StoreID, "store", "", "`id` of the store")
	fs.StringVar(&sc.CustomerID, "customer", "", "`id` of the signed-in shopper (default: a guest)")
	groups := fs.String("groups", "", "comma-separated `groups` of the customer")
	fs.StringVar(&sc.CartID, "cart", "", "`id` of the cart (default: the customer's id)")
	fs.StringVar(&sc.Locale, "locale", "", "`language` of the shopper, such as de-AT")
	fs.StringVar(&sc.Audience, "audience", "", "`service` that the scope is for, such as support")
	reads := fs.String("reads", "", "comma-separated `kinds` of data to allow, such as orders,policies; \"none\" for none (default: what the service gets in a turn)")
	ttl := fs.Duration("ttl", 5*time.Minute, "`duration` for which the scope is valid")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("unexpected argument %q", rest[0])
	case *key == "" || sc.StoreID == "" || sc.Audience == "":
		return usagef("give --key, --store and --audience")
	case *ttl <= 0:
		return usagef("--ttl must be positive")
	}
	sc.CartID = cmp.Or(sc.CartID, sc.CustomerID)
	sc.CustomerGroups = list(*groups)
	if sc.Reads, err = readsOf(*reads, sc.Audience); err != nil {
		return err
	}
	var cfg suite.Config
	if err := scopePair(&cfg, *key); err != nil {
		return err
	}
	sc.Expiry = time.Now().Add(*ttl)
	token, err := cfg.ScopeSigner.Sign(sc)
	if err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintln(env.out, token)
	return err
}

// readsOf returns the kinds of data of a list, or of a role if the list is empty.
func readsOf(text, role string) ([]scope.Read, error) {
	if text == "" {
		sc, err := suite.Narrow(role, scope.Scope{})
		if err != nil {
			return nil, usagef("--audience: %w; a service of another name needs --reads", err)
		}
		return sc.Reads, nil
	}
	var reads []scope.Read
	for _, name := range list(text) {
		if name == "none" {
			continue
		}
		if !fault.ValidID(name) {
			return nil, usagef("--reads: %q is no kind of data", name)
		}
		reads = append(reads, scope.Read(name))
	}
	return reads, nil
}

// list splits a comma-separated list.
func list(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
