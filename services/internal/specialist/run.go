package specialist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

const (
	// maxAnswerReserve suits models that write an answer in a few seconds.
	maxAnswerReserve = 5 * time.Second
	// sendReserve is the time before the caller's deadline that is kept for composing and sending the answer.
	sendReserve = 50 * time.Millisecond
	// minOutputTokens is the least output of a model call in tokens, however small the budget is: a few sentences.
	minOutputTokens = 256
	// maxContinuations bounds how often the model is asked for the rest of an answer.
	maxContinuations = 2
)

// temperature of every specialist. Answers should follow the tools' results, not vary.
var temperature = 0.2

// answer runs the loop, reports progress, and composes the answer. When time or budget run out, or the model fails, the answer is
// the whole sentences so far, or else a list of what the tools found. The model is asked for the rest of an answer that is cut.
func (s *Server) answer(
	ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest, send func(*specialistv1.AnswerResponse) error,
) (*specialistv1.Answer, error) {
	begun := time.Now()
	ctx, cancel := withSendReserve(ctx)
	defer cancel()
	setup := s.setUp(ctx, turn)
	cfg := s.config(ctx, turn, req, setup)
	loop, err := agentloop.New(cfg)
	if err != nil {
		return nil, err
	}
	run := loop.Start(history(req), req.GetSubQuery())
	end := turn.startPrefetch(ctx)
	defer func() {
		cancel()
		end()
	}()
	claims := &claimChecker{turn: turn, req: req, run: run, isHeld: req.GetJudgeClaims()}
	defer claims.reading.Wait()
	p := &progress{send: send, quote: turn.quotes.With(dayAndLanguage(turn)).NewFilter(), findings: turn.Findings, claims: claims,
		capture: s.deps.CaptureContent, held: claims.isHeld}
	result, err := p.complete(ctx, run)
	if p.held {
		result, err = s.judge(ctx, p, cfg, run, result, err)
		p.release()
	}
	if p.err != nil {
		return nil, p.err
	}
	_, passedOn := turn.ending()
	silent := p.stepText() == "" && passedOn == nil
	fallback := ""
	if silent && (err != nil && result.FinishReason != agentloop.FinishCanceled || isCut(run) || p.quote.Dropped() || p.dropped || p.noted) {
		fallback = turn.fallbackText(turn.Language)
	}
	switch {
	case fallback != "":
		p.write(fallback)
	case p.stepText() == "" && err != nil:
		return nil, modelError(err)
	case silent && (len(claims.lost) > 0 || p.noted): // nothing but claims without support, or a tool's notes
		p.write(fmt.Sprintf(wording.In(turn.Language).Unanswered, text.OneLine(req.GetSubQuery())))
	case silent && p.dropped:
		return nil, modelError(agentloop.ErrNoAnswer)
	case silent && isCut(run):
		cutOff := func(r rune) bool { return unicode.IsSpace(r) || text.IsDigit(r) || r == '.' || r == ',' } // half an amount is a wrong one
		p.write(strings.TrimRightFunc(p.sentences.Rest(), cutOff) + "…")
	case silent && p.quote.Dropped(): // nothing but the prompt
		p.write(wording.In(turn.Language).Refusal)
	}
	if result.FinishReason == agentloop.FinishError || errors.Is(err, agentloop.ErrNoAnswer) {
		s.deps.Logger.WarnContext(ctx, "the model failed; the answer uses the results until then", "agent", s.def.Name, "error", err)
		failed := *result
		failed.FinishReason = agentloop.FinishError
		result = &failed
	}
	var made grounding.Claims
	if fallback == "" { // a fallback text lists tool results only
		checked := p.text()
		if wasCut(result.FinishReason) {
			checked = withoutLastWord(checked)
		}
		made = claims.check(checked)
	}
	answer := compose(turn, judge.Add(result, p.judging), p.text(), made, claims.lost)
	answer.Specialist = s.def.Name
	answer.PromptVersion = turn.prompt.GetVersion()
	setDuration(answer, time.Since(begun))
	return answer, nil
}

// complete has the model write an answer to its end: anew from a claim that the rules refuse, and the rest of one that was cut.
func (p *progress) complete(ctx context.Context, run *agentloop.Conversation) (*agentloop.Result, error) {
	result, err := p.run(ctx, run)
	if p.revise(ctx, run) {
		result, err = p.run(ctx, run)
	}
	for n := 0; n < maxContinuations && p.err == nil && run.Continue(ctx, p.stepText()); n++ {
		p.resume()
		result, err = p.run(ctx, run)
	}
	return result, err
}

