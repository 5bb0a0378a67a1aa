package gateway

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// said are the messages of a thread, each with its author.
func said(messages []*commonv1.Message) []string {
	var all []string
	for _, m := range messages {
		who := "shopper"
		switch {
		case m.GetPerson() != "":
			who = m.GetPerson()
		case m.GetRole() == commonv1.Role_ROLE_ASSISTANT:
			who = "assistant"
		}
		all = append(all, who+": "+m.GetText())
	}
	return all
}

func TestAPersonJoinsAThread(t *testing.T) {
	h := open(t, nil)
	agents := gatewayv1.NewAgentServiceClient(h.dial("gateway"))
	post := func(text, request string, mute bool) {
		t.Helper()
		_, err := agents.PostAgentMessage(t.Context(), &gatewayv1.PostAgentMessageRequest{
			StoreId: "demo", ThreadId: "t1", Person: "Mia", Text: text, RequestId: request, MuteAssistant: mute})
		if err != nil {
			t.Fatal(err)
		}
	}
	calls := func() (n int) {
		for _, name := range specialistNames {
			requests, _ := h.specialists[name].calls()
			n += len(requests)
		}
		return n
	}
	h.askIn("t1", "ann", "search: shoes")
	post("Hello Ann, I\u200b am Mia.", "p1", true)
	post("Hello Ann, I am Mia.", "p1", true) // again
	before := calls()
	req := &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", ThreadId: "t1", Message: "search: are you real?", RequestId: "r1"}
	var ids []string
	for range 2 { // the request is repeated
		events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{
			StoreId: req.GetStoreId(), CustomerId: req.GetCustomerId(), ThreadId: req.GetThreadId(), Message: req.GetMessage(), RequestId: req.GetRequestId()})
		if err != nil {
			t.Fatal(err)
		}
		text, reply := textOf(events)
		if text != "" || !reply.GetMuted() || reply.GetText() != "" || !reply.GetHandoff().GetRecommended() || reply.GetRequestId() != "r1" {
			t.Errorf("a muted assistant says %q: %v", text, reply)
		}
		ids = append(ids, reply.GetTurnId())
	}
	if n := calls(); n != before || ids[0] != ids[1] {
		t.Errorf("a muted assistant asked %d specialists, turns %v", n-before, ids)
	}
	got, err := h.thread("t1")
	if err != nil || !got.GetThread().GetAssistantMuted() {
		t.Fatalf("%v, %v", got, err)
	}
	want := []string{"shopper: search: shoes", "assistant: search says shoes.", "Mia: Hello Ann, I am Mia.", "shopper: search: are you real?"}
	if diff := cmp.Diff(want, said(got.GetMessages())); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	post("Yes.", "p2", false) // stays muted
	if got, err := h.thread("t1"); err != nil || !got.GetThread().GetAssistantMuted() {
		t.Errorf("a post lets the assistant speak: %v, %v", got, err)
	}
	if _, err := agents.MuteAssistant(t.Context(), &gatewayv1.MuteAssistantRequest{StoreId: "demo", ThreadId: "t1"}); err != nil {
		t.Fatal(err)
	}
	if reply := h.askIn("t1", "ann", "search: hats"); reply.GetMuted() || reply.GetText() != "search says hats." {
		t.Errorf("an assistant that may speak says %v", reply)
	}
	requests, _ := h.specialists["search"].calls()
	if diff := cmp.Diff(append(slices.Clone(want), "Mia: Yes."), said(requests[len(requests)-1].GetHistory())); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// A thread that expires or is deleted takes what persons wrote with it, and is not there for them afterwards.
func TestAPersonNeedsAThreadAndTheRight(t *testing.T) {
	h := open(t, nil)
	h.askIn("t1", "ann", "search: shoes")
	h.as(h.service, "reader") // serves it
	name := fmt.Sprintf("gateway-%p", h.service)
	for caller, want := range map[string]codes.Code{"reader": codes.PermissionDenied, "web": codes.PermissionDenied, "ann": codes.PermissionDenied} {
		agents := gatewayv1.NewAgentServiceClient(h.dialAs(name, caller))
		_, err := agents.PostAgentMessage(t.Context(), &gatewayv1.PostAgentMessageRequest{StoreId: "demo", ThreadId: "t1", Person: "Mia", Text: "Hi"})
		wantStatus(t, err, want, "PERMISSION_DENIED")
		_, err = agents.MuteAssistant(t.Context(), &gatewayv1.MuteAssistantRequest{StoreId: "demo", ThreadId: "t1", Muted: true})
		wantStatus(t, err, want, "PERMISSION_DENIED")
	}
	agents := gatewayv1.NewAgentServiceClient(h.dial("gateway"))
	_, err := agents.PostAgentMessage(t.Context(), &gatewayv1.PostAgentMessageRequest{StoreId: "demo", ThreadId: "t1", RequestId: "a b"})
	if diff := cmp.Diff([]string{"person", "text", "request_id"}, badFields(err)); diff != "" {
		t.Errorf("%v: fields (-want +got):\n%s", err, diff)
	}
	h.redis.FastForward(DefaultThreadTTL - time.Minute)
	for _, muted := range []bool{true, false} {
		if _, err := agents.MuteAssistant(t.Context(), &gatewayv1.MuteAssistantRequest{StoreId: "demo", ThreadId: "t1", Muted: muted}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := agents.PostAgentMessage(t.Context(), &gatewayv1.PostAgentMessageRequest{StoreId: "demo", ThreadId: "t1", Person: "Mia", Text: "Hi"}); err != nil {
		t.Fatal(err)
	}
	h.redis.FastForward(2 * time.Minute)
	if diff := cmp.Diff([]string{storesKey}, h.redis.Keys()); diff != "" {
		t.Errorf("a post has renewed the thread (-want +got):\n%s", diff)
	}
	_, err = agents.PostAgentMessage(t.Context(), &gatewayv1.PostAgentMessageRequest{StoreId: "demo", ThreadId: "t1", Person: "Mia", Text: "Hi"})
	wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
}
