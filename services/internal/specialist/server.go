package specialist

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/voice"
)

// defaultMaxSteps suits tools that answer in one or two lookups, with one refinement.
const defaultMaxSteps = 4

// Server serves SpecialistService for one definition. It is safe for concurrent use.
type Server struct {
	specialistv1.UnsafeSpecialistServiceServer
	def      Definition
	deps     Deps
	builtIn  *specialistv1.Prompt
	quotes   *promptleak.Prompt // of the built-in prompt
	keywords []*specialistv1.Keyword
	tracer   trace.Tracer
}

var _ specialistv1.SpecialistServiceServer = (*Server)(nil)

// New returns a server for a definition, or an error that says what is missing. It does not use Redis.
func New(def Definition, deps Deps) (*Server, error) {
	switch {
	case def.Name == "" || def.Purpose == "" || def.Prompt == "":
		return nil, errors.New("specialist: the definition needs a name, a purpose and a prompt")
	case deps.Model == nil:
		return nil, fmt.Errorf("specialist %s: Model is required", def.Name)
	}
	if def.MaxSteps == 0 {
		def.MaxSteps = defaultMaxSteps
	}
	if own := def.Tools; len(deps.Tools) > 0 {
		def.Tools = func(t *Turn) []agentloop.Tool {
			if own == nil {
				return slices.Clone(deps.Tools)
			}
			return slices.Concat(own(t), deps.Tools)
		}
	}
	deps.Logger = deps.Log()
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Server{
		def:      def,
		deps:     deps,
		builtIn:  prompt.BuiltIn(strings.TrimSpace(def.Prompt)),
		quotes:   quotesOf(def.Prompt),
		keywords: keywords(def.Keywords),
		tracer:   otel.Tracer("github.com/quartet-commerce/quartet/services/internal/specialist"),
	}
	blank := &Turn{Findings: &Findings{}, prompt: s.builtIn, quotes: s.quotes}
	if _, err := agentloop.New(s.config(context.Background(), blank, nil, s.tools(context.Background(), blank))); err != nil {
		return nil, fmt.Errorf("specialist %s: %w", def.Name, err)
	}
	return s, nil
}

// keywords lists the keywords of a definition, the highest weight first.
func keywords(byWeight map[float64][]string) []*specialistv1.Keyword {
	var all []*specialistv1.Keyword
	for _, weight := range slices.Backward(slices.Sorted(maps.Keys(byWeight))) {
		for _, term := range byWeight[weight] {
			all = append(all, &specialistv1.Keyword{Term: term, Weight: weight})
		}
	}
	return all
}

// Register registers SpecialistService.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	specialistv1.RegisterSpecialistServiceServer(r, s)
}

// Describe implements SpecialistService.
func (s *Server) Describe(ctx context.Context, _ *specialistv1.DescribeRequest) (*specialistv1.DescribeResponse, error) {
	sc, err := scopeOf(ctx)
	if err != nil {
		return nil, err
	}
	d := s.def
	out := &specialistv1.Specialist{
		Name: d.Name, Purpose: d.Purpose, Examples: d.Examples, Keywords: s.keywords, Available: true,
		ReadsCart: d.ReadsCart, Prompt: s.builtIn,
	}
	if d.Unavailable != nil {
		if out.UnavailableReason, err = d.Unavailable(ctx, sc); err != nil {
			return nil, fmt.Errorf("describe %s: %w", d.Name, err)
		}
		out.Available = out.UnavailableReason == ""
	}
	for _, t := range s.tools(ctx, &Turn{Scope: sc, Findings: &Findings{}, disabled: s.disabledTools(ctx, sc)}) {
		out.Tools = append(out.Tools, &specialistv1.ToolInfo{
			Name: t.Name, Description: t.Description, ParametersJson: string(t.Parameters),
		})
	}
	return &specialistv1.DescribeResponse{Specialist: out}, nil
}

// Answer implements SpecialistService.
func (s *Server) Answer(req *specialistv1.AnswerRequest, stream grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error {
	ctx := stream.Context()
	turn, err := s.newTurn(ctx, req)
	if err != nil {
		return err
	}
	ctx, span := s.startSpan(ctx, turn, req)
	defer span.End()
	answer, err := s.answer(ctx, turn, req, stream.Send)
	if err != nil {
		span.SetStatus(codes.Error, rpc.Reason(rpc.Status(err))) // the error's own text may be about a shopper
		return fmt.Errorf("%s: %w", s.def.Name, err)
	}
	s.logAnswer(ctx, answer)
	return stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{Answer: answer}})
}

// newTurn checks an assignment and returns it as the tools see it.
func (s *Server) newTurn(ctx context.Context, req *specialistv1.AnswerRequest) (*Turn, error) {
	sc, err := scopeOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkRequest(req, sc); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(req.GetTimeZone())
	if err != nil {
		return nil, err // checkRequest has loaded it
	}
	return &Turn{
		Scope: sc, SubQuery: req.GetSubQuery(), Message: req.GetMessage(), Language: languageOf(sc.Locale, req),
		Now: s.deps.Now().In(zone), Cart: req.GetCart(), Findings: &Findings{}, disabled: s.disabledTools(ctx, sc),
		colleagues: sortedColleagues(req.GetColleagues(), s.def.Name),
		prompt:     prompt.OrBuiltIn(req.GetPrompt(), s.builtIn), quotes: s.quotesOf(req.GetPrompt()),
	}, nil
}

// quotesOf returns what finds quotations of the prompt of an assignment.
func (s *Server) quotesOf(p *specialistv1.Prompt) *promptleak.Prompt {
	if p.GetText() == "" {
		return s.quotes
	}
	return quotesOf(p.GetText())
}

