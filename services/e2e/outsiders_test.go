package e2e

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// tokenCallers authenticates callers by their names.
type tokenCallers map[string]auth.Caller

func (c tokenCallers) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	caller, ok := c[token]
	if !ok {
		return auth.Caller{}, &fault.Unauthenticated{Reason: commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_INVALID, Description: "no such token"}
	}
	caller.Name = token
	return caller, nil
}

// An outsider knows a customer's name, the id of a thread and the id of its turn.
func TestOutsidersReachNoThread(t *testing.T) {
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	open := newSystemOn(t, server.URL())
	reply := open.ask(t, "where is my order?") // as ava
	thread, turn := reply.GetThreadId(), reply.GetTurnId()

	grants := func(store string, rights ...auth.Right) []auth.Grant {
		return []auth.Grant{{Store: store, Rights: rights}}
	}
	closed := newSystemWith(t, server.URL(), newBrain(t), func(cfg *suite.Config) {
		cfg.Token = "owner"
		cfg.Authenticator = tokenCallers{
			"owner":      {Grants: grants(auth.AnyStore, auth.Rights()...)},
			"storefront": {Grants: grants("demo", auth.RightAsk)},
			"ben":        {Grants: grants("demo", auth.RightAsk), Customer: "ben"},
			"neighbour":  {Grants: grants("alpine", auth.Rights()...)},
			"catalog":    {Grants: grants("demo", auth.RightCatalog)},
		}
	})
	as := func(token string) gatewayv1.GatewayServiceClient {
		cfg := closed.cfg
		cfg.Token = token
		conn, err := suite.Dial(suite.Gateway, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return gatewayv1.NewGatewayServiceClient(conn)
	}
	type client = gatewayv1.GatewayServiceClient
	calls := map[string]func(c client, customer string) error{
		"GetThread": func(c client, customer string) error {
			_, err := c.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: thread, CustomerId: customer})
			return err
		},
		"GetTurn": func(c client, customer string) error {
			_, err := c.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: turn, CustomerId: customer})
			return err
		},
		"DeleteThread": func(c client, customer string) error {
			_, err := c.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: thread, CustomerId: customer})
			return err
		},
	}
	for _, tt := range []struct {
		token, customer string
		want            codes.Code
	}{
		{"", "", codes.Unauthenticated}, {"", "ava", codes.Unauthenticated}, {"unknown", "ava", codes.Unauthenticated},
		{"storefront", "", codes.NotFound}, {"storefront", "ben", codes.NotFound}, {"owner", "ben", codes.NotFound},
		{"ben", "ben", codes.NotFound}, {"ben", "", codes.PermissionDenied}, {"ben", "ava", codes.PermissionDenied},
		{"neighbour", "ava", codes.PermissionDenied}, {"catalog", "ava", codes.PermissionDenied},
	} {
		for name, call := range calls {
			if err := call(as(tt.token), tt.customer); status.Code(err) != tt.want {
				t.Errorf("%s with token %q for customer %q: %v, want %v", name, tt.token, tt.customer, err, tt.want)
			}
		}
	}
	for token, customer := range map[string]string{"storefront": "ava", "owner": ""} {
		for _, name := range []string{"GetThread", "GetTurn"} {
			if err := calls[name](as(token), customer); err != nil {
				t.Errorf("%s with token %q for customer %q: %v", name, token, customer, err)
			}
		}
	}
	if err := calls["DeleteThread"](as("storefront"), "ava"); err != nil {
		t.Errorf("ava's deletion: %v", err)
	}
	if err := calls["GetThread"](as("owner"), ""); status.Code(err) != codes.NotFound {
		t.Errorf("after the deletion: %v", err)
	}
}
