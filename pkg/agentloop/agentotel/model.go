package agentotel

import (
	"context"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Histogram buckets of the conventions.
var (
	secondsBuckets = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokensBuckets  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// Model returns a model that does what m does, with a span for every call and metrics of its duration and tokens. The span
// ends with the sequence, even if the consumer stops early. The model is safe for concurrent use if m is.
func Model(m agentloop.Model, cfg Config) agentloop.Model {
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	t := &model{
		next: m, cfg: cfg, tracer: cfg.tracer(), name: operationChat,
		attrs: []attribute.KeyValue{keyOperation.String(operationChat), keyProvider.String(cfg.Provider)},
	}
	if cfg.RequestModel != "" {
		t.name += " " + cfg.RequestModel
		t.attrs = append(t.attrs, keyRequestModel.String(cfg.RequestModel))
	}
	t.attrs = slices.Clip(t.attrs) // every call appends to it
	var err error
	if t.duration, err = cfg.meter().Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls of models."), metric.WithExplicitBucketBoundaries(secondsBuckets...)); err != nil {
		otel.Handle(err)
	}
	if t.tokens, err = cfg.meter().Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Tokens of calls of models."), metric.WithExplicitBucketBoundaries(tokensBuckets...)); err != nil {
		otel.Handle(err)
	}
	return t
}

type model struct {
	next     agentloop.Model
	cfg      Config
	tracer   trace.Tracer
	name     string
	attrs    []attribute.KeyValue // of every span and measurement
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram
}

// Generate implements [agentloop.Model].
func (m *model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		ctx, span := m.tracer.Start(ctx, m.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(m.attrs...))
		defer span.End()
		if span.IsRecording() {
			span.SetAttributes(requestAttributes(req)...)
		}
		o := observation{started: time.Now()}
		defer func() { m.record(ctx, span, &o) }()
		for c, err := range m.next.Generate(ctx, req) {
			o.add(c, err)
			if !yield(c, err) {
				return
			}
		}
	}
}

func requestAttributes(req *agentloop.Request) []attribute.KeyValue {
	output := "text"
	if req.Output != nil {
		output = "json"
	}
	attrs := []attribute.KeyValue{keyOutputType.String(output)}
	if req.MaxOutputTokens > 0 {
		attrs = append(attrs, keyMaxTokens.Int(req.MaxOutputTokens))
	}
	if req.Temperature != nil {
		attrs = append(attrs, keyTemperature.Float64(*req.Temperature))
	}
	return attrs
}

// observation collects the outcome of one call.
type observation struct {
	started    time.Time
	firstChunk time.Duration
	model      string
	finish     agentloop.FinishReason
	usage      *agentloop.Usage
	err        error
}

func (o *observation) add(c agentloop.Chunk, err error) {
	if err != nil {
		o.err = err
		return
	}
	if o.firstChunk == 0 {
		o.firstChunk = max(time.Since(o.started), 1)
	}
	if c.Model != "" {
		o.model = c.Model
	}
	if c.FinishReason != "" {
		o.finish = c.FinishReason
	}
	if c.Usage != nil {
		o.usage = c.Usage
	}
}

// record writes an observation to the span and the metrics that are enabled.
func (m *model) record(ctx context.Context, span trace.Span, o *observation) {
	if span.IsRecording() {
		o.describe(span)
		if o.err != nil {
			m.cfg.fail(span, o.err)
		}
	}
	common := m.attrs
	if o.model != "" {
		common = append(common, keyResponseModel.String(o.model))
	}
	if u := o.usage; u != nil && m.tokens.Enabled(ctx) {
		common := slices.Clip(common)
		m.tokens.Record(ctx, u.InputTokens, metric.WithAttributes(append(common, keyTokenType.String("input"))...))
		m.tokens.Record(ctx, u.OutputTokens, metric.WithAttributes(append(common, keyTokenType.String("output"))...))
	}
	if m.duration.Enabled(ctx) {
		if o.err != nil {
			common = append(common, keyErrorType.String(errorType(o.err)))
		}
		m.duration.Record(ctx, time.Since(o.started).Seconds(), metric.WithAttributes(common...))
	}
}

// describe adds the outcome to the call's span.
func (o *observation) describe(span trace.Span) {
	if o.model != "" {
		span.SetAttributes(keyResponseModel.String(o.model))
	}
	if o.finish != "" {
		span.SetAttributes(keyFinishReasons.StringSlice([]string{string(o.finish)}))
	}
	if o.firstChunk > 0 {
		span.SetAttributes(keyTimeToFirstChunk.Float64(o.firstChunk.Seconds()))
	}
	if u := o.usage; u != nil {
		span.SetAttributes(
			keyInputTokens.Int64(u.InputTokens), keyOutputTokens.Int64(u.OutputTokens),
			keyCachedTokens.Int64(u.CachedInputTokens), keyReasoningTokens.Int64(u.ReasoningTokens),
		)
	}
}