// startSpan begins the span of an answer.
func (s *Server) startSpan(ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest) (context.Context, trace.Span) {
	return s.tracer.Start(ctx, "invoke_agent "+s.def.Name, trace.WithAttributes(
		attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeAgent),
		attribute.String(telemetry.KeyAgent, s.def.Name),
		attribute.String(telemetry.KeyConversation, turn.Scope.ThreadID),
		attribute.String(telemetry.KeyStore, turn.Scope.StoreID),
		attribute.String(telemetry.KeyAssignment, req.GetAssignmentId()),
		attribute.String(telemetry.KeyPromptVersion, turn.prompt.GetVersion()),
	))
}

// logAnswer writes one line for an answer, without its text and the question.
func (s *Server) logAnswer(ctx context.Context, a *specialistv1.Answer) {
	cost := slog.String("cost", "unknown")
	if a.GetCost() != nil {
		cost = slog.Int64("cost_micros", a.GetCost().GetAmountMicros())
	}
	s.deps.Logger.InfoContext(ctx, "answered", "agent", a.GetSpecialist(), "model", a.GetModel(), "prompt_version", a.GetPromptVersion(),
		"duration", a.GetDuration().AsDuration(), "input_tokens", a.GetUsage().GetInputTokens(),
		"output_tokens", a.GetUsage().GetOutputTokens(), cost, "tool_calls", len(a.GetToolCalls()),
		"finish_reason", a.GetFinishReason().String(), "confidence", a.GetConfidence(),
		"claims", a.GetClaims(), "unsupported_claims", len(a.GetUnsupportedClaims()))
}

// scopeOf returns the scope of a call, which the interceptors of package rpc have verified.
func scopeOf(ctx context.Context) (scope.Scope, error) {
	sc, ok := scope.FromContext(ctx)
	if !ok {
		return sc, scope.Missing()
	}
	return sc, nil
}

// Bounds of an assignment. Texts are counted in characters.
const (
	maxSubQuery   = 8000 // a gateway admits no longer message
	maxSummary    = 4000
	maxReason     = 2000
	maxShown      = 20
	maxTitle      = 500
	maxPending    = 2000
	maxCartItems  = 200 // as many as a cart holds
	maxColleagues = 32
	maxHistory    = 100 // messages
)

// checkRequest reports everything that is wrong with an assignment for the scope.
func checkRequest(req *specialistv1.AnswerRequest, sc scope.Scope) error {
	var check fault.Checker
	check.ID("assignment_id", req.GetAssignmentId())
	check.Text("sub_query", req.GetSubQuery(), 1, maxSubQuery)
	check.Text("message", req.GetMessage(), 0, maxSubQuery)
	check.Text("summary", req.GetSummary(), 0, maxSummary)
	check.Text("unavailable_reason", req.GetUnavailableReason(), 0, maxReason)
	check.TimeZone("time_zone", req.GetTimeZone())
	grounding.CheckRules(&check, "claim_rules", req.GetClaimRules())
	voice.Check(&check, "voice", req.GetVoice())
	prompt.Check(&check, req.GetPrompt())
	if check.Count("history", len(req.GetHistory()), maxHistory) {
		for i, m := range req.GetHistory() {
			check.Text(fault.At("history", i)+".text", m.GetText(), 0, maxSubQuery)
		}
	}
	checkShown(&check, req.GetShownProducts())
	checkColleagues(&check, req.GetColleagues())
	check.Text("pending_question.question.text", req.GetPendingQuestion().GetQuestion().GetText(), 0, maxQuestion)
	check.Text("pending_question.sub_query", req.GetPendingQuestion().GetSubQuery(), 0, maxPending)
	checkCart(&check, req.GetCart(), sc)
	checkBudget(&check, req.GetBudget())
	return check.Err()
}

func checkShown(check *fault.Checker, shown []*specialistv1.ProductChoice) {
	if !check.Count("shown_products", len(shown), maxShown) {
		return
	}
	for i, p := range shown {
		field := fmt.Sprintf("shown_products[%d]", i)
		check.ID(field+".product_id", p.GetProductId())
		check.Text(field+".title", p.GetTitle(), 0, maxTitle)
		check.Money(field+".price", p.GetPrice(), false)
	}
}

func checkColleagues(check *fault.Checker, names []string) {
	if check.Count("colleagues", len(names), maxColleagues) {
		for i, name := range names {
			check.ID(fault.At("colleagues", i), name)
		}
	}
}

// checkCart refuses a cart that is not the one of the scope: no specialist reads another shopper's.
func checkCart(check *fault.Checker, cart *cartv1.Cart, sc scope.Scope) {
	if cart != nil && !sc.Allows(scope.ReadCarts) {
		check.Addf("cart", "must be absent: the scope does not allow to read carts")
	}
	if id := cart.GetStoreId(); id != "" && id != sc.StoreID {
		check.Addf("cart.store_id", "must be the store of the scope")
	}
	if id := cart.GetCartId(); id != "" && id != sc.CartID {
		check.Addf("cart.cart_id", "must be the cart of the scope")
	}
	check.Count("cart.items", len(cart.GetItems()), maxCartItems)
}

func checkBudget(check *fault.Checker, b *commonv1.Budget) {
	if n := b.GetMaxTokens(); n < 0 {
		check.Addf("budget.max_tokens", "is %d, must be zero or more", n)
	}
	c := b.GetMaxCost()
	if c.GetAmountMicros() < 0 {
		check.Addf("budget.max_cost.amount_micros", "is %d, must be zero or more", c.GetAmountMicros())
	}
	if c != nil && len(c.GetCurrencyCode()) != 3 {
		check.Addf("budget.max_cost.currency_code", "must be an ISO 4217 code of three upper-case letters")
	}
}
