package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// realCluster starts a Redis that is a cluster of one and returns a client. It refuses a command whose keys do not lie on
// one slot.
func realCluster(t *testing.T) redis.UniversalClient {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not installed, and this is CI")
		}
		t.Skip("redis-server is not installed")
	}
	port, bus := freePort(t), freePort(t)
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(), "--save", "", "--appendonly", "no",
		"--cluster-enabled", "yes", "--cluster-port", bus)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	single := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1})
	defer single.Close()
	eventually(t, func() bool { return single.Ping(t.Context()).Err() == nil })
	if err := single.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return strings.Contains(single.ClusterInfo(t.Context()).Val(), "cluster_state:ok") })
	client, err := state.Open(t.Context(), "redis+cluster://127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestTurnsAreOrderedRecordedAndForgottenOnARealCluster(t *testing.T) {
	client := realCluster(t)
	h := newHouse(t, miniredis.RunT(t)) // of another gateway, which is not asked
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
	if err := real.threads.setSummary(ctx, "demo", "t1", "hats", 6); err != nil {
		t.Error(err)
	}
	got, err := h.thread("t1")
	if err != nil || len(got.GetMessages()) != 12 || len(got.GetTurnIds()) != 6 || got.GetThread().GetSummary() != "hats" {
		t.Errorf("thread %v, %v", got, err)
	}
	resp, err := h.client.DeleteThread(ctx, &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"})
	if err != nil || !resp.GetDeleted() {
		t.Errorf("delete: %v, %v", resp, err)
	}
	if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 {
		t.Errorf("keys left: %v", keys)
	}
}
