package gateway

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func TestASingleAnswerPassesThroughAsItStreams(t *testing.T) {
	h := open(t, nil)
	events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", Message: "search: red shoes", CustomerId: "ann", CustomerGroups: []string{"vip", "staff"},
		RequestId: "req-1", Locale: "es_mx", ThreadId: "t1",
	})
	if err != nil {
		t.Fatal(err)
	}
	text, reply := textOf(events)
	if text != "search says red shoes." || reply.GetText() != text {
		t.Errorf("deltas %q, answer %q", text, reply.GetText())
	}
	if reply.GetMergeMethod() != gatewayv1.MergeMethod_MERGE_METHOD_PASS_THROUGH || reply.GetRequestId() != "req-1" {
		t.Errorf("reply %v", reply)
	}
	_, scopes := h.specialists["search"].calls()
	want := []scope.Scope{{
		StoreID: "demo", Locale: "es-MX", ThreadID: "t1", TurnID: reply.GetTurnId(),
		Audience: "search", Reads: []scope.Read{scope.ReadCatalog},
	}}
	for i := range scopes {
		scopes[i].Expiry = time.Time{} // TestTheScopeOfATurnIsNarrowed checks it
	}
	if diff := cmp.Diff(want, scopes); diff != "" {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	requests, _ := h.specialists["search"].calls()
	wantRequest := &specialistv1.AnswerRequest{
		AssignmentId: "a1", SubQuery: "red shoes", Message: "search: red shoes", StoreName: "Store demo", TimeZone: "Europe/Berlin",
		Colleagues: []string{"recommend", "promotions", "support"},
	}
	if diff := cmp.Diff(wantRequest, requests[0], protocmp.Transform()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestEventsComeInOrder(t *testing.T) {
	h := open(t, nil)
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		call := &specialistv1.ToolCall{ToolCallId: "c1", ToolName: "lookup_order", Summary: "1 order"}
		err := errors.Join(
			stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallStarted{
				ToolCallStarted: &specialistv1.ToolCallStarted{ToolCallId: "c1", ToolName: "lookup_order"}}}),
			stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallFinished{
				ToolCallFinished: &specialistv1.ToolCallFinished{ToolCall: call}}}),
		)
		return errors.Join(err, say(stream, "It is on its way."))
	}
	for _, message := range []string{"support: order", "support: order | search: shoes"} {
		events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: message})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, ev := range events {
			kinds = append(kinds, kindOf(ev))
		}
		if kinds[0] != "routed" || kinds[len(kinds)-1] != "answer" {
			t.Errorf("%s: begins or ends wrongly: %v", message, kinds)
		}
		support := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !strings.HasSuffix(k, " a1") })
		want := []string{"started a1", "tool started a1", "tool finished a1", "finished a1"}
		if diff := cmp.Diff(want, support); diff != "" {
			t.Errorf("%s: events of support (-want +got):\n%s", message, diff)
		}
		if text, reply := textOf(events); text != reply.GetText() {
			t.Errorf("%s: deltas %q, answer %q", message, text, reply.GetText())
		}
	}
}

func kindOf(ev *gatewayv1.AskStreamResponse) string {
	switch ev := ev.GetEvent().(type) {
	case *gatewayv1.AskStreamResponse_Routed:
		return "routed"
	case *gatewayv1.AskStreamResponse_AgentStarted:
		return "started " + ev.AgentStarted.GetAssignment().GetAssignmentId()
	case *gatewayv1.AskStreamResponse_ToolCallStarted:
		return "tool started " + ev.ToolCallStarted.GetAssignmentId()
	case *gatewayv1.AskStreamResponse_ToolCallFinished:
		return "tool finished " + ev.ToolCallFinished.GetAssignmentId()
	case *gatewayv1.AskStreamResponse_AgentFinished:
		return "finished " + ev.AgentFinished.GetResult().GetAssignment().GetAssignmentId()
	case *gatewayv1.AskStreamResponse_TextDelta:
		return "text"
	case *gatewayv1.AskStreamResponse_Answer:
		return "answer"
	}
	return "unknown"
}

