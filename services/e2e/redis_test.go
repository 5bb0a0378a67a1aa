package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// realRedis starts a Redis without persistence and returns its URL.
func realRedis(t *testing.T, addr string) string {
	t.Helper()
	url, _ := startRedis(t, addr, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	return url
}

// startRedis starts redis-server on addr and waits until it answers. The returned function kills it.
func startRedis(t *testing.T, addr string, args ...string) (url string, kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not installed, and this is CI")
		}
		t.Skip("redis-server is not installed")
	}
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, append(args, "--bind", "127.0.0.1", "--port", port)...)
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
	awaitRedis(t, addr, func(c *redis.Client) error { return c.Ping(t.Context()).Err() })
	return "redis://" + addr, kill
}

// awaitRedis waits until check passes.
func awaitRedis(t *testing.T, addr string, check func(*redis.Client) error) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	var err error
	for due := time.Now().Add(startTimeout); time.Now().Before(due); time.Sleep(20 * time.Millisecond) {
		if err = check(client); err == nil {
			return
		}
	}
	t.Fatalf("redis at %s: %v", addr, err)
}

// startSentinel starts a Redis, its replica and a Sentinel. The returned function kills the Redis and waits until the
// replica has taken its place.
func startSentinel(t *testing.T) (url string, failOver func()) {
	t.Helper()
	first, second, sentinel := freeAddress(t), freeAddress(t), freeAddress(t)
	_, firstPort, _ := net.SplitHostPort(first)
	memory := []string{"--save", "", "--appendonly", "no", "--dir", t.TempDir()}
	_, kill := startRedis(t, first, memory...)
	startRedis(t, second, append(memory, "--replicaof", "127.0.0.1 "+firstPort)...)
	awaitRedis(t, second, func(c *redis.Client) error {
		return contains(c.Info(t.Context(), "replication"), "master_link_status:up")
	})
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor shop 127.0.0.1 " + firstPort + " 1\nsentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 5000\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startRedis(t, sentinel, conf, "--sentinel")
	awaitRedis(t, sentinel, func(c *redis.Client) error { return contains(c.Info(t.Context(), "sentinel"), "slaves=1") })
	return "redis+sentinel://" + sentinel + "/0?master=shop", func() {
		kill()
		awaitRedis(t, second, func(c *redis.Client) error { return contains(c.Info(t.Context(), "replication"), "role:master") })
	}
}

// contains returns an error unless a reply of Redis has a text in it.
func contains(reply *redis.StringCmd, want string) error {
	text, err := reply.Result()
	if err == nil && !strings.Contains(text, want) {
		err = fmt.Errorf("no %q in %q", want, text)
	}
	return err
}
