package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

// carts is a service that callers without a certificate may call.
type carts struct {
	cartv1.UnimplementedCartServiceServer
}

func (carts) GetCart(context.Context, *cartv1.GetCartRequest) (*cartv1.GetCartResponse, error) {
	return &cartv1.GetCartResponse{}, nil
}

// anybody takes every token for one with all rights, so that a refusal is one of the connection.
type anybody struct{}

func (anybody) Authenticate(context.Context, string) (auth.Caller, error) {
	return auth.Caller{Name: "anybody", Local: true}, nil
}

// secured is a server of the role recommend, on TCP with TLS and in memory. The gateway may call its agent, promotions only
// its carts.
type secured struct {
	dir     string // of the folders of all roles
	addr    string
	network *Network
	listen  []net.Listener // further listeners, set before start
	stop    func() error
}

func (s *secured) start(t *testing.T, ca *certs.CA) {
	t.Helper()
	s.dir = t.TempDir()
	creds := certstest.Open(t, certstest.Role(t, ca, s.dir, "recommend"), "recommend")
	for _, role := range []string{"gateway", "promotions", "router", mtls.Client} {
		certstest.Role(t, ca, s.dir, role)
	}
	s.network = NewNetwork()
	inner, err := s.network.Listen("fake")
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = lis.Addr().String()
	server := NewServer(ServerConfig{
		Name: "fake", Scopes: scopetest.Verifier(), Credentials: creds.Server(), Authenticator: anybody{}, Reflection: true,
		Peers: &mtls.Rules{
			TrustDomain: creds.TrustDomain(), Roles: []string{"gateway", "promotions"},
			Only: map[string][]string{specialistService: {"gateway"}},
		},
	})
	specialistv1.RegisterSpecialistServiceServer(server, &fake{answer: func(stream grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error {
		for range 2 {
			if err := stream.Send(&specialistv1.AnswerResponse{}); err != nil {
				return err
			}
		}
		return nil
	}})
	cartv1.RegisterCartServiceServer(server, carts{})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, append(s.listen, inner, lis)...) }()
	s.stop = func() error {
		cancel()
		err := <-served
		served <- err
		return err
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// as returns a connection with the certificate of a role.
func (s *secured) as(t *testing.T, role string) *grpc.ClientConn {
	t.Helper()
	return s.conn(t, certstest.Open(t, filepath.Join(s.dir, role), role).Client("recommend"))
}

func (s *secured) conn(t *testing.T, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := Dial(s.addr, DialConfig{Credentials: creds, Token: "any"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// anonymous are the credentials of a client that trusts the CA and has no certificate.
func (s *secured) anonymous(t *testing.T) credentials.TransportCredentials {
	t.Helper()
	creds, err := credentials.NewClientTLSFromFile(filepath.Join(s.dir, mtls.Client, mtls.CAFile), "")
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

func getCart(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := cartv1.NewCartServiceClient(conn).GetCart(ctx, &cartv1.GetCartRequest{})
	return err
}

func TestRoleDecidesWhatAPeerMayCall(t *testing.T) {
	s := &secured{}
	s.start(t, certstest.NewCA(t, nil))
	inner, err := Dial("inproc:///fake", DialConfig{Network: s.network, Token: "any"})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	for _, c := range []struct {
		name         string
		conn         *grpc.ClientConn
		agent, carts codes.Code
	}{
		{"gateway", s.as(t, "gateway"), codes.OK, codes.OK},
		{"promotions, which may not call agents", s.as(t, "promotions"), codes.PermissionDenied, codes.OK},
		{"router, which calls nobody", s.as(t, "router"), codes.PermissionDenied, codes.PermissionDenied},
		{"a client", s.as(t, mtls.Client), codes.PermissionDenied, codes.OK},
		{"nobody", s.conn(t, s.anonymous(t)), codes.Unauthenticated, codes.OK},
		{"the same process", inner, codes.OK, codes.OK},
	} {
		if err := describe(t.Context(), c.conn); status.Code(err) != c.agent {
			t.Errorf("%s: Describe: %v, want %v", c.name, err, c.agent)
		}
		if err := answer(t.Context(), c.conn); status.Code(err) != c.agent && !(c.agent == codes.OK && errors.Is(err, io.EOF)) {
			t.Errorf("%s: Answer: %v, want %v", c.name, err, c.agent)
		}
		if err := getCart(t.Context(), c.conn); status.Code(err) != c.carts {
			t.Errorf("%s: GetCart: %v, want %v", c.name, err, c.carts)
		}
		if err := reflect(t.Context(), c.conn); status.Code(err) != c.carts {
			t.Errorf("%s: reflection: %v, want %v", c.name, err, c.carts)
		}
	}
}

// reflect asks a server for its services.
func reflect(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	})
	if err == nil || errors.Is(err, io.EOF) {
		_, err = stream.Recv()
	}
	return errors.Join(err, stream.CloseSend())
}

func TestCertificateOfAnotherTrustDomainIsRefused(t *testing.T) {
	s, ca := &secured{}, certstest.NewCA(t, nil)
	s.start(t, ca)
	folder, err := ca.Role(certs.Leaf{TrustDomain: "other.local", Role: "gateway"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Write(dir, []certs.Folder{folder}); err != nil {
		t.Fatal(err)
	}
	conn := s.conn(t, certstest.Open(t, filepath.Join(dir, "gateway"), "").Client("recommend"))
	for method, call := range map[string]func(context.Context, *grpc.ClientConn) error{"Describe": describe, "GetCart": getCart} {
		if err := call(t.Context(), conn); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v, want PermissionDenied", method, err)
		}
	}
}

func TestPeerOfAnotherCAAndPlaintextGetNoConnection(t *testing.T) {
	s, ca := &secured{}, certstest.NewCA(t, nil)
	s.start(t, ca)
	// It trusts the server, so that only the server can refuse.
	stranger := certstest.Role(t, certstest.NewCA(t, ca), t.TempDir(), "gateway")
	for name, creds := range map[string]credentials.TransportCredentials{
		"another CA": certstest.Open(t, stranger, "gateway").Client("recommend"),
		"plaintext":  insecure.NewCredentials(),
	} {
		if err := getCart(t.Context(), s.conn(t, creds)); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v, want Unavailable", name, err)
		}
	}
}

func TestRotationDropsNoConnection(t *testing.T) {
	s, ca := &secured{}, certstest.NewCA(t, nil)
	s.start(t, ca)
	presented := func(conn *grpc.ClientConn) string {
		t.Helper()
		var p peer.Peer
		_, err := cartv1.NewCartServiceClient(conn).GetCart(t.Context(), &cartv1.GetCartRequest{}, grpc.Peer(&p))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(p.LocalAddr, " ", p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber)
	}
	open := s.as(t, "gateway")
	stream, err := specialistv1.NewSpecialistServiceClient(open).Answer(signed(t.Context()), &specialistv1.AnswerRequest{})
	if err != nil {
		t.Fatal(err)
	}
	before := presented(open)
	next := certstest.NewCA(t, ca)
	for _, role := range []string{"recommend", "gateway"} {
		certstest.Role(t, next, s.dir, role)
	}
	if got := presented(open); got != before {
		t.Errorf("the open connection changed from %s to %s", before, got)
	}
	for range 2 {
		if _, err := stream.Recv(); err != nil {
			t.Errorf("the open stream: %v", err)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the open stream ends with %v", err)
	}
	if _, serial, _ := strings.Cut(presented(s.as(t, "gateway")), " "); strings.HasSuffix(before, serial) {
		t.Errorf("a new connection got the old leaf %s", serial)
	}
}

func TestTLSAllowsAnyAddress(t *testing.T) {
	lis, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{listen: []net.Listener{lis}}
	s.start(t, certstest.NewCA(t, nil))
	_, port, err := net.SplitHostPort(lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.addr = net.JoinHostPort("127.0.0.1", port)
	if err := describe(t.Context(), s.as(t, "gateway")); err != nil {
		t.Error(err)
	}
}

func TestRulesWithoutTLSAreRefused(t *testing.T) {
	lis, err := NewNetwork().Listen("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := NewServer(ServerConfig{Peers: &mtls.Rules{}}).Serve(t.Context(), lis); err == nil {
		t.Error("a server without TLS took rules that it cannot keep")
	}
}

func TestHealthListenerServesHealthAlone(t *testing.T) {
	lis, err := ListenHealth("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{listen: []net.Listener{lis}}
	s.start(t, certstest.NewCA(t, nil))
	conn, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", lis.Addr().(*net.TCPAddr).Port), insecureCreds())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, service := range []string{"", specialistService} {
		if got := check(t, conn, service); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v", service, got)
		}
	}
	for method, call := range map[string]func(context.Context, *grpc.ClientConn) error{
		"Describe": describe, "Answer": answer, "GetCart": getCart, "reflection": reflect,
	} {
		if err := call(t.Context(), conn); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v, want Unimplemented", method, err)
		}
	}
}

func TestHealthListenerTellsOfDraining(t *testing.T) {
	lis, err := ListenHealth("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network := NewNetwork()
	inner, err := network.Listen("fake")
	if err != nil {
		t.Fatal(err)
	}
	begun, end := make(chan struct{}), make(chan struct{})
	server := NewServer(newFixture().server)
	specialistv1.RegisterSpecialistServiceServer(server, &fake{describe: func(context.Context) error {
		close(begun)
		<-end
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, inner, lis) }()
	conn, err := Dial("inproc:///fake", DialConfig{Network: network})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	called := make(chan error, 1)
	go func() { called <- describe(t.Context(), conn) }()
	<-begun
	probe, err := grpc.NewClient(lis.Addr().String(), insecureCreds())
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	watch, err := healthv1.NewHealthClient(probe).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []healthv1.HealthCheckResponse_ServingStatus{
		healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING,
	} {
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Fatalf("status %d is %v, %v; want %v", i, got.GetStatus(), err, want)
		}
		cancel()
	}
	close(end)
	if err := errors.Join(<-called, <-served); err != nil {
		t.Error(err)
	}
}
