package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// Outcomes of a turn, the values of telemetry.KeyOutcome.
const (
	outcomeAnswered = "answered" // all of it
	outcomeDegraded = "degraded" // a part failed, the merge's model did, or the reply could not be recorded
	outcomeFailed   = "failed"
)

// Stages of a turn, the values of telemetry.KeyStage.
const (
	stageRoute       = "route"
	stageSpecialists = "specialists" // until the last one has finished
	stageMerge       = "merge"
	stageRecord      = "record"
)

// seconds are the bounds of histograms of durations: turns take from milliseconds, without a model's time, to a minute.
var seconds = metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2, 4, 8, 16, 32, 64)

// metrics are what the gateway counts. What is counted by store has as many series as stores, up to the bound of
// telemetry.Setup.
type metrics struct {
	duration, firstText, stage    metric.Float64Histogram
	cost                          metric.Float64Counter
	tokens, assignments, handoffs metric.Int64Counter
	budgetSteps                   metric.Int64Counter
	unrecorded, claims, feedback  metric.Int64Counter
	dropped                       metric.Int64Counter
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{}
	var errs []error
	histogram := func(name, description string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), seconds)
		errs = append(errs, err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	m.duration = histogram(telemetry.MetricTurnDuration, "Time of a turn, by outcome.")
	m.firstText = histogram(telemetry.MetricTurnFirstText, "Time until the first piece of a streamed reply.")
	m.stage = histogram(telemetry.MetricStageDuration, "Time of a stage of a turn.")
	m.tokens = counter(telemetry.MetricTurnTokens, "{token}", "Tokens of all model calls of turns.")
	m.assignments = counter(telemetry.MetricAssignments, "{assignment}", "Parts of messages, by specialist and outcome.")
	m.handoffs = counter(telemetry.MetricHandoffs, "{turn}", "Turns that recommend a human.")
	m.budgetSteps = counter(telemetry.MetricBudgetSteps, "{turn}", "Turns that save because the store's budget of the day runs out, by step.")
	m.unrecorded = counter(telemetry.MetricTurnsUnrecorded, "{turn}", "Turns with a reply that could not be recorded.")
	m.claims = counter(telemetry.MetricClaims, "{claim}", "Claims of replies, by what the evidence says of them.")
	m.dropped = counter(telemetry.MetricClaimsDropped, "{claim}", "Claims for which texts lost sentences, by agent.")
	m.feedback = counter(telemetry.MetricFeedback, "{feedback}", "Feedback on turns, by rating.")
	var err error
	m.cost, err = meter.Float64Counter(telemetry.MetricTurnCost, metric.WithUnit("{currency}"), metric.WithDescription("Cost of all model calls of turns, where it is known."))
	return m, errors.Join(append(errs, err)...)
}

// watch measures one turn.
type watch struct {
	metrics *metrics
	store   attribute.KeyValue // empty until the store is known: others would make as many series as callers like
	began   time.Time          // by the real clock
	lapped  time.Time

	mu        sync.Mutex
	firstText time.Duration // zero: none yet
}

func (m *metrics) watch() *watch {
	now := time.Now()
	return &watch{metrics: m, store: attribute.String(telemetry.KeyStore, ""), began: now, lapped: now}
}

// admitted says which store the turn is of.
func (w *watch) admitted(storeID string) { w.store = attribute.String(telemetry.KeyStore, storeID) }

// emit passes events on, and notes when the first text goes out. A nil Emit stays nil.
func (w *watch) emit(next fanout.Emit) fanout.Emit {
	if next == nil {
		return nil
	}
	return func(ev *gatewayv1.AskStreamResponse) {
		if ev.GetTextDelta().GetText() != "" {
			w.mu.Lock()
			w.firstText = cmp.Or(w.firstText, time.Since(w.began))
			w.mu.Unlock()
		}
		next(ev)
	}
}

// lap begins a stage, or ends one if it is named.
func (w *watch) lap(ctx context.Context, stage string) {
	now := time.Now()
	if stage != "" {
		w.metrics.stage.Record(ctx, now.Sub(w.lapped).Seconds(), metric.WithAttributes(attribute.String(telemetry.KeyStage, stage)))
	}
	w.lapped = now
}

