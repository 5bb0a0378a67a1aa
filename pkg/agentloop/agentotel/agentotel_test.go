package agentotel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// rig collects what is traced and measured.
type rig struct {
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	cfg    agentotel.Config
}

func newRig() *rig {
	r := &rig{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	r.cfg = agentotel.Config{
		Provider: "acme", RequestModel: "big",
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(r.reader)),
	}
	return r
}

// span returns the only span that has ended.
func (r *rig) span(t *testing.T) sdktrace.ReadOnlySpan {
	t.Helper()
	if len(r.spans.Started()) != 1 || len(r.spans.Ended()) != 1 {
		t.Fatalf("%d spans started, %d ended, want one", len(r.spans.Started()), len(r.spans.Ended()))
	}
	return r.spans.Ended()[0]
}

// attributes returns a set of attributes as a map.
func attributes(attrs []attribute.KeyValue) map[string]any {
	m := make(map[string]any, len(attrs))
	for _, a := range attrs {
		m[string(a.Key)] = a.Value.AsInterface()
	}
	return m
}

// metrics returns each histogram point as "name{attributes} count sum bounds".
func (r *rig) metrics(t *testing.T) map[string]string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	points := make(map[string]string)
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch h := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range h.DataPoints {
					points[m.Name+" "+m.Unit+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(p.Count, p.Sum, len(p.Bounds))
				}
			case metricdata.Histogram[int64]:
				for _, p := range h.DataPoints {
					points[m.Name+" "+m.Unit+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(p.Count, p.Sum, len(p.Bounds))
				}
			}
		}
	}
	return points
}

func ask(text string) *agentloop.Request {
	return &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: text}}}
}

func drain(ctx context.Context, m agentloop.Model, req *agentloop.Request) error {
	for _, err := range m.Generate(ctx, req) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestModelCallIsASpanAndMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		temperature := 0.5
		req := ask("hi")
		req.Temperature, req.MaxOutputTokens, req.Output = &temperature, 9, &agentloop.OutputSchema{}
		m := agentotel.Model(scripted.New(scripted.Step{
			Text: "ab", ChunkSize: 1, Delay: time.Second, ChunkDelay: time.Second, Model: "big-1",
			Usage: &agentloop.Usage{InputTokens: 10, OutputTokens: 20, CachedInputTokens: 3, ReasoningTokens: 4},
		}), r.cfg)
		if err := drain(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		s := r.span(t)
		if s.Name() != "chat big" || s.SpanKind() != trace.SpanKindClient || s.Status().Code != codes.Unset {
			t.Errorf("span %q, kind %v, status %v", s.Name(), s.SpanKind(), s.Status())
		}
		want := map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "acme", "gen_ai.request.model": "big",
			"gen_ai.output.type": "json", "gen_ai.request.max_tokens": int64(9), "gen_ai.request.temperature": 0.5,
			"gen_ai.response.model": "big-1", "gen_ai.response.finish_reasons": []string{"stop"},
			"gen_ai.response.time_to_first_chunk": 1.0,
			"gen_ai.usage.input_tokens":           int64(10), "gen_ai.usage.output_tokens": int64(20),
			"gen_ai.usage.cache_read.input_tokens": int64(3), "gen_ai.usage.reasoning.output_tokens": int64(4),
		}
		if diff := cmp.Diff(want, attributes(s.Attributes())); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		const common = "gen_ai.operation.name=chat,gen_ai.provider.name=acme,gen_ai.request.model=big,gen_ai.response.model=big-1"
		wantMetrics := map[string]string{
			"gen_ai.client.operation.duration s " + common:                              "1 3 14",
			"gen_ai.client.token.usage {token} " + common + ",gen_ai.token.type=input":  "1 10 14",
			"gen_ai.client.token.usage {token} " + common + ",gen_ai.token.type=output": "1 20 14",
		}
		if diff := cmp.Diff(wantMetrics, r.metrics(t)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// statusErr is an error that names its kind.
type statusErr struct{}

func (statusErr) Error() string     { return "slow down, said the customer" }
func (statusErr) ErrorType() string { return "429" }

func TestFailedModelCallNamesItsKindOnly(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"timeout", fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout"},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), "canceled"},
		{"names itself", fmt.Errorf("x: %w", statusErr{}), "429"},
		{"anything else", errors.New("x"), "_OTHER"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig()
			if err := drain(t.Context(), agentotel.Model(scripted.New(scripted.Step{Err: c.err}), r.cfg), ask("hi")); !errors.Is(err, c.err) {
				t.Errorf("error %v, want it unchanged", err)
			}
			s := r.span(t)
			if s.Status().Code != codes.Error || s.Status().Description != "" {
				t.Errorf("status %+v", s.Status())
			}
			if got := attributes(s.Attributes())["error.type"]; got != c.want {
				t.Errorf("error.type %v, want %s", got, c.want)
			}
			for point := range r.metrics(t) {
				if !strings.Contains(point, "error.type="+c.want) {
					t.Errorf("measured as %s", point)
				}
			}
		})
	}
}

func TestSpanEndsWhenTheConsumerStops(t *testing.T) {
	r := newRig()
	for range agentotel.Model(scripted.New(scripted.Step{Text: "abc", ChunkSize: 1}), r.cfg).Generate(t.Context(), ask("hi")) {
		break
	}
	if s := r.span(t); s.Status().Code != codes.Unset {
		t.Errorf("status %v", s.Status())
	}
	if len(r.metrics(t)) != 1 {
		t.Errorf("metrics %v", r.metrics(t))
	}
}

func TestModelWithoutConfigOrSDK(t *testing.T) {
	if err := drain(t.Context(), agentotel.Model(scripted.New(scripted.Step{Text: "a"}), agentotel.Config{}), ask("hi")); err != nil {
		t.Error(err)
	}
}

