package state_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestRealRedisIsUnavailableWhenKilledAndRecovers(t *testing.T) {
	addr := redistest.FreeAddr(t)
	kill := redistest.Start(t, addr, append(redistest.InMemory, "--requirepass", "hunter2")...)
	_, err := state.Open(t.Context(), "redis://"+addr)
	wantLine(t, err, "right user and password")

	client := open(t, "redis://:hunter2@"+addr+"/1")
	get := func() error { return client.Get(t.Context(), state.Key("demo", "k")).Err() }
	if err := client.Set(t.Context(), state.Key("demo", "k"), "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	kill()
	wantUnavailable(t, state.Error("load cart", get()), true)

	redistest.Start(t, addr, append(redistest.InMemory, "--requirepass", "hunter2")...)
	redistest.Eventually(t, func() error {
		if err := get(); err != redis.Nil { // it came back empty
			return err
		}
		return nil
	})
}

func TestRealSentinel(t *testing.T) {
	master, sentinel := redistest.FreeAddr(t), redistest.FreeAddr(t)
	redistest.Start(t, master, append(redistest.InMemory, "--requirepass", "hunter2")...)
	_, port, _ := net.SplitHostPort(master)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor shop 127.0.0.1 " + port + " 1\nsentinel auth-pass shop hunter2\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	redistest.Start(t, sentinel, conf, "--sentinel")
	client := open(t, "redis+sentinel://:hunter2@"+sentinel+"/0?master=shop")
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
}

func TestRealCluster(t *testing.T) {
	client := open(t, redistest.Cluster(t))
	// Keys of one store lie on one slot, so that one command may name several.
	if err := client.MSet(t.Context(), state.Key("demo", "a"), 1, state.Key("demo", "b"), 2).Err(); err != nil {
		t.Error(err)
	}
}

func TestDeleteKeysOfAStore(t *testing.T) {
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, client := range map[string]redis.UniversalClient{"one server": open(t, server.URL()), "a cluster": open(t, redistest.Cluster(t))} {
		t.Run(name, func(t *testing.T) {
			kept := []string{"quartet:stores", state.Key("demo2", "a"), state.TaggedKey("dem", "o", "a"), state.TaggedKey("x", "demo", "demo")}
			gone := []string{state.Key("demo", "a")}
			for i := range 50 {
				gone = append(gone, state.TaggedKey("demo", strconv.Itoa(i), "b"))
			}
			for _, key := range slices.Concat(kept, gone) {
				if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []int64{51, 0} {
				if n, err := state.DeleteKeys(t.Context(), client, "demo"); err != nil || n != want {
					t.Errorf("%d keys deleted, %v; want %d", n, err, want)
				}
			}
			for i, key := range slices.Concat(kept, gone) {
				if n := client.Exists(t.Context(), key).Val(); n == 1 != (i < len(kept)) {
					t.Errorf("%s: %d", key, n)
				}
			}
		})
	}
}
