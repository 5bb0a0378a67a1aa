package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/certs"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// startTimeout bounds the wait for a process to serve; a loaded machine needs a few seconds.
const startTimeout = 30 * time.Second

// processes is the six services as six processes over TCP.
type processes struct {
	t       *testing.T
	program string
	env     []string
	addr    map[string]string
	running map[string]*process
	tls     *processTLS // nil: plaintext
	scopes  string      // folder with the keys of scopes
}

// process is one running service. Its output is told when the test fails.
type process struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	output bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// build builds the program once for the tests of this file.
func build(t *testing.T) string {
	t.Helper()
	if racedetector.On {
		t.Skip("the services are processes, which the run without the race detector has tried")
	}
	program := filepath.Join(t.TempDir(), "quartet")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/quartet").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// processConfig says what the six services use. The zero value: an embedded Redis and the offline model.
type processConfig struct {
	redis string       // URL
	model http.Handler // speaks for the model
	env   []string     // settings, such as QUARTET_LEASE=1s
	tls   bool         // with TLS, and a token for callers
}

func startProcesses(t *testing.T, cfg processConfig) *processes {
	t.Helper()
	if cfg.redis == "" {
		redisServer, err := state.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = redisServer.Close() })
		cfg.redis = redisServer.URL()
	}
	if cfg.model == nil {
		cfg.model = newBrain(t)
	}
	modelServer := httptest.NewServer(cfg.model)
	t.Cleanup(modelServer.Close)
	p := &processes{t: t, program: build(t), addr: make(map[string]string), running: make(map[string]*process), scopes: t.TempDir()}
	p.env = append(append(os.Environ(), cfg.env...), "QUARTET_REDIS="+cfg.redis, "QUARTET_MODEL_URL="+modelServer.URL+"/v1",
		"QUARTET_MODEL="+offline.Model, "QUARTET_FAST_MODEL="+offline.ModelFast)
	for _, role := range suite.Roles() {
		p.addr[role] = redistest.FreeAddr(t)
		p.env = append(p.env, fmt.Sprintf("QUARTET_%s_ADDR=%s", strings.ToUpper(role), p.addr[role]))
	}
	p.makeScopeKeys("")
	p.env = append(p.env, "QUARTET_SCOPE_KEY="+filepath.Join(p.scopes, certs.ScopeKeyFolder, certs.ScopeKeyFile),
		"QUARTET_SCOPE_KEYS="+filepath.Join(p.scopes, certs.ScopeKeysFolder, certs.ScopeKeysFile))
	if cfg.tls {
		p.secure()
	}
	t.Cleanup(p.stopAll)
	for _, role := range suite.Roles() {
		p.start(role)
	}
	for _, role := range suite.Roles() {
		p.awaitServing(role)
	}
	return p
}

// makeScopeKeys makes the keys of scopes, or takes a step of their rotation.
func (p *processes) makeScopeKeys(step string) {
	p.t.Helper()
	folders, err := certs.ScopeFolders(p.scopes, step)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := certs.Write(p.scopes, folders); err != nil {
		p.t.Fatal(err)
	}
}

func newBrain(t *testing.T) http.Handler {
	t.Helper()
	brain, err := offline.New(offline.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return brain
}

// loadDemo loads the demo stores through the gateway.
func (p *processes) loadDemo() {
	p.t.Helper()
	load := exec.CommandContext(p.t.Context(), p.program, "load", "--demo", "--addr="+p.addr[suite.Gateway])
	load.Env = p.env
	if p.tls != nil {
		load.Args = append(load.Args, "--tls="+p.tls.folder(mtls.Client))
	}
	if out, err := load.CombinedOutput(); err != nil {
		p.t.Fatalf("load: %v\n%s", err, out)
	}
}

func (p *processes) start(role string) {
	p.t.Helper()
	p.startAs(role, role)
}

// startAs starts one more process of a role, under a name that has an address.
func (p *processes) startAs(name, role string) {
	p.t.Helper()
	proc := &process{cmd: exec.Command(p.program, "serve", role, "--listen="+p.addr[name])}
	if p.tls != nil {
		proc.cmd.Args = append(proc.cmd.Args, "--tls="+p.tls.folder(role), "--health-listen="+p.tls.health[role])
	}
	proc.cmd.Env, proc.cmd.Stdout, proc.cmd.Stderr = p.env, proc, proc
	if err := proc.cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", name, err)
	}
	p.running[name] = proc
}

