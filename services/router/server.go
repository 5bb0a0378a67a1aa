// Package router serves RouterService: it decides which specialists answer which part of a shopper's message.
//
// The classifier splits and assigns a message without a model. When it is certain of every part, its result is the
// decision. Otherwise the router sends that result as provisional. With an Embedder, that result is final if the
// specialists' examples that are nearest to each part confirm it. Otherwise the router asks a model, whose word stands: a part is added only
// if no word of it is in the model's answer. When the model fails, is late or absent, the classifier's result
// stands. No part of a message is dropped.
//
// The package must not import another service or read the environment. Between requests it keeps compiled classifiers
// and vectors of examples only.
package router

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// Service implements RouterService. It is safe for concurrent use. With an Embedder, a goroutine runs until Close.
type Service struct {
	routerv1.UnsafeRouterServiceServer
	cfg         Config
	specialists *specialistCache
	examples    *exampleIndex // nil: there is no Embedder
	decisions   metric.Int64Counter
}

var _ routerv1.RouterServiceServer = (*Service)(nil)

// New returns a Service, or an error if the Config does not validate.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	decisions, err := cfg.MeterProvider.Meter("github.com/quartet-commerce/quartet/services/router").Int64Counter(
		telemetry.MetricRoutingDecisions, metric.WithUnit("{decision}"),
		metric.WithDescription("Final routing decisions by what made them and how much of the provisional decision they confirm."))
	if err != nil {
		return nil, fmt.Errorf("router: make counter: %w", err)
	}
	s := &Service{cfg: cfg, specialists: newSpecialistCache(), examples: newExampleIndex(cfg.Embedder, cfg.Logger), decisions: decisions}
	s.specialists.examples = s.examples
	return s, nil
}

// Close ends the embedding of examples.
func (s *Service) Close() error {
	s.examples.close()
	return nil
}

// Embed waits until the examples of specialists are embedded, for measurements. Route does not need it.
func (s *Service) Embed(ctx context.Context, specialists []*specialistv1.Specialist) error {
	return s.examples.embedNow(ctx, s.examples.of(specialists))
}

// Register registers RouterService.
func (s *Service) Register(r grpc.ServiceRegistrar) { routerv1.RegisterRouterServiceServer(r, s) }

// Route implements RouterService. It sends the classifier's decision as provisional if it asks a model, and always one
// final decision. Errors: *fault.Invalid for a bad request, *fault.Precondition for an unknown version of specialists,
// *fault.Unavailable if no specialist is available, and errors of the stream and its context.
func (s *Service) Route(req *routerv1.RouteRequest, stream grpc.ServerStreamingServer[routerv1.RouteResponse]) error {
	if err := checkRequest(req); err != nil {
		return err
	}
	specialists, err := s.specialists.forRequest(req)
	if err != nil {
		return err
	}
	s.examples.ready(specialists.base.examples) // from the first message on, whether it needs them or not
	r := newRouting(s.cfg, req, specialists)
	r.examples = s.examples
	decision, err := r.decide(stream.Context(), func(provisional *routerv1.RoutingDecision) error {
		return send(stream, provisional)
	})
	if err != nil {
		return err
	}
	err = send(stream, decision) // first, so that the caller does not wait for metrics and logs
	s.count(stream.Context(), decision, r.provisional)
	if decision.GetPromptVersion() != "" {
		trace.SpanFromContext(stream.Context()).SetAttributes(attribute.String(telemetry.KeyPromptVersion, decision.GetPromptVersion()))
	}
	s.cfg.Logger.DebugContext(stream.Context(), "routed",
		slog.String("source", decision.GetSource().String()),
		slog.Int("assignments", len(decision.GetAssignments())),
		slog.Float64("certainty", decision.GetCertainty()),
		slog.Duration("duration", decision.GetDuration().AsDuration()))
	return err
}

func send(stream grpc.ServerStreamingServer[routerv1.RouteResponse], d *routerv1.RoutingDecision) error {
	if err := stream.Send(&routerv1.RouteResponse{Decision: d}); err != nil {
		return fmt.Errorf("send routing decision: %w", err)
	}
	return nil
}

// Values of telemetry.KeyRoutingAgreement: how much of the provisional decision the final one confirms.
const (
	agreementAlone = "alone" // there was no provisional decision, since no model was asked
	agreementAll   = "all"   // the same assignments
	agreementSome  = "some"  // some in common
	agreementNone  = "none"  // none in common
)

// count counts a final decision.
func (s *Service) count(ctx context.Context, d *routerv1.RoutingDecision, provisional []*routerv1.Assignment) {
	s.decisions.Add(ctx, 1, metric.WithAttributes(
		attribute.String(telemetry.KeyRoutingSource, d.GetSource().String()),
		attribute.String(telemetry.KeyRoutingAgreement, agreement(provisional, d.GetAssignments())),
	))
}

// agreement compares by identifiers, which are the same exactly for the same work.
func agreement(provisional, final []*routerv1.Assignment) string {
	known := map[string]bool{}
	for _, a := range provisional {
		known[a.GetAssignmentId()] = true
	}
	kept := 0
	for _, a := range final {
		if known[a.GetAssignmentId()] {
			kept++
		}
	}
	switch {
	case len(provisional) == 0:
		return agreementAlone
	case kept == 0:
		return agreementNone
	case kept == len(final) && kept == len(provisional):
		return agreementAll
	}
	return agreementSome
}

const (
	// maxSpecialists bounds a request's work; no store has that many.
	maxSpecialists = 32
	// maxKeywords bounds a store's keywords.
	maxKeywords = 200
	// maxShown bounds the products that the shopper saw last, as in AnswerRequest.
	maxShown = 20
)

var specialistName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// checkRequest returns nil or a *fault.Invalid with every violation of the request.
func checkRequest(req *routerv1.RouteRequest) error {
	var c fault.Checker
	c.Text("message", req.GetMessage(), 1, classifier.MaxMessage)
	c.OptionalID("specialists_version", req.GetSpecialistsVersion())
	specialists := req.GetSpecialists()
	if len(specialists) == 0 && req.GetSpecialistsVersion() == "" {
		c.Addf("specialists", "is empty; pass what SpecialistService.Describe returns for each specialist")
	}
	if _, err := time.Parse(time.DateOnly, req.GetDate()); req.GetDate() != "" && err != nil {
		c.Addf("date", "must be a day such as \"2026-11-22\"")
	}
	c.TimeZone("time_zone", req.GetTimeZone())
	prompt.Check(&c, req.GetPrompt())
	c.Count("keywords", len(req.GetKeywords()), maxKeywords)
	c.Count("shown_products", len(req.GetShownProducts()), maxShown)
	if !c.Count("specialists", len(specialists), maxSpecialists) {
		return c.Err()
	}
	seen := map[string]bool{}
	for i, s := range specialists {
		field := fmt.Sprintf("specialists[%d].name", i)
		switch name := s.GetName(); {
		case !specialistName.MatchString(name):
			c.Addf(field, "must be 1 to 64 characters of a-z 0-9 -; pass what SpecialistService.Describe returns")
		case seen[name]:
			c.Addf(field, "is there twice; pass what SpecialistService.Describe returns once for each specialist")
		default:
			seen[name] = true
		}
		if strings.TrimSpace(s.GetPurpose()) == "" {
			c.Addf(fmt.Sprintf("specialists[%d].purpose", i), "is required; pass what SpecialistService.Describe returns")
		}
	}
	return c.Err()
}
