package gateway

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestUsageOfRecordedTurns(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	now := time.Date(2026, 11, 22, 23, 59, 0, 0, time.UTC)
	h.config.Now = func() time.Time { return now }
	h.start()
	reports := gatewayv1.NewUsageServiceClient(h.dial("gateway"))
	used := &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 2}
	calls := []*commonv1.ModelCall{{Usage: &commonv1.Usage{InputTokens: 60, ModelCalls: 1}}, {Usage: &commonv1.Usage{InputTokens: 40, OutputTokens: 10, ModelCalls: 1}}}
	priced := &specialistv1.Answer{Text: "Here.", Model: "small", Usage: used, ModelCalls: calls, Cost: &commonv1.Cost{AmountMicros: 7, CurrencyCode: "USD"}}
	unpriced := &specialistv1.Answer{Text: "There.", Model: "large", Usage: used}
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, priced) }
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, unpriced) }
	ask := func(req *gatewayv1.AskRequest) *gatewayv1.AskResponse {
		t.Helper()
		req.StoreId = "demo"
		reply, err := h.client.Ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	first := ask(&gatewayv1.AskRequest{Message: "search: a"})
	now = now.Add(2 * time.Minute)
	for range 3 { // one turn
		ask(&gatewayv1.AskRequest{Message: "search: b | support: c", RequestId: "r1"})
	}
	ask(&gatewayv1.AskRequest{Message: "search: d | search: e"})
	if _, err := h.client.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{
		StoreId: "demo", TurnId: first.GetTurnId(), Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_HELPFUL},
	}); err != nil {
		t.Fatal(err)
	}

	sum := func(n int64) *commonv1.Usage {
		return &commonv1.Usage{InputTokens: 100 * n, OutputTokens: 10 * n, ModelCalls: 2 * int32(n)}
	}
	usd := func(micros int64) []*commonv1.Cost {
		return []*commonv1.Cost{{AmountMicros: micros, CurrencyCode: "USD"}}
	}
	for _, tt := range []struct {
		name   string
		req    *gatewayv1.QueryUsageRequest
		expect []*gatewayv1.UsageSum
	}{
		{"all", &gatewayv1.QueryUsageRequest{}, []*gatewayv1.UsageSum{{Turns: 3, Handoffs: 3, GoodRatings: 1, Usage: sum(5), Costs: usd(28), UnpricedModelCalls: 2}}},
		{"by day and agent", &gatewayv1.QueryUsageRequest{Groups: []gatewayv1.UsageGroup{
			gatewayv1.UsageGroup_USAGE_GROUP_AGENT, gatewayv1.UsageGroup_USAGE_GROUP_DAY,
		}}, []*gatewayv1.UsageSum{
			{Day: "2026-11-22", Agent: "search", Turns: 1, Handoffs: 1, GoodRatings: 1, Usage: sum(1), Costs: usd(7)},
			{Day: "2026-11-23", Agent: "search", Turns: 2, Handoffs: 2, Usage: sum(3), Costs: usd(21)},
			{Day: "2026-11-23", Agent: "support", Turns: 1, Handoffs: 1, Usage: sum(1), UnpricedModelCalls: 2},
		}},
		{"by model, of the first day", &gatewayv1.QueryUsageRequest{
			EndTime: timestamppb.New(now.Add(-time.Minute)), Groups: []gatewayv1.UsageGroup{gatewayv1.UsageGroup_USAGE_GROUP_MODEL},
		}, []*gatewayv1.UsageSum{{Model: "small", Turns: 1, Handoffs: 1, GoodRatings: 1, Usage: sum(1), Costs: usd(7)}}},
		{"by thread and turn, of the first day", &gatewayv1.QueryUsageRequest{
			EndTime: timestamppb.New(now.Add(-time.Minute)), Groups: []gatewayv1.UsageGroup{gatewayv1.UsageGroup_USAGE_GROUP_THREAD, gatewayv1.UsageGroup_USAGE_GROUP_TURN},
		}, []*gatewayv1.UsageSum{{ThreadId: first.GetThreadId(), TurnId: first.GetTurnId(), Turns: 1, Handoffs: 1, GoodRatings: 1, Usage: sum(1), Costs: usd(7)}}},
		{"of no time", &gatewayv1.QueryUsageRequest{StartTime: timestamppb.New(now.Add(time.Hour))}, nil},
	} {
		tt.req.StoreId = "demo"
		resp, err := reports.QueryUsage(t.Context(), tt.req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.expect, resp.GetSums(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	stream, err := reports.StreamUsage(t.Context(), &gatewayv1.StreamUsageRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	var parts []*gatewayv1.StreamUsageResponse
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if last := parts[len(parts)-1]; len(parts) != 5 || last.GetTurnId() != first.GetTurnId() || last.GetAgent() != "search" || last.GetCost().GetAmountMicros() != 7 || len(last.GetModelCalls()) != 2 {
		t.Errorf("%d parts, the last is %v", len(parts), last)
	}
	_, err = reports.QueryUsage(t.Context(), &gatewayv1.QueryUsageRequest{StoreId: "/", Groups: []gatewayv1.UsageGroup{1, 1, 9}})
	if diff := cmp.Diff([]string{"store_id", "groups[1]", "groups[2]"}, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
}

func TestUnansweredQuestions(t *testing.T) {
	h := open(t, nil)
	reports := gatewayv1.NewUsageServiceClient(h.dial("gateway"))
	h.specialists["search"].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
		a := &specialistv1.Answer{Text: "None.", Evidence: &specialistv1.Evidence{Empty: 1}}
		if req.GetSubQuery() == "a lamp" {
			a.Evidence.Found = 1
		}
		return sayAnswer(stream, a)
	}
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return status.Error(codes.Internal, "broken") }
	for _, message := range []string{"search: do you have kayaks?", "search: a lamp", "search: have you a kayak", "search: paddles | support: hours", "search: Kayaks!"} {
		h.ask(message)
	}
	resp, err := reports.ListUnansweredQuestions(t.Context(), &gatewayv1.ListUnansweredQuestionsRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range resp.GetQuestions() {
		if int64(len(q.GetTurnIds())) != q.GetCount() {
			t.Errorf("%d turns of %d: %v", len(q.GetTurnIds()), q.GetCount(), q)
		}
		q.TurnIds = nil
	}
	want := []*gatewayv1.UnansweredQuestion{
		{Question: "Kayaks!", Count: 3, Specialist: "search"}, {Question: "paddles", Count: 1, Specialist: "search"},
		{Question: "hours", Count: 1, Specialist: "support", FailureCode: "INTERNAL"},
	}
	if diff := cmp.Diff(want, resp.GetQuestions(), protocmp.Transform()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}
