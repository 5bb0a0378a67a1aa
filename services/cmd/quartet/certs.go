package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/suite"
)

const certsAbout = `Makes a certificate authority and a certificate for each role, in DIR/ROLE/{tls.crt,tls.key,ca.crt}, and one for people and
tools in DIR/client. Each run renews all certificates with the authority in DIR/ca; running services take them over. With
--kubernetes it prints Secrets for 'kubectl apply -f -'; without --out it then keeps nothing, so each run makes a new
authority.

The gateway's key for the scopes of turns is in DIR/scope-key, and its public half, which all services need, in DIR/scope-keys.
It is kept until --rotate-scope-key.`

// certsFlags say which certificates to make.
type certsFlags struct {
	out, namespace, domain string
	hosts, specialists     string
	newCA, dropOldCA       bool
	rotate                 string
	scopeOnly              bool
	leafDays, caDays       int
}

func runCerts(_ context.Context, args []string, env environment) error {
	fs := newFlags("certs", "", certsAbout, env)
	f := certsFlags{}
	fs.StringVar(&f.out, "out", "", "`folder` to write to")
	fs.StringVar(&f.namespace, "kubernetes", "", "print Secrets for the `namespace`, and add its names to the certificates")
	fs.StringVar(&f.hosts, "hosts", "", "comma-separated further `names` and IP addresses of every service")
	fs.StringVar(&f.specialists, "specialists", "", "comma-separated `names` of further specialists, and mcp for 'quartet serve mcp', which get certificates like the roles")
	trustDomainFlag(fs, &f.domain)
	fs.BoolVar(&f.newCA, "new-ca", false, "make a new authority in place of the one in DIR/ca; services go on trusting the old one until a run with --drop-old-ca")
	fs.BoolVar(&f.dropOldCA, "drop-old-ca", false, "end the trust in all authorities but the newest")
	fs.StringVar(&f.rotate, "rotate-scope-key", "", "`step` of replacing the key of scopes: publish, use or retire; let the files reach all services between two steps (default: keep the key)")
	fs.BoolVar(&f.scopeOnly, "scope-only", false, "make the keys of scopes and no certificates, for places with a certificate manager")
	day := int(24 * time.Hour)
	fs.IntVar(&f.leafDays, "leaf-days", int(certs.DefaultLeafLifetime)/day, "`number` of days for which certificates are valid")
	fs.IntVar(&f.caDays, "ca-days", int(certs.DefaultCALifetime)/day, "`number` of days for which a new authority is valid")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("unexpected argument %q", rest[0])
	case f.out == "" && f.namespace == "":
		return usagef("give --out, the folder to write to, or --kubernetes")
	case f.leafDays < 1 || f.caDays < 1:
		return usagef("--leaf-days and --ca-days must be 1 or more")
	case f.rotate != "" && f.out == "":
		return usagef("--rotate-scope-key needs --out, the folder with the keys")
	case f.newCA && f.dropOldCA:
		return usagef("--new-ca and --drop-old-ca exclude each other: services first need to trust both")
	}
	if err := mtls.CheckTrustDomain(f.domain); err != nil {
		return usageError{err}
	}
	for _, name := range list(f.specialists) {
		if !specialistName.MatchString(name) || suite.Port(name) != 0 || name == suite.Cart || name == mtls.Client {
			return usagef("--specialists: %q must be a name of its own of lower-case letters, digits and '-'", name)
		}
	}
	folders, err := certs.ScopeFolders(f.out, f.rotate)
	if err != nil {
		return err
	}
	made := "keys of scopes"
	if !f.scopeOnly {
		ca, what, err := f.authority()
		if err != nil {
			return err
		}
		more, err := f.folders(ca)
		if err != nil {
			return err
		}
		folders = append(folders, more...)
		made = fmt.Sprintf("%s, valid until %s; certificates of %d roles for %d days; keys of scopes",
			what, ca.NotAfter().Format(time.DateOnly), len(suite.Roles())+len(list(f.specialists))+1, f.leafDays)
	}
	if f.out != "" {
		if err := certs.Write(f.out, folders); err != nil {
			return err
		}
		fmt.Fprintf(env.err, "%s: %s\n", f.out, made)
	}
	if f.namespace != "" {
		return certs.WriteSecrets(env.out, f.namespace, folders)
	}
	return nil
}

// authority returns the authority to use, and says what became of it.
func (f *certsFlags) authority() (ca *certs.CA, what string, err error) {
	if f.out != "" {
		if ca, err = certs.ReadCA(f.out); err != nil {
			return nil, "", fmt.Errorf("%w; repair the folder, or move it away to make a new authority", err)
		}
	}
	if ca != nil && !f.newCA {
		if time.Now().After(ca.NotAfter()) {
			return nil, "", fmt.Errorf("the authority in %s expired at %s; --new-ca makes another", f.out, ca.NotAfter().Format(time.RFC3339))
		}
		if f.dropOldCA {
			ca.DropFormer()
		}
		return ca, "the authority was kept", nil
	}
	what = "a new authority"
	if ca != nil {
		what = "a new authority beside the old one, which services trust until --drop-old-ca"
	}
	ca, err = certs.NewCA(time.Duration(f.caDays)*24*time.Hour, ca)
	return ca, what, err
}

// folders makes all that the command writes.
func (f *certsFlags) folders(ca *certs.CA) ([]certs.Folder, error) {
	own, err := ca.Folder()
	if err != nil {
		return nil, err
	}
	folders := []certs.Folder{own}
	for _, role := range slices.Concat(suite.Roles(), list(f.specialists), []string{mtls.Client}) {
		leaf := certs.Leaf{TrustDomain: f.domain, Role: role, Lifetime: time.Duration(f.leafDays) * 24 * time.Hour}
		if role != mtls.Client {
			leaf.Hosts = certs.Hosts(role, f.namespace)
			for host := range strings.SplitSeq(f.hosts, ",") {
				if host = strings.TrimSpace(host); host != "" {
					leaf.Hosts = append(leaf.Hosts, host)
				}
			}
		}
		folder, err := ca.Role(leaf)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}