func TestTwoAssignmentsOfOneSpecialistKeepTheirOwnAnswers(t *testing.T) {
	h := open(t, nil)
	reply := h.ask("search: red shoes | search: blue hats")
	var got []string
	for _, r := range reply.GetResults() {
		got = append(got, r.GetAssignment().GetAssignmentId()+" "+r.GetAnswer().GetText())
	}
	want := []string{"a1 search says red shoes.", "a2 search says blue hats."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if want := "search says red shoes.\n\nsearch says blue hats."; reply.GetText() != want {
		t.Errorf("text %q, want %q", reply.GetText(), want)
	}
}

func TestStreamedPiecesAreTheReplyIfTheyDoNotAddUp(t *testing.T) {
	tests := []struct{ name, pieces, text, want string }{
		{"the end was not streamed", "It is ", "It is here.", "It is here."},
		{"nothing was streamed", "", "It is here.", "It is here."},
		{"something else was streamed", "Let me see. It is here.", "It is here.", "Let me see. It is here."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, nil)
			h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				if tt.pieces != "" {
					stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
						TextDelta: &specialistv1.TextDelta{Text: tt.pieces}}})
				}
				return stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{
					Answer: &specialistv1.Answer{Text: tt.text}}})
			}
			events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: it"})
			if err != nil {
				t.Fatal(err)
			}
			if text, reply := textOf(events); text != tt.want || reply.GetText() != tt.want {
				t.Errorf("deltas %q, answer %q, want %q", text, reply.GetText(), tt.want)
			}
		})
	}
}

func TestAReplyCarriesEverythingOnceAndSumsItsCosts(t *testing.T) {
	h := open(t, nil)
	usage := &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 2}
	cost := &commonv1.Cost{AmountMicros: 50, CurrencyCode: "USD"}
	product := func(id string) *specialistv1.ProductChoice { return &specialistv1.ProductChoice{ProductId: id} }
	apply := &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ApplyPromotion{
		ApplyPromotion: &specialistv1.ApplyPromotion{Code: "SAVE10"}}}
	answers := map[string]*specialistv1.Answer{
		"search": {
			Text: "One, p1 or p2.", Confidence: 0.9, Usage: usage, Cost: cost,
			Products: []*specialistv1.ProductChoice{product("p1"), product("p2")},
		},
		"recommend": {
			Text: "Two, p2 and p3.", Confidence: 0.6, Usage: usage, Cost: cost, SuggestedActions: []*specialistv1.SuggestedAction{apply},
			Products: []*specialistv1.ProductChoice{product("p2"), product("p3")},
		},
		"promotions": {
			Text: "Three: SAVE10.", Confidence: 0.9, Usage: usage, Cost: cost, SuggestedActions: []*specialistv1.SuggestedAction{apply},
			Promotion: &specialistv1.PromotionChoice{Code: "SAVE10"},
		},
		"support": {
			Text: "Four.", Confidence: 0.6, Usage: usage, Cost: cost, Order: &orderv1.Order{OrderId: "o1"},
			Passages: []*policyv1.Passage{{PolicyId: "returns", Text: "30 days"}},
		},
	}
	for name, a := range answers {
		h.specialists[name].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, a) }
	}
	reply := h.ask("search: a | recommend: b | promotions: c | support: d")
	want := &gatewayv1.AskResponse{
		Text:             "One, p1 or p2.\n\nTwo, p2 and p3.\n\nThree: SAVE10.\n\nFour.",
		MergeMethod:      gatewayv1.MergeMethod_MERGE_METHOD_JOINED,
		Products:         []*specialistv1.ProductChoice{product("p1"), product("p2"), product("p3")},
		Promotion:        &specialistv1.PromotionChoice{Code: "SAVE10"},
		Orders:           []*orderv1.Order{{OrderId: "o1"}},
		Passages:         []*policyv1.Passage{{PolicyId: "returns", Text: "30 days"}},
		SuggestedActions: []*specialistv1.SuggestedAction{apply},
		Confidence:       0.6,
		Handoff:          &gatewayv1.Handoff{},
		Usage:            &commonv1.Usage{InputTokens: 400, OutputTokens: 40, ModelCalls: 8},
		Cost:             &commonv1.Cost{AmountMicros: 200, CurrencyCode: "USD"},
	}
	opts := []cmp.Option{protocmp.Transform(), protocmp.IgnoreFields(&gatewayv1.AskResponse{},
		"turn_id", "thread_id", "trace_id", "routing", "results", "duration", "create_time", "claims", "merge")}
	if diff := cmp.Diff(want, reply, append(opts, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }))...); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}

	unpriced := proto.CloneOf(answers["support"])
	unpriced.Cost = nil
	answers["support"] = unpriced
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, unpriced) }
	if got := h.ask("search: a | support: d").GetCost(); got != nil {
		t.Errorf("cost %v of calls of which one has no price", got)
	}
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("bug") }
	if got := h.ask("search: a | support: d").GetCost(); got != nil {
		t.Errorf("cost %v though nobody knows what the failed specialist spent", got)
	}
}

