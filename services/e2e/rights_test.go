package e2e

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
)

// usersFile has the Redis user that operators are told to create.
const usersFile = "../../deploy/redis/users.acl"

// useAll makes the services do all that they keep in Redis something of: turns, repeats, feedback, budgets, prompts, carts.
func (h *system) useAll(t *testing.T) {
	t.Helper()
	store, err := h.data.Stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	settings := store.GetStore()
	settings.DayBudget = &gatewayv1.DayBudget{Max: &commonv1.Budget{MaxTokens: 1_000_000}}
	if len(h.cfg.Gateway.WebhookSecrets) > 0 {
		settings.HandoffWebhook = "http://127.0.0.1:1/" // no server listens there
	}
	if _, err := h.data.Stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: settings}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.data.Carts.PutCartSettings(t.Context(), &cartv1.PutCartSettingsRequest{StoreId: "demo", Settings: &cartv1.CartSettings{}}); err != nil {
		t.Error(err)
	}
	if _, err := h.data.Promotions.RecordUsage(t.Context(), &promotionv1.RecordUsageRequest{
		StoreId: "demo", OrderId: "QT-77777", CustomerId: "ava", Codes: []string{"SAVE20"},
	}); err != nil {
		t.Error(err)
	}
	made, err := h.prompts.CreatePromptVersion(t.Context(), &gatewayv1.CreatePromptVersionRequest{
		StoreId: "demo", Agent: "promotions", Version: &gatewayv1.PromptVersion{Text: "Answer questions about promotions."},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{
		StoreId: "demo", Agent: "promotions", Shares: []*gatewayv1.PromptShare{{Version: made.GetVersion().GetVersion(), Percent: 100}},
	}); err != nil {
		t.Error(err)
	}
	turn := h.talk(t)[0].GetTurnId()
	h.ask(t, "Do you have trail running shoes, a discount, and what goes with my cart?")
	h.ask(t, "I want to speak to a person")
	if _, err := h.gateway.RecordFeedback(t.Context(), &gatewayv1.RecordFeedbackRequest{
		StoreId: "demo", CustomerId: "ava", TurnId: turn, Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_HELPFUL},
	}); err != nil {
		t.Error(err)
	}
}

// The services need no more of Redis than the user of deploy/redis/users.acl has.
func TestTheRedisUserHasRightsForAllThatServicesDo(t *testing.T) {
	for _, scheme := range []string{"redis", "redis+sentinel", "redis+cluster"} {
		t.Run(scheme, func(t *testing.T) {
			url, admin := redistest.Restricted(t, usersFile, scheme)
			testRights(t, url, admin)
		})
	}
}

func testRights(t *testing.T, url string, admin *redis.Client) {
	h := newSystemOn(t, url)
	h.useAll(t)
	if _, err := h.gateway.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", CustomerId: "ava", ThreadId: "t1"}); err != nil {
		t.Error(err)
	}
	if _, err := h.data.Stores.DeleteStore(t.Context(), &gatewayv1.DeleteStoreRequest{StoreId: "demo"}); err != nil {
		t.Error(err)
	}
	if refused, err := admin.ACLLog(t.Context(), 100).Result(); err != nil || len(refused) > 0 {
		t.Errorf("Redis refused %d commands, %v:", len(refused), err)
		for _, r := range refused {
			t.Errorf("%s: %s", r.Reason, r.Object)
		}
	}
	for _, command := range []string{
		"FLUSHALL", "KEYS *", "CONFIG GET *", "GET other", "SET other 1", "ACL LIST", "SHUTDOWN", "MONITOR", "PUBLISH quartet:x y",
		"FUNCTION LIST", "SCRIPT FLUSH", "REPLICAOF NO ONE", "MIGRATE h 1 quartet:{x} 0 1",
	} {
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		if err := h.cfg.Redis.Do(t.Context(), args...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: %v, want a refusal", command, err)
		}
	}
}

// A snapshot of Redis that another server starts with has all: stores, products, threads, turns, and the answers to repeated requests.
func TestASnapshotOfRedisRestores(t *testing.T) {
	from := t.TempDir()
	addr := redistest.FreeAddr(t)
	stop := redistest.Start(t, addr, append(redistest.InMemory, "--dir", from)...)
	before := newSystemOn(t, "redis://"+addr)
	replies := before.talk(t)
	if err := before.cfg.Redis.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	stop()
	restored := redistest.FreeAddr(t)
	redistest.Start(t, restored, append(redistest.InMemory, "--dir", from)...)
	h := startSystem(t, "redis://"+restored, newBrain(t))
	for i, want := range replies {
		resp, err := h.gateway.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: want.GetTurnId(), CustomerId: "ava"})
		if got := resp.GetTurn(); err != nil || got.GetText() != want.GetText() {
			t.Errorf("turn %d: %v, %v; want %q", i, got, err, want.GetText())
		}
	}
	thread, err := h.gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: "t1", CustomerId: "ava"})
	if err != nil || len(thread.GetMessages()) != 2*len(replies) {
		t.Errorf("the thread has %d messages, %v", len(thread.GetMessages()), err)
	}
	if reply := h.ask(t, "Do you have trail running shoes?"); len(reply.GetProducts()) == 0 {
		t.Errorf("no products in %q", reply.GetText())
	}
}