type lookArgs struct {
	ID int `json:"id"`
}

func TestToolCallIsASpan(t *testing.T) {
	boom := errors.New("no such customer: Jo")
	cases := []struct {
		name    string
		fn      func() (any, error)
		capture bool
		attrs   map[string]any // beyond those of every tool span
		status  sdktrace.Status
	}{
		{name: "success", fn: func() (any, error) { return "x", nil }},
		{
			name: "success, captured", fn: func() (any, error) { return []int{1}, nil }, capture: true,
			attrs: map[string]any{"gen_ai.tool.call.arguments": `{"id":1}`, "gen_ai.tool.call.result": "[1]"},
		},
		{
			name: "text, captured", fn: func() (any, error) { return strings.Repeat("é", 5000), nil }, capture: true,
			attrs: map[string]any{"gen_ai.tool.call.arguments": `{"id":1}`, "gen_ai.tool.call.result": strings.Repeat("é", 4096)},
		},
		{
			name: "JSON, captured", fn: func() (any, error) { return json.RawMessage(`{}`), nil }, capture: true,
			attrs: map[string]any{"gen_ai.tool.call.arguments": `{"id":1}`, "gen_ai.tool.call.result": "{}"},
		},
		{
			name: "what is no JSON, captured", fn: func() (any, error) { return func() {}, nil }, capture: true,
			attrs: map[string]any{"gen_ai.tool.call.arguments": `{"id":1}`, "gen_ai.tool.call.result": ""},
		},
		{
			name: "error", fn: func() (any, error) { return nil, boom },
			attrs: map[string]any{"error.type": "_OTHER"}, status: sdktrace.Status{Code: codes.Error},
		},
		{
			name: "error, captured", fn: func() (any, error) { return nil, boom }, capture: true,
			attrs:  map[string]any{"error.type": "_OTHER", "gen_ai.tool.call.arguments": `{"id":1}`},
			status: sdktrace.Status{Code: codes.Error, Description: boom.Error()},
		},
		{
			name: "panic", fn: func() (any, error) { panic("x") },
			attrs: map[string]any{"error.type": "panic"}, status: sdktrace.Status{Code: codes.Error},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig()
			r.cfg.CaptureContent = c.capture
			tool := agentotel.Tool(agentloop.NewTool("look", "", func(ctx context.Context, _ lookArgs) (any, error) {
				if !trace.SpanContextFromContext(ctx).IsValid() {
					t.Error("the tool runs outside of its span")
				}
				return c.fn()
			}), r.cfg)
			func() {
				defer func() { _ = recover() }()
				_, _ = tool.Run(t.Context(), agentloop.ToolCall{ID: "a", Name: "look", Arguments: `{"id":1}`})
			}()
			s := r.span(t)
			if s.Name() != "execute_tool look" || s.SpanKind() != trace.SpanKindInternal {
				t.Errorf("span %q, kind %v", s.Name(), s.SpanKind())
			}
			want := map[string]any{
				"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "a",
			}
			for k, v := range c.attrs {
				want[k] = v
			}
			if diff := cmp.Diff(want, attributes(s.Attributes())); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.status, s.Status()); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolWrappedTwiceStillChecksItsArguments(t *testing.T) {
	r := newRig()
	ran := 0
	tool := agentloop.NewTool("look", "", func(context.Context, lookArgs) (string, error) { ran++; return "x", nil })
	tool = agentotel.Tool(agentotel.Tool(tool, r.cfg), r.cfg)
	loop, err := agentloop.New(agentloop.Config{Tools: []agentloop.Tool{tool}, Model: scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "look", Arguments: `{"id":"one"}`}, {Name: "look", Arguments: `{"id":1}`}}},
		scripted.Step{Text: "done"},
	)})
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context(), nil, "hi")
	if err != nil || ran != 1 || result.Calls[0].Error == "" || result.Calls[1].Error != "" {
		t.Errorf("ran %d times, calls %+v, error %v", ran, result.Calls, err)
	}
	if n := len(r.spans.Ended()); n != 2 {
		t.Errorf("%d spans, want one for each wrapper", n)
	}
}

func TestToolWithoutAFunctionIsLeftForTheLoopToRefuse(t *testing.T) {
	tool := agentotel.Tool(agentloop.Tool{ToolSpec: agentloop.ToolSpec{Name: "look"}}, agentotel.Config{})
	if tool.Run != nil {
		t.Error("the tool got a function")
	}
}

func TestARefusedCallIsASpanThatFailed(t *testing.T) {
	for name, want := range map[string]any{"no_such_tool": "no_such_tool", "<script>": nil} {
		for _, capture := range []bool{false, true} {
			r := newRig()
			r.cfg.CaptureContent = capture
			begun := time.Now().Add(-time.Minute)
			agentotel.Refused(t.Context(), agentloop.CallRecord{
				ToolCall: agentloop.ToolCall{ID: "c1", Name: name, Arguments: `{"who":"ava"}`}, Error: "there is no such tool, ava", Start: begun, Duration: time.Second,
			}, r.cfg)
			s := r.span(t)
			got := attributes(s.Attributes())
			if s.Name() != "execute_tool" || got["gen_ai.tool.name"] != want || got["error.type"] != "refused" || s.Status().Code != codes.Error ||
				s.EndTime().Sub(s.StartTime()) != time.Second {
				t.Errorf("%s: span %q, %v, %v", name, s.Name(), got, s.Status())
			}
			if content := strings.Contains(fmt.Sprint(got, s.Status()), "ava"); content != capture {
				t.Errorf("%s: capture %v: %v, %v", name, capture, got, s.Status())
			}
		}
	}
}