func TestAPartThatFailedIsNamedAndTheOthersAnswered(t *testing.T) {
	h := open(t, nil)
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error {
		return &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, What: "model endpoint"}
	}
	h.specialists["promotions"].answer = func(*specialistv1.AnswerRequest, answerStream) error { panic("kaboom") }
	h.specialists["recommend"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return nil } // no answer at all
	reply := h.ask("search: shoes | support: return policy | promotions: codes | recommend: socks")
	if want := "search says shoes.\n\n" +
		"I could not answer this part of your message just now: “return policy”\n\n" +
		"I could not answer this part of your message just now: “codes”\n\n" +
		"I could not answer this part of your message just now: “socks”"; reply.GetText() != want {
		t.Errorf("text %q", reply.GetText())
	}
	var failures []string
	for _, r := range reply.GetResults()[1:] {
		failures = append(failures, r.GetFailure().GetCode()+" "+r.GetFailure().GetReason().String())
	}
	want := []string{
		"RESOURCE_EXHAUSTED ERROR_REASON_MODEL_RATE_LIMITED", "INTERNAL ERROR_REASON_INTERNAL", "INTERNAL ERROR_REASON_INTERNAL",
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if !reply.GetHandoff().GetRecommended() || !strings.Contains(reply.GetHandoff().GetReason(), "support could not answer assignment a2") {
		t.Errorf("handoff %v", reply.GetHandoff())
	}
	if got := reply.GetConfidence(); got != 0 {
		t.Errorf("confidence %v with a failed part, want 0", got)
	}
}

// The fake specialists have a confidence of 0.9.
func TestAStoreSetsTheConfidenceBelowWhichAHumanIsRecommended(t *testing.T) {
	h := open(t, nil)
	for _, tt := range []struct {
		store, want string
		below       float64
	}{{"default", "", 0}, {"strict", "confidence is 0.90, below 0.95", 0.95}, {"lenient", "", 0.9}} {
		if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
			StoreId: tt.store, Name: "Store", CurrencyCode: "EUR", HandoffConfidence: tt.below}}); err != nil {
			t.Fatal(err)
		}
		reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: tt.store, Message: "search: a"})
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.GetHandoff(); got.GetReason() != tt.want || got.GetRecommended() != (tt.want != "") {
			t.Errorf("%s: handoff %v, want %q", tt.store, got, tt.want)
		}
	}
}

func TestSmallTalkNeedsNoPerson(t *testing.T) {
	h := open(t, nil)
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{Text: "Hello!", Confidence: 0.35, Evidence: &specialistv1.Evidence{}})
	}
	for message, want := range map[string]bool{
		"support: hi there": false, "support: can you?": true, "support: I have a problem with my parcel": true, "search: a | support: hi": false,
	} {
		if got := h.ask(message).GetHandoff(); got.GetRecommended() != want {
			t.Errorf("%q: handoff %v, want %v", message, got, want)
		}
	}
}

func TestWhenNothingIsAnsweredTheErrorNamesEachAssignment(t *testing.T) {
	h := open(t, nil)
	h.ask("search: hello") // all have described themselves now
	h.stops["support"]()
	h.specialists["search"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("bug") }
	h.specialists["recommend"].answer = func(*specialistv1.AnswerRequest, answerStream) error {
		return &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, RetryAfter: 20 * time.Second}
	}
	_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", Message: "search: shoes | support: returns | recommend: socks",
	})
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
	want := []any{
		&errdetails.ErrorInfo{Reason: "NOTHING_ANSWERED", Domain: rpc.Domain, Metadata: map[string]string{
			"a1": "INTERNAL", "a2": "UNAVAILABLE", "a3": "RESOURCE_EXHAUSTED"}},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(20 * time.Second)},
	}
	if diff := cmp.Diff(want, status.Convert(err).Details(), protocmp.Transform()); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	_, err = h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "support: returns"})
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
	_, err = h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes"})
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
	want = []any{&errdetails.ErrorInfo{Reason: "NOTHING_ANSWERED", Domain: rpc.Domain, Metadata: map[string]string{"a1": "INTERNAL"}}}
	if diff := cmp.Diff(want, status.Convert(err).Details(), protocmp.Transform()); diff != "" {
		t.Errorf("details where trying again does not help (-want +got):\n%s", diff)
	}
}

func TestADeadSpecialistIsStillRoutedToAndItsPartNamed(t *testing.T) {
	h := open(t, nil)
	h.ask("search: hello")
	h.stops["support"]()
	reply := h.ask("search: ¿tienen zapatos del 42? | support: ¿cuál es la política de devoluciones?")
	if want := "search says ¿tienen zapatos del 42?.\n\n" +
		"Ahora mismo no he podido responder a esta parte de tu mensaje: «¿cuál es la política de devoluciones?»"; reply.GetText() != want {
		t.Errorf("text %q", reply.GetText())
	}
	if f := reply.GetResults()[1].GetFailure(); f.GetCode() != "UNAVAILABLE" || f.GetReason() != commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE {
		t.Errorf("failure %v", f)
	}
	h.putStore("other") // has never heard of support
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "other", Message: "search: hats"}); err != nil {
		t.Fatal(err)
	}
	if n := len(h.router.lastRequest().GetSpecialists()); n != 4 {
		t.Errorf("%d specialists offered for another store, want 4", n)
	}
}

