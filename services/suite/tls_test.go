package suite

import (
	"context"
	"net"
	"path"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
)

// The table of callers is what the services dial, no more and no less.
func TestCallersAreThoseThatDial(t *testing.T) {
	cfg := minimal(t)
	got := make(map[string][]string)
	for _, role := range Roles() {
		inst, err := New(role, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, conn := range inst.dialer.conns {
			callee := path.Base(conn.Target())
			if !slices.Contains(got[callee], role) {
				got[callee] = append(got[callee], role)
			}
		}
		if err := inst.close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, r := range roles() {
		if want := slices.Sorted(slices.Values(r.callers)); !slices.Equal(slices.Sorted(slices.Values(got[r.name])), want) {
			t.Errorf("%s is dialled by %v; the table says %v", r.name, got[r.name], want)
		}
	}
}

// serveTLS serves a role over TCP with TLS and returns its address.
func serveTLS(t *testing.T, role string, cfg Config) string {
	t.Helper()
	inst, err := New(role, cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- inst.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

func TestRolesMeetOverTLS(t *testing.T) {
	cfg := minimal(t)
	dir, ca := t.TempDir(), certstest.NewCA(t, nil)
	cfg.TLS = make(map[string]*mtls.Credentials)
	for _, role := range append(Roles(), mtls.Client) {
		cfg.TLS[role] = certstest.Open(t, certstest.Role(t, ca, dir, role), role)
	}
	cfg.Peers = map[string]string{Recommend: serveTLS(t, Recommend, cfg), Search: serveTLS(t, Search, cfg)}
	for _, c := range []struct {
		self, role string
		agent      bool // may call the specialist
		data       bool // may connect
	}{
		{Gateway, Recommend, true, true},
		{Promotions, Recommend, false, true},
		{Support, Recommend, false, false},
		{mtls.Client, Recommend, false, true},
		{Gateway, Search, true, true},
		{Recommend, Search, false, true},
		{Router, Search, false, false},
	} {
		d := &dialer{cfg: cfg, role: c.self}
		conn := d.dial(c.role)
		if d.err != nil {
			t.Fatal(d.err)
		}
		_, err := specialistv1.NewSpecialistServiceClient(conn).Describe(t.Context(), &specialistv1.DescribeRequest{})
		if refused := status.Code(err) == codes.PermissionDenied; refused == c.agent {
			t.Errorf("%s calls the agent of %s: %v", c.self, c.role, err)
		}
		// Without a token the call fails in any case, but with PermissionDenied only for a role that may not connect.
		if c.role == Recommend {
			_, err = cartv1.NewCartServiceClient(conn).GetCart(t.Context(), &cartv1.GetCartRequest{})
		} else {
			_, err = catalogv1.NewCatalogServiceClient(conn).GetProduct(t.Context(), &catalogv1.GetProductRequest{})
		}
		if refused := status.Code(err) == codes.PermissionDenied; refused == c.data {
			t.Errorf("%s reads data of %s: %v", c.self, c.role, err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}

// A cart service of the store's own gets neither a certificate of Quartet's nor its trust.
func TestOwnCartServiceIsDialledWithItsOwnCredentials(t *testing.T) {
	cfg := minimal(t)
	folder := certstest.Role(t, certstest.NewCA(t, nil), t.TempDir(), Promotions)
	cfg.TLS = map[string]*mtls.Credentials{Promotions: certstest.Open(t, folder, Promotions)}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer() // in plaintext
	cartv1.RegisterCartServiceServer(server, &cartv1.UnimplementedCartServiceServer{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	defer func() {
		server.Stop()
		<-served
	}()
	cfg.Peers = map[string]string{Cart: lis.Addr().String()}
	for want, creds := range map[codes.Code]credentials.TransportCredentials{
		codes.Unimplemented: nil,
		codes.Unavailable:   credentials.NewTLS(nil),
	} {
		cfg.CartCredentials = creds
		d := &dialer{cfg: cfg, role: Promotions}
		_, err := cartv1.NewCartServiceClient(d.dial(Cart)).GetCart(t.Context(), &cartv1.GetCartRequest{})
		if status.Code(err) != want {
			t.Errorf("with credentials %v: %v, want %v", creds, err, want)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}
