package threads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

var (
	//go:embed claim.lua
	claimLua string
	//go:embed owner.lua
	ownerLua string
	//go:embed begin.lua
	beginLua string
	//go:embed record.lua
	recordLua string
)

var (
	claimScript  = redis.NewScript(claimLua)
	beginScript  = redis.NewScript(state.QueueLockLua + ownerLua + beginLua)
	recordScript = redis.NewScript(state.QueueLockLua + ownerLua + recordLua)
)

// The outcomes of begin.lua and record.lua.
const (
	outcomeAcquired = "acquired"
	outcomeWait     = "wait"
	outcomeDone     = "done"
	outcomeReused   = "reused"
	outcomeForeign  = "foreign"
	outcomeRecorded = "recorded"
)

// ErrTakenOver ends a turn that has lost its lease. It is then the cause of the end of the turn's context.
var ErrTakenOver = &fault.Aborted{
	Reason:      commonv1.ErrorReason_ERROR_REASON_TURN_TAKEN_OVER,
	Description: "this gateway did not renew its lease in time, so another gateway may have taken the turn over; repeat the request",
}

// Turn is what a lease is asked for.
type Turn struct {
	// Scope of the turn, without its TurnID.
	Scope scope.Scope
	// Cart that the request names, by which a guest's thread is known. Empty: none. The cart of the Scope may be a default.
	Cart string
	// AnyGuest says that the caller may continue the thread of every guest, whatever its cart.
	AnyGuest bool
	// Caller is the name of the caller, to which the RequestID is bound.
	Caller string
	// ID is unique and hard to guess. It becomes a part of the TurnID.
	ID string
	// RequestID under which the request may be repeated. Empty: it is not repeated, and has no journal.
	RequestID string
	// Hash of the request, by which a reused RequestID is noticed. Required with a RequestID.
	Hash string
	// TTL is how long the store keeps a thread after the last message, if that is shorter than Config.TTL. Zero: Config.TTL.
	TTL time.Duration
	// Known says that the caller named the thread, so it may exist. Otherwise, its id has just been made.
	Known bool
}

// request is the requestName of the turn, or "" without a RequestID.
func (t Turn) request() string {
	if t.RequestID == "" {
		return ""
	}
	return requestName(t.Caller, t.RequestID)
}

// Lease is the right to answer one request in one thread: no other gateway works on the request, and all earlier messages of
// the thread are answered.
type Lease struct {
	// Scope of the turn. If the turn resumes an earlier attempt, it has the TurnID and the ThreadID of that attempt.
	Scope scope.Scope
	// Thread with its last messages. Nil: it is new.
	Thread *Thread
	// Journal of the turn. Nil, which keeps nothing, without a RequestID.
	Journal *Journal
	// Reply of the request. If it is not nil, the request is answered, and nothing is held.
	Reply *gatewayv1.AskResponse

	turn          Turn
	store         *Store
	lock          *state.QueueLock // nil: the turn needs no lock
	stopKeepAlive func()
}

