package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// maxMessage is the longest message of a shopper, in characters.
	maxMessage = 8000
	// maxGroups is the most customer groups of a request.
	maxGroups = 64
)

// turn is one message on its way to a reply. It is made by admit and not changed afterwards, save its cart and its ledger,
// which look after themselves, and what it has going, for which its hold waits.
type turn struct {
	scope     scope.Scope
	store     *gatewayv1.Store
	message   string
	requestID string
	hash      string                        // of the request's body
	summary   string                        // what was said in the thread so far
	history   []*commonv1.Message           // the oldest first
	shown     []*specialistv1.ProductChoice // what the shopper was last shown in the thread
	lock      *state.QueueLock              // in the lines of its request and its thread; nil: it needs none
	journal   *journal                      // nil: nobody can resume the turn
	replied   *gatewayv1.AskResponse        // another call of the same request has been answered with this
	cart      sharedCart
	ledger    *ledger // nil: the turn has no budget
	begun     time.Time
	events    *events // nil: nobody listens

	branches sync.WaitGroup
	ends     sync.WaitGroup // of streams whose last word is said
}

// admit checks a request, and that its store and thread exist for this customer, and waits until it is its time. It makes
// the turn's scope, which is fixed from here on.
func (s *Service) admit(ctx context.Context, req *gatewayv1.AskRequest, ev *events) (*turn, error) {
	begun := s.cfg.Now()
	if err := checkAsk(req); err != nil {
		return nil, err
	}
	known := s.stores.ofTurn
	if req.GetRequestId() == "" && req.GetThreadId() == "" {
		known = s.stores.get // Redis is asked for nothing else, so that nobody would notice that it is down
	}
	store, err := known(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	t := &turn{store: store, message: req.GetMessage(), requestID: req.GetRequestId(), begun: begun, events: ev, ledger: newLedger(s.cfg.Budget)}
	t.scope = s.scopeOf(req, store)
	if t.requestID == "" && req.GetThreadId() == "" {
		return t, nil // until it is recorded nobody else can know of it, so there is nothing to wait for
	}
	if err := s.begin(ctx, t, req); err != nil {
		return nil, err
	}
	return t, nil
}

// scopeOf says whom a request is for.
func (s *Service) scopeOf(req *gatewayv1.AskRequest, store *gatewayv1.Store) scope.Scope {
	sc := scope.Scope{
		StoreID: req.GetStoreId(), CustomerID: req.GetCustomerId(), CustomerGroups: req.GetCustomerGroups(),
		CartID: req.GetCartId(), ThreadID: req.GetThreadId(), TurnID: "turn_" + s.cfg.NewID(),
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
	case languageOf(req.GetMessage()) == "":
		sc.Locale = store.GetDefaultLocale() // the message does not tell
	}
	return sc
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
	if req.GetMessage() != "" && strings.TrimSpace(req.GetMessage()) == "" {
		check.Addf("message", "is blank")
	}
	check.OptionalID("customer_id", req.GetCustomerId())
	check.OptionalID("cart_id", req.GetCartId())
	check.OptionalID("thread_id", req.GetThreadId())
	check.OptionalID("request_id", req.GetRequestId())
	checkLocale(&check, "locale", req.GetLocale())
	if n := len(req.GetCustomerGroups()); n > maxGroups {
		check.Addf("customer_groups", "has %d groups, must have at most %d", n, maxGroups)
	}
	for i, group := range req.GetCustomerGroups() {
		check.ID(fmt.Sprintf("customer_groups[%d]", i), group)
	}
	return check.Err()
}

func randomID() string { return strings.ToLower(rand.Text()) }
