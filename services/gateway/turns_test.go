package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// listed returns the messages of all turns that pass a filter, page by page of two.
func listed(t *testing.T, c gatewayv1.TurnServiceClient, f *gatewayv1.TurnFilter) []string {
	t.Helper()
	var messages []string
	req := &gatewayv1.ListTurnsRequest{StoreId: "demo", Filter: f, Limit: 2}
	for {
		resp, err := c.ListTurns(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.GetTurns()) > 2 {
			t.Fatalf("a page of %d turns", len(resp.GetTurns()))
		}
		for _, turn := range resp.GetTurns() {
			messages = append(messages, turn.GetMessage())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return messages
		}
	}
}

// exported is listed for ExportTurns.
func exported(t *testing.T, c gatewayv1.TurnServiceClient, f *gatewayv1.TurnFilter) []string {
	t.Helper()
	stream, err := c.ExportTurns(t.Context(), &gatewayv1.ExportTurnsRequest{StoreId: "demo", Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return messages
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, resp.GetTurn().GetMessage())
	}
}

func TestTurnsOfAStoreAreListed(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	m := h.meter()
	h.start()
	turns := gatewayv1.NewTurnServiceClient(h.dial("gateway"))
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{Text: "Delivery is 5 EUR.", Confidence: 0.3, CheckedClaims: []*specialistv1.Claim{{
			Start: 12, End: 17, Text: "5 EUR", Kind: specialistv1.ClaimKind_CLAIM_KIND_AMOUNT, Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED,
		}}})
	}
	h.specialists["promotions"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return status.Error(codes.Internal, "broken") }
	var replies []*gatewayv1.AskResponse
	var want []string // the newest first
	for i, message := range []string{"search: a", "support: b", "search: c | promotions: d", "search: e"} {
		req := &gatewayv1.AskRequest{StoreId: "demo", Message: message}
		if i == 3 {
			req.CustomerId = "ann"
		}
		reply, err := h.client.Ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		replies, want = append(replies, reply), slices.Insert(want, 0, message)
	}
	_, err := h.client.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{
		StoreId: "demo", TurnId: replies[0].GetTurnId(), Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_NOT_HELPFUL, Reason: "too dear"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		filter *gatewayv1.TurnFilter
		want   []string
	}{
		{"all", nil, want},
		{"specialist", &gatewayv1.TurnFilter{Specialist: "search"}, []string{want[0], want[1], want[3]}},
		{"unanswered", &gatewayv1.TurnFilter{Unanswered: true}, []string{want[1]}},
		{"handoff", &gatewayv1.TurnFilter{Handoff: true}, []string{want[1], want[2]}},
		{"confidence", &gatewayv1.TurnFilter{ConfidenceBelow: 0.1}, []string{want[1]}},
		{"claims", &gatewayv1.TurnFilter{UnsupportedClaims: true}, []string{want[2]}},
		{"rating", &gatewayv1.TurnFilter{Rating: gatewayv1.Rating_RATING_NOT_HELPFUL}, []string{want[3]}},
		{"both", &gatewayv1.TurnFilter{Specialist: "search", Handoff: true}, []string{want[1]}},
		{"from", &gatewayv1.TurnFilter{StartTime: replies[2].GetCreateTime()}, want[:2]},
		{"until", &gatewayv1.TurnFilter{EndTime: replies[2].GetCreateTime()}, want[2:]},
		{"none", &gatewayv1.TurnFilter{Rating: gatewayv1.Rating_RATING_HELPFUL}, nil},
	} {
		if diff := cmp.Diff(tt.want, listed(t, turns, tt.filter)); diff != "" {
			t.Errorf("%s: listed (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.want, exported(t, turns, tt.filter)); diff != "" {
			t.Errorf("%s: exported (-want +got):\n%s", tt.name, diff)
		}
	}
	last, err := turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "demo", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if turn := last.GetTurns()[0]; turn.GetCustomerId() != "ann" || turn.GetReply().GetTurnId() != replies[3].GetTurnId() || turn.GetFeedback() != nil {
		t.Errorf("the last turn is %v", turn)
	}
	if diff := cmp.Diff(map[string]int64{"not_helpful": 1}, m.sums(telemetry.MetricFeedback, telemetry.KeyRating)); diff != "" {
		t.Errorf("metric (-want +got):\n%s", diff)
	}
	_, err = h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: replies[0].GetThreadId()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:3], listed(t, turns, nil)); diff != "" {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
}

