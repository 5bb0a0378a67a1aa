package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
)

// inBubble runs a test in which time passes only while all wait. Redis stays outside: it is real I/O.
func inBubble(t *testing.T, test func(t *testing.T, h *fixture)) {
	redis := miniredis.RunT(t)
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, redis)) })
}

// untilGone waits for the end of the caller's patience.
func untilGone(_ *specialistv1.AnswerRequest, stream answerStream) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

// askWithin asks with a deadline and returns how long the answer took.
func (h *fixture) askWithin(limit time.Duration, message string) (*gatewayv1.AskResponse, time.Duration, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), limit)
	defer cancel()
	begun := time.Now()
	reply, err := h.client.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: message})
	return reply, time.Since(begun), err
}

func TestALateSpecialistIsCutAndTheRestMergedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.config.Model = scripted.New(scripted.Step{Text: goodMerge, Delay: 5 * time.Second})
		h.start()
		stock(h)
		h.specialists["recommend"].answer = untilGone
		reply, took, err := h.askWithin(40*time.Second, shoesAndReturns+" | recommend: socks")
		if err != nil {
			t.Fatal(err)
		}
		f := reply.GetResults()[2].GetFailure()
		if f.GetCode() != "DEADLINE_EXCEEDED" || f.GetReason() != commonv1.ErrorReason_ERROR_REASON_DEADLINE {
			t.Errorf("failure %v", f)
		}
		if reply.GetMergeMethod() != gatewayv1.MergeMethod_MERGE_METHOD_MODEL || took > 40*time.Second || took < 38*time.Second {
			t.Errorf("method %v after %v", reply.GetMergeMethod(), took)
		}
	})
}

func TestASpecialistThatHandsOverAtItsDeadlineIsHeard(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			<-stream.Context().Done()
			return say(stream, "What I have.")
		}
		for message, want := range map[string]string{
			"search: shoes":                     "What I have.",
			"search: shoes | support: the rest": "What I have.\n\nsupport says the rest.",
		} {
			if reply, took, err := h.askWithin(10*time.Second, message); err != nil || reply.GetText() != want {
				t.Errorf("%s: after %v: %v, %v", message, took, reply, err)
			}
		}
	})
}

func TestASpecialistThatIsAloneHasAlmostAllOfTheTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			time.Sleep(9500 * time.Millisecond) // in the bubble: the model thinks
			return say(stream, "Here.")
		}
		if _, took, err := h.askWithin(10*time.Second, "search: shoes"); err != nil {
			t.Errorf("after %v: %v", took, err)
		}
		h.specialists["search"].answer = untilGone
		_, _, err := h.askWithin(10*time.Second, "search: shoes")
		wantStatus(t, err, codes.DeadlineExceeded, "DEADLINE")
	})
}

func TestAHangingRouterCostsAThirdOfTheTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.router.route = func(_ *routerv1.RouteRequest, stream routeStream) error {
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		h.start()
		reply, took, err := h.askWithin(15*time.Second, "shoes")
		if err != nil || reply.GetText() != "search says shoes." || took > 6*time.Second {
			t.Errorf("after %v: %v, %v", took, reply, err)
		}
	})
}

func TestDescriptionsAreAskedForOnceInHalfAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		asked := 0
		h.specialists["search"].describe = func(context.Context) error { asked++; return nil }
		h.start()
		for _, want := range []int{1, 1, 2} {
			h.ask("search: shoes")
			if asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
			time.Sleep(registry.TTL/2 + time.Second)
		}
	})
}

func TestAHangingDescribeHoldsNobodyUpForLong(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		h.ask("search: shoes")
		time.Sleep(registry.TTL)
		h.specialists["support"].describe = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for _, want := range []time.Duration{registry.Timeout, 0} {
			_, took, err := h.askWithin(20*time.Second, "search: shoes")
			if err != nil || took.Round(100*time.Millisecond) != want {
				t.Errorf("after %v: %v, want %v", took, err, want)
			}
		}
		h.putStore("other") // where support has not been asked before
		for _, want := range []time.Duration{registry.Timeout, 0} {
			begun := time.Now()
			_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "other", Message: "search: shoes"})
			if took := time.Since(begun); err != nil || took.Round(100*time.Millisecond) != want {
				t.Errorf("in another store: after %v: %v, want %v", took, err, want)
			}
		}
	})
}

func TestACallerThatLeavesStopsTheSpecialists(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		begun, stopped := make(chan struct{}), make(chan error, 1)
		h.specialists["search"].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			close(begun)
			err := untilGone(req, stream)
			stopped <- err
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		_, err := h.askStream(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes", ThreadId: "t1"})
		wantStatus(t, err, codes.Canceled, "")
		if err := <-stopped; err != context.Canceled {
			t.Errorf("the specialist was stopped by %v", err)
		}
		_, err = h.thread("t1")
		wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
	})
}

func TestAStuckReaderHoldsATurnNoLongerThanItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			piece := &specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
				TextDelta: &specialistv1.TextDelta{Text: string(make([]byte, 32<<10))}}}
			for stream.Context().Err() == nil {
				if err := stream.Send(piece); err != nil {
					return err
				}
			}
			return stream.Context().Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		stream, err := h.client.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{StoreId: "demo", Message: "search: x"}})
		if err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.DeadlineExceeded { // which end of the call notices it first, does not matter
			t.Errorf("it ends with %v", err)
		}
	})
}
