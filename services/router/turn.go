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
	offered *offered
	lexicon *lexicon
	ruling  ruling
	start   time.Time
	// provisional are the assignments that were sent before the model was asked. Nil: none were.
	provisional []*routerv1.Assignment
	// heard is what a model's answer is compared with. Nil: not made yet.
	heard *heard
}

func (s *Service) newTurn(req *routerv1.RouteRequest, o *offered) *turn {
	t := &turn{cfg: s.cfg, req: req, offered: o, start: time.Now()}
	t.lexicon = s.lexicons.of(o, req.GetKeywords())
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
	switch {
	case certain && (t.cfg.Model == nil || !t.cfg.AlwaysAskModel):
		return t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_RULES)
	case t.cfg.Model == nil:
		return t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_BACKSTOP,
			note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_NO_MODEL, "no model is configured; the rules decided"))
	}
	d, err := t.byRules(routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL, routerv1.DecisionSource_DECISION_SOURCE_RULES)
	if err != nil {
		return nil, err
	}
	if err := provisional(d); err != nil {
		return nil, err
	}
	t.provisional = d.GetAssignments()
	answer, result, err := t.ask(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask model: %w", ctx.Err())
	}
	if err == nil {
		d, err = t.byModel(answer, len(result.Steps))
	} else {
		why := failure(err)
		t.cfg.Logger.WarnContext(ctx, "routing model failed; the rules decide", slog.String("cause", why.GetText()))
		t.cfg.Logger.DebugContext(ctx, "routing model's error", slog.Any("error", err))
		d, err = t.byRules(final, routerv1.DecisionSource_DECISION_SOURCE_BACKSTOP, why)
	}
	if err != nil {
		return nil, err
	}
	t.account(d, result)
	return d, nil
}

// decision begins a decision with what is to be said of any.
func (t *turn) decision(stage routerv1.DecisionStage, source routerv1.DecisionSource) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{Stage: stage, Source: source}
	for _, name := range strangers(t.lexicon.names, t.req.GetKeywords()) {
		d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_KEYWORDS_IGNORED,
			"the store's keywords for %q were ignored; there is no such specialist", cut(oneLine(name), maxName)))
	}
	return d
}

// byRules is the rules' decision.
func (t *turn) byRules(
	stage routerv1.DecisionStage, source routerv1.DecisionSource, notes ...*routerv1.DecisionNote,
) (*routerv1.RoutingDecision, error) {
	d := t.decision(stage, source)
	d.Certainty, d.Notes = t.ruling.certainty, append(d.Notes, notes...)
	for _, text := range t.ruling.notes {
		d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_GATHERED, "%s", text))
	}
	return d, t.dispatch(d, t.ruling.drafts)
}

func note(kind routerv1.DecisionNoteKind, format string, args ...any) *routerv1.DecisionNote {
	return &routerv1.DecisionNote{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// failure says for the caller why there is no answer from the model. It tells nothing of the endpoint.
func failure(err error) *routerv1.DecisionNote {
	kind, cause := routerv1.DecisionNoteKind_DECISION_NOTE_KIND_MODEL_FAILED, "the model failed"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind, cause = routerv1.DecisionNoteKind_DECISION_NOTE_KIND_TIMED_OUT, "the model did not answer in time"
	case errors.Is(err, agentloop.ErrBadOutput):
		cause = "the model's answer was not valid"
	case errors.Is(err, agentloop.ErrNoAnswer):
		cause = "the model gave no answer"
	}
	return note(kind, "%s; the rules decided", cause)
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
