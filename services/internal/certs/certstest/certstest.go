// Package certstest makes folders of credentials for tests.
package certstest

import (
	"path/filepath"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
)

// NewCA makes an authority. Peers go on trusting former, which may be nil.
func NewCA(t testing.TB, former *certs.CA) *certs.CA {
	t.Helper()
	ca, err := certs.NewCA(certs.DefaultCALifetime, former)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// Role writes credentials of a role into dir/ROLE, in place of what is there, and returns that folder. Servers are reached as
// localhost or 127.0.0.1.
func Role(t testing.TB, ca *certs.CA, dir, role string) string {
	t.Helper()
	l := certs.Leaf{TrustDomain: mtls.DefaultTrustDomain, Role: role}
	if role != mtls.Client {
		l.Hosts = certs.Hosts(role, "")
	}
	folder, err := ca.Role(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := certs.Write(dir, []certs.Folder{folder}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, role)
}

// Open opens a folder that Role made.
func Open(t testing.TB, folder, role string) *mtls.Credentials {
	t.Helper()
	c, err := mtls.Open(mtls.Config{Folder: folder, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
