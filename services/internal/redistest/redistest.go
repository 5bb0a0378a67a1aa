// Package redistest starts real Redis servers for tests, which are killed when the test ends. Where redis-server is not
// installed, a test is skipped, and fails in CI.
//
// Only tests import it. It must not import a service.
package redistest

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to start or to change; a loaded machine needs a few seconds.
const patience = 30 * time.Second

// InMemory are arguments of a server that writes nothing to disk.
var InMemory = []string{"--save", "", "--appendonly", "no"}

// Ports that FreeAddr chooses from. The system gives none of them, nor those 10,000 above, which are the buses of Redis
// clusters, to connections and listeners that ask for any.
const (
	firstPort = 10_240
	ports     = 12_000
)

// given are the ports that FreeAddr has chosen in this process.
var given sync.Map

// FreeAddr returns a loopback address that is free now, a different one each time. It is chosen at random, so that another
// process hardly takes it before a server starts on it.
func FreeAddr(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		if _, again := given.LoadOrStore(addr, true); again {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port found: ", err)
	return ""
}

// Start starts redis-server on addr and waits until it accepts connections. It works in a folder of its own unless args
// name another. The returned function kills it.
func Start(t testing.TB, addr string, args ...string) (kill func()) {
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
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	Eventually(t, func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	return kill
}

// Single starts a server that writes nothing to disk, and returns its URL.
func Single(t testing.TB) (url string) {
	t.Helper()
	addr := FreeAddr(t)
	Start(t, addr, InMemory...)
	return "redis://" + addr
}

// Restricted starts servers that write nothing to disk and have the users of the file acl, in which PASSWORD stands for a password.
// The scheme of their URL says which: redis for one server, redis+sentinel for one that a Sentinel watches, redis+cluster for a cluster
// of one. It returns the URL for the user quartet, and a client of the server with all rights.
func Restricted(t testing.TB, acl, scheme string) (url string, admin *redis.Client) {
	t.Helper()
	text, err := os.ReadFile(acl)
	if err != nil {
		t.Fatal(err)
	}
	password := crand.Text()
	users := strings.ReplaceAll(string(text), "PASSWORD", password) + "user admin on nopass ~* &* +@all\n"
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, args := FreeAddr(t), append([]string{"--aclfile", file}, InMemory...)
	admin = redis.NewClient(&redis.Options{Addr: addr, Username: "admin", Password: "any", MaxRetries: -1})
	t.Cleanup(func() { _ = admin.Close() })
	hosts := addr
	switch scheme {
	case "redis":
		Start(t, addr, args...)
	case "redis+sentinel":
		Start(t, addr, args...)
		hosts = startSentinel(t, addr, 0, "sentinel auth-user shop admin\nsentinel auth-pass shop any\n") + "/0?master=shop"
	case "redis+cluster":
		startCluster(t, addr, admin, args)
	default:
		t.Fatalf("no servers of scheme %q", scheme)
	}
	return scheme + "://quartet:" + password + "@" + hosts, admin
}

// Cluster starts a cluster of one server and returns its URL. It refuses a command whose keys do not lie on one slot.
func Cluster(t testing.TB) (url string) {
	t.Helper()
	addr := FreeAddr(t)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	startCluster(t, addr, client, InMemory)
	return "redis+cluster://" + addr
}

// startCluster starts a server that has all slots. The client is that of somebody who may change the cluster.
func startCluster(t testing.TB, addr string, client *redis.Client, args []string) {
	t.Helper()
	_, bus, _ := net.SplitHostPort(FreeAddr(t))
	Start(t, addr, append([]string{"--cluster-enabled", "yes", "--cluster-port", bus}, args...)...)
	if err := client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, func() error { return holds(client.ClusterInfo(t.Context()), "cluster_state:ok") })
}

// SixNodes starts a cluster of three primaries with a replica each, and returns its URL. The returned function kills the primary of a
// key and waits until its replica has taken its place.
func SixNodes(t testing.TB) (url string, failOver func(key string)) {
	t.Helper()
	const primaries, slots = 3, 16384
	var addrs []string
	var clients []*redis.Client
	var kills []func()
	for range 2 * primaries {
		addr := FreeAddr(t)
		_, bus, _ := net.SplitHostPort(FreeAddr(t))
		kills = append(kills, Start(t, addr, append([]string{"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000"}, InMemory...)...))
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		if len(addrs) > 0 {
			host, port, _ := net.SplitHostPort(addr)
			if err := clients[0].Do(t.Context(), "CLUSTER", "MEET", host, port, bus).Err(); err != nil {
				t.Fatal(err)
			}
		}
		addrs, clients = append(addrs, addr), append(clients, client)
	}
	for i, client := range clients {
		Eventually(t, func() error {
			return holds(client.ClusterInfo(t.Context()), fmt.Sprintf("cluster_known_nodes:%d", len(clients)))
		})
		if i < primaries {
			if err := client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", i*slots/primaries, (i+1)*slots/primaries-1).Err(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		id, err := clients[i-primaries].Do(t.Context(), "CLUSTER", "MYID").Text()
		if err != nil {
			t.Fatal(err)
		}
		Eventually(t, func() error { return client.ClusterReplicate(t.Context(), id).Err() })
	}
	for i, client := range clients {
		Eventually(t, func() error { return holds(client.ClusterInfo(t.Context()), "cluster_state:ok") })
		if i >= primaries {
			await(t, addrs[i], "replication", "master_link_status:up")
		}
	}
	return "redis+cluster://" + strings.Join(addrs, ","), func(key string) {
		slot, err := clients[primaries].ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		i := int(slot) * primaries / slots
		kills[i]()
		await(t, addrs[i+primaries], "replication", "role:master")
	}
}

// Sentinel starts a server, its replica and a Sentinel that watches both, and returns the URL. The returned function kills
// the server and waits until the replica has taken its place.
func Sentinel(t testing.TB) (url string, failOver func()) {
	t.Helper()
	first, second := FreeAddr(t), FreeAddr(t)
	_, port, _ := net.SplitHostPort(first)
	kill := Start(t, first, InMemory...)
	Start(t, second, append([]string{"--replicaof", "127.0.0.1 " + port}, InMemory...)...)
	await(t, second, "replication", "master_link_status:up")
	sentinel := startSentinel(t, first, 1, "")
	return "redis+sentinel://" + sentinel + "/0?master=shop", func() {
		kill()
		await(t, second, "replication", "role:master")
	}
}

// startSentinel starts a Sentinel that watches a server as "shop", and waits until it knows the server's replicas. It returns its address.
func startSentinel(t testing.TB, server string, replicas int, settings string) string {
	t.Helper()
	addr, conf := FreeAddr(t), filepath.Join(t.TempDir(), "sentinel.conf")
	_, port, _ := net.SplitHostPort(server)
	text := "sentinel monitor shop 127.0.0.1 " + port + " 1\nsentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 5000\n"
	if err := os.WriteFile(conf, []byte(text+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	Start(t, addr, conf, "--sentinel")
	await(t, addr, "sentinel", fmt.Sprintf("status=ok,address=%s,slaves=%d", server, replicas))
	return addr
}

// await waits until a section of what a server says of itself has a text in it.
func await(t testing.TB, addr, section, want string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	Eventually(t, func() error { return holds(client.Info(t.Context(), section), want) })
}

func holds(reply *redis.StringCmd, want string) error {
	text, err := reply.Result()
	if err == nil && !strings.Contains(text, want) {
		err = fmt.Errorf("no %q in %q", want, text)
	}
	return err
}

// Eventually tries until it works, and fails the test when it has not for half a minute. It is for other processes, whose
// time no fake clock tells.
func Eventually(t testing.TB, try func() error) {
	t.Helper()
	var err error
	for due := time.Now().Add(patience); time.Now().Before(due); time.Sleep(10 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}
