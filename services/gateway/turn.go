package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/text/language"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/daybudget"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// workflow names a turn in traces.
	workflow = "shopping_turn"
	// maxMessage is the longest message of a shopper, in characters.
	maxMessage = 8000
	// maxGroups is the largest number of customer groups of a request.
	maxGroups = 64
	// sendTime is what the recording of a turn leaves of the deadline, so that the reply still reaches the caller.
	sendTime = 20 * time.Millisecond
	// recordPause is the pause before a second attempt to record a turn. It doubles up to maxRecordPause.
	recordPause, maxRecordPause = 50 * time.Millisecond, 400 * time.Millisecond
)

// turn takes one message through all stages:
//
//	admit → load → route → fan out → merge and check → reply → record
//
// It is all of Ask and, with an emit that is not nil, of AskStream.
func (s *Service) turn(ctx context.Context, req *gatewayv1.AskRequest, emit fanout.Emit) (reply *gatewayv1.AskResponse, err error) {
	watch := s.metrics.watch()
	emit = watch.emit(emit)
	ctx, cancel := s.withDeadline(ctx)
	defer cancel()
	again := false // the request was answered before
	endTape := func() {}
	defer func() {
		endTape()
		if !again {
			s.end(ctx, watch, reply, err)
		}
	}()
	leave, err := s.limiter.enter(req.GetStoreId())
	if err != nil {
		return nil, err
	}
	defer leave()

	t, err := s.admit(ctx, req)
	if err != nil {
		return nil, err
	}
	watch.admitted(t.scope.StoreID)
	if err := s.load(ctx, t); err != nil {
		return nil, err
	}
	if t.lease.Reply != nil {
		again = true
		replay(t.lease.Reply, emit)
		return t.lease.Reply, nil
	}
	ctx, span := s.startSpan(ctx, t)
	defer func() { endSpan(span, err) }()
	if t.muted() {
		return s.keepForPerson(ctx, t)
	}
	if s.cfg.Tape != nil {
		s.beginTape(ctx, t)
		endTape = func() { s.cfg.Tape.End(context.WithoutCancel(ctx), reply, err) }
	}
	enough, err := s.reserveDay(ctx, t)
	switch {
	case err != nil:
		t.lease.Close(ctx, false)
		return nil, err
	case !enough:
		return s.recordAlone(ctx, t, s.outOfBudget(ctx, t, emit))
	}
	defer func() { s.settleDay(ctx, t, reply) }()
	ctx, stop := t.lease.KeepAlive(ctx)
	run := s.fanout.Start(ctx, t.fanoutTurn(emit))
	replied := false
	defer func() { t.release(ctx, stop, run, replied) }()

	watch.lap(ctx, "")
	decision, err := s.route(ctx, t, run.Speculate)
	if err != nil {
		return nil, takenOverOr(ctx, err)
	}
	watch.lap(ctx, stageRoute)
	results, err := run.Collect(decision)
	if err != nil && t.short && fanout.OutOfBudget(results) {
		reply = s.outOfBudget(ctx, t, emit)
		replied = true
		return reply, s.record(ctx, t, reply)
	}
	if err != nil {
		return nil, takenOverOr(ctx, err)
	}
	watch.lap(ctx, stageSpecialists)
	merged := s.merger.Merge(ctx, t.mergeInput(ctx, results, emit)) // checks each sentence before it goes out
	watch.lap(ctx, stageMerge)
	reply = s.reply(ctx, t, run, decision, results, merged)
	sayHandoff(t, reply, emit)
	s.metrics.reportClaims(ctx, span, reply)
	if err := s.record(ctx, t, reply); err != nil {
		return nil, err
	}
	watch.lap(ctx, stageRecord)
	replied = true
	s.summaries.Start(ctx, t.lease, t.today(), t.output.Text)
	span.SetAttributes(
		attribute.String(telemetry.KeyRoutingSource, reply.GetRouting().GetSource().String()),
		attribute.String(telemetry.KeyMergeMethod, reply.GetMergeMethod().String()),
		attribute.Float64(telemetry.KeyConfidence, reply.GetConfidence()),
		attribute.String(telemetry.KeyOutcome, outcomeOf(reply)),
	)
	if asked := promptsOf(reply); len(asked) > 0 {
		span.SetAttributes(attribute.StringSlice(telemetry.KeyPromptVersions, asked))
	}
	return reply, nil
}

