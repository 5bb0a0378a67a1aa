package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// Every shopper plants a word of their own in every message. A word that turns up at another shopper's, whether in a
// reply, an event, a history or a thread, has leaked.
func TestNothingOfOneShopperReachesAnother(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Specialists = []Peer{{
		Name: "search", Client: specialistv1.NewSpecialistServiceClient(h.dial("search")), Reads: scope.Reads(), // so that it knows the customer
	}}
	for _, s := range h.specialists {
		s.answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			sc, _ := scope.FromContext(stream.Context())
			return say(stream, fmt.Sprintf("%s: %s for %s in %s after %d", s.name, req.GetSubQuery(), sc.CustomerID, sc.StoreID, len(req.GetHistory())))
		}
	}
	h.start()
	h.putStore("other")
	var wg sync.WaitGroup
	for shopper := range 12 {
		wg.Go(func() {
			store := []string{"demo", "other"}[shopper%2]
			canary, customer := fmt.Sprintf("canary%02d", shopper), fmt.Sprintf("c%02d", shopper)
			for turn := range 3 {
				events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{
					StoreId: store, CustomerId: customer, ThreadId: fmt.Sprintf("t%d", shopper/2),
					Message: fmt.Sprintf("search: %s a | support: %s b | search: %s c", canary, canary, canary),
				})
				if err != nil {
					t.Errorf("%s: %v", customer, err)
					return
				}
				_, reply := textOf(events)
				want := fmt.Sprintf("search: %[1]s a for %[2]s in %[3]s after %[4]d\n\nsupport: %[1]s b for %[2]s in %[3]s after %[4]d\n\n"+
					"search: %[1]s c for %[2]s in %[3]s after %[4]d", canary, customer, store, 2*turn)
				if reply.GetText() != want {
					t.Errorf("%s: text %q, want %q", customer, reply.GetText(), want)
				}
				all := fmt.Sprint(events)
				if strings.Count(all, "canary") != strings.Count(all, canary) {
					t.Errorf("%s: another shopper's words in %s", customer, all)
				}
			}
		})
	}
	wg.Wait()
}

// panicking is a client that panics.
type panicking struct {
	specialistv1.SpecialistServiceClient
}

func (panicking) Describe(context.Context, *specialistv1.DescribeRequest, ...grpc.CallOption) (*specialistv1.DescribeResponse, error) {
	return &specialistv1.DescribeResponse{}, nil
}

func (panicking) Answer(context.Context, *specialistv1.AnswerRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[specialistv1.AnswerResponse], error) {
	panic("kaboom")
}

func TestAPanicInABranchCostsThatBranchOnly(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Specialists = []Peer{{Name: "support", Client: panicking{}}}
	h.start()
	reply := h.ask("search: shoes | support: returns")
	if f := reply.GetResults()[1].GetFailure(); f.GetCode() != "INTERNAL" || strings.Contains(f.GetMessage(), "kaboom") {
		t.Errorf("failure %v", f)
	}
	if !strings.HasPrefix(reply.GetText(), "search says shoes.") {
		t.Errorf("text %q", reply.GetText())
	}
}

func TestATurnIsOneTreeOfSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	h := open(t, nil)
	h.specialists["support"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("bug") }
	reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", ThreadId: "t1", RequestId: "req-1", Message: "search: shoes | support: returns",
	})
	if err != nil {
		t.Fatal(err)
	}

	byName := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		byName[s.Name()] = s
	}
	root := byName["invoke_workflow shopping_turn"]
	if root == nil || root.SpanContext().TraceID().String() != reply.GetTraceId() || root.SpanKind() != trace.SpanKindInternal {
		t.Fatalf("no workflow span of trace %q among %v", reply.GetTraceId(), byName)
	}
	for _, name := range []string{"search", "support"} {
		s := byName["invoke_agent "+name]
		if s == nil || s.Parent().SpanID() != root.SpanContext().SpanID() || s.SpanKind() != trace.SpanKindClient {
			t.Fatalf("span of %s: %v", name, s)
		}
		if got := attributes(s); got[telemetry.KeyAgent] != name || got[telemetry.KeyConversation] != "t1" || got[telemetry.KeyStore] != "demo" {
			t.Errorf("attributes %v", got)
		}
	}
	if got := attributes(byName["invoke_agent support"])[telemetry.KeyErrorType]; got != "INTERNAL" {
		t.Errorf("error type %q", got)
	}
	want := map[string]string{
		telemetry.KeyOperation: "invoke_workflow", telemetry.KeyWorkflow: "shopping_turn", telemetry.KeyConversation: "t1",
		telemetry.KeyStore: "demo", telemetry.KeyRequest: "req-1", telemetry.KeyRoutingSource: "DECISION_SOURCE_RULES",
		telemetry.KeyMergeMethod: "MERGE_METHOD_JOINED", telemetry.KeyTurn: reply.GetTurnId(), telemetry.KeyOutcome: "degraded",
		telemetry.KeyConfidence: "", // a number
	}
	if diff := cmp.Diff(want, attributes(root)); diff != "" {
		t.Errorf("attributes of the turn (-want +got):\n%s", diff)
	}
}

func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.AsString()
	}
	return out
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	good := Config{
		Redis: h.redisClient(), Router: routerv1.NewRouterServiceClient(h.dial("router")), Logger: slog.New(slog.DiscardHandler),
		Signer:      scopetest.Signer(),
		Specialists: []Peer{{Name: "search", Client: specialistv1.NewSpecialistServiceClient(h.dial("search"))}},
	}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"Redis":       func(c *Config) { c.Redis = nil },
		"Router":      func(c *Config) { c.Router = nil },
		"Signer":      func(c *Config) { c.Signer = nil },
		"specialist ": func(c *Config) { c.Specialists = nil },
		"twice":       func(c *Config) { c.Specialists = append(c.Specialists, c.Specialists[0]) },
		"negative":    func(c *Config) { c.ThreadTTL = -1 },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %q", err, want)
		}
	}
}
