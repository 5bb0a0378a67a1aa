package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver/dns"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/suite"
)

var hold = flag.Duration("hold", time.Second, "how long at least TestHold restarts and kills services under load")

const (
	// holdRate is the time between two turns of the load, however long earlier ones take.
	holdRate = 100 * time.Millisecond
	// holdLatency is the time of each model call.
	holdLatency = 150 * time.Millisecond
	// holdTimeout is the deadline of each turn.
	holdTimeout = 20 * time.Second
)

// nameServer answers questions for IPv4 addresses, as that of a Kubernetes cluster does for headless services.
type nameServer struct {
	addr string

	mu    sync.Mutex
	hosts map[string][]string // IP addresses by name
}

func newNameServer(t *testing.T) *nameServer {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{addr: conn.LocalAddr().String(), hosts: map[string][]string{}}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	serving.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var q dnsmessage.Message
			if q.Unpack(buf[:n]) != nil || len(q.Questions) != 1 {
				continue
			}
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true}, Questions: q.Questions}
			if q.Questions[0].Type == dnsmessage.TypeA {
				for _, ip := range s.of(q.Questions[0].Name.String()) {
					answer.Answers = append(answer.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET},
						Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(ip).To4())},
					})
				}
			}
			if raw, err := answer.Pack(); err == nil {
				_, _ = conn.WriteTo(raw, from)
			}
		}
	})
	return s
}

func (s *nameServer) of(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hosts[strings.TrimSuffix(name, ".")])
}

func (s *nameServer) add(name, ip string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[name] = append(s.hosts[name], ip)
}

func (s *nameServer) remove(name, ip string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[name] = slices.DeleteFunc(s.hosts[name], func(other string) bool { return other == ip })
}

// fleet is two replicas of each service, as processes that find each other by name.
type fleet struct {
	t       *testing.T
	program string
	env     []string
	names   *nameServer
	port    map[string]string // by role
	next    int               // of IP addresses
	pods    map[string][]*pod // by role, the oldest first
}

type pod struct {
	process
	ip string
}

// startFleet starts a fleet, loads the demo stores, and returns a client of the gateways.
func startFleet(t *testing.T, redisURL string) (*fleet, gatewayv1.GatewayServiceClient) {
	if l, err := net.Listen("tcp", "127.0.1.2:0"); err != nil {
		t.Skipf("no second loopback address: %v", err)
	} else {
		_ = l.Close()
	}
	brain := newBrain(t)
	modelServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(holdLatency) // a model takes its time, so that what is replaced has work to do
		brain.ServeHTTP(w, r)
	}))
	t.Cleanup(modelServer.Close)
	scopes := t.TempDir()
	folders, err := certs.ScopeFolders(scopes, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := certs.Write(scopes, folders); err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, program: build(t), names: newNameServer(t), port: map[string]string{}, next: 1, pods: map[string][]*pod{}}
	f.env = append(os.Environ(), "QUARTET_REDIS="+redisURL, "QUARTET_MODEL_URL="+modelServer.URL+"/v1",
		"QUARTET_MODEL="+offline.Model, "QUARTET_FAST_MODEL="+offline.ModelFast,
		"QUARTET_SCOPE_KEY="+filepath.Join(scopes, certs.ScopeKeyFolder, certs.ScopeKeyFile),
		"QUARTET_SCOPE_KEYS="+filepath.Join(scopes, certs.ScopeKeysFolder, certs.ScopeKeysFile))
	for _, role := range suite.Roles() {
		_, f.port[role], _ = net.SplitHostPort(redistest.FreeAddr(t))
		f.env = append(f.env, fmt.Sprintf("QUARTET_%s_ADDR=%s", strings.ToUpper(role), f.target(role)))
	}
	t.Cleanup(f.stopAll)
	for range 2 {
		for _, role := range suite.Roles() {
			f.start(role)
		}
	}
	for _, role := range suite.Roles() {
		for _, p := range f.pods[role] {
			f.awaitServing(role, p)
		}
	}
	conn, err := rpc.Dial(f.target(suite.Gateway), rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	loadDemo := exec.CommandContext(t.Context(), f.program, "load", "--demo", "--addr="+f.target(suite.Gateway))
	loadDemo.Env = f.env
	if out, err := loadDemo.CombinedOutput(); err != nil {
		t.Fatalf("load: %v\n%s", err, out)
	}
	return f, gatewayv1.NewGatewayServiceClient(conn)
}

// target is where callers find a role.
func (f *fleet) target(role string) string {
	return "dns://" + f.names.addr + "/" + role + ".test.:" + f.port[role]
}