// turn is one message on its way to a reply.
type turn struct {
	req      *gatewayv1.AskRequest
	store    *gatewayv1.Store
	scope    scope.Scope
	began    time.Time
	output   *output.Policy                  // what the reply may show
	prompts  map[string]*specialistv1.Prompt // by agent, of those that use others than their own
	lease    *threads.Lease                  // set by load
	budget   *fanout.Budget                  // nil: no bound
	day      daybudget.Day                   // if reserved
	reserved bool                            // a part of the day's budget
	short    bool                            // it was less than usual
	step     gatewayv1.BudgetStep            // that was taken because the day's budget runs out
	drains   fanout.Drains                   // streams whose last message has come
}

// withDeadline gives a turn a deadline if its caller set none.
func (s *Service) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.TurnTimeout)
}

// admit checks a request and its store, and makes the turn's scope.
func (s *Service) admit(ctx context.Context, req *gatewayv1.AskRequest) (*turn, error) {
	began := s.cfg.Now()
	if err := checkAsk(req); err != nil {
		return nil, err
	}
	if message := output.Visible(req.GetMessage()); message != req.GetMessage() { // it also becomes titles and sub-queries
		req = proto.CloneOf(req)
		req.Message = message
	}
	storeOf := s.stores.cached
	if req.GetRequestId() == "" && req.GetThreadId() == "" {
		storeOf = s.stores.get // the only read of the turn: a cached store would hide that Redis is down
	}
	store, err := storeOf(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	t := &turn{req: req, store: store, scope: s.scopeOf(req, store), began: began, budget: fanout.NewBudget(lower(s.cfg.Budget, store.GetTurnBudget()))}
	t.output = output.New(store, t.languageTag())
	return t, s.choosePrompts(ctx, t)
}

// scopeOf says for whom a request is.
func (s *Service) scopeOf(req *gatewayv1.AskRequest, store *gatewayv1.Store) scope.Scope {
	sc := scope.Scope{
		StoreID: req.GetStoreId(), CustomerID: req.GetCustomerId(), CustomerGroups: req.GetCustomerGroups(),
		CartID: req.GetCartId(), ThreadID: req.GetThreadId(),
	}
	if sc.CartID == "" {
		sc.CartID = sc.CustomerID
	}
	if sc.ThreadID == "" {
		sc.ThreadID = "thr_" + s.cfg.NewID()
	}
	switch tag, err := language.Parse(req.GetLocale()); {
	case err == nil && req.GetLocale() != "":
		sc.Locale = tag.String()
	case text.Language(req.GetMessage()) == "":
		sc.Locale = store.GetDefaultLocale() // the message does not show its language
	}
	if !speaks(store, cmp.Or(sc.Locale, text.Language(req.GetMessage()))) {
		sc.Locale = cmp.Or(store.GetDefaultLocale(), "en")
	}
	return sc
}

// speaks reports whether a store answers in a language.
func speaks(store *gatewayv1.Store, tag string) bool {
	base := func(tag string) string { b, _, _ := strings.Cut(tag, "-"); return strings.ToLower(b) }
	return len(store.GetLanguages()) == 0 || slices.ContainsFunc(store.GetLanguages(), func(l string) bool { return base(l) == base(tag) })
}

// lower returns the lower of each limit of two budgets, of which each may be nil. Of costs in different currencies, the first counts.
func lower(a, b *commonv1.Budget) *commonv1.Budget {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	out := proto.CloneOf(a)
	if n := b.GetMaxTokens(); n > 0 && (out.GetMaxTokens() == 0 || n < out.GetMaxTokens()) {
		out.MaxTokens = n
	}
	c := b.GetMaxCost()
	if out.GetMaxCost().GetAmountMicros() == 0 ||
		c.GetAmountMicros() > 0 && c.GetCurrencyCode() == out.GetMaxCost().GetCurrencyCode() && c.GetAmountMicros() < out.GetMaxCost().GetAmountMicros() {
		out.MaxCost = cmp.Or(c, out.GetMaxCost())
	}
	return out
}

// checkAsk reports everything that is wrong with a request.
func checkAsk(req *gatewayv1.AskRequest) error {
	var check fault.Checker
	if req == nil {
		check.Addf("ask", "is required")
		return check.Err()
	}
	check.ID("store_id", req.GetStoreId())
	check.Text("message", req.GetMessage(), 1, maxMessage)
	if req.GetMessage() != "" && strings.TrimSpace(output.Visible(req.GetMessage())) == "" {
		check.Addf("message", "is blank")
	}
	check.OptionalID("customer_id", req.GetCustomerId())
	check.OptionalID("cart_id", req.GetCartId())
	check.OptionalID("thread_id", req.GetThreadId())
	check.OptionalID("request_id", req.GetRequestId())
	checkLocale(&check, "locale", req.GetLocale())
	if check.Count("customer_groups", len(req.GetCustomerGroups()), maxGroups) {
		for i, group := range req.GetCustomerGroups() {
			check.ID(fault.At("customer_groups", i), group)
		}
	}
	return check.Err()
}

// load waits until no other turn works on the request or has a message before this one in the thread, and loads the thread. The
// scope is fixed from here on.
func (s *Service) load(ctx context.Context, t *turn) error {
	caller := auth.FromContext(ctx)
	lease, err := s.threads.Begin(ctx, threads.Turn{
		Scope: t.scope, Cart: t.req.GetCartId(), AnyGuest: caller.May(t.scope.StoreID, auth.RightThreads), Caller: caller.Name,
		ID: s.cfg.NewID(), RequestID: t.req.GetRequestId(), Hash: threads.Hash(t.req), Known: t.req.GetThreadId() != "",
		TTL: t.store.GetThreadTtl().AsDuration(),
	}, s.cfg.Now())
	if err != nil {
		return err
	}
	t.lease, t.scope = lease, lease.Scope
	return nil
}

// beginTape tells the tape how a turn begins, and takes the conversation and the prompts from it.
func (s *Service) beginTape(ctx context.Context, t *turn) {
	start := &bundle.Start{Ask: t.req, Store: t.store, Began: t.began, Prompts: t.prompts}
	if th := t.lease.Thread; th != nil {
		start.Conversation = &specialistv1.AnswerRequest{
			History: th.Messages, Summary: th.Summary, ShownProducts: th.Shown, PendingQuestion: th.Pending,
		}
	}
	s.cfg.Tape.Begin(ctx, start)
	t.prompts = start.Prompts
	if c := start.Conversation; c != nil && t.lease.Thread == nil {
		t.lease.Thread = &threads.Thread{
			Messages: c.GetHistory(), Summary: c.GetSummary(), Shown: c.GetShownProducts(), Pending: c.GetPendingQuestion(),
		}
	}
}

// replay emits the events of a turn that was answered before.
func replay(reply *gatewayv1.AskResponse, emit fanout.Emit) {
	emit.Routed(reply.GetRouting())
	for _, r := range reply.GetResults() {
		emit.Started(r.GetAssignment())
		emit.Finished(r)
	}
	emit.Text(reply.GetText())
}

// startSpan starts the span of a turn. The context it returns carries the turn's scope.
func (s *Service) startSpan(ctx context.Context, t *turn) (context.Context, trace.Span) {
	ctx, span := s.tracer.Start(scope.NewContext(ctx, t.scope), telemetry.OperationInvokeWorkflow+" "+workflow, trace.WithAttributes(
		attribute.String(telemetry.KeyOperation, telemetry.OperationInvokeWorkflow),
		attribute.String(telemetry.KeyWorkflow, workflow),
		attribute.String(telemetry.KeyConversation, t.scope.ThreadID),
		attribute.String(telemetry.KeyStore, t.scope.StoreID),
		attribute.String(telemetry.KeyTurn, t.scope.TurnID),
	), trace.WithLinks(trace.Link{SpanContext: t.lease.Journal.Attempt()})) // if there was none, no link
	if id := t.req.GetRequestId(); id != "" {
		span.SetAttributes(attribute.String(telemetry.KeyRequest, id))
	}
	return ctx, span
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, rpc.Reason(rpc.Status(err))) // the error's own text may be about a shopper
	}
	span.End()
}