// revise reopens a run because of a claim that the rules refuse, and reports whether it did.
func (p *progress) revise(ctx context.Context, run *agentloop.Conversation) bool {
	note := p.claims.revision
	p.claims.revision = ""
	if p.err != nil || note == "" || !run.Revise(ctx, p.stepText(), note) {
		return false
	}
	p.resume()
	return true
}

// judge has the model read an answer, and leaves of it what the rules allow. If a rule says so, the model goes on from a wrong sentence
// once, and that is judged, too.
func (s *Server) judge(
	ctx context.Context, p *progress, cfg agentloop.Config, run *agentloop.Conversation, result *agentloop.Result, err error,
) (*agentloop.Result, error) {
	start, lost := p.start, len(p.claims.lost)
	s.judgeOnce(ctx, p, cfg, run)
	switch asked := p.claims.revision != ""; {
	case !asked:
	case p.revise(ctx, run):
		result, err = p.complete(ctx, run)
		s.judgeOnce(ctx, p, cfg, run)
	default: // then only the sentence goes
		p.setText(p.whole, start)
		p.claims.lost = p.claims.lost[:lost]
		p.settle()
	}
	return result, err
}

// judgeOnce has the model read an answer, and leaves of it what the rules allow. If the model cannot be asked, code decides.
func (s *Server) judgeOnce(ctx context.Context, p *progress, cfg agentloop.Config, run *agentloop.Conversation) {
	c := p.claims
	if p.err != nil || strings.TrimSpace(p.text()) == "" {
		return
	}
	p.flushUsage()
	verdict, used, err := judge.Ask(ctx, cfg.Model, cfg.Price, c.caseOf(p.text()))
	p.judging = judge.Add(p.judging, used)
	p.updateUsage(run.Result().Usage)
	p.flushUsage()
	if err != nil {
		s.deps.Logger.WarnContext(ctx, "no model has judged the answer; code decides on its claims", "agent", s.def.Name, "error", err)
	}
	c.isHeld, c.verdict = err == nil, verdict
	p.settle()
}

// modelError returns the fault of a budget that does not pay for a first call, that of a model that answers nothing, and any other
// error as it is.
func modelError(err error) error {
	switch {
	case errors.Is(err, agentloop.ErrBudget):
		return &fault.Exhausted{
			Reason: commonv1.ErrorReason_ERROR_REASON_BUDGET_EXHAUSTED, What: "budget of the assignment",
			RetryAfter: fault.NoRetry, Err: err,
		}
	case errors.Is(err, agentloop.ErrNoAnswer):
		return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_UNAVAILABLE, What: "answer of the model", Err: err}
	}
	return err
}

// withSendReserve returns a context that ends a little before the caller's deadline, so that the answer still reaches the caller.
func withSendReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	due, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, due.Add(-max(0, min(sendReserve, time.Until(due)/20))))
}

// config configures the loop of one assignment.
func (s *Server) config(ctx context.Context, turn *Turn, req *specialistv1.AnswerRequest, own []agentloop.Tool) agentloop.Config {
	tools := slices.Concat(own, s.traced(turn, finalTools(turn, turn.quotes)))
	model, price := prompt.Model(ctx, turn.prompt, s.deps.Model, s.deps.Price, s.deps.NamedModel, s.deps.Logger)
	cfg := agentloop.Config{
		Model: model, System: s.system(turn, req), Tools: tools, MaxSteps: s.def.MaxSteps, MaxOutputTokens: int(turn.prompt.GetMaxOutputTokens()),
		Temperature: &temperature, Price: price, Reserve: reserve(ctx), Logger: s.deps.Logger,
	}
	if limit := budgetLimit(req.GetBudget(), price); limit != (wrap.Spend{}) {
		applyBudget(&cfg, limit)
	}
	return cfg
}

// budgetLimit converts a budget for a model with a price, which may be nil. A figure of zero is unlimited; below zero, nothing may be spent.
func budgetLimit(b *commonv1.Budget, p *agentloop.Price) wrap.Spend {
	limit := wrap.Spend{Tokens: b.GetMaxTokens()}
	if c := b.GetMaxCost(); c != nil && p != nil && p.Currency == c.GetCurrencyCode() {
		limit.CostMicros = c.GetAmountMicros()
		if limit.CostMicros == 0 {
			limit.CostMicros = -1
		}
	}
	return limit
}

