package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

func TestTheEventsOfATurnThatFailsEndWithItsError(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("search: shoes"), split("search: shoes"))
		h.specialists["search"].answer = func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("bug") }
		h.start()
		events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "shoes"})
		wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
		var kinds []string
		for _, ev := range events {
			kinds = append(kinds, kindOf(ev))
		}
		if diff := cmp.Diff([]string{"routed", "started a1", "finished a1"}, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestACallerThatLeavesWhileTheRouterThinksStopsWhatRunsAhead(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = thinks(guess("search: shoes | support: returns"), split("search: shoes"))
		begun, stopped := make(chan struct{}, 2), make(chan error, 2)
		for _, s := range h.specialists {
			s.answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
				begun <- struct{}{}
				err := untilGone(req, stream)
				stopped <- err
				return err
			}
		}
		h.start()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; <-begun; cancel() }()
		asked := time.Now()
		events, err := h.askStream(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: "shoes"})
		wantStatus(t, err, codes.Canceled, "")
		for range 2 {
			if err := <-stopped; err != context.Canceled {
				t.Errorf("a specialist was stopped by %v", err)
			}
		}
		if len(events) != 0 || time.Since(asked) != 0 {
			t.Errorf("after %v: %v", time.Since(asked), events)
		}
	})
}

func TestASlowReaderHoldsUpNobodyElse(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		const pieces, size = 64, 32 << 10
		told := make(chan struct{})
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			piece := strings.Repeat("xxxxxxx ", size/8)
			for range pieces {
				if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
					TextDelta: &specialistv1.TextDelta{Text: piece}}}); err != nil {
					return err
				}
			}
			close(told)
			return stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{
				Answer: &specialistv1.Answer{Text: strings.Repeat(piece, pieces), Confidence: 0.9}}})
		}
		h.start()
		stream, err := h.client.AskStream(t.Context(), &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{StoreId: "demo", Message: "search: x"}})
		if err != nil {
			t.Fatal(err)
		}
		<-told // nothing was read, and yet the specialist could tell all of what the queue holds
		if reply, took, err := h.askWithin(time.Minute, "support: returns"); err != nil || took != 0 {
			t.Errorf("another turn: after %v: %v, %v", took, reply, err)
		}
		var text int
		for err == nil {
			var ev *gatewayv1.AskStreamResponse
			ev, err = stream.Recv()
			text += len(ev.GetTextDelta().GetText())
		}
		if text != pieces*size {
			t.Errorf("%d bytes were read of %d: %v", text, pieces*size, err)
		}
	})
}

func TestAReaderThatTakesNothingIsCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		const size = 1 << 20 // more than the windows hold
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return say(stream, strings.Repeat(strings.Repeat("x", 1023)+" ", size>>10))
		}
		h.start()
		stream, err := h.client.AskStream(t.Context(), &gatewayv1.AskStreamRequest{
			Ask: &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", Message: "search: x"}})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(rpc.DefaultIdleTimeout + time.Second)
		synctest.Wait()
		next := time.Now()
		reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", Message: "support: returns"})
		if took := time.Since(next); err != nil || took != 0 {
			t.Errorf("the next message in the thread waits for %v: %v, %v", took, reply, err)
		}
		read := 0
		for err = nil; err == nil; {
			var ev *gatewayv1.AskStreamResponse
			ev, err = stream.Recv()
			read += len(ev.GetTextDelta().GetText())
		}
		if status.Code(err) != codes.DeadlineExceeded || read >= size {
			t.Errorf("the reader gets %d bytes and %v, want a part and DEADLINE_EXCEEDED", read, err)
		}
	})
}
