package router

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

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

func TestModelDecidesWhatTheClassifierIsNotCertainOf(t *testing.T) {
	var seen *agentloop.Request
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		seen = req
		return "Here you are:\n```json\n" + `{"assignments":[
			{"specialist":"Support","sub_query":"where is my order, and does a roof terrace exist?","reason":"about the store","confidence":90}]}` + "\n```", nil
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
		Stage: final, Source: byModel, Certainty: 0.9, PromptVersion: builtIn.GetVersion(), Model: "fake-1",
		Usage:      &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 1},
		Cost:       &commonv1.Cost{AmountMicros: 110, CurrencyCode: "USD"},
		ModelCalls: []*commonv1.ModelCall{{Usage: &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 1}}},
		Assignments: []*routerv1.Assignment{{
			AssignmentId: "a3", Specialist: "support", SubQuery: "where is my order, and does a roof terrace exist?", Reason: "about the store", Confidence: 0.9,
		}},
	}
	if diff := cmp.Diff(want, got[1], protocmp.Transform(), protocmp.IgnoreFields(&routerv1.RoutingDecision{}, "duration"), protocmp.IgnoreFields(&commonv1.ModelCall{}, "duration")); diff != "" {
		t.Errorf("final decision (-want +got):\n%s", diff)
	}
	system := seen.Messages[0].Text
	if !strings.Contains(system, "- recommend: "+four[1].GetPurpose()+` Examples: "`+four[1].GetExamples()[0]) {
		t.Errorf("the prompt does not list the specialists:\n%s", system)
	}
	if last := seen.Messages[len(seen.Messages)-1]; last.Text != unsureMessage || len(seen.Messages) != 4 {
		t.Errorf("the model was sent %d messages, the last %q", len(seen.Messages), last.Text)
	}
	if !seen.NoReasoning || *seen.Temperature != 0 || seen.MaxOutputTokens != maxOutputTokens {
		t.Errorf("the model was asked with reasoning, or with other limits: %+v", seen)
	}
	if schema := string(seen.Output.Schema); !json.Valid(seen.Output.Schema) || !strings.Contains(schema, `"enum":["search","recommend","promotions","support"]`) {
		t.Errorf("the schema does not name the specialists that there are: %s", schema)
	}
}

const notValid = "MODEL_FAILED: the model's answer was not valid; the classifier decided"

