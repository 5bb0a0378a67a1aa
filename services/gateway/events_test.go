package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
)

func TestAFailedSendEndsTheTurnAndIsReported(t *testing.T) {
	gone := errors.New("gone")
	sent := 0
	e := newEvents(t.Context(), func(*gatewayv1.AskStreamResponse) error { sent++; return gone })
	for range 3 * pendingEvents { // more than the queue holds: nobody is stuck
		fanout.Emit(e.emit).Text("x")
	}
	<-e.ctx.Done()
	if err := context.Cause(e.ctx); !errors.Is(err, gone) {
		t.Errorf("the turn ends with %v", err)
	}
	if err := e.close(); !errors.Is(err, gone) || sent != 1 {
		t.Errorf("close returns %v after %d sends", err, sent)
	}
}

func TestClosingWaitsForEveryEvent(t *testing.T) {
	var got string
	e := newEvents(t.Context(), func(r *gatewayv1.AskStreamResponse) error { got += r.GetTextDelta().GetText(); return nil })
	for _, piece := range []string{"a", "", "b", "c"} {
		fanout.Emit(e.emit).Text(piece)
	}
	if err := e.close(); err != nil || got != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestASlowReaderHoldsTheTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reading := make(chan struct{})
		e := newEvents(t.Context(), func(*gatewayv1.AskStreamResponse) error { <-reading; return nil })
		emitted := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 2 * pendingEvents {
				fanout.Emit(e.emit).Text("x")
				emitted++
			}
		}()
		synctest.Wait()
		if emitted != pendingEvents+1 {
			t.Errorf("%d events were taken in ahead of the reader", emitted)
		}
		close(reading)
		<-done
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAReaderThatIsStuckIsGivenUpAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		release := make(chan struct{})
		e := newEvents(ctx, func(*gatewayv1.AskStreamResponse) error { <-release; return nil })
		for range 2 * pendingEvents {
			fanout.Emit(e.emit).Text("x")
		}
		if err := e.close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close returns %v", err)
		}
		close(release) // as the transport does when the handler has returned
		<-e.done
	})
}

func TestAPanicInSendingEndsTheTurn(t *testing.T) {
	e := newEvents(t.Context(), func(*gatewayv1.AskStreamResponse) error { panic("kaboom") })
	fanout.Emit(e.emit).Text("hello")
	<-e.ctx.Done()
	if err := e.close(); err == nil {
		t.Error("the panic is not reported")
	}
}

// streamOf is a stream of which only the context is used.
type streamOf struct {
	grpc.ServerStreamingServer[gatewayv1.AskStreamResponse]
	ctx context.Context
}

func (s streamOf) Context() context.Context { return s.ctx }

func (s streamOf) Send(*gatewayv1.AskStreamResponse) error { return nil }

// The bubble fails if the sender is still there at its end.
func TestAPanicInATurnEndsTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("the turn did not panic")
			}
		}()
		s := &server{service: &Service{cfg: Config{Settings: Settings{TurnTimeout: time.Minute}}}} // has no limiter, so the turn panics
		_ = s.AskStream(&gatewayv1.AskStreamRequest{}, streamOf{ctx: t.Context()})
	})
}
