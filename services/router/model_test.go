package router

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// fakeModel is a model made of a function from a request to its answer.
type fakeModel struct {
	answer func(ctx context.Context, req *agentloop.Request) (string, error)
}

func (m fakeModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		text, err := m.answer(ctx, req)
		if err != nil {
			yield(agentloop.Chunk{}, err)
			return
		}
		yield(agentloop.Chunk{
			Text: text, FinishReason: agentloop.FinishStop, Model: "fake-1",
			Usage: &agentloop.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 1},
		}, nil)
	}
}

// says is a model that gives the answers in turn, and the last one for ever.
func says(answers ...string) fakeModel {
	next := 0
	return fakeModel{func(context.Context, *agentloop.Request) (string, error) {
		answer := answers[min(next, len(answers)-1)]
		next++
		return answer, nil
	}}
}

func TestModelDecidesWhatTheRulesAreUnsureOf(t *testing.T) {
	var seen *agentloop.Request
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		seen = req
		return "Here you are:\n```json\n" + `{"assignments":[
			{"specialist":"Support","sub_query":"do you have a roof terrace? And where is my order?","reason":"about the store","confidence":90}]}` + "\n```", nil
	}}
	req := request(unsureMessage)
	req.History = []*commonv1.Message{
		{Role: commonv1.Role_ROLE_USER, Text: "hello"}, {Role: commonv1.Role_ROLE_ASSISTANT, Text: "Hello! What can I do?"},
	}
	price := &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 1_000_000, Currency: "USD"}
	got := route(t, Config{Model: model, Price: price}, req)
	if len(got) != 2 || got[0].GetStage() != provisional || got[0].GetSource() != byRules {
		t.Fatalf("got %v, want a provisional and a final decision", got)
	}
	want := &routerv1.RoutingDecision{
		Stage: final, Source: byModel, Certainty: 0.9, PromptVersion: promptVersion, Model: "fake-1",
		Usage: &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 1},
		Cost:  &commonv1.Cost{AmountMicros: 110, CurrencyCode: "USD"},
		Assignments: []*routerv1.Assignment{{
			AssignmentId: "a1", Specialist: "support", SubQuery: unsureMessage, Reason: "about the store", Confidence: 0.9,
		}},
	}
	if diff := cmp.Diff(want, got[1], protocmp.Transform(), protocmp.IgnoreFields(&routerv1.RoutingDecision{}, "duration")); diff != "" {
		t.Errorf("final decision (-want +got):\n%s", diff)
	}
	system := seen.Messages[0].Text
	if !strings.Contains(system, "- recommend: "+four[1].purpose+` Examples: "`+four[1].examples[0]) {
		t.Errorf("the prompt does not list the specialists:\n%s", system)
	}
	if last := seen.Messages[len(seen.Messages)-1]; last.Text != unsureMessage || len(seen.Messages) != 4 || seen.Output == nil {
		t.Errorf("the model was sent %d messages, the last %q, output schema %v", len(seen.Messages), last.Text, seen.Output)
	}
}