// end counts a turn, and writes its line into the log. A turn that was answered before counts only then.
func (s *Service) end(ctx context.Context, w *watch, reply *gatewayv1.AskResponse, err error) {
	took := time.Since(w.began)
	line := []any{"store", w.store.Value.AsString(), "caller", auth.FromContext(ctx).Name}
	if err != nil {
		reason := rpc.Reason(rpc.Status(err))
		w.metrics.duration.Record(ctx, took.Seconds(), metric.WithAttributes(
			w.store, attribute.String(telemetry.KeyOutcome, outcomeFailed), attribute.String(telemetry.KeyErrorType, reason)))
		s.cfg.Logger.InfoContext(ctx, "turn", append(line, "outcome", outcomeFailed, "reason", reason, "duration", took)...)
		return
	}
	if step := reply.GetBudgetStep(); step != gatewayv1.BudgetStep_BUDGET_STEP_UNSPECIFIED {
		line = append(line, "budget_step", label(step.String(), "BUDGET_STEP_"))
	}
	outcome := outcomeOf(reply)
	w.metrics.duration.Record(ctx, took.Seconds(), metric.WithAttributes(w.store, attribute.String(telemetry.KeyOutcome, outcome)))
	if w.firstText > 0 {
		w.metrics.firstText.Record(ctx, w.firstText.Seconds(), metric.WithAttributes(w.store))
	}
	w.count(ctx, reply)
	s.cfg.Logger.InfoContext(ctx, "turn", append(line, "outcome", outcome, "turn", reply.GetTurnId(), "thread", reply.GetThreadId(),
		"parts", strings.Join(partsOf(reply), ","), "prompts", strings.Join(promptsOf(reply), ","), "input_tokens", reply.GetUsage().GetInputTokens(), "output_tokens", reply.GetUsage().GetOutputTokens(),
		"cost", usage.CostText(reply.GetCost()), "confidence", reply.GetConfidence(), "handoff", reply.GetHandoff().GetRecommended(), "duration", took)...)
}

// count adds up what a turn used, and how its parts ended.
func (w *watch) count(ctx context.Context, reply *gatewayv1.AskResponse) {
	kind := func(k string) metric.MeasurementOption {
		return metric.WithAttributes(w.store, attribute.String(telemetry.KeyTokenType, k))
	}
	w.metrics.tokens.Add(ctx, reply.GetUsage().GetInputTokens(), kind("input"))
	w.metrics.tokens.Add(ctx, reply.GetUsage().GetOutputTokens(), kind("output"))
	if c := reply.GetCost(); c != nil {
		w.metrics.cost.Add(ctx, float64(c.GetAmountMicros())/1e6, metric.WithAttributes(w.store, attribute.String(telemetry.KeyCurrency, c.GetCurrencyCode())))
	}
	if reply.GetHandoff().GetRecommended() {
		w.metrics.handoffs.Add(ctx, 1, metric.WithAttributes(w.store))
	}
	if step := reply.GetBudgetStep(); step != gatewayv1.BudgetStep_BUDGET_STEP_UNSPECIFIED {
		w.metrics.budgetSteps.Add(ctx, 1, metric.WithAttributes(w.store, attribute.String(telemetry.KeyBudgetStep, label(step.String(), "BUDGET_STEP_"))))
	}
	for _, r := range reply.GetResults() {
		w.metrics.assignments.Add(ctx, 1, metric.WithAttributes(
			attribute.String(telemetry.KeyAgent, r.GetAssignment().GetSpecialist()),
			attribute.String(telemetry.KeyOutcome, cmp.Or(r.GetFailure().GetCode(), outcomeAnswered))))
	}
}

func outcomeOf(reply *gatewayv1.AskResponse) string {
	failed := func(r *gatewayv1.AssignmentResult) bool { return r.GetAnswer() == nil }
	if reply.GetUnrecorded() || slices.ContainsFunc(reply.GetResults(), failed) {
		return outcomeDegraded
	}
	return outcomeAnswered
}

// promptsOf returns the agents that asked a model with the versions of their prompts, such as "search builtin-f68a21d2".
func promptsOf(reply *gatewayv1.AskResponse) []string {
	var out []string
	for _, part := range usedBy(reply) {
		if v := part.GetAgent() + " " + part.GetPromptVersion(); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func partsOf(reply *gatewayv1.AskResponse) []string {
	parts := make([]string, len(reply.GetResults()))
	for i, r := range reply.GetResults() {
		parts[i] = r.GetAssignment().GetSpecialist()
	}
	return parts
}

// reportClaims counts the claims of a reply and those that its texts lost, and names those without support in the turn's span: where they
// stand, not what they say.
func (m *metrics) reportClaims(ctx context.Context, span trace.Span, reply *gatewayv1.AskResponse) {
	kindOf := func(c *specialistv1.Claim) attribute.KeyValue {
		return attribute.String(telemetry.KeyClaimKind, label(c.GetKind().String(), "CLAIM_KIND_"))
	}
	drop := func(agent string, claims []*specialistv1.Claim) {
		for _, c := range claims {
			m.dropped.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyAgent, agent), kindOf(c)))
		}
	}
	for _, r := range reply.GetResults() {
		drop(r.GetAssignment().GetSpecialist(), r.GetAnswer().GetDroppedClaims())
	}
	drop(agentMerge, reply.GetMerge().GetDroppedClaims())
	for _, c := range reply.GetClaims() {
		kind := kindOf(c)
		verdict := attribute.String(telemetry.KeyClaimVerdict, label(c.GetVerdict().String(), "CLAIM_VERDICT_"))
		m.claims.Add(ctx, 1, metric.WithAttributes(kind, verdict))
		if unsupported(c) {
			place := attribute.IntSlice(telemetry.KeyClaimPlace, []int{int(c.GetStart()), int(c.GetEnd())})
			span.AddEvent(telemetry.EventClaim, trace.WithAttributes(kind, verdict, place))
		}
	}
}

// label is the name of an enum's value as a metric has it.
func label(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
