package gateway

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
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

// published are the suite's specialists as they describe themselves. A test of services/e2e keeps the file current.
func published(t *testing.T) []*specialistv1.Specialist {
	t.Helper()
	data, err := os.ReadFile("../router/testdata/specialists.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := routing.ReadSpecialists(data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWithoutARouterEveryPartGoesToItsSpecialist(t *testing.T) {
	const four = "Do you have waterproof tents, what goes with the stove in my cart, is there a discount code, and where is my order QT-10031?"
	for _, c := range []struct {
		name, off string
		want      []string
	}{
		{"all are there", "", []string{"search: Do you have waterproof tents", "recommend: what goes with the stove in my cart",
			"promotions: is there a discount code", "support: where is my order QT-10031?"}},
		{"the store has no promotions", "promotions", []string{"search: Do you have waterproof tents", "recommend: what goes with the stove in my cart",
			"support for promotions: is there a discount code", "support: where is my order QT-10031?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			for _, s := range published(t) {
				s.Available = s.GetName() != c.off
				h.specialists[s.GetName()].published = s
			}
			h.router.route = func(*routerv1.RouteRequest, routeStream) error { return errors.New("dead") }
			h.start()
			d := h.ask(four).GetRouting()
			var got []string
			for _, a := range d.GetAssignments() {
				name := a.GetSpecialist()
				if a.GetRemappedFrom() != "" {
					name += " for " + a.GetRemappedFrom()
				}
				got = append(got, name+": "+a.GetSubQuery())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("assignments (-want +got):\n%s", diff)
			}
			if n := d.GetNotes(); len(n) != 1 || n[0].GetKind() != routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED ||
				d.GetSource() != routerv1.DecisionSource_DECISION_SOURCE_FALLBACK {
				t.Errorf("source %v, notes %v", d.GetSource(), n)
			}
		})
	}
}

// Neither the router nor a specialist has been there since the gateway started. No other specialist answers what is that one's.
func TestAPartOfASpecialistThatIsAwayIsNamed(t *testing.T) {
	for _, away := range []string{"search", "recommend", "promotions", "support"} {
		for _, routerIsDown := range []bool{true, false} {
			h := newFixture(t, miniredis.RunT(t))
			for _, s := range published(t) {
				h.specialists[s.GetName()].published = s
			}
			part := map[string]string{
				"search": "Do you have waterproof tents", "recommend": "what goes with the stove in my cart",
				"promotions": "is there a discount code", "support": "where is my order QT-10031",
			}
			h.router.route = func(req *routerv1.RouteRequest, stream routeStream) error {
				if routerIsDown {
					return errors.New("dead")
				}
				return stream.Send(&routerv1.RouteResponse{Decision: &routerv1.RoutingDecision{
					Stage: routerv1.DecisionStage_DECISION_STAGE_FINAL, Source: routerv1.DecisionSource_DECISION_SOURCE_RULES,
					Assignments: []*routerv1.Assignment{{AssignmentId: "a1", Specialist: away, SubQuery: part[away]}, {AssignmentId: "a2", Specialist: other(away), SubQuery: part[other(away)]}},
				}})
			}
			h.start()
			h.service.registry = registry.New(h.service.cfg.Specialists, h.service.cfg.Signer, h.service.cfg.Logger)
			h.service.fanout = h.newFanout()
			h.stops[away]()
			reply := h.ask(part[away] + ", and " + part[other(away)] + "?")
			if text := reply.GetText(); !strings.Contains(text, part[away]) || !strings.Contains(text, other(away)+" says") {
				t.Errorf("%s is away, router down %v: %q", away, routerIsDown, text)
			}
			if reply.GetConfidence() > 0 || !reply.GetHandoff().GetRecommended() {
				t.Errorf("%s is away, router down %v: confidence %v, handoff %v", away, routerIsDown, reply.GetConfidence(), reply.GetHandoff())
			}
			h.serveSpecialist(away)
		}
	}
}

// other is another specialist.
func other(name string) string {
	if name == "support" {
		return "search"
	}
	return "support"
}

func TestWithoutARouterAnAnswerGoesToTheSpecialistThatAsked(t *testing.T) {
	for message, want := range map[string]string{"My gift card": "promotions", "the last one": "promotions", "where is my order?": "support"} {
		t.Run(message, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			for _, s := range published(t) {
				h.specialists[s.GetName()].published = s
			}
			h.start()
			h.specialists["promotions"].asks(&specialistv1.ClarifyingQuestion{
				Text: "Which do you mean?", QuickReplies: []string{"My voucher", "My gift card"},
			})
			first := h.ask("promotions: is there anything left on it")
			if first.GetClarifyingQuestion() == nil {
				t.Fatal("no question was asked")
			}
			h.router.route = func(*routerv1.RouteRequest, routeStream) error { return errors.New("dead") }
			reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", ThreadId: first.GetThreadId(), Message: message})
			if err != nil {
				t.Fatal(err)
			}
			if got := reply.GetRouting().GetAssignments(); len(got) != 1 || got[0].GetSpecialist() != want || got[0].GetSubQuery() != message {
				t.Errorf("assignments %v, want %s", got, want)
			}
		})
	}
}

// Without a router, stores that differ in what is available take turns.
func TestClassifiersAreMadeOncePerVersion(t *testing.T) {
	var c classifiers
	all := published(t)
	a, b := c.of("a", all), c.of("b", all[1:])
	if a == b || c.of("a", all) != a || c.of("b", all[1:]) != b {
		t.Error("a version was made again")
	}
	for i := range 2 * maxClassifiers {
		c.of(strconv.Itoa(i), all[:1])
	}
	if len(c.known) > maxClassifiers {
		t.Errorf("%d are kept, want at most %d", len(c.known), maxClassifiers)
	}
	if first := c.of("", all); first == c.of("", all) {
		t.Error("one without a version is kept")
	}
}

// What a model needs to know what "it" and "the second one" are.
func TestTheRouterIsToldWhatTheConversationIsAbout(t *testing.T) {
	h := open(t, nil)
	stock(h)
	first := h.ask("search: shoes")
	req := &gatewayv1.AskRequest{StoreId: "demo", ThreadId: first.GetThreadId(), Message: "support: can I return the second one?"}
	if _, err := h.client.Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	got := h.router.lastRequest()
	if len(got.GetHistory()) != 2 || len(got.GetShownProducts()) != 2 || got.GetShownProducts()[1].GetTitle() != "Fell Fox" ||
		len(got.GetDate()) != len("2026-11-22") || got.GetTimeZone() != "Europe/Berlin" || got.GetSignedIn() {
		t.Errorf("the request: %v", got)
	}
}
