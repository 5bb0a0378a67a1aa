package e2e

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

func TestRedisGoesAndComesBackWithoutARestart(t *testing.T) {
	server := miniredis.RunT(t)
	h := newSystemOn(t, "redis://"+server.Addr())
	h.ask(t, "where is my order?")
	server.Close()
	_, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "where is my order?"})
	st := status.Convert(err)
	if st.Code() != codes.Unavailable {
		t.Fatalf("without Redis, Ask: %v; want UNAVAILABLE", err)
	}
	var reason string
	retry := false
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		case *errdetails.RetryInfo:
			retry = d.GetRetryDelay().AsDuration() > 0
		}
	}
	if reason != "STATE_UNAVAILABLE" || !retry {
		t.Errorf("reason %q, RetryInfo %v", reason, retry)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	h.ask(t, "where is my order?")
}

func TestACallerThatLeavesMidTurn(t *testing.T) {
	h := newSystem(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream, err := h.gateway.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{StoreId: "demo", Message: twoParts}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	leave()
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("after leaving: %v", err)
	}
	// TestMain finds what goes on running; the system must also still answer.
	h.ask(t, "hi!")
}

func TestStreamedTextAddsUpToTheAnswer(t *testing.T) {
	h := newSystem(t)
	for _, message := range []string{"hi!", twoParts, "any discount I could use?"} {
		stream, err := h.gateway.AskStream(t.Context(), &gatewayv1.AskStreamRequest{
			Ask: &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: message}})
		if err != nil {
			t.Fatal(err)
		}
		var text string
		var answer *gatewayv1.AskResponse
		for {
			ev, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if answer != nil {
				t.Errorf("%q: an event after the answer: %v", message, ev)
			}
			text += ev.GetTextDelta().GetText()
			answer = ev.GetAnswer()
		}
		if answer == nil || answer.GetText() != text || text == "" {
			t.Errorf("%q: deltas add up to %q, the answer is %q", message, text, answer.GetText())
		}
	}
}

func TestAThreadContinues(t *testing.T) {
	h := newSystem(t)
	first := h.ask(t, "hi!")
	second, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", CustomerId: "ava", ThreadId: first.GetThreadId(), Message: "where is my order?"})
	if err != nil {
		t.Fatal(err)
	}
	thread, err := h.gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: first.GetThreadId()})
	if err != nil {
		t.Fatal(err)
	}
	if len(thread.GetMessages()) != 4 || thread.GetMessages()[3].GetText() != second.GetText() || len(thread.GetTurnIds()) != 2 {
		t.Errorf("the thread has messages %v and turns %v", thread.GetMessages(), thread.GetTurnIds())
	}
	_, err = h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ben", ThreadId: first.GetThreadId(), Message: "hi!"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("another customer's thread: %v; want NOT_FOUND", err)
	}
}
