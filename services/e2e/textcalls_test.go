package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Open models behind endpoints that do not know their format write their tool calls as text. A turn with such a model calls the
// same tools and gives the same reply, and the shopper sees no part of a call.
func TestToolCallsWrittenAsText(t *testing.T) {
	var endpoint atomic.Pointer[http.Handler]
	set := func(h http.Handler) { endpoint.Store(&h) }
	set(newBrain(t))
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	h := newSystemWith(t, redisServer.URL(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*endpoint.Load()).ServeHTTP(w, r) }))
	ask := func(t *testing.T) (shown string, reply *gatewayv1.AskResponse) {
		t.Helper()
		stream, err := h.gateway.AskStream(t.Context(), &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{
			StoreId: "demo", CustomerId: "ava", Message: twoParts,
		}})
		if err != nil {
			t.Fatal(err)
		}
		for {
			ev, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			shown += ev.GetTextDelta().GetText()
			if reply = ev.GetAnswer(); reply != nil {
				return shown, reply
			}
		}
	}
	_, native := ask(t)
	if len(toolsOf(native)) < 2 {
		t.Fatalf("tools %q", toolsOf(native))
	}
	for _, m := range hostile.Modes() {
		if !strings.HasPrefix(m.Name, "calls-") || m.Name == "calls-interleaved" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			modes, err := hostile.Parse(m.Name + ",split-events")
			if err != nil {
				t.Fatal(err)
			}
			textual, err := hostile.New(hostile.Config{Next: newBrain(t), Model: offline.Model, Modes: modes})
			if err != nil {
				t.Fatal(err)
			}
			set(textual)
			shown, reply := ask(t)
			if shown != native.GetText() || reply.GetText() != native.GetText() || !slices.Equal(toolsOf(reply), toolsOf(native)) {
				t.Errorf("shown %q, reply %q, tools %q; want %q, tools %q", shown, reply.GetText(), toolsOf(reply), native.GetText(), toolsOf(native))
			}
		})
	}
}
