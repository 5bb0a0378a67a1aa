package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/threads"
)

func TestMessagesOfAThreadAreAnsweredInOrder(t *testing.T) {
	h := open(t, nil)
	g := h.gate("search")
	const messages = 6
	var wg sync.WaitGroup
	for i := range messages {
		wg.Go(func() {
			req := named([]string{"", fmt.Sprintf("r%d", i)}[i%2], fmt.Sprintf("search: %d", i))
			if _, err := h.client.Ask(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
		h.queued("thread:t1:queue", i+1) // the next one comes when this one stands in line
	}
	close(g.open)
	wg.Wait()
	got, err := h.thread("t1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if m := got.GetMessages()[2*i : 2*i+2]; m[0].GetText() != fmt.Sprintf("search: %d", i) || m[1].GetText() != fmt.Sprintf("search says %d.", i) {
			t.Errorf("messages %d: %v", i, m)
		}
	}
	requests, _ := h.specialists["search"].calls()
	for i, r := range requests {
		if n := min(2*i, threads.HistoryMessages); len(r.GetHistory()) != n || r.GetSubQuery() != fmt.Sprint(i) {
			t.Errorf("call %d is of message %s with a history of %d messages, want %d", i, r.GetSubQuery(), len(r.GetHistory()), n)
		}
	}
}

func TestConcurrentMessagesOfAThreadAreAnsweredOneByOne(t *testing.T) {
	h := open(t, nil)
	const messages = 20
	var wg sync.WaitGroup
	for i := range messages {
		wg.Go(func() { h.askIn("t1", "ann", fmt.Sprintf("search: %d", i)) })
	}
	wg.Wait()
	got, err := h.thread("t1")
	if err != nil || len(got.GetMessages()) != 2*messages {
		t.Fatalf("thread %v, %v", got, err)
	}
	for i, m := range got.GetMessages() {
		if i%2 == 1 && m.GetText() != strings.Replace(got.GetMessages()[i-1].GetText(), "search: ", "search says ", 1)+"." {
			t.Errorf("message %d is %q after %q", i, m.GetText(), got.GetMessages()[i-1].GetText())
		}
	}
	requests, _ := h.specialists["search"].calls()
	for i, r := range requests {
		if diff := cmp.Diff(got.GetMessages()[max(0, 2*i-threads.HistoryMessages):2*i], r.GetHistory(), protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("history of call %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestMessagesInNewThreadsDoNotWait(t *testing.T) {
	h := open(t, nil)
	g := h.gate("search")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { h.askIn("", "ann", "search: shoes") })
	}
	for range 3 {
		<-g.entered
	}
	close(g.open)
	wg.Wait()
}

func TestDeletingWaitsForTheTurnAndLeavesNothingOfIt(t *testing.T) {
	h := open(t, nil)
	before := h.redis.Keys()
	g := h.gate("search")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.client.Ask(t.Context(), named("r1", "search: shoes")); err != nil {
			t.Error(err)
		}
	})
	<-g.entered
	wg.Go(func() {
		resp, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"})
		if err != nil || !resp.GetDeleted() {
			t.Errorf("delete: %v, %v", resp, err)
		}
	})
	h.queued("thread:t1:queue", 2)
	close(g.open)
	wg.Wait()
	if diff := cmp.Diff(before, h.redis.Keys()); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
	reply, err := h.client.Ask(t.Context(), named("r1", "search: hats")) // the id is free again
	if err != nil || reply.GetText() != "search says hats." {
		t.Errorf("%v, %v", reply, err)
	}
}

func TestDeletingForgetsRequestsThatWereNeverAnswered(t *testing.T) {
	h := open(t, nil)
	before := h.redis.Keys()
	h.specialists["search"].answer = func(*specialistv1.AnswerRequest, answerStream) error { panic("kaboom") }
	_, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	wantStatus(t, err, codes.Unavailable, "NOTHING_ANSWERED")
	if !h.redis.Exists(h.key("request:r1")) {
		t.Error("the request is not kept")
	}
	resp, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"})
	if err != nil || resp.GetDeleted() {
		t.Errorf("delete: %v, %v", resp, err)
	}
	if diff := cmp.Diff(before, h.redis.Keys()); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

func TestDeletingForgetsTheRequestThatBeganTheThread(t *testing.T) {
	h := open(t, nil)
	before := h.redis.Keys()
	reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", RequestId: "r1", Message: "search: shoes"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: reply.GetThreadId()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, h.redis.Keys()); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

func TestAMessageBehindADeletionStartsTheThreadAnew(t *testing.T) {
	h := open(t, nil)
	h.askIn("t1", "ann", "search: old")
	g := h.gate("search")
	var wg sync.WaitGroup
	wg.Go(func() { h.askIn("t1", "ann", "search: shoes") })
	<-g.entered
	wg.Go(func() {
		if _, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"}); err != nil {
			t.Error(err)
		}
	})
	h.queued("thread:t1:queue", 2)
	wg.Go(func() {
		if _, err := h.client.Ask(t.Context(), named("r1", "search: new")); err != nil {
			t.Error(err)
		}
	})
	h.queued("thread:t1:queue", 3)
	close(g.open)
	wg.Wait()
	got, err := h.thread("t1")
	if err != nil || len(got.GetMessages()) != 2 || got.GetMessages()[0].GetText() != "search: new" {
		t.Errorf("thread %v, %v", got, err)
	}
	if !h.redis.Exists(h.key("request:r1")) {
		t.Error("the deletion has taken the request that came after it")
	}
}

func TestShownProductsAreKnownToTheNextTurn(t *testing.T) {
	h := open(t, nil)
	list := func(ids ...string) (products []*specialistv1.ProductChoice) {
		for _, id := range ids {
			products = append(products, &specialistv1.ProductChoice{ProductId: id, Title: "Title of " + id})
		}
		return products
	}
	for i, tt := range []struct{ shows, knows []*specialistv1.ProductChoice }{
		{list(), list()},
		{list("p1"), list()},
		{list("p1", "p2", "p3"), list("p1")},
		{list("p2"), list("p1", "p2", "p3")}, // goes on about the second one
		{list(), list("p1", "p2", "p3")},
		{list("p9"), list("p1", "p2", "p3")}, // another one
		{list("p4", "p5"), list("p9")},
		{list("p5", "p4"), list("p4", "p5")},
		{list(), list("p5", "p4")},
	} {
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			text := "Look."
			for _, p := range tt.shows {
				text += " " + p.GetTitle() + "."
			}
			found := slices.Clone(tt.shows)
			slices.Reverse(found) // the text's order counts
			return sayAnswer(stream, &specialistv1.Answer{Text: text, Products: found})
		}
		h.askIn("t1", "ann", "search: x")
		requests, _ := h.specialists["search"].calls()
		if diff := cmp.Diff(tt.knows, requests[i].GetShownProducts(), protocmp.Transform()); diff != "" {
			t.Errorf("turn %d (-want +got):\n%s", i+1, diff)
		}
	}
}

func TestASummaryIsKeptUnlessALaterOneOrAnotherThreadIsThere(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	long := "search: " + strings.Repeat("ü", 300)
	h.askIn("t1", "ann", long)
	h.askIn("t1", "ann", "search: hats")
	summary := func() string {
		t.Helper()
		resp, err := h.client.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ann"})
		if err != nil || len(resp.GetThreads()) != 1 {
			t.Fatalf("threads %v, %v", resp, err)
		}
		got, err := h.thread("t1")
		if err != nil || got.GetThread().GetSummary() != resp.GetThreads()[0].GetSummary() {
			t.Fatalf("thread %v, %v; listed as %v", got, err, resp)
		}
		return got.GetThread().GetSummary()
	}
	title := long[:len("search: ")] + strings.Repeat("ü", 200-len("search: "))
	if got := summary(); got != title {
		t.Errorf("before there is one: %q", got)
	}
	known, err := h.service.threads.Load(t.Context(), "demo", "t1", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text    string
		turns   int
		created time.Time
		want    string
	}{
		{"of another thread of that name", 2, known.Created.Add(-time.Minute), title},
		{"of two", 2, known.Created, "of two"}, {"of one, late", 1, known.Created, "of two"}, {"of two again", 2, known.Created, "of two"},
		{"of a deleted thread", 3, known.Created, "of two"},
	} {
		of := &threads.Thread{ID: "t1", Turns: tt.turns, Created: tt.created}
		if err := h.service.threads.SetSummary(t.Context(), "demo", of, tt.text); err != nil {
			t.Fatal(err)
		}
		if got := summary(); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
		}
	}
	h.askIn("t1", "ann", "search: socks")
	requests, _ := h.specialists["search"].calls()
	if got := requests[2].GetSummary(); got != "of two" {
		t.Errorf("the specialist was given %q", got)
	}
	kept, err := h.service.threads.Load(t.Context(), "demo", "t1", 0)
	if err != nil || kept.Turns != 3 || kept.Summarized != 2 {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if err := h.service.threads.SetSummary(t.Context(), "demo", &threads.Thread{ID: "t2", Turns: 1}, "of none"); err != nil || h.redis.Exists(h.key("thread:t2")) {
		t.Errorf("a thread that is not there: %v", err)
	}
	h.redis.FastForward(DefaultThreadTTL + time.Minute)
	if keys := h.redis.Keys(); len(keys) != 1 {
		t.Errorf("a summary keeps a thread alive: %v", keys)
	}
}
