package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/load"
)

// slowTurn streams its events with 7.1 seconds before each.
type slowTurn struct {
	gatewayv1.GatewayServiceClient
	grpc.ServerStreamingClient[gatewayv1.AskStreamResponse]
	events []*gatewayv1.AskStreamResponse
}

func (s *slowTurn) AskStream(context.Context, *gatewayv1.AskStreamRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[gatewayv1.AskStreamResponse], error) {
	return s, nil
}

func (s *slowTurn) Recv() (*gatewayv1.AskStreamResponse, error) {
	time.Sleep(7100 * time.Millisecond)
	if len(s.events) == 0 {
		return nil, io.EOF
	}
	ev := s.events[0]
	s.events = s.events[1:]
	return ev, nil
}

func slowEvents() []*gatewayv1.AskStreamResponse {
	a := &routerv1.Assignment{AssignmentId: "a1", Specialist: "search"}
	return []*gatewayv1.AskStreamResponse{
		{Event: &gatewayv1.AskStreamResponse_Routed{Routed: &gatewayv1.Routed{}}},
		{Event: &gatewayv1.AskStreamResponse_AgentStarted{AgentStarted: &gatewayv1.AgentStarted{Assignment: a}}},
		{Event: &gatewayv1.AskStreamResponse_ToolCallStarted{ToolCallStarted: &gatewayv1.AgentToolCallStarted{
			AssignmentId: "a1", Specialist: "search", ToolCall: &specialistv1.ToolCallStarted{ToolName: "search_catalog"},
		}}},
		{Event: &gatewayv1.AskStreamResponse_AgentFinished{AgentFinished: &gatewayv1.AgentFinished{Result: &gatewayv1.AssignmentResult{Assignment: a}}}},
		{Event: &gatewayv1.AskStreamResponse_TextDelta{TextDelta: &specialistv1.TextDelta{Text: "Three tents."}}},
	}
}

func TestASlowTurnShowsWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if _, err := stream(t.Context(), &slowTurn{events: slowEvents()}, nil, newPrinter(&out, 0)); err != nil {
			t.Fatal(err)
		}
		want := "waiting for the route 5 s\nwaiting for the reply 10 s\nwaiting for search: model 1 s\nwaiting for search: model 6 s\n" +
			"waiting for search: search_catalog 4 s\nwaiting for the reply 30 s\nwaiting for the reply 35 s\n\nThree tents."
		if got := out.String(); !strings.HasPrefix(got, want) || strings.Count(got, "waiting") != 7 {
			t.Errorf("prints:\n%q\nwant:\n%q", got, want)
		}
	})
}

// On a terminal the line is drawn again, and erased before anything else is printed.
func TestTheLineOfATerminalIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if _, err := stream(t.Context(), &slowTurn{events: slowEvents()}, nil, newPrinter(&out, 40)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, "search: search_catalog 3 s") || strings.Contains(got, "\n\x1b[2m") ||
			!strings.HasPrefix(got[strings.LastIndex(got, "\r\x1b[K"):], "\r\x1b[K\nThree") {
			t.Errorf("prints:\n%q", got)
		}
	})
}

// While a large file is loaded, a line says how far it is.
func TestLoadTellsItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		l := &load.Load{DryRun: true}
		stop := tellProgress(l, dataFile{path: "cart_settings.jsonl", kind: "cart_settings"}, environment{err: &told})
		time.Sleep(6 * time.Second)
		if _, err := l.File(t.Context(), "cart_settings", strings.NewReader("{}\n{}")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		stop()
		if want := "cart_settings.jsonl: 0 cart_settings read, 5 s\ncart_settings.jsonl: 2 cart_settings read, 10 s\n"; told.String() != want {
			t.Errorf("told %q, want %q", told.String(), want)
		}
	})
}
