// Package certs makes a certificate authority and the certificates of Quartet's roles, for trials and for places without a
// certificate manager. It makes them with crypto/x509 and decides nothing but their profile: ECDSA keys on P-256, one level.
package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/mtls"
)

// The lifetimes of certificates unless told otherwise.
const (
	DefaultCALifetime   = 365 * 24 * time.Hour
	DefaultLeafLifetime = 90 * 24 * time.Hour
)

// clockSkew is how far the clocks of two machines may differ: certificates are valid from that long before they are made.
const clockSkew = 5 * time.Minute

// CA is a certificate authority that signs leaves.
type CA struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	// former are authorities that peers go on trusting, so that their leaves hold until they are renewed.
	former []*x509.Certificate
}

// NewCA makes an authority with a new key. Peers go on trusting the certificates of former, which may be nil.
func NewCA(lifetime time.Duration, former *CA) (*CA, error) {
	key, template, err := prepare("Quartet CA", lifetime)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	ca := &CA{key: key}
	if ca.cert, err = sign(template, template, key, key); err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	if former != nil {
		ca.former = append([]*x509.Certificate{former.cert}, former.former...)
	}
	return ca, nil
}

// ParseCA reads an authority from what PEM returned.
func ParseCA(certs, key []byte) (*CA, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the CA's key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the CA's key: %w", err)
	}
	ca := &CA{}
	var ok bool
	if ca.key, ok = parsed.(*ecdsa.PrivateKey); !ok {
		return nil, fmt.Errorf("the CA's key is a %T, want ECDSA", parsed)
	}
	all, err := mtls.ParseCertificates(certs)
	if err != nil {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	ca.cert, ca.former = all[0], all[1:]
	if !ca.key.PublicKey.Equal(ca.cert.PublicKey) {
		return nil, errors.New("the CA's key is not that of its first certificate")
	}
	return ca, nil
}

// DropFormer ends the trust in former authorities.
func (ca *CA) DropFormer() { ca.former = nil }

// NotAfter is when the authority expires.
func (ca *CA) NotAfter() time.Time { return ca.cert.NotAfter }

// PEM returns what peers verify against, the authority's own certificate first, and its private key.
func (ca *CA) PEM() (certs, key []byte, err error) {
	key, err = keyPEM(ca.key)
	return certPEM(append([]*x509.Certificate{ca.cert}, ca.former...)...), key, err
}

// Leaf says what a leaf certificate is for.
type Leaf struct {
	// TrustDomain and Role make its SPIFFE ID.
	TrustDomain, Role string
	// Hosts are the DNS names and IP addresses of a server. Without any, the leaf is a client's.
	Hosts []string
	// Lifetime is how long it is valid, but never longer than its CA. Zero means DefaultLeafLifetime.
	Lifetime time.Duration
}

// Issue makes a leaf with a new key, both in PEM.
func (ca *CA) Issue(l Leaf) (cert, key []byte, err error) {
	if l.Lifetime == 0 {
		l.Lifetime = DefaultLeafLifetime
	}
	private, template, err := prepare("quartet-"+l.Role, l.Lifetime)
	if err != nil {
		return nil, nil, err
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	template.URIs = append(template.URIs, mtls.ID(l.TrustDomain, l.Role))
	if len(l.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range l.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	made, err := sign(template, ca.cert, private, ca.key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate of %s: %w", l.Role, err)
	}
	key, err = keyPEM(private)
	return certPEM(made), key, err
}

// Hosts returns the names under which a role is reached: on this machine, as a Service of Kubernetes, and in namespace if
// that is not empty.
func Hosts(role, namespace string) []string {
	service := "quartet-" + role
	hosts := []string{"localhost", "127.0.0.1", "::1", role, service}
	if namespace != "" {
		in := service + "." + namespace
		hosts = slices.Concat(hosts, []string{in, in + ".svc", in + ".svc.cluster.local"})
	}
	return hosts
}

// prepare makes a key, and what all certificates have.
func prepare(name string, lifetime time.Duration) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key of %s: %w", name, err)
	}
	now := time.Now()
	// Without a serial number, x509 draws one.
	return key, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(lifetime),
	}, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func certPEM(certs ...*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return b.Bytes()
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
