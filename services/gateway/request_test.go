package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// named is a request with an id, in a thread.
func named(id, message string) *gatewayv1.AskRequest {
	return &gatewayv1.AskRequest{StoreId: "demo", RequestId: id, ThreadId: "t1", CustomerId: "ann", Message: message}
}

// queued waits until n turns are in the queue whose key ends in suffix.
func (h *fixture) queued(suffix string, n int) {
	h.t.Helper()
	eventually(h.t, func() bool {
		list, _ := h.redis.List(h.key(suffix)) // there is no key for an empty queue
		return len(list) == n
	})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it has not come to that in ten seconds")
		}
	}
}

// gate lets a specialist answer only once it is open.
type gate struct {
	entered chan struct{} // one for each call
	open    chan struct{}
}

func (h *fixture) gate(name string) *gate {
	g := &gate{entered: make(chan struct{}, 100), open: make(chan struct{})}
	h.specialists[name].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
		g.entered <- struct{}{}
		select {
		case <-g.open:
			return say(stream, name+" says "+req.GetSubQuery()+".")
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
	return g
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	h := open(t, nil)
	first, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if diff := cmp.Diff(first, again, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("asked again: %v (-first +again):\n%s", err, diff)
	}
	events, err := h.askStream(t.Context(), named("r1", "search: shoes"))
	if err != nil {
		t.Fatal(err)
	}
	text, streamed := textOf(events)
	if diff := cmp.Diff(first, streamed, protocmp.Transform()); diff != "" || text != first.GetText() {
		t.Errorf("streamed: deltas %q (-first +streamed):\n%s", text, diff)
	}
	var kinds []string
	for _, ev := range events {
		kinds = append(kinds, kindOf(ev))
	}
	if diff := cmp.Diff([]string{"routed", "started a1", "finished a1", "text", "answer"}, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got, err := h.thread("t1"); err != nil || len(got.GetMessages()) != 2 || len(got.GetTurnIds()) != 1 {
		t.Errorf("thread %v, %v", got, err)
	}
	if calls, _ := h.specialists["search"].calls(); len(calls) != 1 {
		t.Errorf("search was asked %d times", len(calls))
	}
}

func TestWithoutAnIDEveryCallIsARequestAndNoneIsJournaled(t *testing.T) {
	h := open(t, nil)
	first, second := h.askIn("", "ann", "search: shoes"), h.askIn("", "ann", "search: shoes")
	if first.GetTurnId() == second.GetTurnId() || first.GetThreadId() == second.GetThreadId() {
		t.Errorf("turns %s and %s", first, second)
	}
	for _, key := range h.redis.Keys() {
		if strings.Contains(key, ":request") {
			t.Errorf("%s was written", key)
		}
	}
}

func TestTheSameIDInAnotherStoreIsAnotherRequest(t *testing.T) {
	h := open(t, nil)
	h.putStore("other")
	first, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if err != nil {
		t.Fatal(err)
	}
	req := named("r1", "search: hats")
	req.StoreId = "other"
	second, err := h.client.Ask(t.Context(), req)
	if err != nil || second.GetTurnId() == first.GetTurnId() || second.GetText() != "search says hats." {
		t.Errorf("in the other store: %v, %v", second, err)
	}
}

func TestAnIDWithAnotherBodyIsRefused(t *testing.T) {
	h := open(t, nil)
	base := &gatewayv1.AskRequest{
		StoreId: "demo", RequestId: "r1", Message: "search: shoes", CustomerId: "ann", CustomerGroups: []string{"vip"},
		CartId: "c1", ThreadId: "t1", Locale: "en",
	}
	g := h.gate("search")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.client.Ask(t.Context(), base); err != nil {
			t.Error(err)
		}
	})
	<-g.entered
	fields := base.ProtoReflect().Descriptor().Fields()
	refused := func(when string) {
		for i := range fields.Len() {
			name := fields.Get(i).Name()
			if name == "store_id" || name == "request_id" {
				continue // those make it another request
			}
			req := proto.CloneOf(base)
			req.ProtoReflect().Clear(fields.Get(i))
			if name == "message" {
				req.Message = "search: hats"
			}
			_, err := h.client.Ask(t.Context(), req)
			t.Logf("%s, without %s", when, name)
			wantStatus(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED")
		}
	}
	refused("while it is being answered")
	close(g.open)
	wg.Wait()
	refused("when it is answered")
	if got, err := h.thread("t1"); err != nil || len(got.GetMessages()) != 2 {
		t.Errorf("thread %v, %v", got, err)
	}
}

func TestTheJournalOfARecordedTurnHoldsNoTextOfTheShopper(t *testing.T) {
	h := open(t, nil)
	if _, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil {
		t.Fatal(err)
	}
	fields, err := h.redis.HKeys(h.key("request:r1"))
	slices.Sort(fields)
	if want := []string{"done", "hash", "turn"}; err != nil || !slices.Equal(fields, want) {
		t.Errorf("fields %v, %v, want %v", fields, err, want)
	}
}

func TestManyWhoAskAtOnceGetTheOneReply(t *testing.T) {
	h := open(t, nil)
	g := h.gate("search")
	const joiners = 8
	req := named("r1", "search: shoes")
	replies := make([]*gatewayv1.AskResponse, 2*joiners)
	var wg sync.WaitGroup
	for i := range joiners {
		wg.Go(func() {
			var err error
			if replies[i], err = h.client.Ask(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			events, err := h.askStream(t.Context(), req)
			text, reply := textOf(events)
			if err != nil || text != reply.GetText() || kindOf(events[0]) != "routed" {
				t.Errorf("%v: deltas %q, events %v", err, text, events)
			}
			replies[joiners+i] = reply
		})
	}
	<-g.entered
	h.queued("request:r1:queue", 2*joiners)
	close(g.open)
	wg.Wait()
	for i, r := range replies {
		if diff := cmp.Diff(replies[0], r, protocmp.Transform()); diff != "" || r.GetText() != "search says shoes." {
			t.Errorf("reply %d (-first +this):\n%s", i, diff)
		}
	}
	if calls, _ := h.specialists["search"].calls(); len(calls) != 1 {
		t.Errorf("search was asked %d times", len(calls))
	}
	h.queued("request:r1:queue", 0)
	h.queued("thread:t1:queue", 0)
}

func TestAFailedRequestIsResumed(t *testing.T) {
	h := open(t, nil)
	fail := true
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		if fail {
			return errors.New("bug")
		}
		return say(stream, "Here.")
	}
	req := &gatewayv1.AskRequest{StoreId: "demo", RequestId: "r1", Message: "search: shoes"}
	_, err := h.client.Ask(t.Context(), req)
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
	turn, thread := h.redis.HGet(h.key("request:r1"), "turn"), h.redis.HGet(h.key("request:r1:claim"), "thread")
	fail = false
	reply, err := h.client.Ask(t.Context(), req)
	if err != nil || reply.GetTurnId() != turn || reply.GetThreadId() != thread || reply.GetText() != "Here." {
		t.Errorf("turn %s of thread %s: %v, %v", turn, thread, reply, err)
	}
	if n := len(h.router.requests); n != 1 {
		t.Errorf("the router was asked %d times", n)
	}
}

func TestARequestIsForgottenAfterTheThreadTTL(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.ThreadTTL = time.Hour
	h.start()
	first, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if err != nil {
		t.Fatal(err)
	}
	h.redis.FastForward(59 * time.Minute)
	if again, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil || again.GetTurnId() != first.GetTurnId() {
		t.Errorf("within the hour: %v, %v", again, err)
	}
	h.redis.FastForward(2 * time.Minute)
	if again, err := h.client.Ask(t.Context(), named("r1", "search: hats")); err != nil || again.GetTurnId() == first.GetTurnId() {
		t.Errorf("after an hour: %v, %v", again, err)
	}
}

func TestACallerThatGivesUpLeavesTheQueues(t *testing.T) {
	h := open(t, nil)
	g := h.gate("search")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil {
			t.Error(err)
		}
	})
	<-g.entered
	for _, req := range []*gatewayv1.AskRequest{named("r1", "search: shoes"), named("r2", "search: hats"), named("", "search: socks")} {
		ctx, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			_, err := h.client.Ask(ctx, req)
			wantStatus(t, err, codes.Canceled, "")
		})
		queue := "thread:t1:queue"
		if req.GetRequestId() == "r1" {
			queue = "request:r1:queue"
		}
		h.queued(queue, 2)
		leave()
		h.queued(queue, 1)
	}
	close(g.open)
	wg.Wait()
	h.queued("request:r2:queue", 0)
}

func TestWaitingEndsAtTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.start()
		g := h.gate("search")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil {
				t.Error(err)
			}
		})
		<-g.entered
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := h.client.Ask(ctx, named("r2", "search: hats"))
		wantStatus(t, err, codes.DeadlineExceeded, "DEADLINE")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		close(g.open)
		wg.Wait()
	})
}

// A fail-over of Redis while a turn runs: the finished reply waits for it.
func TestAReplyIsRecordedAfterAFailOver(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		h.redisFault.set(func(_ context.Context, n int) error {
			if n < 3 {
				return syscall.ECONNREFUSED
			}
			return nil
		})
		return say(stream, "here")
	}
	reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", Message: "search: shoes"})
	if err != nil || reply.GetUnrecorded() {
		t.Fatalf("%v, %v", reply, err)
	}
	if _, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()}); err != nil {
		t.Error(err)
	}
}

func TestRedisDownRefusesARequestWithAnIDAndLosesNoAnswer(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	m := h.meter()
	h.config.RecordTimeout = time.Second / 2
	h.start()
	reply, err := h.client.Ask(t.Context(), named("r0", "search: hats"))
	if err != nil || reply.GetUnrecorded() {
		t.Errorf("while Redis is up: %v, %v", reply, err)
	}
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		h.redis.SetError("LOADING not now")
		return say(stream, "here")
	}
	reply, err = h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if err != nil || reply.GetText() != "here" || !reply.GetUnrecorded() {
		t.Errorf("an answer that was made: %v, %v", reply, err)
	}
	if n := m.sums(telemetry.MetricTurnsUnrecorded)[""]; n != 1 {
		t.Errorf("%d turns are counted as unrecorded, want 1", n)
	}
	_, err = h.client.Ask(t.Context(), named("r1", "search: shoes"))
	wantStatus(t, err, codes.Unavailable, "STATE_UNAVAILABLE")
}