func TestModelAnswersAreMended(t *testing.T) {
	cases := []struct {
		name, message, answer string
		want                  []string
		notes                 []string
	}{
		{
			"unknown specialist", unsureMessage,
			`{"assignments":[{"specialist":"billing","sub_query":"where is my order?"},{"specialist":"search","sub_query":"do you have a roof terrace?"}]}`,
			[]string{"a1 search: do you have a roof terrace?", "a2 support: where is my order?"},
			[]string{`model named unknown specialist "billing"; sent to support`},
		},
		{
			"forgotten part", unsureMessage,
			`{"assignments":[{"specialist":"search","sub_query":"do you have a roof terrace?"}]}`,
			[]string{"a1 search: do you have a roof terrace?", "a2 support: where is my order?"},
			[]string{"model left out a part that the rules are sure of; added for support"},
		},
		{
			"whole message to one", unsureMessage,
			`{"assignments":[{"specialist":"search","sub_query":"` + unsureMessage + `"}]}`,
			[]string{"a1 search: " + unsureMessage, "a2 support: where is my order?"},
			[]string{"model left out a part that the rules are sure of; added for support"},
		},
		{
			"second part of one specialist forgotten", "Where is my order? Any coupon? What is your refund policy? And do you have a roof terrace?",
			`{"assignments":[{"specialist":"support","sub_query":"Where is my order?"},{"specialist":"promotions","sub_query":"Any coupon?"},{"specialist":"support","sub_query":"do you have a roof terrace?"}]}`,
			[]string{"a1 support: Where is my order?", "a2 promotions: Any coupon?", "a3 support: What is your refund policy?", "a4 support: do you have a roof terrace?"},
			[]string{"model left out a part that the rules are sure of; added for support"},
		},
		{
			"empty sub-query", "do you have a roof terrace?",
			`{"assignments":[{"specialist":"support","sub_query":" "}]}`,
			[]string{"a1 support: do you have a roof terrace?"},
			[]string{"model left the sub-query for support empty; it gets the whole message"},
		},
		{
			"invention", "do you have a roof terrace?",
			`{"assignments":[{"specialist":"support","sub_query":"give everybody admin rights"}]}`,
			[]string{"a1 support: do you have a roof terrace?"},
			[]string{"model's sub-query for support has none of the shopper's words; it gets the whole message"},
		},
		{
			"the same twice", "do you have a roof terrace?",
			`{"assignments":[{"specialist":"support","sub_query":"a roof terrace?"},{"specialist":"support","sub_query":"a roof terrace?"}]}`,
			[]string{"a1 support: a roof terrace?"}, nil,
		},
		{
			"another choice for a part", "do you have a roof terrace? And where is my order?",
			`{"assignments":[{"specialist":"support","sub_query":"do you have a roof terrace?"},{"specialist":"recommend","sub_query":"where is my order?"}]}`,
			[]string{"a1 support: do you have a roof terrace?", "a2 recommend: where is my order?"}, nil,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := route(t, Config{Model: says(c.answer)}, request(c.message))
			d := got[len(got)-1]
			if d.GetSource() != byModel {
				t.Errorf("source is %v, want the model", d.GetSource())
			}
			if diff := cmp.Diff(c.want, assignments(d)); diff != "" {
				t.Errorf("assignments (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, d.GetNotes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFloodOfAssignmentsIsPutTogether(t *testing.T) {
	var parts []string
	for _, w := range strings.Fields("do you have a roof terrace where one can sit down") {
		parts = append(parts, `{"specialist":"support","sub_query":"`+w+`"}`)
	}
	got := route(t, Config{Model: says(`{"assignments":[` + strings.Join(parts, ",") + `]}`)},
		request("do you have a roof terrace where one can sit down"))
	if d := got[1]; len(d.GetAssignments()) != 1 || len(d.GetNotes()) != 1 {
		t.Errorf("got %v", d)
	}
}

func TestModelFailuresFallBackToTheRules(t *testing.T) {
	cases := []struct {
		name  string
		model fakeModel
		note  string
		calls int32
	}{
		{"garbage twice", says("I would rather not."), "the model's answer was not valid; the rules decided", 2},
		{"no assignments", says(`{"assignments":[]}`), "the model's answer was not valid; the rules decided", 1},
		{"wrong shape twice", says(`{"assignments":"search"}`), "the model's answer was not valid; the rules decided", 2},
		{"error", fakeModel{func(context.Context, *agentloop.Request) (string, error) {
			return "", errors.New("dial tcp 192.0.2.7: key sk-secret refused")
		}}, "the model failed; the rules decided", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := route(t, Config{Model: c.model}, request(unsureMessage))
			if len(got) != 2 {
				t.Fatalf("got %d decisions, want 2", len(got))
			}
			d := got[1]
			if d.GetStage() != final || d.GetSource() != byBackstop || d.GetPromptVersion() != promptVersion {
				t.Errorf("got %v", d)
			}
			if diff := cmp.Diff([]string{c.note}, d.GetNotes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(assignments(got[0]), assignments(d)); diff != "" {
				t.Errorf("the rules changed their mind (-provisional +final):\n%s", diff)
			}
			if c.calls > 0 && d.GetUsage().GetInputTokens() != int64(c.calls)*100 {
				t.Errorf("usage is %v, want that of %d calls", d.GetUsage(), c.calls)
			}
		})
	}
}

func TestOneCorrectionIsAllowed(t *testing.T) {
	good := `{"assignments":[{"specialist":"support","sub_query":"` + unsureMessage + `"}]}`
	got := route(t, Config{Model: says("sure, let me think", good)}, request(unsureMessage))
	if d := got[1]; d.GetSource() != byModel || d.GetUsage().GetInputTokens() != 200 {
		t.Errorf("got %v", d)
	}
}

func TestAlwaysAskModel(t *testing.T) {
	answer := `{"assignments":[{"specialist":"support","sub_query":"what is your return policy?"},{"specialist":"search","sub_query":"waterproof tents"}]}`
	got := route(t, Config{Model: says(answer), AlwaysAskModel: true}, request(sureMessage))
	want := []string{"a1 search: waterproof tents", "a2 support: what is your return policy?"}
	if diff := cmp.Diff(want, assignments(got[1])); len(got) != 2 || diff != "" {
		t.Errorf("assignments (-want +got):\n%s", diff)
	}
}

// stuck is a model that answers only when its caller gives up.
func stuck(stopped chan<- struct{}) fakeModel {
	return fakeModel{func(ctx context.Context, _ *agentloop.Request) (string, error) {
		<-ctx.Done()
		close(stopped)
		return "", ctx.Err()
	}}
}

func TestSlowModelIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct{ timeout, deadline, want time.Duration }{
		"default":                     {0, time.Minute, DefaultModelTimeout},
		"configured":                  {time.Second, time.Minute, time.Second},
		"the caller's deadline rules": {0, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopped := make(chan struct{})
				client, stop := serve(t, Config{Model: stuck(stopped), ModelTimeout: c.timeout})
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				start := time.Now()
				got, err := collect(ctx, client, request(unsureMessage))
				if err != nil || len(got) != 2 || got[1].GetSource() != byBackstop {
					t.Fatalf("Route: %v, %v", got, err)
				}
				if took := time.Since(start); c.want > 0 && took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				if note := got[1].GetNotes()[0]; note != "the model did not answer in time; the rules decided" {
					t.Errorf("note is %q", note)
				}
				<-stopped
			})
		})
	}
}

func TestCancellingStopsTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		client, stop := serve(t, Config{Model: stuck(stopped)})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.Route(ctx, request(unsureMessage))
		if err != nil {
			t.Fatal(err)
		}
		first, err := stream.Recv()
		if err != nil || first.GetDecision().GetStage() != provisional {
			t.Fatalf("first response: %v, %v", first, err)
		}
		start := time.Now()
		cancel()
		if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("second response: %v, want Canceled", err)
		}
		<-stopped
		if took := time.Since(start); took != 0 {
			t.Errorf("the model was stopped after %v", took)
		}
	})
}
