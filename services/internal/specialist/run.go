package specialist

import (
	"context"
	"errors"
	"slices"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

const (
	// maxAnswerReserve suits models that word an answer in a few seconds.
	maxAnswerReserve = 5 * time.Second
	// sendReserve is what is kept of the time for composing and sending what there is when the deadline comes.
	sendReserve = 50 * time.Millisecond
	// minOutputTokens is what a model call may write, in tokens, however small the budget is: a few sentences.
	minOutputTokens = 256
)

// temperature of every specialist: answers should follow the tools' results, not vary.
var temperature = 0.2

// answer runs the loop and composes the answer, reporting progress on the way. What is there when time or budget run out
// is an answer too: the text so far, or else what the tools found.
func (s *Server) answer(
	ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest, send func(*specialistv1.AnswerResponse) error,
) (*specialistv1.Answer, error) {
	begun := time.Now()
	ctx, cancel := withSendReserve(ctx)
	defer cancel()
	run, err := s.start(ctx, turn, req)
	if err != nil {
		return nil, err
	}
	end := turn.startPrefetch(ctx)
	defer func() {
		cancel()
		end()
	}()
	p := &progress{send: send}
	result, err := p.run(ctx, run)
	byCode := ranOut(result) && p.text() == ""
	if byCode {
		p.write(turn.fallbackText())
	}
	switch {
	case p.err != nil:
		return nil, p.err
	case err != nil && (p.text() == "" || result.FinishReason == agentloop.FinishError):
		return nil, budgetError(err)
	}
	var verdict grounding.Verdict
	if !byCode { // which says nothing but what tools found
		verdict = checkClaims(turn, req, run.Messages(), p.text(), wasCut(result.FinishReason))
	}
	answer := compose(turn, result, p.text(), verdict)
	answer.Specialist = s.def.Name
	answer.PromptVersion = s.promptVersion
	setDuration(answer, time.Since(begun))
	return answer, nil
}

// start begins the run of an assignment.
func (s *Server) start(ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest) (*agentloop.Conversation, error) {
	loop, err := s.loop(ctx, turn, req)
	if err != nil {
		return nil, err
	}
	return loop.Start(history(req), req.GetSubQuery()), nil
}

// ranOut reports whether a run ended for lack of time or budget. A nil result is of one that its caller left.
func ranOut(r *agentloop.Result) bool {
	return r != nil && (r.FinishReason == agentloop.FinishDeadline || r.FinishReason == agentloop.FinishBudget)
}

// budgetError gives the error of a budget that did not even pay for a first call its place among the faults.
func budgetError(err error) error {
	if !errors.Is(err, agentloop.ErrBudget) {
		return err
	}
	return &fault.Exhausted{
		Reason: commonv1.ErrorReason_ERROR_REASON_BUDGET_EXHAUSTED, What: "budget of the assignment",
		RetryAfter: fault.NoRetry, Err: err,
	}
}

// withSendReserve ends a little before the caller's deadline, so that what there is by then still reaches it.
func withSendReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	due, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, due.Add(-max(0, min(sendReserve, time.Until(due)/20))))
}

// loop makes the loop of one assignment. Schemas are compiled once per process, so this is cheap.
func (s *Server) loop(ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest) (*agentloop.Loop, error) {
	cfg := agentloop.Config{
		Model: s.deps.Model, System: s.system(turn, req), Tools: s.tools(turn), MaxSteps: s.def.MaxSteps,
		Temperature: &temperature, Price: s.deps.Price, Reserve: reserve(ctx), Logger: s.deps.Logger,
	}
	if limit := s.budgetLimit(req.GetBudget()); limit != (wrap.Spend{}) {
		s.applyBudget(&cfg, limit)
	}
	return agentloop.New(cfg)
}

// budgetLimit is what a budget comes to for this specialist's model. Zero: not bounded; below zero: there is nothing.
func (s *Server) budgetLimit(b *commonv1.Budget) wrap.Spend {
	limit := wrap.Spend{Tokens: b.GetMaxTokens()}
	if c, p := b.GetMaxCost(), s.deps.Price; c != nil && p != nil && p.Currency == c.GetCurrencyCode() {
		limit.CostMicros = c.GetAmountMicros()
		if limit.CostMicros == 0 {
			limit.CostMicros = -1
		}
	}
	return limit
}

// applyBudget keeps a run within a limit. The second half of it is for the last answer, which reads all that was said before, so
// tools are asked for only in the first; and no call is made that may go beyond the whole.
func (s *Server) applyBudget(cfg *agentloop.Config, limit wrap.Spend) {
	cfg.Model = wrap.Limit(cfg.Model, wrap.NewBudget(limit), cfg.Price)
	cfg.MaxTotalTokens, cfg.MaxCostMicros = max(0, limit.Tokens/2), max(0, limit.CostMicros/2)
	output := float64(agentloop.DefaultMaxOutputTokens)
	if limit.Tokens > 0 {
		output = min(output, float64(limit.Tokens)/4)
	}
	if limit.CostMicros > 0 && cfg.Price.OutputMicros > 0 {
		output = min(output, float64(limit.CostMicros)/4*1e6/float64(cfg.Price.OutputMicros))
	}
	cfg.MaxOutputTokens = max(minOutputTokens, int(output))
}

// reserve is the time that is kept for wording an answer from what is known when tools are slow: a quarter of what there
// is, at most maxReserve.
func reserve(ctx context.Context) time.Duration {
	due, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(0, min(maxAnswerReserve, time.Until(due)/4))
}

// tools makes the traced tools of one turn.
func (s *Server) tools(turn *Turn) []agentloop.Tool {
	if s.def.Tools == nil {
		return nil
	}
	tools := slices.DeleteFunc(s.def.Tools(turn), func(t agentloop.Tool) bool { return turn.disabled[t.Name] != "" })
	for i := range tools {
		tools[i] = agentotel.Tool(tools[i], agentotel.Config{CaptureContent: s.deps.CaptureContent})
	}
	return tools
}

// disabledTools returns the tools that are switched off for the scope's store, and why. A tool that cannot be told of is offered:
// it says itself what does not work.
func (s *Server) disabledTools(ctx context.Context, sc scope.Scope) map[string]string {
	if s.def.DisabledTools == nil {
		return nil
	}
	lacks, err := s.def.DisabledTools(ctx, sc)
	if err != nil {
		s.deps.Logger.WarnContext(ctx, "not known what the store lacks", "agent", s.def.Name, "error", err)
	}
	return lacks
}
