package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// guess makes a provisional decision of a message such as "search: shoes | support: returns".
func guess(message string) *routerv1.RoutingDecision {
	d := split(message)
	d.Stage = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
	return d
}

// thinks is a router that guesses at once and decides after a second.
func thinks(guessed, decided *routerv1.RoutingDecision) func(*routerv1.RouteRequest, routeStream) error {
	return func(_ *routerv1.RouteRequest, stream routeStream) error {
		if err := stream.Send(&routerv1.RouteResponse{Decision: guessed}); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		return stream.Send(&routerv1.RouteResponse{Decision: decided})
	}
}

// takes answers after a while, with a tool call before and word of the tokens.
func takes(d time.Duration) func(*specialistv1.AnswerRequest, answerStream) error {
	return func(req *specialistv1.AnswerRequest, stream answerStream) error {
		call := &specialistv1.ToolCall{ToolCallId: "c1", ToolName: "look"}
		for _, ev := range []*specialistv1.AnswerResponse{
			{Event: &specialistv1.AnswerResponse_UsageUpdate{UsageUpdate: &specialistv1.UsageUpdate{Usage: &commonv1.Usage{InputTokens: 70, OutputTokens: 30}}}},
			{Event: &specialistv1.AnswerResponse_ToolCallStarted{ToolCallStarted: &specialistv1.ToolCallStarted{ToolCallId: "c1"}}},
			{Event: &specialistv1.AnswerResponse_ToolCallFinished{ToolCallFinished: &specialistv1.ToolCallFinished{ToolCall: call}}},
		} {
			if err := stream.Send(ev); err != nil {
				return err
			}
		}
		select {
		case <-time.After(d):
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		return sayAnswer(stream, &specialistv1.Answer{
			Text: "About " + req.GetSubQuery() + ".", Confidence: 0.9, ToolCalls: []*specialistv1.ToolCall{call},
			Usage: &commonv1.Usage{InputTokens: 300, OutputTokens: 100, ModelCalls: 2},
		})
	}
}

func TestConfirmedBranchesHaveStartedBeforeTheRoutingIsFinal(t *testing.T) {
	const both = "search: shoes | support: returns"
	other := split(both)
	other.Assignments[1].AssignmentId, other.Assignments[1].SubQuery = "a3", "refunds"
	doubtful := guess(both)
	doubtful.Assignments[1].Confidence = 0.6
	surer := split(both)
	surer.Assignments[0].Confidence = 0.99
	toldWhy := split(both)
	toldWhy.Assignments[0].Reason = "the model says so"
	standIn := split(both)
	standIn.Assignments[0].RemappedFrom = "recommend"
	sure := guess(both)
	sure.Assignments[0].Certain = true
	tests := []struct {
		name             string
		mode             RunAhead
		guessed, decided *routerv1.RoutingDecision
		want             time.Duration // routing takes 1 s, a specialist 2 s
		asked            int
	}{
		{"the guess is right", RunAheadAlways, guess(both), split(both), 2 * time.Second, 2},
		{"only the confidence changes", RunAheadAlways, guess(both), surer, 2 * time.Second, 2},
		{"a part is wrong", RunAheadAlways, guess(both), other, 3 * time.Second, 3},
		{"a part is not wanted", RunAheadAlways, guess(both), split("search: shoes"), 2 * time.Second, 2},
		{"a part is missing", RunAheadAlways, guess("search: shoes"), split(both), 3 * time.Second, 2},
		{"only the reason changes", RunAheadAlways, guess(both), toldWhy, 2 * time.Second, 2},
		{"it would stand in for another", RunAheadAlways, guess(both), standIn, 3 * time.Second, 3},
		{"nothing is right", RunAheadAlways, guess("recommend: hats"), split(both), 3 * time.Second, 3},
		{"what is doubtful waits", RunAheadAlways, doubtful, split(both), 3 * time.Second, 2},
		{"nothing runs ahead", RunAheadOff, guess(both), split(both), 3 * time.Second, 2},
		{"only what is certain runs ahead", RunAheadCertain, sure, split(both), 3 * time.Second, 2},
		{"and that is all that is needed", RunAheadCertain, sure, split("search: shoes"), 2 * time.Second, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.config.RunAhead = tt.mode
				h.router.route = thinks(tt.guessed, tt.decided)
				for _, s := range h.specialists {
					s.answer = takes(2 * time.Second)
				}
				h.start()
				reply, took, err := h.askWithin(time.Minute, "shoes and returns")
				if err != nil || took != tt.want {
					t.Errorf("took %v, want %v: %v", took, tt.want, err)
				}
				for i, r := range reply.GetResults() {
					want := tt.decided.GetAssignments()[i]
					if r.GetAnswer().GetText() != "About "+want.GetSubQuery()+"." || r.GetAssignment().GetConfidence() != want.GetConfidence() {
						t.Errorf("result %v, want the answer to %v", r, want)
					}
				}
				asked := 0
				for _, s := range h.specialists {
					requests, _ := s.calls()
					asked += len(requests)
				}
				if asked != tt.asked {
					t.Errorf("%d specialists were asked, want %d", asked, tt.asked)
				}
			})
		})
	}
}

func TestUnconfirmedBranchesAreCancelledAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("recommend: hats"), split("search: shoes"))
		begun := time.Now()
		stopped := make(chan time.Duration, 1)
		h.specialists["recommend"].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			err := untilGone(req, stream)
			stopped <- time.Since(begun)
			return err
		}
		h.specialists["search"].answer = takes(time.Hour)
		h.start()
		begun = time.Now()
		if _, _, err := h.askWithin(20*time.Second, "shoes"); err == nil {
			t.Error("no error")
		}
		if at := <-stopped; at != time.Second {
			t.Errorf("stopped after %v", at)
		}
	})
}

func TestNoEventsOfABranchBeforeItsAssignmentIsFinal(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("search: shoes | recommend: hats"), split("search: shoes"))
		for _, s := range h.specialists {
			s.answer = takes(time.Millisecond) // it is done long before the route is final
		}
		h.start()
		begun := time.Now()
		var first time.Duration
		events := h.watch(t, &gatewayv1.AskRequest{StoreId: "demo", Message: "shoes"}, func(*gatewayv1.AskStreamResponse) {
			if first == 0 {
				first = time.Since(begun)
			}
		})
		var kinds []string
		for _, ev := range events {
			kinds = append(kinds, kindOf(ev))
		}
		want := []string{"routed", "started a1", "tool started a1", "tool finished a1", "text", "finished a1", "answer"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		text, reply := textOf(events)
		if text != "About shoes." || reply.GetText() != text {
			t.Errorf("deltas %q, answer %q", text, reply.GetText())
		}
		if first != time.Second {
			t.Errorf("the first event came after %v", first)
		}
		if n := reply.GetUsage().GetInputTokens(); n != 300 {
			t.Errorf("%d input tokens: what was not wanted is not part of the reply", n)
		}
	})
}

// watch asks and looks at each event as it comes.
func (h *fixture) watch(t *testing.T, req *gatewayv1.AskRequest, look func(*gatewayv1.AskStreamResponse)) []*gatewayv1.AskStreamResponse {
	t.Helper()
	stream, err := h.client.AskStream(t.Context(), &gatewayv1.AskStreamRequest{Ask: req})
	if err != nil {
		t.Fatal(err)
	}
	var events []*gatewayv1.AskStreamResponse
	for {
		ev, err := stream.Recv()
		if err != nil {
			return events
		}
		look(ev)
		events = append(events, ev)
	}
}

func TestSpeculativeBranchesGoOnWhenTheRouterDies(t *testing.T) {
	for name, end := range map[string]func(routeStream) error{
		"it fails":  func(routeStream) error { time.Sleep(time.Second); return errors.New("bug") },
		"it hangs":  func(s routeStream) error { <-s.Context().Done(); return s.Context().Err() },
		"it leaves": func(routeStream) error { time.Sleep(time.Second); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.router.route = func(_ *routerv1.RouteRequest, s routeStream) error {
					d := guess("search: shoes | billing: my invoice")
					d.Assignments[1].AssignmentId = "a1" // to be mended, both times
					return errors.Join(s.Send(&routerv1.RouteResponse{Decision: d}), end(s))
				}
				for _, s := range h.specialists {
					s.answer = takes(12 * time.Second)
				}
				h.start()
				reply, took, err := h.askWithin(time.Minute, "shoes and an invoice")
				if err != nil || reply.GetText() != "About shoes.\n\nAbout my invoice." || took != 12*time.Second {
					t.Errorf("after %v: %v, %v", took, reply, err)
				}
				if d := reply.GetRouting(); d.GetSource() != routerv1.DecisionSource_DECISION_SOURCE_FALLBACK || len(d.GetNotes()) != 2 {
					t.Errorf("routing %v", d)
				}
			})
		})
	}
}

func TestHeldBackEventsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		const pieces, size = 100, 16 << 10
		var mu sync.Mutex
		sent, decide := 0, make(chan struct{})
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			piece := strings.Repeat("xxxxxxx ", size/8)
			for range pieces {
				if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
					TextDelta: &specialistv1.TextDelta{Text: piece}}}); err != nil {
					return err
				}
				mu.Lock()
				sent++
				mu.Unlock()
			}
			return stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{
				Answer: &specialistv1.Answer{Text: strings.Repeat(piece, pieces), Confidence: 0.9}}})
		}
		h.router.route = func(_ *routerv1.RouteRequest, s routeStream) error {
			if err := s.Send(&routerv1.RouteResponse{Decision: guess("search: x")}); err != nil {
				return err
			}
			<-decide
			return s.Send(&routerv1.RouteResponse{Decision: split("search: x")})
		}
		h.start()
		go func() {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if max := (64<<10 + 256<<10) / size; sent > max { // what is held, and what the transport takes in
				t.Errorf("%d pieces were taken in, want at most %d", sent, max)
			}
			close(decide)
		}()
		if reply := h.ask("x"); len(reply.GetText()) != pieces*size {
			t.Errorf("%d bytes of text, want all %d", len(reply.GetText()), pieces*size)
		}
	})
}

func TestPanicInASpeculativeBranchFailsThatBranchOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.config.Specialists = []Peer{{Name: "support", Client: panicking{}}}
		h.router.route = thinks(guess("search: shoes | support: returns"), split("search: shoes | support: returns"))
		h.start()
		reply := h.ask("shoes and returns")
		if f := reply.GetResults()[1].GetFailure(); f.GetCode() != "INTERNAL" || !strings.HasPrefix(reply.GetText(), "search says shoes.") {
			t.Errorf("reply %v", reply)
		}
	})
}

func TestAssignmentsGetUniqueIDs(t *testing.T) {
	for _, ids := range [][]string{{"", ""}, {"a", "a"}, {"gateway-2", "gateway-2"}, {"", "gateway-1", "gateway-1", "x"}} {
		d := &routerv1.RoutingDecision{}
		for _, id := range ids {
			d.Assignments = append(d.Assignments, &routerv1.Assignment{AssignmentId: id, Specialist: "search"})
		}
		sanitize(d, []*specialistv1.Specialist{{Name: "search"}}, "hello")
		seen := map[string]bool{}
		for _, a := range d.GetAssignments() {
			if a.GetAssignmentId() == "" || seen[a.GetAssignmentId()] {
				t.Errorf("%q become %v", ids, fmt.Sprint(d.GetAssignments()))
			}
			seen[a.GetAssignmentId()] = true
		}
	}
}

func TestSpeculationIsCountedAndPausesWhenItIsWasted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	spans, tracers := tracetest.NewSpanRecorder(), otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(tracers) })
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("search: shoes | recommend: hats | promotions: codes"), split("search: shoes"))
		for _, s := range h.specialists {
			s.answer = takes(10 * time.Second)
		}
		h.start()
		h.ask("shoes")
		want := map[string]int64{"branches confirmed": 1, "branches canceled": 2, "wasted": 200, "active": 1}
		if diff := cmp.Diff(want, speculationMetrics(t, reader)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		if got := wastedOf(spans.Ended()); got != 200 {
			t.Errorf("the turn's span tells of %d wasted tokens", got)
		}
		for turns := 1; speculationMetrics(t, reader)["active"] != 0; turns++ {
			if h.ask("shoes"); turns > 100 {
				t.Fatal("speculation does not pause though two thirds of it are wasted")
			}
		}
		requests, _ := h.specialists["recommend"].calls()
		h.ask("shoes")
		if again, _ := h.specialists["recommend"].calls(); len(again) != len(requests) || len(again) != 14 {
			t.Errorf("%d guesses were started, and then %d", len(requests), len(again))
		}
	})
}

// wastedOf is what the span of a turn says was wasted.
func wastedOf(spans []sdktrace.ReadOnlySpan) int64 {
	for _, s := range spans {
		for _, kv := range s.Attributes() {
			if kv.Key == telemetry.KeyRunAheadWasted {
				return kv.Value.AsInt64()
			}
		}
	}
	return -1
}

// speculationMetrics reads what was counted of running ahead.
func speculationMetrics(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch m.Name {
			case telemetry.MetricRunAheadBranches:
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					outcome, _ := p.Attributes.Value(telemetry.KeyRunAheadOutcome)
					got["branches "+outcome.AsString()] = p.Value
				}
			case telemetry.MetricRunAheadWasted:
				got["wasted"] = m.Data.(metricdata.Sum[int64]).DataPoints[0].Value
			case telemetry.MetricRunAheadActive:
				got["active"] = m.Data.(metricdata.Gauge[int64]).DataPoints[0].Value
			}
		}
	}
	return got
}
