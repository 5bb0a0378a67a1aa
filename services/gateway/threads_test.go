package gateway

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

func (h *fixture) askIn(thread, customer, message string) *gatewayv1.AskResponse {
	h.t.Helper()
	reply, err := h.client.Ask(h.t.Context(), &gatewayv1.AskRequest{
		StoreId: "demo", Message: message, ThreadId: thread, CustomerId: customer,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return reply
}

func (h *fixture) thread(id string) (*gatewayv1.GetThreadResponse, error) {
	return h.client.GetThread(h.t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: id})
}

// admit admits a request and loads its thread.
func (h *fixture) admit(ctx context.Context, req *gatewayv1.AskRequest) *turn {
	h.t.Helper()
	turn, err := h.service.admit(ctx, req)
	if err == nil {
		err = h.service.load(ctx, turn)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

func user(text string) *commonv1.Message {
	return &commonv1.Message{Role: commonv1.Role_ROLE_USER, Text: text}
}

func assistant(text string) *commonv1.Message {
	return &commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: text}
}

func TestAThreadRemembersFinalTextsAndTurns(t *testing.T) {
	h := open(t, nil)
	first := h.askIn("", "ann", "search: shoes")
	second := h.askIn(first.GetThreadId(), "ann", "support: returns")
	got, err := h.thread(first.GetThreadId())
	if err != nil {
		t.Fatal(err)
	}
	want := &gatewayv1.GetThreadResponse{
		Thread: &gatewayv1.Thread{ThreadId: first.GetThreadId(), CustomerId: "ann", Title: "search: shoes", Summary: "search: shoes"},
		Messages: []*commonv1.Message{
			user("search: shoes"), assistant("search says shoes."), user("support: returns"), assistant("support says returns."),
		},
		TurnIds: []string{first.GetTurnId(), second.GetTurnId()},
	}
	opts := []cmp.Option{protocmp.Transform(), protocmp.IgnoreFields(&gatewayv1.Thread{}, "create_time", "update_time", "expire_time")}
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if d := got.GetThread().GetExpireTime().AsTime().Sub(got.GetThread().GetUpdateTime().AsTime()); d != DefaultThreadTTL {
		t.Errorf("expires %v after the last write", d)
	}
	history := []*commonv1.Message{user("search: shoes"), assistant("search says shoes.")}
	if diff := cmp.Diff(history, h.router.lastRequest().GetHistory(), protocmp.Transform()); diff != "" {
		t.Errorf("history of the router (-want +got):\n%s", diff)
	}
	requests, _ := h.specialists["support"].calls()
	if diff := cmp.Diff(history, requests[0].GetHistory(), protocmp.Transform()); diff != "" {
		t.Errorf("history of the specialist (-want +got):\n%s", diff)
	}
	turn, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: second.GetTurnId()})
	if diff := cmp.Diff(second, turn.GetTurn(), protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("turn: %v (-want +got):\n%s", err, diff)
	}
}

func TestHistoryIsTheLastTenMessages(t *testing.T) {
	h := open(t, nil)
	for i := range 7 {
		h.askIn("t1", "", fmt.Sprintf("search: %d", i))
	}
	history := h.router.lastRequest().GetHistory()
	if len(history) != threads.HistoryMessages || history[0].GetText() != "search: 1" || history[9].GetText() != "search says 5." {
		t.Errorf("history %v", history)
	}
}

func TestAThreadKeepsItsLastMessages(t *testing.T) {
	h := openPlain(t)
	h.askIn("t1", "", "search: first")
	for range threads.MaxMessages {
		if _, err := h.redis.RPush(h.key("thread:t1:messages"), ""); err != nil {
			t.Fatal(err)
		}
	}
	h.askIn("t1", "", "search: last")
	list, err := h.redis.List(h.key("thread:t1:messages"))
	if err != nil || len(list) != threads.MaxMessages || !strings.Contains(list[threads.MaxMessages-1], "search says last.") {
		t.Errorf("%d messages are kept, the last of them %q; %v", len(list), list[len(list)-1], err)
	}
}

func TestATurnIsRecordedThoughItsCallerHasJustLeft(t *testing.T) {
	h := open(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	turn := h.admit(ctx, &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", Message: "hi"})
	cancel()
	if err := h.service.record(ctx, turn, &gatewayv1.AskResponse{Text: "hello"}); err != nil {
		t.Error(err)
	}
	if got, err := h.thread("t1"); err != nil || len(got.GetMessages()) != 2 {
		t.Errorf("thread %v, %v", got, err)
	}
}

func TestAThreadOfAnotherCustomerIsNotFound(t *testing.T) {
	h := open(t, nil)
	h.askIn("t1", "ann", "search: shoes")
	for _, customer := range []string{"bob", ""} {
		_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{
			StoreId: "demo", Message: "search: hats", ThreadId: "t1", CustomerId: customer,
		})
		wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
	}
	h.putStore("other")
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{
		StoreId: "other", Message: "search: hats", ThreadId: "t1", CustomerId: "bob",
	}); err != nil {
		t.Errorf("a thread of the same name in another store: %v", err)
	}
	if n := len(h.router.lastRequest().GetHistory()); n != 0 {
		t.Errorf("another store's thread of that name gave %d messages", n)
	}
}

