package e2e

import (
	"net/http"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// TestARefusedKey has the model endpoint refuse the key, and take it again.
func TestARefusedKey(t *testing.T) {
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	var refuses atomic.Bool
	refuses.Store(true)
	brain := newBrain(t)
	h := newSystemWith(t, redisServer.URL(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			http.Error(w, `{"error":{"message":"incorrect key"}}`, http.StatusUnauthorized)
			return
		}
		brain.ServeHTTP(w, r)
	}))
	conn, err := suite.Dial(suite.Search, h.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	wantHealth := func(name string, want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: name})
		if err != nil || got.GetStatus() != want {
			t.Errorf("health of %q: %v, %v; want %v", name, got, err, want)
		}
	}
	ask := func() error {
		_, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "Do you have tents?"})
		return err
	}
	wantHealth(rpc.Readiness, healthv1.HealthCheckResponse_SERVING)
	err = ask()
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a turn with a refused key: %v, want UNAVAILABLE", err)
	}
	for _, d := range status.Convert(err).Details() {
		if _, ok := d.(*errdetails.RetryInfo); ok {
			t.Errorf("the caller is asked to try again: %v", d)
		}
	}
	wantHealth(rpc.Readiness, healthv1.HealthCheckResponse_NOT_SERVING)
	wantHealth("", healthv1.HealthCheckResponse_SERVING)
	refuses.Store(false)
	if err := ask(); err != nil {
		t.Errorf("a turn with the key: %v", err)
	}
	wantHealth(rpc.Readiness, healthv1.HealthCheckResponse_SERVING)
}