// applyBudget keeps a run within a limit. Tool calls may use the first half. The second half is for the last model call, which
// reads everything before it. No call is made that may exceed the whole limit.
func applyBudget(cfg *agentloop.Config, limit wrap.Spend) {
	cfg.Model = wrap.Limit(cfg.Model, wrap.NewBudget(limit), cfg.Price)
	cfg.MaxTotalTokens, cfg.MaxCostMicros = max(0, limit.Tokens/2), max(0, limit.CostMicros/2)
	output := float64(cmp.Or(cfg.MaxOutputTokens, agentloop.DefaultMaxOutputTokens))
	if limit.Tokens > 0 {
		output = min(output, float64(limit.Tokens)/4)
	}
	if limit.CostMicros > 0 && cfg.Price.OutputMicros > 0 {
		output = min(output, float64(limit.CostMicros)/4*1e6/float64(cfg.Price.OutputMicros))
	}
	cfg.MaxOutputTokens = max(min(minOutputTokens, cmp.Or(cfg.MaxOutputTokens, minOutputTokens)), int(output))
}

// reserve returns the time that slow tools must leave for the last model call: a quarter of the time left, at most
// maxAnswerReserve.
func reserve(ctx context.Context) time.Duration {
	due, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(0, min(maxAnswerReserve, time.Until(due)/4))
}

// tools makes the traced tools of one turn that are the specialist's own.
func (s *Server) tools(ctx context.Context, turn *Turn) []agentloop.Tool {
	if s.def.Tools == nil {
		return nil
	}
	tools := slices.DeleteFunc(s.def.Tools(turn), func(t agentloop.Tool) bool { return turn.disabled[t.Name] != "" })
	if s.def.FitTools != nil && turn.Scope.StoreID != "" {
		s.def.FitTools(ctx, turn.Scope.StoreID, tools)
	}
	return s.traced(turn, tools)
}

// setUp makes the specialist's own tools for an assignment. A tape keeps what the store's data has made of them, or answers it.
func (s *Server) setUp(ctx context.Context, turn *Turn) []agentloop.Tool {
	tools := s.tools(ctx, turn)
	if s.deps.Tape == nil {
		return tools
	}
	live := bundle.Setup{Disabled: turn.disabled}
	for _, t := range tools {
		live.Tools = append(live.Tools, t.ToolSpec)
	}
	for _, t := range s.deps.Tools {
		live.Further = append(live.Further, t.Name)
	}
	setup := s.deps.Tape.Setup(ctx, s.def.Name, live)
	if !maps.Equal(turn.disabled, setup.Disabled) {
		turn.disabled = setup.Disabled
		tools = s.traced(turn, s.def.Tools(turn))
	}
	spec := func(name string) int {
		return slices.IndexFunc(setup.Tools, func(spec agentloop.ToolSpec) bool { return spec.Name == name })
	}
	tools = slices.DeleteFunc(tools, func(t agentloop.Tool) bool { return spec(t.Name) < 0 })
	for i := range tools {
		tools[i].ToolSpec = setup.Tools[spec(tools[i].Name)]
	}
	for _, name := range setup.Further {
		if at := spec(name); at >= 0 && !slices.Contains(live.Further, name) { // on tape only
			absent := func(context.Context, agentloop.ToolCall) (any, error) { return nil, bundle.ErrNotRecorded }
			tools = append(tools, s.traced(turn, []agentloop.Tool{{ToolSpec: setup.Tools[at], Run: absent}})...)
		}
	}
	return tools
}

// traced adds tracing to tools. With a tape, their calls are recorded, or answered from a record.
func (s *Server) traced(turn *Turn, tools []agentloop.Tool) []agentloop.Tool {
	for i, tool := range tools {
		if s.deps.Tape != nil {
			tools[i].Run = func(ctx context.Context, call agentloop.ToolCall) (any, error) {
				return s.deps.Tape.Call(ctx, s.def.Name, turn.SubQuery, call, turn.Findings, func() (any, error) { return tool.Run(ctx, call) })
			}
		}
		tools[i] = agentotel.Tool(tools[i], agentotel.Config{CaptureContent: s.deps.CaptureContent})
	}
	return tools
}

// disabledTools returns the tools that are switched off for the scope or its store, and why. After an error all tools are offered
// that the scope allows; a tool that does not work says so itself.
func (s *Server) disabledTools(ctx context.Context, sc scope.Scope) map[string]string {
	var disabled map[string]string
	if s.def.DisabledTools != nil {
		var err error
		if disabled, err = s.def.DisabledTools(ctx, sc); err != nil {
			s.deps.Logger.WarnContext(ctx, "cannot tell which tools are disabled", "agent", s.def.Name, "error", err)
		}
		disabled = maps.Clone(disabled) // it may be shared
	}
	for tool, reads := range s.def.ToolReads {
		for _, read := range reads {
			if !sc.Allows(read) {
				if disabled == nil {
					disabled = make(map[string]string)
				}
				disabled[tool] = fmt.Sprintf("There is no access to %s here. Asked about it, say so, and do not guess.", read)
				break
			}
		}
	}
	return disabled
}