func TestModelFailuresFallBackToTheClassifier(t *testing.T) {
	cases := []struct {
		name  string
		model fakeModel
		note  string
		calls int32
	}{
		{"prose twice", says("I would rather not."), notValid, 2},
		{"half a JSON twice", says(`{"assignments":[{"specialist":"support","sub_query":"where`), notValid, 2},
		{"no assignments twice", says(`{"assignments":[]}`), notValid, 2},
		{"wrong shape twice", says(`{"assignments":"search"}`), notValid, 2},
		{"a list of nothing twice", says(`{"assignments":[null]}`), notValid, 2},
		{"silence", says(""), "MODEL_FAILED: the model gave no answer; the classifier decided", 2},
		{"error", fakeModel{func(context.Context, *agentloop.Request) (string, error) {
			return "", errors.New("dial tcp 192.0.2.7: key sk-secret refused")
		}}, "MODEL_FAILED: the model failed; the classifier decided", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := route(t, Config{Model: c.model}, request(unsureMessage))
			if len(got) != 2 {
				t.Fatalf("got %d decisions, want 2", len(got))
			}
			d := got[1]
			if d.GetStage() != final || d.GetSource() != byFallback || d.GetPromptVersion() != builtIn.GetVersion() {
				t.Errorf("got %v", d)
			}
			if diff := cmp.Diff([]string{c.note}, notes(d)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(assignments(got[0]), assignments(d)); diff != "" {
				t.Errorf("the classifier changed its mind (-provisional +final):\n%s", diff)
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
	if d := got[1]; d.GetSource() != byModel || d.GetUsage().GetInputTokens() != 200 || d.GetUsage().GetModelCalls() != 2 {
		t.Errorf("got %v", d)
	}
	if got := notes(got[1]); len(got) == 0 || got[0] != "REPAIRED: the model's first answer was not valid; it was asked again" {
		t.Errorf("notes %q", got)
	}
}

func TestAlwaysAskModel(t *testing.T) {
	answer := `{"assignments":[{"specialist":"support","sub_query":"what is your return policy?"},{"specialist":"search","sub_query":"waterproof tents"}]}`
	got := route(t, Config{Model: says(answer), AlwaysAskModel: true}, request(sureMessage))
	want := []string{"a1 search: Do you have waterproof tents", "a2 support: what is your return policy?"}
	if diff := cmp.Diff(want, assignments(got[1])); len(got) != 2 || diff != "" {
		t.Errorf("assignments (-want +got):\n%s", diff)
	}
}

// stuck is a model that says so much and then nothing until its caller gives up.
type stuck struct {
	says    string
	stopped chan<- struct{}
}

func (m stuck) Generate(ctx context.Context, _ *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		defer close(m.stopped)
		if m.says != "" && !yield(agentloop.Chunk{Text: m.says, Model: "fake-1"}, nil) {
			return
		}
		<-ctx.Done()
		yield(agentloop.Chunk{}, ctx.Err())
	}
}

func TestSlowModelIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		says                    string
		timeout, deadline, want time.Duration
	}{
		"default":                     {"", 0, time.Minute, DefaultModelTimeout},
		"configured":                  {"", time.Second, time.Minute, time.Second},
		"the caller's deadline rules": {"", 0, time.Second, 0},
		"it hangs in mid-answer":      {`{"assignments":[{"specialist":"search","sub_`, 0, time.Minute, DefaultModelTimeout},
		"it does not end its answer":  {`{"assignments":[{"specialist":"search","sub_query":"order"}]}`, 0, time.Minute, DefaultModelTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopped := make(chan struct{})
				client, stop := serve(t, Config{Model: stuck{c.says, stopped}, ModelTimeout: c.timeout})
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				start := time.Now()
				got, err := collect(ctx, client, request(unsureMessage))
				if err != nil || len(got) != 2 || got[1].GetSource() != byFallback {
					t.Fatalf("Route: %v, %v", got, err)
				}
				if took := time.Since(start); c.want > 0 && took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				if note := notes(got[1])[0]; note != "TIMED_OUT: the model did not answer in time; the classifier decided" {
					t.Errorf("note is %q", note)
				}
				if diff := cmp.Diff(assignments(got[0]), assignments(got[1])); diff != "" {
					t.Errorf("the classifier changed its mind (-provisional +final):\n%s", diff)
				}
				<-stopped
			})
		})
	}
}

func TestCancellingStopsTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		client, stop := serve(t, Config{Model: stuck{stopped: stopped}})
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

// Providers cache what prompts begin with, so the conversation comes after what is the same for all.
func TestThePromptTellsTheConversationAfterItsFixedPart(t *testing.T) {
	var system string
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		system = req.Messages[0].Text
		return given("support", unsureMessage), nil
	}}
	req := request(unsureMessage)
	req.Summary, req.SignedIn, req.Date, req.TimeZone = "Asked for\nboots.", true, "2026-11-22", "Europe/Berlin"
	req.ShownProducts = []*specialistv1.ProductChoice{{Title: "Boot one"}, {Title: "Boot\ntwo"}}
	route(t, Config{Model: model}, req)
	set, _ := newSpecialistCache().build(four)
	rest, ok := strings.CutPrefix(system, strings.TrimSpace(promptText)+"\n"+answerForm+set.lines(nil))
	want := "\nToday is Sunday, 22 November 2026 (Europe/Berlin). The shopper is signed in.\nSaid before: \"Asked for boots.\"\n" +
		"Products last shown:\n1. \"Boot one\"\n2. \"Boot two\"\n"
	if !ok || rest != want {
		t.Errorf("after the fixed part: %q, want %q", rest, want)
	}
}

func TestAPromptOfTheStoreStandsInForTheBuiltInOne(t *testing.T) {
	var system string
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		system = req.Messages[0].Text
		return given("support", unsureMessage), nil
	}}
	req := request(unsureMessage)
	req.Prompt = &specialistv1.Prompt{Version: "v7", Text: "Split it boldly.", Model: "large"}
	none := fakeModel{func(context.Context, *agentloop.Request) (string, error) {
		return "", errors.New("the own model was asked")
	}}
	decisions := route(t, Config{Model: none, NamedModel: func(string) (agentloop.Model, *agentloop.Price, error) { return model, nil, nil }}, req)
	if d := decisions[len(decisions)-1]; d.GetPromptVersion() != "v7" || d.GetSource() != byModel {
		t.Errorf("the decision is %v", d)
	}
	if !strings.HasPrefix(system, "Split it boldly.\n\nAnswer with one JSON object:") || !strings.Contains(system, "- support: ") {
		t.Errorf("the model is told %q", system)
	}
}