func TestASpecialistThatNeverDescribedItselfIsKnownByItsName(t *testing.T) {
	h := open(t, nil)
	h.service.registry = registry.New(h.service.cfg.Specialists, h.service.cfg.Signer, h.service.cfg.Logger)
	h.service.fanout = h.newFanout()
	h.stops["support"]()
	reply := h.ask("search: shoes | support: my order")
	if n := len(h.router.lastRequest().GetSpecialists()); n != 4 {
		t.Errorf("%d specialists offered, want 4", n)
	}
	if text := reply.GetText(); !strings.Contains(text, "my order") || reply.GetConfidence() > 0 || !reply.GetHandoff().GetRecommended() {
		t.Errorf("the missing part: %q, confidence %v, handoff %v", text, reply.GetConfidence(), reply.GetHandoff())
	}
	notes := reply.GetRouting().GetNotes()
	if len(notes) != 1 || notes[0].GetKind() != routerv1.DecisionNoteKind_DECISION_NOTE_KIND_SPECIALIST_MISSING ||
		!strings.Contains(notes[0].GetText(), `specialist "support" has not described itself yet, so it is known by its name only`) {
		t.Errorf("notes %v", notes)
	}
	h.serveSpecialist("support")
}

func TestATurnSurvivesItsRouter(t *testing.T) {
	provisional := split("search: shoes")
	provisional.Stage = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
	tests := []struct {
		name  string
		route func(*routerv1.RouteRequest, routeStream) error
		want  string
	}{
		{"it fails", func(*routerv1.RouteRequest, routeStream) error { return errors.New("bug") }, "search says shoes please."},
		{"it says nothing", func(*routerv1.RouteRequest, routeStream) error { return nil }, "search says shoes please."},
		{"it decides on nothing", func(_ *routerv1.RouteRequest, s routeStream) error {
			return s.Send(&routerv1.RouteResponse{Decision: &routerv1.RoutingDecision{Stage: routerv1.DecisionStage_DECISION_STAGE_FINAL}})
		}, "search says shoes please."},
		{"it fails after a provisional decision", func(_ *routerv1.RouteRequest, s routeStream) error {
			return errors.Join(s.Send(&routerv1.RouteResponse{Decision: provisional}), errors.New("bug"))
		}, "search says shoes."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, nil)
			h.router.route = tt.route
			reply := h.ask("shoes please")
			if reply.GetText() != tt.want {
				t.Errorf("text %q, want %q", reply.GetText(), tt.want)
			}
			d := reply.GetRouting()
			if d.GetSource() != routerv1.DecisionSource_DECISION_SOURCE_FALLBACK || d.GetStage() != routerv1.DecisionStage_DECISION_STAGE_FINAL ||
				d.GetNotes()[0].GetKind() != routerv1.DecisionNoteKind_DECISION_NOTE_KIND_ROUTER_FAILED {
				t.Errorf("routing %v", d)
			}
		})
	}
}

func TestTheFinalDecisionCountsAndIsMadeFit(t *testing.T) {
	h := open(t, nil)
	h.router.route = func(req *routerv1.RouteRequest, s routeStream) error {
		provisional := split("recommend: wrong")
		provisional.Stage = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
		final := split("search: hats | billing: my invoice | search: ")
		for _, a := range final.GetAssignments() {
			a.AssignmentId = "same"
		}
		return errors.Join(
			s.Send(&routerv1.RouteResponse{Decision: provisional}),
			s.Send(&routerv1.RouteResponse{Decision: final}),
			s.Send(&routerv1.RouteResponse{Decision: provisional}), // a router must not
		)
	}
	reply := h.ask("hats and my invoice")
	if want := "search says hats.\n\nsupport says my invoice.\n\nsearch says hats and my invoice."; reply.GetText() != want {
		t.Errorf("text %q, want %q", reply.GetText(), want)
	}
	ids := map[string]bool{}
	for _, r := range reply.GetResults() {
		ids[r.GetAssignment().GetAssignmentId()] = true
	}
	if len(ids) != 3 {
		t.Errorf("ids %v are not unique", ids)
	}
	if n := reply.GetRouting().GetNotes(); len(n) != 1 || n[0].GetKind() != routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST {
		t.Errorf("notes %v", n)
	}
}

func TestAnAnswerCountsHoweverItsStreamEnds(t *testing.T) {
	h := open(t, nil)
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return errors.Join(say(stream, "Here."), errors.New("bug"))
	}
	if reply := h.ask("search: shoes"); reply.GetText() != "Here." {
		t.Errorf("text %q", reply.GetText())
	}
}
