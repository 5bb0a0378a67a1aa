package router

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/offer"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

const coupons = "Any discount codes?"

func versionOfAll(t *testing.T, specialists []*specialistv1.Specialist) string {
	t.Helper()
	v, err := offer.Version(specialists)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// asked is a request with specialists, and one that only names them.
func asked(t *testing.T, specialists []*specialistv1.Specialist) (full, named *routerv1.RouteRequest) {
	t.Helper()
	v := versionOfAll(t, specialists)
	return &routerv1.RouteRequest{Message: coupons, Specialists: specialists, SpecialistsVersion: v},
		&routerv1.RouteRequest{Message: coupons, SpecialistsVersion: v}
}

// specialistOf returns who got the message, or the reason of the refusal.
func specialistOf(t *testing.T, client routerv1.RouterServiceClient, req *routerv1.RouteRequest) string {
	t.Helper()
	got, err := collect(context.Background(), client, req)
	if err != nil {
		st := rpc.Status(err)
		if st.Code() != codes.FailedPrecondition {
			t.Fatalf("Route: %v", err)
		}
		return rpc.Reason(st)
	}
	return got[len(got)-1].GetAssignments()[0].GetSpecialist()
}

const unknown = "SPECIALISTS_UNKNOWN"

func TestSpecialistsAreSentOnce(t *testing.T) {
	full, named := asked(t, specialists())
	client, stop := serve(t, Config{})
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("before the specialists were sent: %s", got)
	}
	for range 2 {
		if got := specialistOf(t, client, full); got != "promotions" {
			t.Errorf("with them: %s", got)
		}
		if got := specialistOf(t, client, named); got != "promotions" {
			t.Errorf("without them: %s", got)
		}
	}
	named.Keywords = []*routerv1.RoutingKeyword{keyword("search", "discount codes", 5), keyword("promotions", "discount", 0)}
	if got := specialistOf(t, client, named); got != "search" {
		t.Errorf("with a store's keywords: %s", got)
	}
	named.Keywords = nil
	if got := specialistOf(t, client, named); got != "promotions" {
		t.Errorf("another store's message after that: %s", got)
	}
	stop()
	client, stop = serve(t, Config{})
	defer stop()
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("after a restart: %s", got)
	}
}

func TestNamedSpecialistsDecideAsThoseInTheRequest(t *testing.T) {
	full, named := asked(t, specialists()[1:]) // without one that the rules have a role for
	model := says(given("recommend", coupons))
	client, stop := serve(t, Config{Model: model, AlwaysAskModel: true})
	defer stop()
	var texts [2]string
	for i, req := range []*routerv1.RouteRequest{full, named} {
		got, err := collect(context.Background(), client, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			texts[i] += fmt.Sprintln(d.GetStage(), assignments(d), notes(d), d.GetCertainty())
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" || texts[0] == "" {
		t.Errorf("decisions (-in full +named):\n%s", diff)
	}
}

// A caller that says another version than that of what it sends, by mistake or on purpose, changes nothing for others.
func TestAWrongVersionDoesNoHarm(t *testing.T) {
	full, named := asked(t, specialists())
	lying := &routerv1.RouteRequest{Message: coupons, SpecialistsVersion: full.GetSpecialistsVersion(),
		Specialists: []*specialistv1.Specialist{{Name: "intruder", Purpose: "Gets all.", Available: true}}}
	_, honest := asked(t, lying.GetSpecialists())
	client, stop := serve(t, Config{})
	defer stop()
	if got := specialistOf(t, client, lying); got != "intruder" {
		t.Errorf("what is sent with a wrong version: %s", got)
	}
	if got := specialistOf(t, client, named); got != unknown {
		t.Errorf("the version that was claimed: %s", got)
	}
	if got := specialistOf(t, client, honest); got != "intruder" {
		t.Errorf("the version that it has: %s", got)
	}
	specialistOf(t, client, full)
	specialistOf(t, client, lying)
	if got := specialistOf(t, client, named); got != "promotions" {
		t.Errorf("the version that was claimed of what is there: %s", got)
	}
	bad := &routerv1.RouteRequest{Message: coupons, SpecialistsVersion: strings.Repeat("a", 65)}
	if _, err := collect(context.Background(), client, bad); rpc.Status(err).Code() != codes.InvalidArgument {
		t.Errorf("a version that can be none: %v", err)
	}
}

func TestWithoutAVersionNothingIsRemembered(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	full, _ := asked(t, specialists())
	full.SpecialistsVersion = ""
	if _, err := s.offered(full); err != nil || len(s.offers.recent) != 0 {
		t.Errorf("%d are remembered, error %v", len(s.offers.recent), err)
	}
	full, named := asked(t, []*specialistv1.Specialist{{Name: "search", Purpose: strings.Repeat("a", maxOfferBytes), Available: true}})
	if _, err := s.offered(full); err != nil || len(s.offers.recent) != 0 {
		t.Errorf("%d large ones are remembered, error %v", len(s.offers.recent), err)
	}
	if _, err := s.offered(named); err == nil {
		t.Error("a large one is known")
	}
}

func TestTheOffersAskedForLastAreRemembered(t *testing.T) {
	var o offers
	name := func(i int) string { return fmt.Sprint("v", i) }
	first := &offered{words: 1}
	o.add(name(0), first)
	o.add(name(0), &offered{words: 2})
	for i := 1; i < maxOffers; i++ {
		o.add(name(i), &offered{})
	}
	if o.get(name(0)) != first {
		t.Error("the first one is gone, or was replaced")
	}
	o.add("one more", &offered{})
	if len(o.recent) != maxOffers || o.get(name(0)) == nil || o.get(name(1)) != nil || o.get("one more") == nil {
		t.Errorf("%d are remembered: %v", len(o.recent), o.recent)
	}
}
