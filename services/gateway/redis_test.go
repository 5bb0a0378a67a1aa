package gateway

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestTurnsAreOrderedRecordedAndForgottenOnARealCluster(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	h := newFixture(t, miniredis.RunT(t)) // of another gateway, which is not asked
	h.start()
	real := h.serveGateway("real", client)
	conn := h.dial("real")
	h.client, h.stores = gatewayv1.NewGatewayServiceClient(conn), gatewayv1.NewStoreServiceClient(conn)
	h.putStore("demo")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := func(id, message string) (*gatewayv1.AskResponse, error) { return h.client.Ask(ctx, named(id, message)) }

	first, err := ask("r0", "search: shoes")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ask("r0", "search: shoes"); err != nil || again.GetTurnId() != first.GetTurnId() {
		t.Errorf("asked again: %v, %v", again, err)
	}
	_, err = ask("r0", "search: hats")
	wantStatus(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED")
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if _, err := ask(fmt.Sprintf("r%d", i+1), "search: hats | support: returns"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if known, err := real.threads.Load(ctx, "demo", "t1", 1); err != nil || real.threads.SetSummary(ctx, "demo", known, "hats") != nil {
		t.Errorf("summary of %v: %v", known, err)
	}
	got, err := h.thread("t1")
	if err != nil || len(got.GetMessages()) != 12 || len(got.GetTurnIds()) != 6 || got.GetThread().GetSummary() != "hats" {
		t.Errorf("thread %v, %v", got, err)
	}
	resp, err := h.client.DeleteThread(ctx, &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"})
	if err != nil || !resp.GetDeleted() {
		t.Errorf("delete: %v, %v", resp, err)
	}
	began, err := h.client.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", RequestId: "new", Message: "search: socks"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.client.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", RequestId: "new", Message: "search: socks"})
	if err != nil || again.GetThreadId() != began.GetThreadId() || again.GetTurnId() != began.GetTurnId() {
		t.Errorf("a request that made a thread, again: %v, %v", again, err)
	}
	if turn, err := h.client.GetTurn(ctx, &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: began.GetTurnId()}); err != nil {
		t.Errorf("turn: %v, %v", turn, err)
	}
	listed, err := h.client.ListThreads(ctx, &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ann"})
	if err != nil || len(listed.GetThreads()) != 1 || listed.GetThreads()[0].GetThreadId() != began.GetThreadId() {
		t.Errorf("threads: %v, %v", listed, err)
	}
	slots := map[int64]bool{}
	for _, key := range client.Keys(ctx, "quartet:{*").Val() {
		slots[client.ClusterKeySlot(ctx, key).Val()] = true
	}
	if len(slots) < 3 {
		t.Errorf("a claim, a thread and a list are in %d slots", len(slots))
	}
	if _, err := h.client.DeleteThread(ctx, &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: began.GetThreadId()}); err != nil {
		t.Error(err)
	}
	if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 {
		t.Errorf("keys left: %v", keys)
	}
}
