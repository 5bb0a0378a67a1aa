package e2e

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/specialist"
	"github.com/quartet-commerce/quartet/services/suite"
)

// TestAFurtherSpecialistIsAsked serves a fifth specialist as a program outside would, on a port of its own. The gateway knows only
// the target.
func TestAFurtherSpecialistIsAsked(t *testing.T) {
	const advice = "The next course for beginners is on Saturday."
	seats := &anypb.Any{TypeUrl: "type.example/courses.v1.Seats", Value: []byte{8, 4}} // a type that Quartet does not have
	courses, err := specialist.New(specialist.Definition{
		Name: "courses", Purpose: "Climbing courses: dates and places.", Prompt: "You know the climbing courses.",
		Examples: []string{"when is the next climbing course"}, Keywords: map[float64][]string{3: {"climbing course", "course", "courses"}},
		Tools: func(turn *specialist.Turn) []agentloop.Tool {
			if err := turn.SetExtension(seats); err != nil {
				t.Error(err)
			}
			return nil
		},
	}, specialist.Config{
		Model: scripted.New(scripted.Step{Text: advice}, scripted.Step{Text: advice}, scripted.Step{Text: advice}), ScopeKeys: scopetest.KeysFile(t),
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
	tracers, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	go func() { served <- courses.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		otel.SetTracerProvider(tracers) // the program has set its own, and other tests read those of TestMain
		otel.SetMeterProvider(meters)
		otel.SetTextMapPropagator(propagator)
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
	if got := reply.GetResults()[0].GetAnswer().GetExtension(); !proto.Equal(got, seats) {
		t.Errorf("extension %v", got)
	}
	again, err := h.gateway.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
	if err != nil || !proto.Equal(again.GetTurn().GetResults()[0].GetAnswer().GetExtension(), seats) {
		t.Errorf("the recorded turn has %v, %v", again.GetTurn().GetResults(), err)
	}
	url := serveHTTP(t, h.cfg)
	for _, accept := range []string{"application/json", "text/event-stream"} {
		path := map[string]string{"application/json": "/v1/stores/demo/ask", "text/event-stream": "/v1/stores/demo/ask/stream"}[accept]
		resp, body := request(t, http.MethodPost, url+path, `{"message":"When is the next climbing course?"}`, "Accept: "+accept)
		if resp.StatusCode != http.StatusOK || !strings.Contains(strings.ReplaceAll(body, " ", ""), `"value":"CAQ="`) {
			t.Errorf("%s as %s: %s\n%s", path, accept, resp.Status, body)
		}
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
