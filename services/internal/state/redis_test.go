package state_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// realRedis starts redis-server with args on addr and waits until it answers. The returned function kills it.
func realRedis(t *testing.T, addr string, args ...string) (kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not installed, and this is CI")
		}
		t.Skip("redis-server is not installed")
	}
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, append(args, "--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir())...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	eventually(t, func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return kill
}

var inMemory = []string{"--save", "", "--appendonly", "no"}

func TestRealRedisIsUnavailableWhenKilledAndRecovers(t *testing.T) {
	addr := freeAddr(t)
	kill := realRedis(t, addr, append(inMemory, "--requirepass", "hunter2")...)
	_, err := state.Open(t.Context(), "redis://"+addr)
	wantLine(t, err, "right user and password")

	client := open(t, "redis://:hunter2@"+addr+"/1")
	get := func() error { return client.Get(t.Context(), state.Key("demo", "k")).Err() }
	if err := client.Set(t.Context(), state.Key("demo", "k"), "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	kill()
	wantUnavailable(t, state.Error("load cart", get()), true)

	realRedis(t, addr, append(inMemory, "--requirepass", "hunter2")...)
	eventually(t, func() error {
		if err := get(); err != redis.Nil { // it came back empty
			return err
		}
		return nil
	})
}

func TestRealSentinel(t *testing.T) {
	master, sentinel := freeAddr(t), freeAddr(t)
	realRedis(t, master, append(inMemory, "--requirepass", "hunter2")...)
	_, port, _ := net.SplitHostPort(master)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor shop 127.0.0.1 " + port + " 1\nsentinel auth-pass shop hunter2\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	realRedis(t, sentinel, conf, "--sentinel")
	client := open(t, "redis+sentinel://:hunter2@"+sentinel+"/0?master=shop")
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
}

func TestRealCluster(t *testing.T) {
	addr := freeAddr(t)
	bus := freeAddr(t)
	_, busPort, _ := net.SplitHostPort(bus)
	realRedis(t, addr, append(inMemory, "--cluster-enabled", "yes", "--cluster-port", busPort)...)
	single := open(t, "redis://"+addr)
	if err := single.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return single.Set(t.Context(), "k", "v", 0).Err() })
	client := open(t, "redis+cluster://"+addr)
	// Keys of one store lie on one slot, so that one command may name several.
	if err := client.MSet(t.Context(), state.Key("demo", "a"), 1, state.Key("demo", "b"), 2).Err(); err != nil {
		t.Error(err)
	}
}