// Begin waits until the turn may start. The errors are a *fault.Exists for a RequestID that stands for another request, a
// *fault.NotFound for a thread of another shopper, and those of Redis and of ctx, which has a deadline. The caller must Close
// the lease. A turn in a new thread without a RequestID needs nothing from Redis.
func (s *Store) Begin(ctx context.Context, t Turn, now time.Time) (*Lease, error) {
	// A turn that needs both queues joins the request's first, so that no two turns wait for each other.
	var queues []string
	if t.RequestID != "" {
		var err error
		if t.Hash, err = s.cfg.Sealer.Hash(t.Scope.StoreID, t.Hash); err != nil {
			return nil, err
		}
		if t.Scope.ThreadID, err = s.claim(ctx, t); err != nil {
			return nil, err
		}
		queues = append(queues, requestQueue(t.Scope.StoreID, t.Scope.ThreadID, t.request()))
	}
	if t.Known {
		queues = append(queues, threadQueue(t.Scope.StoreID, t.Scope.ThreadID))
	}
	t.Scope.TurnID = turnID(t.Scope.ThreadID, t.ID)
	l := &Lease{Scope: t.Scope, turn: t, store: s}
	if len(queues) == 0 {
		return l, nil
	}
	l.lock = state.NewQueueLock(s.cfg.Redis, t.Scope.TurnID, s.cfg.Lease, queues...)
	var found opening
	err := l.lock.AcquireBy(ctx, func(ctx context.Context) (ahead int, err error) {
		found, err = l.begin(ctx, now)
		return found.ahead, err
	})
	if err != nil {
		return nil, err
	}
	switch found.outcome {
	case outcomeReused:
		return nil, reused(t.RequestID)
	case outcomeForeign:
		return nil, NotFound(t.Scope.ThreadID)
	case outcomeDone:
		l.Reply, err = s.replyOf(ctx, t, found.turnID)
		return l, err
	}
	l.Thread = found.thread
	if t.RequestID == "" {
		return l, nil
	}
	before, err := s.decodeProgress(t, found.journal)
	if err != nil {
		_ = l.lock.Release(ctx) // on failure, the lease expires
		return nil, err
	}
	l.Scope.TurnID = found.journal["turn"]
	l.Journal = s.newJournal(ctx, t, l.lock, before)
	return l, nil
}

// ttl is how long the thread of a turn is kept.
func (s *Store) ttl(t Turn) time.Duration {
	if t.TTL > 0 {
		return min(t.TTL, s.cfg.TTL)
	}
	return s.cfg.TTL
}

// replyOf returns the recorded reply of a request. It trusts neither the id of the turn nor the owner of the thread that the script has
// seen: whoever can write to Redis could change both, but not what is sealed.
func (s *Store) replyOf(ctx context.Context, t Turn, turnID string) (*gatewayv1.AskResponse, error) {
	turn, err := s.Turn(ctx, t.Scope.StoreID, turnID, Shopper{Customer: t.Scope.CustomerID, Cart: t.Cart, AnyGuest: t.AnyGuest})
	if err == nil && turn.GetReply().GetThreadId() != t.Scope.ThreadID {
		err = turnNotFound(turnID)
	}
	return turn.GetReply(), err
}

// claim claims a request id, and returns the thread of the request: that of the first attempt if the turn has no known thread.
func (s *Store) claim(ctx context.Context, t Turn) (threadID string, err error) {
	keys := []string{claimKey(t.Scope.StoreID, t.request())}
	threadID, err = claimScript.Run(ctx, s.cfg.Redis, keys, t.Hash, t.Scope.ThreadID, s.ttl(t).Milliseconds()).Text()
	if err == nil && threadID == "" {
		return "", reused(t.RequestID)
	}
	return threadID, state.OrDeadline(ctx, "claim request id", state.Error("claim request id", err))
}

func reused(requestID string) error {
	return &fault.Exists{
		Reason: commonv1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED, Resource: "request", Name: requestID,
		Description: "the id stands for a request that differs in another field; use a new id for a new request",
	}
}

// begin tries once to acquire the lock.
func (l *Lease) begin(ctx context.Context, now time.Time) (opening, error) {
	t, sc := l.turn, l.turn.Scope
	keys := l.lock.Keys(
		journalKey(sc.StoreID, sc.ThreadID, t.request()), threadKey(sc.StoreID, sc.ThreadID),
		messagesKey(sc.StoreID, sc.ThreadID), requestsKey(sc.StoreID, sc.ThreadID),
	)
	args := l.lock.Args(
		t.request(), t.Hash, sc.TurnID, t.Known, sc.CustomerID, l.store.ttl(t).Milliseconds(), HistoryMessages, score(now),
		t.Cart, t.AnyGuest, traceParent(ctx),
	)
	raw, err := beginScript.Run(ctx, l.store.cfg.Redis, keys, args...).Slice()
	if err != nil {
		return opening{}, state.Error("begin turn", err)
	}
	return l.store.decodeOpening(sc.StoreID, sc.ThreadID, raw)
}

