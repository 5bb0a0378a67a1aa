package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// DefaultTrustDomain is the trust domain of the roles unless told otherwise.
const DefaultTrustDomain = "quartet.local"

// CheckTrustDomain refuses a name that is none by the SPIFFE standard.
func CheckTrustDomain(name string) error {
	if name == "" || len(name) > 255 || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_", r) }) {
		return fmt.Errorf("trust domain %q: want lower-case letters, digits, dots, dashes and underscores", name)
	}
	return nil
}

// Client is the role of a certificate that belongs to no service: of a person, or a backend of a store. It may
// connect to every service, and what it may do there is up to the credentials of its calls.
const Client = "client"

// rolePath begins the path of the SPIFFE IDs of roles.
const rolePath = "/quartet/"

// ID returns the SPIFFE ID of a role: the URI that its certificate must have as a subject alternative name.
func ID(trustDomain, role string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: rolePath + role}
}

// RoleOf returns the role that a certificate names, and whether it names one of the trust domain. As SPIFFE demands, a
// certificate with several URIs names none.
func RoleOf(cert *x509.Certificate, trustDomain string) (role string, ok bool) {
	if len(cert.URIs) != 1 {
		return "", false
	}
	role, ok = strings.CutPrefix(cert.URIs[0].Path, rolePath)
	ok = ok && role != "" && !strings.Contains(role, "/") && cert.URIs[0].String() == ID(trustDomain, role).String()
	return role, ok
}

// uris names the URIs of a certificate, for errors.
func uris(cert *x509.Certificate) string {
	if len(cert.URIs) == 0 {
		return "no URI"
	}
	return fmt.Sprint(cert.URIs)
}

// Rules say which callers of a server may call what, by the role of their certificate.
type Rules struct {
	// TrustDomain is the trust domain of the roles.
	TrustDomain string
	// Roles may call the server, beside Client. A certificate of any other role is refused for every method.
	Roles []string
	// Only are the services of the server that need a certificate, by their full name, such as
	// "quartet.router.v1.RouterService", with the roles that may call them. The other services also
	// take calls without a certificate.
	Only map[string][]string
}

// Check returns nil if a caller whose connection is in state may call method, such as
// "/quartet.router.v1.RouterService/Route", and else a *fault.Unauthenticated or a *fault.Denied.
func (r *Rules) Check(state tls.ConnectionState, method string) error {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	only, limited := r.Only[service]
	if len(state.VerifiedChains) == 0 {
		if limited {
			return &fault.Unauthenticated{
				Reason:      commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_MISSING,
				Description: "this service is called by other services of Quartet only, which have a client certificate",
			}
		}
		return nil
	}
	role, ok := RoleOf(state.VerifiedChains[0][0], r.TrustDomain)
	switch {
	case !ok:
		return &fault.Denied{Description: "the client certificate names no role of this trust domain"}
	case limited && !slices.Contains(only, role), role != Client && !slices.Contains(r.Roles, role):
		return &fault.Denied{Description: fmt.Sprintf("the role %q of the client certificate may not make this call", role)}
	}
	return nil
}