func TestAGuestsThreadBecomesTheirsOnSigningIn(t *testing.T) {
	h := open(t, nil)
	h.askIn("t1", "", "search: shoes")
	h.askIn("t1", "ann", "search: hats")
	got, err := h.thread("t1")
	if err != nil || got.GetThread().GetCustomerId() != "ann" || len(got.GetMessages()) != 4 {
		t.Errorf("thread %v, %v", got, err)
	}
	_, err = h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: x", ThreadId: "t1", CustomerId: "bob"})
	wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
}

func TestAThreadThatChangedHandsMeanwhileIsLeftAlone(t *testing.T) {
	h := open(t, nil)
	// Bob was admitted before ann began a thread of the same name.
	h.askIn("t1", "ann", "search: shoes")
	sc := scope.Scope{StoreID: "demo", CustomerID: "bob", ThreadID: "t1"}
	lease, err := h.service.threads.Begin(t.Context(), threads.Turn{Scope: sc, ID: "1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	err = lease.Record(t.Context(), "hi", &gatewayv1.AskResponse{Text: "for bob"}, time.Now())
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("record: %v", err)
	}
	if got, err := h.thread("t1"); err != nil || len(got.GetMessages()) != 2 || got.GetThread().GetCustomerId() != "ann" {
		t.Errorf("ann's thread is now %v, %v", got, err)
	}
}

func TestThreadsOfACustomerAreListedTheLastWrittenFirst(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	h.config.Now = func() time.Time { now = now.Add(time.Second); return now }
	h.start()
	for _, id := range []string{"t1", "t2", "t3", "t1"} {
		h.askIn(id, "ann", "search: "+id)
	}
	h.askIn("t4", "bob", "search: t4")
	h.askIn("t5", "", "search: t5")
	list := func(limit int32) (ids []string) {
		resp, err := h.client.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ann", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range resp.GetThreads() {
			ids = append(ids, th.GetThreadId())
		}
		return ids
	}
	if diff := cmp.Diff([]string{"t1", "t3", "t2"}, list(0)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t1", "t3"}, list(2)); diff != "" {
		t.Errorf("limited (-want +got):\n%s", diff)
	}
	var pages []string
	err := pagetoken.Each(func(token string) (string, error) {
		resp, err := h.client.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ann", Limit: 1, PageToken: token})
		for _, th := range resp.GetThreads() {
			pages = append(pages, th.GetThreadId())
		}
		if token == "" { // it comes before the places of all further pages
			h.askIn("t0", "ann", "search: t0")
		}
		return resp.GetNextPageToken(), err
	})
	if diff := cmp.Diff([]string{"t1", "t3", "t2"}, pages); err != nil || diff != "" {
		t.Errorf("page by page: %v (-want +got):\n%s", err, diff)
	}
	now = now.Add(DefaultThreadTTL)
	h.askIn("t6", "ann", "search: t6")
	if diff := cmp.Diff([]string{"t6"}, list(0)); diff != "" {
		t.Errorf("a month later (-want +got):\n%s", diff)
	}
	_, err = h.client.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", Limit: 101, PageToken: pagetoken.ID("t1")})
	if diff := cmp.Diff([]string{"customer_id", "limit", "page_token"}, badFields(err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestADeletedThreadLeavesNothingBehind(t *testing.T) {
	h := open(t, nil)
	before := h.redis.Keys()
	first := h.askIn("t1", "ann", "search: shoes")
	h.askIn("t1", "ann", "search: hats")
	for _, want := range []bool{true, false} {
		resp, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"})
		if err != nil || resp.GetDeleted() != want {
			t.Errorf("delete: %v, %v, want %v", resp, err, want)
		}
	}
	if diff := cmp.Diff(before, h.redis.Keys()); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
	_, err := h.thread("t1")
	wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
	_, err = h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: first.GetTurnId()})
	wantStatus(t, err, codes.NotFound, "TURN_NOT_FOUND")
}

func TestEveryKeyOfAConversationExpires(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.ThreadTTL = time.Hour
	h.start()
	h.askIn("t1", "ann", "search: shoes")
	h.redis.FastForward(59 * time.Minute)
	h.askIn("t1", "ann", "search: hats")
	h.redis.FastForward(59 * time.Minute)
	if got, err := h.thread("t1"); err != nil || len(got.GetMessages()) != 4 {
		t.Errorf("the second message did not renew the thread: %v, %v", got, err)
	}
	h.redis.FastForward(2 * time.Minute)
	if diff := cmp.Diff([]string{storesKey}, h.redis.Keys()); diff != "" {
		t.Errorf("keys left (-want +got):\n%s", diff)
	}
}

func TestStoresAreCheckedAndListed(t *testing.T) {
	h := open(t, nil)
	put := func(s *gatewayv1.Store) error {
		_, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: s})
		return err
	}
	tests := []struct {
		name   string
		store  *gatewayv1.Store
		fields []string
	}{
		{"none", nil, []string{"store"}},
		{"empty", &gatewayv1.Store{}, []string{"store.store_id", "store.name", "store.currency_code"}},
		{"bad", &gatewayv1.Store{StoreId: "a b", Name: "x", DefaultLocale: "??", CurrencyCode: "eur", TimeZone: "Mars/Olympus"},
			[]string{"store.store_id", "store.default_locale", "store.time_zone", "store.currency_code"}},
		{"handoff above 1", &gatewayv1.Store{StoreId: "x", Name: "X", CurrencyCode: "EUR", HandoffConfidence: 40}, []string{"store.handoff_confidence"}},
		{"handoff not a number", &gatewayv1.Store{StoreId: "x", Name: "X", CurrencyCode: "EUR", HandoffConfidence: math.NaN()}, []string{"store.handoff_confidence"}},
		{"too many keywords", &gatewayv1.Store{StoreId: "a", Name: "x", CurrencyCode: "EUR",
			RoutingKeywords: make([]*routerv1.RoutingKeyword, maxKeywords+1)}, []string{"store.routing_keywords"}},
		{"bad keywords", &gatewayv1.Store{StoreId: "a", Name: "x", CurrencyCode: "EUR", RoutingKeywords: []*routerv1.RoutingKeyword{
			routingKeyword("search", "kite", 2), {}, routingKeyword("The Search", " ?", math.NaN()), routingKeyword("search", strings.Repeat("k", maxTerm+1), -5.5),
		}}, []string{"store.routing_keywords[1].specialist", "store.routing_keywords[1].keyword.term",
			"store.routing_keywords[2].specialist", "store.routing_keywords[2].keyword.term", "store.routing_keywords[2].keyword.weight",
			"store.routing_keywords[3].keyword.term", "store.routing_keywords[3].keyword.weight"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.fields, badFields(put(tt.store))); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", tt.name, diff)
		}
	}
	alps := &gatewayv1.Store{StoreId: "alps", Name: "Alps", DefaultLocale: "de-AT", CurrencyCode: "EUR"}
	if err := put(alps); err != nil {
		t.Fatal(err)
	}
	got, err := h.stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "alps"})
	if diff := cmp.Diff(alps, got.GetStore(), protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("store: %v (-want +got):\n%s", err, diff)
	}
	list, err := h.stores.ListStores(t.Context(), &gatewayv1.ListStoresRequest{})
	if err != nil || len(list.GetStores()) != 2 || list.GetStores()[0].GetStoreId() != "alps" {
		t.Errorf("stores %v, %v", list, err)
	}
	_, err = h.stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "nowhere"})
	wantStatus(t, err, codes.NotFound, "STORE_NOT_FOUND")
}

