package routing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type routes = grpc.ServerStreamingServer[routerv1.RouteResponse]

// routerFunc is a Router that is one function.
type routerFunc func(*routerv1.RouteRequest, routes) error

func (f routerFunc) Route(req *routerv1.RouteRequest, stream routes) error { return f(req, stream) }

// decision sends to the specialists that text names.
func decision(stage routerv1.DecisionStage, text string) *routerv1.RouteResponse {
	d := &routerv1.RoutingDecision{
		Stage: stage, Source: routerv1.DecisionSource_DECISION_SOURCE_MODEL, Certainty: 0.5,
		Notes: []*routerv1.DecisionNote{{Text: "seen"}}, Duration: durationpb.New(time.Millisecond),
	}
	for name := range strings.FieldsSeq(text) {
		d.Assignments = append(d.Assignments, &routerv1.Assignment{Specialist: name, SubQuery: "for " + name})
	}
	return &routerv1.RouteResponse{Decision: d}
}

const (
	provisional = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
	final       = routerv1.DecisionStage_DECISION_STAGE_FINAL
)

// run routes messages of these texts.
func run(ctx context.Context, cfg Config, texts ...string) ([]Outcome, error) {
	cfg.Specialists = []*specialistv1.Specialist{{Name: "search"}, {Name: "support"}}
	var messages []Message
	for i, text := range texts {
		messages = append(messages, Message{Line: i + 1, ID: fmt.Sprint("m", i+1), Text: text})
	}
	return Run(ctx, cfg, messages)
}

func TestRunKeepsTheFinalDecision(t *testing.T) {
	router := routerFunc(func(req *routerv1.RouteRequest, stream routes) error {
		if len(req.GetSpecialists()) != 2 || req.GetHistory()[0].GetText() != "earlier" {
			t.Errorf("request is %v", req)
		}
		if err := stream.Send(decision(provisional, "promotions")); err != nil {
			return err
		}
		return stream.Send(decision(final, req.GetMessage()))
	})
	m := Message{Text: "support search support", History: []*commonv1.Message{{Text: "earlier"}}}
	got, err := Run(t.Context(), Config{Router: router, Specialists: make([]*specialistv1.Specialist, 2)}, []Message{m})
	if err != nil {
		t.Fatal(err)
	}
	want := Outcome{
		Got: []string{"search", "support"}, SubQueries: []string{"for support", "for search", "for support"}, Certainty: 0.5, Source: routerv1.DecisionSource_DECISION_SOURCE_MODEL,
		Notes: []string{"seen"}, Duration: time.Millisecond,
	}
	got[0].Message = Message{}
	if diff := cmp.Diff([]Outcome{want}, got); diff != "" {
		t.Error(diff)
	}
}

// The first message is decided last, and is the first outcome all the same.
func TestRunKeepsTheOrderAndTheBoundOfParallelMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		delays := map[string]time.Duration{"search": 3 * time.Second, "support": time.Second, "promotions": time.Second}
		router := routerFunc(func(req *routerv1.RouteRequest, stream routes) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(delays[req.GetMessage()])
			return stream.Send(decision(final, req.GetMessage()))
		})
		var progress []int
		cfg := Config{Router: router, Parallel: 2, Progress: func(n int) { progress = append(progress, n) }}
		got, err := run(t.Context(), cfg, "search", "support", "promotions")
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"search", "support", "promotions"} {
			if got[i].Got[0] != want {
				t.Errorf("outcome %d is %v, want %s", i, got[i].Got, want)
			}
		}
		if diff := cmp.Diff([]int{1, 2, 3}, progress); diff != "" {
			t.Error(diff)
		}
		if most.Load() != 2 {
			t.Errorf("%d messages were with the router at a time, want 2", most.Load())
		}
	})
}

func TestRunEndsWhenTheRouterFails(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name   string
		router routerFunc
		want   string
	}{
		{"an error", func(*routerv1.RouteRequest, routes) error { return broken },
			`0 of 2 messages were routed: line 1, id "m1": route: broken`},
		{"no decision", func(*routerv1.RouteRequest, routes) error { return nil },
			`0 of 2 messages were routed: line 1, id "m1": route: the router sent no final decision`},
		{"no final decision", func(_ *routerv1.RouteRequest, s routes) error { return s.Send(decision(provisional, "search")) },
			`0 of 2 messages were routed: line 1, id "m1": route: the router sent no final decision`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := run(t.Context(), Config{Router: tt.router}, "search", "support"); err == nil || err.Error() != tt.want {
				t.Errorf("error is %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	router := routerFunc(func(req *routerv1.RouteRequest, stream routes) error {
		if req.GetMessage() == "support" {
			cancel()
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		return stream.Send(decision(final, req.GetMessage()))
	})
	_, err := run(ctx, Config{Router: router}, "search", "support", "search")
	if !errors.Is(err, context.Canceled) || err.Error() != "1 of 3 messages were routed: context canceled" {
		t.Errorf("error is %v", err)
	}
}

func TestRunRefusesAConfigThatMakesNoSense(t *testing.T) {
	router := routerFunc(func(*routerv1.RouteRequest, routes) error { return nil })
	one := []*specialistv1.Specialist{{Name: "search"}}
	for name, cfg := range map[string]Config{
		"no router":         {Specialists: one},
		"no specialists":    {Router: router},
		"negative parallel": {Router: router, Specialists: one, Parallel: -1},
	} {
		if _, err := Run(t.Context(), cfg, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