// opening is what begin.lua returns.
type opening struct {
	outcome string
	ahead   int               // in the queue in which the turn waits
	turnID  string            // of the reply that is there already
	journal map[string]string // fields; empty: there is none
	thread  *Thread           // with its last messages; nil: there is none
}

func (s *Store) decodeOpening(storeID, threadID string, raw []any) (opening, error) {
	bad := fmt.Errorf("begin turn: unexpected %d values", len(raw))
	if len(raw) == 0 {
		return opening{}, bad
	}
	o := opening{}
	o.outcome, _ = raw[0].(string)
	switch {
	case o.outcome == outcomeReused || o.outcome == outcomeForeign:
		return o, nil
	case o.outcome == outcomeWait && len(raw) == 2:
		ahead, _ := raw[1].(int64)
		o.ahead = int(ahead)
		return o, nil
	case o.outcome == outcomeDone && len(raw) == 2:
		o.turnID, _ = raw[1].(string)
		return o, nil
	case o.outcome == outcomeAcquired && len(raw) == 4:
		var err error
		o.journal = fieldsOf(texts(raw[1]))
		if o.thread, err = s.decodeThread(storeID, threadID, fieldsOf(texts(raw[2])), texts(raw[3])); o.thread != nil {
			o.thread.Messages = boundHistory(o.thread.Messages)
		}
		return o, err
	}
	return opening{}, bad
}

// texts returns a script's list of texts.
func texts(raw any) []string {
	list, _ := raw.([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		text, _ := v.(string)
		out = append(out, text)
	}
	return out
}

// fieldsOf makes a hash of alternating fields and values.
func fieldsOf(flat []string) map[string]string {
	fields := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i]] = flat[i+1]
	}
	return fields
}

// KeepAlive renews the lease until Close, and returns a context that ends with the cause ErrTakenOver if the lease is lost. It
// is called at most once. The caller must call cancel, before Close.
func (l *Lease) KeepAlive(ctx context.Context) (leased context.Context, cancel context.CancelFunc) {
	leased, end := context.WithCancelCause(ctx)
	l.stopKeepAlive = l.lock.KeepAlive(leased, func() { end(ErrTakenOver) })
	return leased, func() { end(nil) }
}

// Close ends the work on a turn, also when ctx has ended. A turn that has failed gives its lease up. A turn that has a reply gave
// it up when it was recorded or, if it could not be recorded, leaves it to expire: its reply must not wait any longer.
func (l *Lease) Close(ctx context.Context, replied bool) {
	l.Journal.close(replied)
	if l.stopKeepAlive != nil {
		l.stopKeepAlive()
	}
	if !replied {
		_ = l.lock.Release(ctx) // on failure, the lease expires
	}
}

