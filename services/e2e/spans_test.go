package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	logscollectorv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricscollectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

var updateSpans = flag.Bool("update-spans", false, "write the trees of spans in testdata/spans anew")

// exported is a span as a back end has it.
type exported struct {
	service string
	*tracev1.Span
}

func exportedOf(resources []*tracev1.ResourceSpans) []exported {
	var all []exported
	for _, r := range resources {
		service := ""
		for _, a := range r.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				all = append(all, exported{service, s})
			}
		}
	}
	return all
}

// sink is a trace back end within the test.
type sink struct {
	collectorv1.UnimplementedTraceServiceServer
	address string
	mu      sync.Mutex
	got     []exported
}

func newSink(t *testing.T) *sink {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{address: lis.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, s)
	metricscollectorv1.RegisterMetricsServiceServer(server, metricSink{})
	logscollectorv1.RegisterLogsServiceServer(server, logSink{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(lis) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return s
}

// Export implements collectorv1.TraceServiceServer.
func (s *sink) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, exportedOf(req.GetResourceSpans())...)
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// metricSink and logSink take what is sent beside spans, and forget it.
type (
	metricSink struct {
		metricscollectorv1.UnimplementedMetricsServiceServer
	}
	logSink struct {
		logscollectorv1.UnimplementedLogsServiceServer
	}
)

func (metricSink) Export(context.Context, *metricscollectorv1.ExportMetricsServiceRequest) (*metricscollectorv1.ExportMetricsServiceResponse, error) {
	return &metricscollectorv1.ExportMetricsServiceResponse{}, nil
}

func (logSink) Export(context.Context, *logscollectorv1.ExportLogsServiceRequest) (*logscollectorv1.ExportLogsServiceResponse, error) {
	return &logscollectorv1.ExportLogsServiceResponse{}, nil
}

// spans are those that have come.
func (s *sink) spans() []exported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// startCollector starts an OpenTelemetry Collector that passes on what it gets, and returns where processes send it.
func startCollector(t *testing.T, program, to string) (endpoint string) {
	t.Helper()
	address, config := redistest.FreeAddr(t), filepath.Join(t.TempDir(), "config.yaml")
	settings := fmt.Sprintf("receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}\nexporters: {otlp: {endpoint: %q, tls: {insecure: true}}}\n"+
		"service: {telemetry: {metrics: {level: none}}, pipelines: {traces: &all {receivers: [otlp], exporters: [otlp]}, metrics: *all, logs: *all}}\n", address, to)
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(program, "--config="+config)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the collector: %v\n%s", err, &output)
		}
	})
	return "http://" + address
}

// shownValues are the attributes whose values are the same in each run.
var shownValues = []string{
	"gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.request.model", "gen_ai.workflow.name", "error.type", "quartet.outcome",
	"quartet.routing.source", "quartet.merge.method", "quartet.store.id",
}

// describeSpan is a line: service, kind, name, status, and attributes of GenAI and Quartet.
func describeSpan(s exported) string {
	var attributes []string
	for _, a := range s.GetAttributes() {
		switch key := a.GetKey(); {
		case slices.Contains(shownValues, key):
			attributes = append(attributes, key+"="+a.GetValue().GetStringValue())
		case strings.HasPrefix(key, "gen_ai."), strings.HasPrefix(key, "quartet."), strings.HasPrefix(key, "server."), strings.HasPrefix(key, "rpc."):
			attributes = append(attributes, key)
		}
	}
	slices.Sort(attributes)
	status := ""
	if s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR {
		status = " ERROR"
	}
	kind := strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"))
	return fmt.Sprintf("%s %s %s%s [%s]", s.service, kind, s.GetName(), status, strings.Join(attributes, " "))
}

// tree renders the spans of a trace, each under its parent, without those of Redis. It returns an error while a parent is missing.
func tree(all []exported, traceID string) (string, error) {
	children, known := make(map[string][]exported), map[string]bool{"": true}
	for _, s := range all {
		if hex.EncodeToString(s.GetTraceId()) == traceID {
			known[string(s.GetSpanId())] = true
			children[string(s.GetParentSpanId())] = append(children[string(s.GetParentSpanId())], s)
		}
	}
	for parent, under := range children {
		if !known[parent] {
			return "", fmt.Errorf("the parent of %q has not come", under[0].GetName())
		}
	}
	if len(children[""]) != 1 {
		return "", fmt.Errorf("the trace has %d roots", len(children[""]))
	}
	var render func(s exported, indent string) string
	render = func(s exported, indent string) string {
		var parts []string
		for _, child := range children[string(s.GetSpanId())] {
			if !strings.HasPrefix(child.GetName(), "redis") && !isRedis(child) {
				parts = append(parts, render(child, indent+"  "))
			}
		}
		slices.Sort(parts)
		return indent + describeSpan(s) + linksOf(all, s) + "\n" + strings.Join(parts, "")
	}
	return render(children[""][0], ""), nil
}

