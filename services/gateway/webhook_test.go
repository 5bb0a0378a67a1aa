package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestAStoreIsToldOfTurnsThatRecommendAHuman(t *testing.T) {
	got := make(chan handoffData, 10)
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent struct{ Data handoffData }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		got <- sent.Data
	}))
	defer shop.Close()
	h := newFixture(t, miniredis.RunT(t))
	h.config.WebhookSecrets, h.config.WebhookInsecure = []string{strings.Repeat("s", 32)}, true
	h.start()
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", HandoffWebhook: shop.URL,
	}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { h.service.Run(ctx) })
	defer running.Wait()
	defer cancel()
	h.ask("search: a") // needs nobody
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{Text: "A person will help.", Confidence: 0.9, SuggestedActions: []*specialistv1.SuggestedAction{
			{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: "asked for it", Summary: "Wants to speak to Mia."}}},
		}})
	}
	reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "support: a person, please"})
	if err != nil {
		t.Fatal(err)
	}
	want := handoffData{
		StoreID: "demo", TurnID: reply.GetTurnId(), ThreadID: reply.GetThreadId(), CustomerID: "ava", Message: "support: a person, please",
		Reply: "A person will help.", Reason: "a specialist suggests it: asked for it", Summary: "Wants to speak to Mia.", Confidence: 0.9,
	}
	select {
	case data := <-got:
		if data != want {
			t.Errorf("the store is told %+v, want %+v", data, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the store is told nothing")
	}
}

func TestBadWebhooksAndTimesToLiveAreRefused(t *testing.T) {
	put := func(h *fixture, store *gatewayv1.Store) error {
		store.StoreId, store.Name, store.CurrencyCode = "s", "S", "EUR"
		_, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: store})
		return err
	}
	without := open(t, nil)
	with := newFixture(t, miniredis.RunT(t))
	with.config.WebhookSecrets = []string{strings.Repeat("s", 32)}
	with.start()
	for want, err := range map[string]error{
		"--webhook-secrets":                      put(without, &gatewayv1.Store{HandoffWebhook: "https://shop.example/hook"}),
		"store.handoff_webhook: must begin with": put(with, &gatewayv1.Store{HandoffWebhook: "http://shop.example/hook"}),
		"store.thread_ttl: must be a minute":     put(with, &gatewayv1.Store{ThreadTtl: durationpb.New(time.Second)}),
	} {
		wantStatus(t, err, codes.InvalidArgument, "INVALID_FIELD")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestAStoreKeepsConversationsForLess(t *testing.T) {
	h := open(t, nil)
	const ttl = 2 * time.Hour
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", ThreadTtl: durationpb.New(ttl),
	}}); err != nil {
		t.Fatal(err)
	}
	reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", CartId: "c1", RequestId: "r1", Message: "search: a"})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, key := range h.redis.Keys() {
		if strings.Contains(key, "thread:t1") || strings.Contains(key, reply.GetTurnId()) || strings.Contains(key, "r1") {
			found++
			if left := h.redis.TTL(key); left <= 0 || left > ttl {
				t.Errorf("%s is kept for %v", key, left)
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d keys were found", found)
	}
	thread, err := h.client.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: "t1", CartId: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	if left := thread.GetThread().GetExpireTime().AsTime().Sub(thread.GetThread().GetUpdateTime().AsTime()); left != ttl {
		t.Errorf("the thread says that it is kept for %v", left)
	}
}
