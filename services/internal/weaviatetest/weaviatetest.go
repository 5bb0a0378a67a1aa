// Package weaviatetest starts real Weaviate servers for tests, which are killed when the test ends. The server is the program
// that QUARTET_WEAVIATE names, or weaviate-server on the PATH. Without it a test is skipped, and fails in CI.
//
// Only tests import it. It must not import a service.
package weaviatetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
)

// Cluster is one server or several.
type Cluster struct {
	t        testing.TB
	path     string
	settings []string
	nodes    []*Node
}

// Node is one server.
type Node struct {
	cluster *Cluster
	name    string
	dir     string
	ports   ports
	cmd     *exec.Cmd
	log     *os.File
}

// ports are those of a server, by what for.
type ports struct{ http, gossip, data, raft, raftRPC, grpc, profile string }

// Start starts n servers that keep what they are told on each other. Settings such as GOMEMLIMIT=4GiB are added to their environment.
func Start(t testing.TB, n int, settings ...string) *Cluster {
	t.Helper()
	path := os.Getenv("QUARTET_WEAVIATE")
	if path == "" {
		path = "weaviate-server"
	}
	path, err := exec.LookPath(path)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no weaviate-server, and this is CI; 'make weaviate' installs it")
		}
		t.Skip("there is no weaviate-server; 'make weaviate' installs it, and QUARTET_WEAVIATE names it")
	}
	c := &Cluster{t: t, path: path, settings: settings}
	for i, p := range freePorts(t, n) {
		c.nodes = append(c.nodes, &Node{cluster: c, name: "node" + strconv.Itoa(i+1), dir: t.TempDir(), ports: p})
	}
	t.Cleanup(func() {
		for _, node := range c.nodes {
			node.Kill()
			if t.Failed() {
				node.tell()
			}
		}
	})
	for i, node := range c.nodes {
		node.Start()
		if i == 0 && n > 1 { // the others join it
			redistest.Eventually(t, func() error { return listening(node.ports.gossip) })
		}
	}
	for _, node := range c.nodes {
		node.Ready()
	}
	return c
}

// URL is the address of all servers, as --index takes it.
func (c *Cluster) URL() string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, n.host())
	}
	return "weaviate://" + strings.Join(hosts, ",")
}

// URL is the address of the server alone.
func (n *Node) URL() string { return "weaviate://" + n.host() }

func (n *Node) host() string { return "127.0.0.1:" + n.ports.http + "/" + n.ports.grpc }

// Node returns the i-th server.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// freePorts are those of n servers, on which nobody listens now.
func freePorts(t testing.TB, n int) []ports {
	t.Helper()
	out := make([]ports, n)
	for i := range out {
		p := &out[i]
		free(t, &p.http)
		free(t, &p.grpc)
		free(t, &p.profile)
		free(t, &p.gossip, &p.data) // servers take the one from the other
		free(t, &p.raft, &p.raftRPC)
	}
	return out
}

// The system gives connections other ports, so no connection takes one of these before the server starts.
const firstPort, endPort = 10_000, 32_000

// free finds free ports that follow each other.
func free(t testing.TB, of ...*string) {
	t.Helper()
	for range 100 {
		var held []net.Listener
		first := firstPort + rand.IntN(endPort-firstPort)
		for i := range of {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i)))
			if err != nil {
				break
			}
			held = append(held, l)
		}
		if len(held) == len(of) {
			for i, l := range held {
				*of[i] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
				_ = l.Close()
			}
			return
		}
		for _, l := range held {
			_ = l.Close()
		}
	}
	t.Fatal("there are no free ports")
}

// Start starts a server that does not run, with the data that it had.
func (n *Node) Start() {
	t := n.cluster.t
	t.Helper()
	var raft, gossip []string
	for _, other := range n.cluster.nodes {
		raft = append(raft, other.name+":"+other.ports.raft)
		if other != n {
			gossip = append(gossip, "127.0.0.1:"+other.ports.gossip)
		}
	}
	if n == n.cluster.nodes[0] && n.cmd == nil {
		gossip = nil // the first has nobody to join
	}
	var err error
	n.log, err = os.OpenFile(filepath.Join(n.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(n.cluster.path, "--host", "127.0.0.1", "--port", n.ports.http, "--scheme", "http")
	n.cmd.Dir, n.cmd.Stdout, n.cmd.Stderr = n.dir, n.log, n.log
	n.cmd.Env = append(os.Environ(),
		"PERSISTENCE_DATA_PATH="+filepath.Join(n.dir, "data"), "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true",
		"DEFAULT_VECTORIZER_MODULE=none", "ENABLE_API_BASED_MODULES=false", "DISABLE_TELEMETRY=true", "LOG_LEVEL=warning",
		"CLUSTER_HOSTNAME="+n.name, "CLUSTER_IN_LOCALHOST=true", "CLUSTER_ADVERTISE_ADDR=127.0.0.1",
		"CLUSTER_GOSSIP_BIND_PORT="+n.ports.gossip, "CLUSTER_DATA_BIND_PORT="+n.ports.data, "CLUSTER_JOIN="+strings.Join(gossip, ","),
		"RAFT_PORT="+n.ports.raft, "RAFT_INTERNAL_RPC_PORT="+n.ports.raftRPC, "RAFT_JOIN="+strings.Join(raft, ","),
		"RAFT_BOOTSTRAP_EXPECT="+strconv.Itoa(len(raft)), "GRPC_PORT="+n.ports.grpc, "GO_PROFILING_PORT="+n.ports.profile,
		"GOMEMLIMIT=400MiB",
		// What a node has missed it gets by default after half a minute or more.
		"ASYNC_REPLICATION_FREQUENCY=1s", "ASYNC_REPLICATION_PROPAGATION_DELAY=1s", "ASYNC_REPLICATION_ALIVE_NODES_CHECKING_FREQUENCY=1s",
	)
	n.cmd.Env = append(n.cmd.Env, n.cluster.settings...)
	dieTogether(n.cmd)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// Ready waits until the server answers.
func (n *Node) Ready() {
	n.cluster.t.Helper()
	redistest.Eventually(n.cluster.t, func() error {
		resp, err := http.Get("http://127.0.0.1:" + n.ports.http + "/v1/.well-known/ready")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s is not ready: %s", n.name, resp.Status)
		}
		return nil
	})
}

// Kill kills the server, with no time to put anything in order.
func (n *Node) Kill() {
	if n.cmd == nil || n.cmd.ProcessState != nil {
		return
	}
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait() // it was killed
	_ = n.log.Close()
}

// tell logs the end of what the server has written.
func (n *Node) tell() {
	raw, err := os.ReadFile(filepath.Join(n.dir, "log"))
	if err != nil {
		return
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	n.cluster.t.Logf("%s:\n%s", n.name, bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// ProcessorTime is how long the server has used a processor. It is zero where the system does not say so in /proc.
func (n *Node) ProcessorTime() time.Duration {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid)) // no file: no fields
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks of 100 a second
}

func listening(port string) error {
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err
}
