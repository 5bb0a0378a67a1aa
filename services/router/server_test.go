package router

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	provisional = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
	final       = routerv1.DecisionStage_DECISION_STAGE_FINAL
	byRules     = routerv1.DecisionSource_DECISION_SOURCE_RULES
	byModel     = routerv1.DecisionSource_DECISION_SOURCE_MODEL
	byFallback  = routerv1.DecisionSource_DECISION_SOURCE_FALLBACK
)

// serve serves a router in memory. The returned stop must be called before the test ends.
func serve(t *testing.T, cfg Config) (client routerv1.RouterServiceClient, stop func()) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	network := rpc.NewNetwork()
	lis, err := network.Listen("router")
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(rpc.ServerConfig{Name: "router", Scopes: scopetest.Verifier()})
	s.Register(server)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, lis) }()
	conn, err := rpc.Dial("inproc:///router", rpc.DialConfig{Network: network})
	if err != nil {
		t.Fatal(err)
	}
	return signing{routerv1.NewRouterServiceClient(conn), t}, func() {
		_ = conn.Close()
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// signing is a client whose calls have a scope, as those of a gateway have.
type signing struct {
	routerv1.RouterServiceClient
	t *testing.T
}

func (s signing) Route(ctx context.Context, req *routerv1.RouteRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[routerv1.RouteResponse], error) {
	ctx = scopetest.Context(ctx, s.t, scope.Scope{StoreID: "demo", Audience: "router", Reads: []scope.Read{}})
	return s.RouterServiceClient.Route(ctx, req, opts...)
}

// collect returns the decisions of one Route call and its error.
func collect(ctx context.Context, client routerv1.RouterServiceClient, req *routerv1.RouteRequest) ([]*routerv1.RoutingDecision, error) {
	stream, err := client.Route(ctx, req)
	if err != nil {
		return nil, err
	}
	var out []*routerv1.RoutingDecision
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, resp.GetDecision())
	}
}

// route serves a router with the config for one call.
func route(t *testing.T, cfg Config, req *routerv1.RouteRequest) []*routerv1.RoutingDecision {
	t.Helper()
	client, stop := serve(t, cfg)
	defer stop()
	decisions, err := collect(context.Background(), client, req)
	if err != nil {
		t.Fatalf("Route(%q): %v", req.GetMessage(), err)
	}
	return decisions
}

func request(message string) *routerv1.RouteRequest {
	return &routerv1.RouteRequest{Message: message, Specialists: specialists()}
}

// notes writes a decision's notes as lines "KIND: text".
func notes(d *routerv1.RoutingDecision) []string {
	var out []string
	for _, n := range d.GetNotes() {
		out = append(out, strings.TrimPrefix(n.GetKind().String(), "DECISION_NOTE_KIND_")+": "+n.GetText())
	}
	return out
}

func assignments(d *routerv1.RoutingDecision) []string {
	var out []string
	for _, a := range d.GetAssignments() {
		out = append(out, a.GetAssignmentId()+" "+a.GetSpecialist()+": "+a.GetSubQuery())
	}
	return out
}

const (
	sureMessage   = "Do you have waterproof tents, and what is your return policy?"
	unsureMessage = "does a roof terrace exist? And where is my order?"
)

func TestCertainClassifierDecidesWithoutTheModel(t *testing.T) {
	model := fakeModel{func(context.Context, *agentloop.Request) (string, error) {
		t.Error("the model was asked")
		return "", errors.New("not wanted")
	}}
	got := route(t, Config{Model: model}, request(sureMessage))
	want := []*routerv1.RoutingDecision{{
		Stage: final, Source: byRules, Assignments: []*routerv1.Assignment{
			{AssignmentId: "a1", Specialist: "search", SubQuery: "Do you have waterproof tents", Certain: true},
			{AssignmentId: "a2", Specialist: "support", SubQuery: "what is your return policy?", Certain: true},
		},
	}}
	ignore := cmp.Options{
		protocmp.Transform(),
		protocmp.IgnoreFields(&routerv1.RoutingDecision{}, "certainty", "duration"),
		protocmp.IgnoreFields(&routerv1.Assignment{}, "reason", "confidence"),
	}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if d := got[0]; d.GetCertainty() < classifier.Threshold || d.GetDuration() == nil || d.GetAssignments()[0].GetReason() == "" {
		t.Errorf("certainty, duration or reason is missing: %v", d)
	}
}

func TestCertaintyAndConfidenceHaveThreeDecimals(t *testing.T) {
	for _, message := range []string{unsureMessage, "do you have scooters, and what is your return policy?"} {
		for _, d := range route(t, Config{}, request(message)) {
			figures := []float64{d.GetCertainty()}
			for _, a := range d.GetAssignments() {
				figures = append(figures, a.GetConfidence())
			}
			for _, f := range figures {
				if s := strconv.FormatFloat(f, 'f', -1, 64); len(s) > len("0.123") {
					t.Errorf("%q: got %s, want at most three decimals", message, s)
				}
			}
		}
	}
}