// linksOf names who answered in the traces that a span links to. The spans of a gateway that was killed may be lost.
func linksOf(all []exported, s exported) (text string) {
	for _, link := range s.GetLinks() {
		var answered []string
		for _, other := range all {
			if bytes.Equal(other.GetTraceId(), link.GetTraceId()) && other.GetKind() == tracev1.Span_SPAN_KIND_SERVER && strings.HasSuffix(other.GetName(), "/Answer") {
				answered = append(answered, other.service)
			}
		}
		slices.Sort(answered)
		text += " links to a trace in which " + strings.Join(answered, ", ") + " answered"
	}
	return text
}

func isRedis(s exported) bool {
	return slices.ContainsFunc(s.GetAttributes(), func(a *commonv1.KeyValue) bool {
		return a.GetKey() == "db.system" || a.GetKey() == "db.system.name"
	})
}

// A back end gets one tree for a turn through six processes, with the parents, kinds, names and attributes that testdata/spans has.
// With QUARTET_OTELCOL, an OpenTelemetry Collector is between.
func TestABackendHasOneTreeOfATurnThroughSixProcesses(t *testing.T) {
	t.Parallel()
	traces := newSink(t)
	endpoint := "http://" + traces.address
	if program := os.Getenv("QUARTET_OTELCOL"); program != "" {
		endpoint = startCollector(t, program, traces.address)
	}
	modes, err := hostile.Parse("unknown-tool")
	if err != nil {
		t.Fatal(err)
	}
	url := redistest.Single(t)
	client, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	brain := newBrain(t)
	refused, err := hostile.New(hostile.Config{Next: brain, Model: offline.Model, Modes: modes})
	if err != nil {
		t.Fatal(err)
	}
	var hostileNow atomic.Bool
	model := newBlockingModel(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hostileNow.Load() {
			refused.ServeHTTP(w, r)
			return
		}
		brain.ServeHTTP(w, r)
	}))
	p := &crashSetup{model: model, redis: client, processes: startProcesses(t, processConfig{redis: url, model: model, env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_BSP_SCHEDULE_DELAY=100", "QUARTET_RUN_AHEAD=off", "QUARTET_LEASE=1s",
	}})}
	p.loadDemo()
	gateway := gatewayv1.NewGatewayServiceClient(p.dial(suite.Gateway))
	p.awaitAnswer(gateway)
	ask := func(message string) func() (*gatewayv1.AskResponse, error) {
		return func() (*gatewayv1.AskResponse, error) {
			return gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: message})
		}
	}
	for _, c := range []struct {
		name    string
		prepare func()
		ask     func() (*gatewayv1.AskResponse, error)
	}{
		{"two parts", func() {}, ask(twoParts)},
		{"refused tool call", func() { hostileNow.Store(true) }, ask("Do you have trail running shoes in size 42?")},
		{"resumed", func() {
			hostileNow.Store(false)
			p.startSecondGateway()
			p.dieMerging(secondGateway, "resumed")
		}, func() (*gatewayv1.AskResponse, error) { return p.ask(suite.Gateway, "resumed") }},
		{"a specialist is down", func() { p.kill(suite.Support) }, ask(twoParts)},
	} {
		c.prepare()
		reply, err := c.ask()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		file := filepath.Join("testdata", "spans", strings.ReplaceAll(c.name, " ", "_")+".txt")
		want, err := os.ReadFile(file)
		if err != nil && !*updateSpans {
			t.Fatal(err)
		}
		// Spans come one after the other: the tree is complete when it is the wanted one, or has not changed for a while.
		got, same := "", 0
		redistest.Eventually(t, func() error {
			now, err := tree(traces.spans(), reply.GetTraceId())
			if same++; now != got {
				got, same = now, 0
			}
			if err == nil && (*updateSpans || got != string(want)) && same < 300 {
				err = errors.New("spans may still come")
			}
			return err
		})
		if *updateSpans {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: the tree (-want +got); if it is meant, run with -args -update-spans:\n%s", c.name, diff)
		}
	}
}
