package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// turn is the routing of one message.
type turn struct {
	cfg     Config
	req     *routerv1.RouteRequest
	lexicon *lexicon
	ruling  ruling
	start   time.Time
}

func (s *Service) newTurn(req *routerv1.RouteRequest) *turn {
	t := &turn{cfg: s.cfg, req: req, start: time.Now(), lexicon: s.lexicons.of(req.GetSpecialists())}
	var said []string
	for _, m := range req.GetHistory() {
		if m.GetRole() == commonv1.Role_ROLE_USER {
			said = append(said, m.GetText())
		}
	}
	t.ruling = rule(t.lexicon, req.GetMessage(), said)
	return t
}

// decide returns the final decision; if a model has to be asked, the provisional one is given away first.
func (t *turn) decide(ctx context.Context, provisional func(*routerv1.RoutingDecision) error) (*routerv1.RoutingDecision, error) {
	const final = routerv1.DecisionStage_DECISION_STAGE_FINAL
	certain := t.ruling.certainty >= t.cfg.CertainThreshold
	if t.cfg.Model == nil || (certain && !t.cfg.AlwaysAskModel) {
		if certain {
			return t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_RULES)
		}
		return t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_BACKSTOP, "no model is configured; the rules decided")
	}
	d, err := t.byRules(routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL, routerv1.DecisionSource_DECISION_SOURCE_RULES)
	if err != nil {
		return nil, err
	}
	if err := provisional(d); err != nil {
		return nil, err
	}
	answer, result, err := t.ask(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask model: %w", ctx.Err())
	}
	if err == nil {
		d, err = t.byModel(answer)
	} else {
		t.cfg.Logger.WarnContext(ctx, "routing model failed; the rules decide", slog.String("cause", cause(err)))
		t.cfg.Logger.DebugContext(ctx, "routing model's error", slog.Any("error", err))
		d, err = t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_BACKSTOP, cause(err)+"; the rules decided")
	}
	if err != nil {
		return nil, err
	}
	t.account(d, result)
	return d, nil
}

// byRules is the rules' decision.
func (t *turn) byRules(stage routerv1.DecisionStage, source routerv1.DecisionSource, notes ...string) (*routerv1.RoutingDecision, error) {
	d := &routerv1.RoutingDecision{
		Stage: stage, Source: source, Certainty: t.ruling.certainty, Notes: append(notes, t.ruling.notes...),
	}
	return d, t.dispatch(d, t.ruling.drafts)
}

// cause says in words for the caller why there is no answer from the model. It tells nothing of the endpoint.
func cause(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the model did not answer in time"
	case errors.Is(err, agentloop.ErrBadOutput), errors.Is(err, agentloop.ErrMaxSteps), errors.Is(err, errNoAssignments):
		return "the model's answer was not valid"
	case errors.Is(err, agentloop.ErrNoAnswer):
		return "the model gave no answer"
	}
	return "the model failed"
}

// account fills in what a decision took.
func (t *turn) account(d *routerv1.RoutingDecision, result *agentloop.Result) {
	d.PromptVersion = promptVersion
	d.Duration = durationpb.New(time.Since(t.start))
	if result == nil {
		return
	}
	d.Model = result.Model
	u := result.Usage
	d.Usage = &commonv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
		ReasoningOutputTokens: u.ReasoningTokens, ModelCalls: int32(u.ModelCalls), Estimated: u.Estimated,
	}
	if c := result.Cost; c != nil {
		d.Cost = &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
	}
}