// Callers need not know the threshold: each assignment says whether it is certain.
func TestAssignmentsSayWhetherTheyAreCertain(t *testing.T) {
	var got []bool
	for _, a := range route(t, Config{}, request(unsureMessage))[0].GetAssignments() {
		got = append(got, a.GetCertain())
	}
	if diff := cmp.Diff([]bool{false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAModelTheClassifierDecides(t *testing.T) {
	got := route(t, Config{}, request(unsureMessage))
	if len(got) != 1 || got[0].GetStage() != final || got[0].GetSource() != byFallback || len(got[0].GetNotes()) != 1 {
		t.Fatalf("got %v, want one final fallback decision with a note", got)
	}
}

func TestUnavailableSpecialistsAreRemapped(t *testing.T) {
	const reason = "This store has no promotions."
	off := func(names ...string) *routerv1.RouteRequest {
		req := request("Any coupon? And where is my order?")
		for _, s := range req.GetSpecialists() {
			for _, name := range names {
				if s.GetName() == name {
					s.Available, s.UnavailableReason = false, reason
				}
			}
		}
		return req
	}
	got := route(t, Config{}, off("promotions"))[0]
	if diff := cmp.Diff([]string{"a1 support: Any coupon?", "a2 support: where is my order?"}, assignments(got)); diff != "" {
		t.Errorf("assignments (-want +got):\n%s", diff)
	}
	if from := got.GetAssignments()[0].GetRemappedFrom(); from != "promotions" || got.GetAssignments()[1].GetRemappedFrom() != "" {
		t.Errorf("remapped_from is %q", from)
	}
	if why, want := got.GetAssignments()[0].GetReason(), "promotions is not available: "+reason; why != want {
		t.Errorf("the reason is %q, want %q for the shopper", why, want)
	}
	if diff := cmp.Diff([]string{"REMAPPED: sent to support: promotions is not available: " + reason}, notes(got)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	got = route(t, Config{}, off("promotions", "support", "search"))[0]
	if diff := cmp.Diff([]string{"a1 recommend: Any coupon?", "a2 recommend: where is my order?"}, assignments(got)); diff != "" {
		t.Errorf("assignments without support (-want +got):\n%s", diff)
	}
	if from := got.GetAssignments()[1].GetRemappedFrom(); from != "support" {
		t.Errorf("the catch-all's part is remapped from %q", from)
	}
	client, stop := serve(t, Config{})
	defer stop()
	if _, err := collect(context.Background(), client, off("promotions", "support", "search", "recommend")); status.Code(err) != codes.Unavailable {
		t.Errorf("with none available: %v, want Unavailable", err)
	}
}

func TestAStandInIsAskedTheSameOnceAndKnowsWhy(t *testing.T) {
	req := request(terrace)
	for _, s := range req.GetSpecialists() {
		s.Available = s.GetName() != "promotions"
	}
	got := route(t, Config{Model: says(given("support", terrace, "promotions", terrace))}, req)[1]
	if len(got.GetAssignments()) != 1 {
		t.Fatalf("got %v", got)
	}
	a := got.GetAssignments()[0]
	if a.GetSpecialist() != "support" || a.GetRemappedFrom() != "promotions" || a.GetReason() != "promotions is not available" {
		t.Errorf("got %v", a)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	client, stop := serve(t, Config{})
	defer stop()
	one := &specialistv1.Specialist{Name: "search", Purpose: "Finds.", Available: true}
	cases := map[string]struct {
		req    *routerv1.RouteRequest
		fields []string
	}{
		"nothing":    {&routerv1.RouteRequest{}, []string{"message", "specialists"}},
		"too long":   {&routerv1.RouteRequest{Message: strings.Repeat("a", classifier.MaxMessage+1), Specialists: []*specialistv1.Specialist{one}}, []string{"message"}},
		"bad name":   {&routerv1.RouteRequest{Message: "hi", Specialists: []*specialistv1.Specialist{{Name: "The Search"}}}, []string{"specialists[0].name", "specialists[0].purpose"}},
		"keywords":   {&routerv1.RouteRequest{Message: "hi", Specialists: []*specialistv1.Specialist{one}, Keywords: make([]*routerv1.RoutingKeyword, maxKeywords+1)}, []string{"keywords"}},
		"bad day":    {&routerv1.RouteRequest{Message: "hi", Specialists: []*specialistv1.Specialist{one}, Date: "22.11.2026", TimeZone: "Berlin"}, []string{"date", "time_zone"}},
		"same names": {&routerv1.RouteRequest{Message: "hi", Specialists: []*specialistv1.Specialist{one, one}}, []string{"specialists[1].name"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := collect(context.Background(), client, c.req)
			st := status.Convert(err)
			var fields []string
			for _, detail := range st.Details() {
				if bad, ok := detail.(*errdetails.BadRequest); ok {
					for _, v := range bad.GetFieldViolations() {
						fields = append(fields, v.GetField())
						if strings.HasPrefix(v.GetField(), "specialists") && !strings.Contains(v.GetDescription(), "SpecialistService.Describe") {
							t.Errorf("%s: %q does not say what to pass", v.GetField(), v.GetDescription())
						}
					}
				}
			}
			if diff := cmp.Diff(c.fields, fields); st.Code() != codes.InvalidArgument || diff != "" {
				t.Errorf("code %v, fields (-want +got):\n%s", st.Code(), diff)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []Config{{ModelTimeout: -1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
}

// slowLog logs once there is nothing left to wait for.
type slowLog struct {
	slog.Handler
	until chan struct{}
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(ctx context.Context, _ slog.Record) error {
	select {
	case <-l.until:
	case <-ctx.Done():
	}
	return nil
}

func TestADecisionIsSentBeforeItIsLogged(t *testing.T) {
	received := make(chan struct{})
	client, stop := serve(t, Config{Logger: slog.New(slowLog{slog.DiscardHandler, received})})
	defer stop()
	stream, err := client.Route(t.Context(), request(sureMessage))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil || resp.GetDecision().GetStage() != final {
		t.Fatal(resp, err)
	}
	close(received)
	if got, err := stream.Recv(); err == nil {
		t.Errorf("got %v after the final decision", got)
	}
}
