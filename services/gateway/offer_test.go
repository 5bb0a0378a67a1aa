package gateway

import (
	"context"
	"testing"
	"time"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
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

func TestTheVersionIsWorkedOutWhenADescriptionChanges(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, peer := directoryOf(0)
	version := func(store string) (string, []*specialistv1.Specialist) {
		found, _ := d.describe(ctx, store)
		return d.version(store, found), found
	}
	one, found := version("one")
	if again, _ := version("one"); one == "" || again != one {
		t.Errorf("versions %q and %q of the same", one, again)
	}
	if two, _ := version("two"); two != one {
		t.Errorf("two stores that are told the same have versions %q and %q", one, two)
	}
	d.offers["one"].version = "kept"
	if again, _ := version("one"); again != "kept" {
		t.Error("it is worked out for each message")
	}
	peer.purpose.Store("Finds hats.")
	d.known[describedFor{"one", "search"}].until = d.known[describedFor{"one", "search"}].until.Add(-2 * describeTTL)
	changed, now := version("one")
	if changed == one || changed == "kept" || found[0] == now[0] {
		t.Errorf("version %q after a change", changed)
	}
	// The other store is still told the old words, and in the end the new ones.
	d.known[describedFor{"two", "search"}].until = d.known[describedFor{"one", "search"}].until.Add(-2 * describeTTL)
	if two, _ := version("two"); two != changed {
		t.Errorf("version %q of the other store", two)
	}
}