// start starts a replica with an address of its own.
func (f *fleet) start(role string) *pod {
	f.next++
	p := &pod{ip: fmt.Sprintf("127.0.%d.%d", 1+f.next/250, 1+f.next%250)}
	p.cmd = exec.Command(f.program, "serve", role, "--listen="+net.JoinHostPort(p.ip, f.port[role]))
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = f.env, &p.process, &p.process
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.pods[role] = append(f.pods[role], p)
	return p
}

// awaitServing waits until a replica serves, and publishes its address.
func (f *fleet) awaitServing(role string, p *pod) {
	conn, err := grpc.NewClient(net.JoinHostPort(p.ip, f.port[role]), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(f.t.Context(), startTimeout)
	defer cancel()
	reply, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{Service: rpc.Readiness}, grpc.WaitForReady(true))
	if err != nil || reply.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		f.t.Fatalf("%s does not serve: %v %v\n%s", role, reply, err, p.said())
	}
	f.names.add(role+".test", p.ip)
}

// replace starts a replica, and ends the oldest one as Kubernetes does: the name and the process at the same time.
func (f *fleet) replace(role string, signal syscall.Signal) {
	f.awaitServing(role, f.start(role))
	old := f.pods[role][0]
	f.pods[role] = f.pods[role][1:]
	if signal == syscall.SIGTERM {
		f.names.remove(role+".test", old.ip)
		_ = old.cmd.Process.Signal(signal)
		if err := old.cmd.Wait(); err != nil {
			f.t.Errorf("%s did not stop well: %v\n%s", role, err, old.said())
		}
		return
	}
	_ = old.cmd.Process.Signal(signal)
	_ = old.cmd.Wait() // it was killed
	f.names.remove(role+".test", old.ip)
}

func (f *fleet) stopAll() {
	for _, pods := range f.pods {
		for _, p := range pods {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	for role, pods := range f.pods {
		for _, p := range pods {
			_ = p.cmd.Wait()
			if f.t.Failed() {
				f.t.Logf("%s said:\n%s", role, p.said())
			}
		}
	}
}

// openLoop is turns that begin at a fixed rate.
type openLoop struct {
	mu       sync.Mutex
	outcomes map[string]int
	recorded []string // ids of turns that the gateway says it has recorded
	turns    sync.WaitGroup
	slowest  time.Duration
}

// run begins turns until ctx ends, and waits for them.
func (l *openLoop) run(ctx context.Context, gateway gatewayv1.GatewayServiceClient) {
	ticker := time.NewTicker(holdRate)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			l.turns.Wait()
			return
		case <-ticker.C:
			l.turns.Go(func() { l.ask(gateway) })
		}
	}
}

func (l *openLoop) ask(gateway gatewayv1.GatewayServiceClient) {
	ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
	defer cancel()
	begun := time.Now()
	reply, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: twoParts})
	outcome := status.Code(err).String()
	if err != nil {
		outcome += ": " + status.Convert(err).Message()
	}
	for _, r := range reply.GetResults() {
		if failure := r.GetFailure(); failure != nil {
			outcome = "part failed: " + failure.GetCode()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[outcome]++
	if err == nil && !reply.GetUnrecorded() {
		l.recorded = append(l.recorded, reply.GetTurnId())
	}
	l.slowest = max(l.slowest, time.Since(begun))
}

// during returns the outcomes of the turns that begin while do runs, and the ids of those that were recorded.
func (f *fleet) during(gateway gatewayv1.GatewayServiceClient, do func(ctx context.Context)) (outcomes map[string]int, recorded []string) {
	l := &openLoop{outcomes: map[string]int{}}
	ctx, stop := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, gateway) })
	do(ctx)
	stop()
	running.Wait()
	f.t.Logf("outcomes %v, slowest turn %v", l.outcomes, l.slowest.Round(time.Millisecond))
	return l.outcomes, l.recorded
}

