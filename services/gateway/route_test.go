package gateway

import (
	"testing"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// A router that has lost what it knew costs an attempt within the turn, and no turn its split.
func TestSpecialistsAreToldToARouterThatDoesNotKnowThem(t *testing.T) {
	h := open(t, nil)
	h.putStore("other")
	ask := func() {
		t.Helper()
		d := h.ask("search: shoes | support: returns").GetRouting()
		if len(d.GetAssignments()) != 2 || len(d.GetNotes()) != 0 {
			t.Fatalf("routing %v", d)
		}
	}
	for range 3 {
		ask()
	}
	if n := h.router.forget(); n != 1 {
		t.Errorf("specialists were sent %d times for three messages, want once", n)
	}
	for range 2 {
		ask()
	}
	if n := h.router.forget(); n != 2 {
		t.Errorf("sent %d times when the router had forgotten them, want one more", n)
	}
	if req := h.router.lastRequest(); len(req.GetSpecialists()) != len(specialistNames) || req.GetMessage() != "search: shoes | support: returns" {
		t.Errorf("the request that came again: %v", req)
	}
}

func TestARouterThatRefusesEvenWhatItIsSentHasFailed(t *testing.T) {
	h := open(t, nil)
	h.ask("search: shoes")
	h.router.route = func(*routerv1.RouteRequest, routeStream) error { return h.router.unknown() }
	before := len(h.router.requests)
	if n := h.ask("shoes please").GetRouting().GetNotes(); len(n) != 1 || n[0].GetKind() != routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED {
		t.Errorf("notes %v", n)
	}
	if n := len(h.router.requests) - before; n != 2 {
		t.Errorf("it was asked %d times, want once without the specialists and once with them", n)
	}
}