func routingKeyword(specialist, term string, weight float64) *routerv1.RoutingKeyword {
	return &routerv1.RoutingKeyword{Specialist: specialist, Keyword: &specialistv1.Keyword{Term: term, Weight: weight}}
}

func TestAStoresKeywordsReachTheRouter(t *testing.T) {
	h := open(t, nil)
	want := []*routerv1.RoutingKeyword{routingKeyword("promotions", "bean stamps", 3), routingKeyword("not-there-yet", "gift wrap", 0)}
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "tea", Name: "Tea", CurrencyCode: "EUR", RoutingKeywords: want,
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "tea", Message: "search: tea"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, h.router.lastRequest().GetKeywords(), protocmp.Transform()); diff != "" {
		t.Errorf("keywords (-want +got):\n%s", diff)
	}
	h.ask("search: hats")
	if got := h.router.lastRequest().GetKeywords(); len(got) != 0 {
		t.Errorf("another store has the keywords %v", got)
	}
}

func TestRedisDownAtAdmissionIsUnavailableAndThenOver(t *testing.T) {
	h := open(t, nil)
	h.ask("search: shoes")
	h.redis.Close()
	_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes"})
	wantStatus(t, err, codes.Unavailable, "STATE_UNAVAILABLE")
	if err := h.redis.Restart(); err != nil {
		t.Fatal(err)
	}
	h.ask("search: shoes")
}

func TestAReplyThatCannotBeRecordedIsGivenAnyway(t *testing.T) {
	h := open(t, nil)
	h.service.cfg.RecordTimeout = time.Second / 2
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		h.redis.SetError("LOADING not now")
		return say(stream, "here")
	}
	reply := h.ask("search: shoes")
	h.redis.SetError("")
	if reply.GetText() != "here" {
		t.Errorf("text %q", reply.GetText())
	}
	_, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
	wantStatus(t, err, codes.NotFound, "TURN_NOT_FOUND")
}