func TestFeedbackIsReplaced(t *testing.T) {
	h := open(t, nil)
	turns := gatewayv1.NewTurnServiceClient(h.dial("gateway"))
	id := h.ask("search: a").GetTurnId()
	for _, f := range []*gatewayv1.Feedback{
		{Rating: gatewayv1.Rating_RATING_NOT_HELPFUL, Reason: "wrong size"}, {Rating: gatewayv1.Rating_RATING_HELPFUL, CorrectedAnswer: "We have two."},
	} {
		f.CreateTime = timestamppb.New(timestamppb.Now().AsTime().AddDate(-1, 0, 0)) // the gateway knows better
		resp, err := h.client.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{StoreId: "demo", TurnId: id, Feedback: f})
		if err != nil {
			t.Fatal(err)
		}
		list, err := turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		got := list.GetTurns()[0].GetFeedback()
		if got.GetRating() != f.GetRating() || got.GetReason() != f.GetReason() || got.GetCorrectedAnswer() != f.GetCorrectedAnswer() ||
			!got.GetCreateTime().AsTime().Equal(resp.GetFeedback().GetCreateTime().AsTime()) || got.GetCreateTime().AsTime().Equal(f.GetCreateTime().AsTime()) {
			t.Errorf("feedback is %v after %v", got, f)
		}
	}
}

func TestBadFeedbackAndFiltersAreRefused(t *testing.T) {
	h := open(t, nil)
	turns := gatewayv1.NewTurnServiceClient(h.dial("gateway"))
	_, err := h.client.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{StoreId: "demo", TurnId: "no/id", Feedback: &gatewayv1.Feedback{Rating: 7}})
	if diff := cmp.Diff([]string{"turn_id", "feedback.rating"}, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
	_, err = turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "demo", Limit: 101, PageToken: "?", Filter: &gatewayv1.TurnFilter{
		StartTime: &timestamppb.Timestamp{Nanos: -1}, ConfidenceBelow: 2, Rating: 9, Specialist: "a b",
	}})
	if diff := cmp.Diff([]string{"filter.start_time", "filter.specialist", "filter.confidence_below", "filter.rating", "limit", "page_token"}, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
	_, err = turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "demo", Filter: &gatewayv1.TurnFilter{StartTime: &timestamppb.Timestamp{Seconds: 9}, EndTime: &timestamppb.Timestamp{Seconds: 9}}})
	if diff := cmp.Diff([]string{"filter.end_time"}, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
	// A misspelled store is no store without turns.
	if _, err = turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "dmeo"}); status.Code(err) != codes.NotFound {
		t.Errorf("turns of an unknown store: %v", err)
	}
	if _, err = gatewayv1.NewUsageServiceClient(h.dial("gateway")).QueryUsage(t.Context(), &gatewayv1.QueryUsageRequest{StoreId: "dmeo"}); status.Code(err) != codes.NotFound {
		t.Errorf("usage of an unknown store: %v", err)
	}
	_, err = h.client.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{
		StoreId: "demo", TurnId: "turn_none", Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_HELPFUL},
	})
	if status.Code(err) != codes.NotFound {
		t.Errorf("feedback on an unknown turn: %v", err)
	}
}

// Only the right "threads" shows a store's turns.
func TestTurnsNeedTheRight(t *testing.T) {
	h := open(t, nil)
	h.as(h.service, "reader") // serves it
	name := fmt.Sprintf("gateway-%p", h.service)
	for caller, want := range map[string]codes.Code{"reader": codes.OK, "web": codes.PermissionDenied, "ann": codes.PermissionDenied, "far": codes.PermissionDenied} {
		turns := gatewayv1.NewTurnServiceClient(h.dialAs(name, caller))
		_, err := turns.ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{StoreId: "demo"})
		if status.Code(err) != want {
			t.Errorf("%s: ListTurns: %v", caller, err)
		}
		stream, err := turns.ExportTurns(context.WithoutCancel(t.Context()), &gatewayv1.ExportTurnsRequest{StoreId: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != want && !errors.Is(err, io.EOF) {
			t.Errorf("%s: ExportTurns: %v", caller, err)
		}
	}
}