// Record writes a turn and its two messages, all or nothing, renews the thread's time to live and gives the lease up. The errors
// are ErrTakenOver if the lease is lost, a *fault.NotFound if the thread has become another shopper's since the turn began,
// and those of Redis. After an error, nothing is written, unless Redis could not say. Record may be repeated.
func (l *Lease) Record(ctx context.Context, message string, reply *gatewayv1.AskResponse, now time.Time) error {
	sc, ttl, sealer := l.Scope, l.store.ttl(l.turn), l.store.cfg.Sealer
	// The script keeps the cart of a thread that exists, and binds a new one to the cart if it is a guest's.
	title, cart, shownBefore := text.Head(message, maxTitle), l.turn.Cart, []*specialistv1.ProductChoice(nil)
	switch {
	case l.Thread != nil:
		title, cart, shownBefore = l.Thread.Title, l.Thread.Cart, l.Thread.Shown
	case sc.CustomerID != "":
		cart = ""
	}
	pending := l.pendingAfter(reply)
	sealedTitle, err := sealer.Seal(titlePlace(sc.StoreID, sc.ThreadID), []byte(title))
	at := messagePlace(sc.StoreID, sc.ThreadID)
	question, err1 := sealer.Marshal(at, &commonv1.Message{Role: commonv1.Role_ROLE_USER, Text: message})
	answer, err2 := sealer.Marshal(at, &commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: reply.GetText()})
	if reply.GetMuted() {
		answer = nil
	}
	kept, err3 := sealer.Marshal(replyPlace(sc.StoreID, sc.TurnID), reply)
	shown, err4 := sealer.Marshal(shownPlace(sc.StoreID, sc.ThreadID, sc.CustomerID, cart),
		&specialistv1.Answer{
			Products:   shownAfter(shownBefore, reply.GetProducts()),
			Specialist: pending.GetSpecialist(), ClarifyingQuestion: pending.GetQuestion(), Text: pending.GetSubQuery(),
		})
	about, err5 := sealer.Marshal(aboutPlace(sc.StoreID, sc.TurnID), &gatewayv1.Turn{Message: message, CustomerId: sc.CustomerID})
	if err := errors.Join(err, err1, err2, err3, err4, err5); err != nil {
		return fmt.Errorf("encode turn: %w", err)
	}
	keys := l.lock.Keys(
		threadKey(sc.StoreID, sc.ThreadID), messagesKey(sc.StoreID, sc.ThreadID), turnsKey(sc.StoreID, sc.ThreadID),
		requestsKey(sc.StoreID, sc.ThreadID), turnKey(sc.StoreID, sc.TurnID), journalKey(sc.StoreID, sc.ThreadID, l.turn.request()),
		aboutKey(sc.StoreID, sc.TurnID),
	)
	args := l.lock.Args(
		sc.TurnID, l.turn.request(), sc.CustomerID, sealedTitle, question, answer, kept, shown,
		now.UnixMilli(), score(now), score(now.Add(-ttl)), ttl.Milliseconds(), MaxMessages,
		l.turn.Hash, l.turn.Cart, l.turn.AnyGuest, about,
	)
	if err := l.store.index(ctx, sc, reply, now); err != nil {
		return err
	}
	outcome, err := recordScript.Run(ctx, l.store.cfg.Redis, keys, args...).Text()
	switch {
	case err != nil:
		return state.Error("record turn", err)
	case outcome == outcomeForeign:
		return NotFound(sc.ThreadID)
	case outcome != outcomeRecorded:
		return ErrTakenOver
	}
	return nil
}

// maxPending bounds what the shopper had asked before a question, in characters.
const maxPending = 2000

// pendingAfter returns the question that a reply ends with, or nil. Of an assignment that answered an earlier question, what the
// shopper had asked before stays in view.
func (l *Lease) pendingAfter(reply *gatewayv1.AskResponse) *specialistv1.PendingQuestion {
	for _, r := range reply.GetResults() {
		q := r.GetAnswer().GetClarifyingQuestion()
		if q == nil {
			continue
		}
		p := &specialistv1.PendingQuestion{Specialist: r.GetAssignment().GetSpecialist(), Question: q, SubQuery: r.GetAssignment().GetSubQuery()}
		if l.Thread != nil && l.Thread.Pending.GetSpecialist() == p.GetSpecialist() {
			p.SubQuery = l.Thread.Pending.GetSubQuery() + "\n" + p.GetSubQuery()
		}
		p.SubQuery = text.Head(p.GetSubQuery(), maxPending)
		return p
	}
	return nil
}

// shownAfter returns the products that the shopper saw last after a reply. A reply about one product of the list, or about none,
// keeps the list: "the second one" is still the second of that list.
func shownAfter(before, products []*specialistv1.ProductChoice) []*specialistv1.ProductChoice {
	about := func(p *specialistv1.ProductChoice) bool { return p.GetProductId() == products[0].GetProductId() }
	if len(products) == 0 || len(products) == 1 && len(before) >= 2 && slices.ContainsFunc(before, about) {
		return before
	}
	return products
}