// release ends everything that the turn has started. A turn with a reply first waits for its streams, so that they end by
// themselves.
func (t *turn) release(ctx context.Context, stop context.CancelFunc, run *fanout.Run, replied bool) {
	if replied {
		t.drains.Wait()
	}
	stop()
	run.Wait()
	t.drains.Wait()
	t.lease.Close(ctx, replied)
}

// waitFor reports whether a pause passed before ctx ended.
func waitFor(ctx context.Context, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// notify has the store told of a turn that recommends a human, if it wants that. It comes before the turn is recorded, so that a gateway that
// dies between the two loses no webhook.
func (s *Service) notify(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) {
	if s.webhooks == nil || t.store.GetHandoffWebhook() == "" || !reply.GetHandoff().GetRecommended() {
		return
	}
	if err := s.webhooks.Enqueue(ctx, t.scope.StoreID, t.scope.TurnID); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "webhook not queued", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
	}
}

// takenOverOr returns threads.ErrTakenOver if the turn has lost its lease, or else err.
func takenOverOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), threads.ErrTakenOver) {
		return threads.ErrTakenOver
	}
	return err
}

// fanoutTurn is the turn as its branches see it.
func (t *turn) fanoutTurn(emit fanout.Emit) *fanout.Turn {
	ft := &fanout.Turn{
		Scope: t.scope, Message: t.req.GetMessage(), StoreName: t.store.GetName(), TimeZone: t.store.GetTimeZone(), ClaimRules: t.store.GetClaimRules(), JudgeClaims: t.store.GetJudgeClaims(), Voice: t.store.GetVoice(),
		Prompts: t.prompts, Output: t.output, Budget: t.budget, Journal: t.lease.Journal, Drains: &t.drains, Emit: emit,
	}
	if th := t.lease.Thread; th != nil {
		ft.History, ft.Summary, ft.Shown, ft.Pending = th.Messages, th.Summary, th.Shown, th.Pending
	}
	return ft
}