// awaitServing waits until the service reports that it serves.
func (p *processes) awaitServing(role string) {
	p.t.Helper()
	conn := p.probe(role)
	ctx, cancel := context.WithTimeout(p.t.Context(), startTimeout)
	defer cancel()
	reply, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || reply.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		p.t.Fatalf("%s does not serve: %v %v\n%s", role, reply, err, p.running[role].said())
	}
}

// probe connects to where a service tells its health.
func (p *processes) probe(role string) *grpc.ClientConn {
	p.t.Helper()
	if p.tls != nil {
		return p.plain(p.tls.health[role])
	}
	return p.plain(p.addr[role])
}

// dial connects to a service as a store's backend does.
func (p *processes) dial(role string) *grpc.ClientConn {
	p.t.Helper()
	if p.tls != nil {
		return p.dialAs(mtls.Client, role)
	}
	return p.plain(p.addr[role])
}

func (p *processes) plain(addr string) *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// kill ends a process at once, as a lost node would.
func (p *processes) kill(role string) {
	p.t.Helper()
	if err := p.running[role].cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.running[role].cmd.Wait() // it was killed
	delete(p.running, role)
}

// stopAll asks every process to stop and checks that each ends well.
func (p *processes) stopAll() {
	for _, proc := range p.running {
		_ = proc.cmd.Process.Signal(syscall.SIGTERM)
	}
	for role, proc := range p.running {
		if err := proc.cmd.Wait(); err != nil {
			p.t.Errorf("%s did not stop well: %v\n%s", role, err, proc.said())
		}
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", role, proc.said())
		}
	}
}

const twoParts = "Do you have trail running shoes in size 42, and what is your return policy?"

func TestSixProcessesSurviveALostSpecialist(t *testing.T) {
	p := startProcesses(t, processConfig{})
	p.loadDemo()
	gateway := gatewayv1.NewGatewayServiceClient(p.dial(suite.Gateway))
	ask := func() *gatewayv1.AskResponse {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
		defer cancel()
		reply, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: twoParts})
		if err != nil {
			t.Fatalf("Ask: %v", err)
		}
		return reply
	}
	outcome := func(reply *gatewayv1.AskResponse) map[string]string {
		codes := make(map[string]string)
		for _, r := range reply.GetResults() {
			code := "OK"
			if f := r.GetFailure(); f != nil {
				code = f.GetCode()
			}
			codes[r.GetAssignment().GetSpecialist()] = code
		}
		return codes
	}
	want := func(reply *gatewayv1.AskResponse, search, support string) {
		t.Helper()
		got := outcome(reply)
		if got[suite.Search] != search || got[suite.Support] != support {
			t.Fatalf("outcomes are %v; want search %s, support %s\n%s", got, search, support, reply.GetText())
		}
	}

	want(ask(), "OK", "OK")
	p.kill(suite.Support)
	reply := ask()
	want(reply, "OK", "UNAVAILABLE")
	if !strings.Contains(strings.ToLower(reply.GetText()), "return policy") {
		t.Errorf("the reply does not say which part is missing:\n%s", reply.GetText())
	}
	p.start(suite.Support)
	p.awaitServing(suite.Support)
	p.awaitAnswer(gateway)
	want(ask(), "OK", "OK")
}

// awaitAnswer waits until the gateway has found the restarted specialist: its connection backs off between attempts.
func (p *processes) awaitAnswer(gateway gatewayv1.GatewayServiceClient) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), startTimeout)
	defer cancel()
	for ctx.Err() == nil {
		_, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", Message: "hi!"})
		if err == nil {
			return
		}
	}
	p.t.Fatal("the gateway never found the restarted specialist")
}