// TestHold replaces the replicas of all services under load, one after the other, kills specialists, and in the end has Redis fail
// over. A roll-out and killed specialists fail no turn. A fail-over fails turns only while Redis is away, as UNAVAILABLE.
func TestHold(t *testing.T) {
	redisURL, failOver := redistest.Sentinel(t)
	f, gateway := startFleet(t, redisURL)
	end := time.Now().Add(*hold)
	rounds := 0
	for ; rounds == 0 || time.Now().Before(end); rounds++ {
		got, _ := f.during(gateway, func(context.Context) {
			for _, role := range suite.Roles() {
				f.replace(role, syscall.SIGTERM)
				f.replace(role, syscall.SIGTERM)
			}
		})
		if len(got) != 1 || got[codes.OK.String()] == 0 {
			t.Errorf("roll-out of all services: %v, want OK only", got)
		}
		got, _ = f.during(gateway, func(context.Context) {
			for _, role := range suite.Specialists() {
				f.replace(role, syscall.SIGKILL)
			}
		})
		if bad := total(got) - got[codes.OK.String()]; bad > 0 {
			t.Errorf("killed specialists: %v, want OK only", got)
		}
	}
	t.Logf("%d rounds", rounds)
	f.failOver(gateway, failOver)
}

// TestARollOutForCallersWithDefaults replaces both gateways at once. A caller with gRPC's defaults looks names up every 30 seconds, so
// the old replicas go on for the drain delay of the manifests. It takes longer than other tests may, and runs with -hold 1m or more.
func TestARollOutForCallersWithDefaults(t *testing.T) {
	if *hold < time.Minute {
		t.Skip("takes 90 s: run it with -args -hold 1m")
	}
	t.Setenv("QUARTET_DRAIN_DELAY", "35s")
	dns.SetMinResolutionInterval(30 * time.Second) // as before package rpc changed it
	defer dns.SetMinResolutionInterval(time.Second)
	f, _ := startFleet(t, redistest.Single(t))
	conn, err := grpc.NewClient(f.target(suite.Gateway), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	gateway := gatewayv1.NewGatewayServiceClient(conn)
	awaitTurn(t, gateway)
	var old []*pod
	got, _ := f.during(gateway, func(ctx context.Context) {
		for range 2 {
			f.awaitServing(suite.Gateway, f.start(suite.Gateway))
			leaving := f.pods[suite.Gateway][0]
			f.pods[suite.Gateway] = f.pods[suite.Gateway][1:]
			f.names.remove(suite.Gateway+".test", leaving.ip)
			_ = leaving.cmd.Process.Signal(syscall.SIGTERM)
			old = append(old, leaving)
		}
		pause(ctx, 45*time.Second)
	})
	for _, p := range old {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a gateway did not stop well: %v", err)
		}
	}
	if len(got) != 1 || got[codes.OK.String()] == 0 {
		t.Errorf("roll-out of the gateways: %v, want OK only", got)
	}
}

// TestAClusterFailsOver kills the primary node of the key that every turn reads.
func TestAClusterFailsOver(t *testing.T) {
	redisURL, failOver := redistest.SixNodes(t)
	f, gateway := startFleet(t, redisURL)
	f.failOver(gateway, func() { failOver("quartet:stores") })
}

// failOver has Redis fail over under load. Turns fail only while Redis is away, as UNAVAILABLE.
func (f *fleet) failOver(gateway gatewayv1.GatewayServiceClient, failOver func()) {
	t := f.t
	got, recorded := f.during(gateway, func(ctx context.Context) {
		pause(ctx, time.Second)
		failOver()
	})
	for outcome, n := range got {
		if outcome != codes.OK.String() && !strings.HasPrefix(outcome, codes.Unavailable.String()) && !strings.HasPrefix(outcome, "part failed: UNAVAILABLE") {
			t.Errorf("fail-over of Redis: %d turns ended with %s", n, outcome)
		}
	}
	awaitTurn(t, gateway)
	lost := 0
	for _, id := range recorded {
		_, err := gateway.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: id})
		if status.Code(err) == codes.NotFound {
			lost++
		} else if err != nil {
			t.Error(err)
		}
	}
	t.Logf("the fail-over lost %d of %d recorded turns", lost, len(recorded)) // those that the replica had not got yet
	got, _ = f.during(gateway, func(ctx context.Context) { pause(ctx, 3*time.Second) })
	if len(got) != 1 || got[codes.OK.String()] == 0 {
		t.Errorf("after the fail-over: %v, want OK only", got)
	}
}

// pause lets the load go on for a while.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// awaitTurn waits until a turn succeeds.
func awaitTurn(t *testing.T, gateway gatewayv1.GatewayServiceClient) {
	begun := time.Now()
	redistest.Eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), holdTimeout)
		defer cancel()
		_, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: twoParts})
		return err
	})
	t.Logf("a turn succeeded %v after the fail-over", time.Since(begun).Round(time.Millisecond))
}

func total(outcomes map[string]int) int {
	n := 0
	for _, count := range slices.Collect(maps.Values(outcomes)) {
		n += count
	}
	return n
}