// mergeInput is the turn as the merge sees it.
func (t *turn) mergeInput(ctx context.Context, results []fanout.Result, emit fanout.Emit) merge.Input {
	in := merge.Input{
		Message: t.req.GetMessage(), Language: t.languageTag(), Voice: t.store.GetVoice(), CurrencyCode: t.store.GetCurrencyCode(),
		Today: t.today(), Prompt: t.prompts[agentMerge], Streamed: results[0].Streamed, Due: fanout.ReplyDue(ctx), Check: t.output.Reply, Say: emit.Text,
		Judge: t.store.GetJudgeClaims(),
	}
	for _, r := range results {
		in.Parts = append(in.Parts, merge.Part{Query: r.Assignment.GetSubQuery(), Answer: r.Answer})
	}
	if t.budget != nil {
		spend, currency := t.budget.Rest()
		in.Budget = &merge.Budget{Spend: spend, Currency: currency}
	}
	return in
}

// today is the line of prompts that names the date.
func (t *turn) today() string { return prompt.Today(inTimeZone(t.began, t.store)) }

// languageTag is the language of the reply: the shopper's locale, or else the language of the message. Empty: unknown.
func (t *turn) languageTag() string {
	if t.scope.Locale != "" {
		return t.scope.Locale
	}
	return text.Language(t.req.GetMessage())
}

// record keeps the turn, also if the caller has just left. While Redis is out of reach, it tries again with the time it has. There is a
// reply by now, so an error is said in the reply and not returned, unless another gateway has taken the turn over: it gives another
// reply.
func (s *Service) record(ctx context.Context, t *turn, reply *gatewayv1.AskResponse) error {
	s.notify(ctx, t, reply)
	due, _ := ctx.Deadline()
	recordCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.cfg.RecordTimeout, time.Until(due)-sendTime))
	defer cancel()
	var err error
	for pause := recordPause; ; pause = min(2*pause, maxRecordPause) {
		err = t.lease.Record(recordCtx, t.req.GetMessage(), reply, s.cfg.Now())
		if err == nil {
			return nil
		}
		if unavailable := new(fault.Unavailable); !errors.As(err, &unavailable) || !waitFor(recordCtx, pause) {
			break
		}
	}
	if err = takenOverOr(ctx, err); errors.Is(err, threads.ErrTakenOver) {
		return err
	}
	reply.Unrecorded = true
	s.metrics.unrecorded.Add(ctx, 1)
	s.cfg.Logger.ErrorContext(ctx, "turn not recorded", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
	return nil
}
