package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/auth/tokens"
	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

// processTLS is what the processes have with TLS.
type processTLS struct {
	certs  string            // the folder that 'quartet certs' made
	health map[string]string // addresses of health listeners by role
	token  string            // of a caller with every right
}

func (s *processTLS) folder(role string) string { return filepath.Join(s.certs, role) }

// secure makes certificates, and a token for the callers of the processes to come.
func (p *processes) secure() {
	p.t.Helper()
	dir := p.t.TempDir()
	p.tls = &processTLS{certs: filepath.Join(dir, "certs"), health: make(map[string]string), token: tokens.New()}
	p.renewCerts()
	for _, role := range suite.Roles() {
		p.tls.health[role] = redistest.FreeAddr(p.t)
	}
	file := filepath.Join(dir, "tokens.json")
	err := tokens.Add(file, tokens.Caller{
		Name: "test", SHA256: []string{tokens.Hash(p.tls.token)}, Grants: []tokens.Grant{{Store: auth.AnyStore, Rights: auth.Rights()}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, "QUARTET_TOKENS="+file, "QUARTET_TOKEN="+p.tls.token)
}

// renewCerts runs 'quartet certs'.
func (p *processes) renewCerts(args ...string) {
	p.t.Helper()
	made := exec.CommandContext(p.t.Context(), p.program, append([]string{"certs", "--out", p.tls.certs}, args...)...)
	if out, err := made.CombinedOutput(); err != nil {
		p.t.Fatalf("certs: %v\n%s", err, out)
	}
}

// dialAs connects to a service with the certificate of the role self, and the token of the caller.
func (p *processes) dialAs(self, role string) *grpc.ClientConn {
	p.t.Helper()
	return p.dialWith(certstest.Open(p.t, p.tls.folder(self), self).Client(role), role)
}

func (p *processes) dialWith(creds credentials.TransportCredentials, role string) *grpc.ClientConn {
	p.t.Helper()
	conn, err := rpc.Dial(p.addr[role], rpc.DialConfig{Credentials: creds, Token: p.tls.token})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestSixProcessesOverMutualTLS(t *testing.T) {
	p := startProcesses(t, processConfig{tls: true})
	p.loadDemo()
	// promotions reads the cart of the store's backend from recommend: a call between two processes.
	evaluate := func() error {
		client := promotionv1.NewPromotionServiceClient(p.dial(suite.Promotions))
		reply, err := client.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
			StoreId: "demo", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "ava"},
		})
		if err == nil && reply.GetBestCode() == "" {
			err = errors.New("no promotion applies, so the cart was not read")
		}
		return err
	}
	// A turn calls all services but one; search and support answer.
	ask := func() error {
		reply, err := gatewayv1.NewGatewayServiceClient(p.dial(suite.Gateway)).Ask(t.Context(), &gatewayv1.AskRequest{
			StoreId: "demo", CustomerId: "ava", Message: twoParts,
		})
		for _, r := range reply.GetResults() {
			if f := r.GetFailure(); f != nil {
				err = errors.Join(err, fmt.Errorf("%s: %v", r.GetAssignment().GetSpecialist(), f))
			}
		}
		if err == nil && len(reply.GetResults()) != 2 {
			err = fmt.Errorf("%d specialists answered, want 2", len(reply.GetResults()))
		}
		return err
	}
	try := func(step string) {
		t.Helper()
		if err := errors.Join(evaluate(), ask()); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	try("first authority")

	describe := func(conn *grpc.ClientConn) codes.Code {
		_, err := specialistv1.NewSpecialistServiceClient(conn).Describe(t.Context(), &specialistv1.DescribeRequest{})
		return status.Code(err)
	}
	stranger := certstest.Role(t, certstest.NewCA(t, nil), t.TempDir(), suite.Gateway)
	anonymous, err := credentials.NewClientTLSFromFile(filepath.Join(p.tls.folder(mtls.Client), mtls.CAFile), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		conn *grpc.ClientConn
		want codes.Code
	}{
		"a role that may not call recommend": {p.dialAs(suite.Support, suite.Recommend), codes.PermissionDenied},
		"a role that may read its data only": {p.dialAs(suite.Promotions, suite.Recommend), codes.PermissionDenied},
		"a backend":                          {p.dial(suite.Recommend), codes.PermissionDenied},
		"no certificate":                     {p.dialWith(anonymous, suite.Recommend), codes.Unauthenticated},
		"another authority":                  {p.dialWith(certstest.Open(t, stranger, suite.Gateway).Client(suite.Recommend), suite.Recommend), codes.Unavailable},
		"plaintext":                          {p.plain(p.addr[suite.Recommend]), codes.Unavailable},
		"the port for probes":                {p.probe(suite.Recommend), codes.Unimplemented},
	} {
		if got := describe(c.conn); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}

	p.renewCerts("--new-ca")
	try("new authority beside the old one")
	p.renewCerts("--drop-old-ca")
	try("new authority alone")
	p.kill(suite.Recommend) // a new process knows the new authority only
	p.start(suite.Recommend)
	p.awaitServing(suite.Recommend)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for err = evaluate(); err != nil && ctx.Err() == nil; err = evaluate() { // its connection backs off between attempts
	}
	if err != nil {
		t.Errorf("a process that knows only the new authority: %v", err)
	}
}
