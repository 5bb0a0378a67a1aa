package specialist_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/specialist"
)

// TestOnlyTheGatewayCallsOverTLS also checks that a scope of another service is refused.
func TestOnlyTheGatewayCallsOverTLS(t *testing.T) {
	ca, dir := certstest.NewCA(t, nil), t.TempDir()
	s, err := specialist.New(specialist.Definition{Name: "repairs", Purpose: "Repairs.", Prompt: "Repairs."}, specialist.Config{
		Model: scripted.New(), ScopeKeys: scopetest.KeysFile(t), TLSFolder: certstest.Role(t, ca, dir, "repairs"),
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		caller, audience string
		want             codes.Code
	}{
		{"gateway", "repairs", codes.OK},
		{"gateway", "search", codes.Unauthenticated},
		{"search", "repairs", codes.PermissionDenied},
	} {
		credentials := certstest.Open(t, certstest.Role(t, ca, dir, c.caller), c.caller).Client("repairs")
		conn, err := rpc.Dial(lis.Addr().String(), rpc.DialConfig{Credentials: credentials})
		if err != nil {
			t.Fatal(err)
		}
		call := scopetest.Context(t.Context(), t, scope.Scope{StoreID: "demo", Audience: c.audience})
		_, err = specialistv1.NewSpecialistServiceClient(conn).Describe(call, &specialistv1.DescribeRequest{})
		if got := status.Code(err); got != c.want {
			t.Errorf("%s with a scope for %s: %v, want %v: %v", c.caller, c.audience, got, c.want, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
