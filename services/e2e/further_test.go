package e2e

import (
	"context"
	"net"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// TestAFurtherSpecialistIsAsked serves a fifth specialist on a port of its own, of which the gateway knows only the target.
func TestAFurtherSpecialistIsAsked(t *testing.T) {
	const advice = "The next course for beginners is on Saturday."
	courses, err := specialist.New(specialist.Definition{
		Name: "courses", Purpose: "Climbing courses: dates and places.", Prompt: "You know the climbing courses.",
		Examples: []string{"when is the next climbing course"}, Keywords: map[float64][]string{3: {"climbing course", "course", "courses"}},
	}, specialist.Deps{Model: scripted.New(scripted.Step{Text: advice})})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(rpc.ServerConfig{Name: "courses", Scopes: scopetest.Verifier()})
	courses.Register(server)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})

	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	h := newSystemWith(t, redisServer.URL(), newBrain(t), func(cfg *suite.Config) {
		cfg.Further = map[string]string{"courses": lis.Addr().String()}
	})
	reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "When is the next climbing course?"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(specialists(reply), " "); got != "courses" || reply.GetText() != advice {
		t.Errorf("%q answered %q: %v", got, reply.GetText(), reply.GetResults())
	}
}

func TestAFurtherSpecialistNeedsANameOfItsOwn(t *testing.T) {
	h := newSystem(t)
	cfg := h.cfg
	cfg.Further = map[string]string{suite.Search: "127.0.0.1:1"}
	if _, err := suite.New(suite.Gateway, cfg); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("error %v", err)
	}
}
