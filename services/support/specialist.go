package support

import (
	"context"
	_ "embed" // the prompt and the examples
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// definition is the support specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "support",
		Purpose: "Answers questions about the shopper's own orders (status, tracking, delivery) and about the store's rules " +
			"(returns, refunds, shipping, warranty, payment, contact). Also takes greetings, thanks, complaints, requests for a " +
			"human, and anything else that no other specialist is for.",
		Examples:      strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:      vocabulary,
		Prompt:        prompt,
		Tools:         s.tools,
		DisabledTools: s.disabledTools,
		ToolReads:     map[string][]scope.Read{lookupOrder: {scope.ReadOrders}, searchPolicies: {scope.ReadPolicies}},
	}
}

// disabledTools switches off what a store without an order system does not have.
func (s *Service) disabledTools(ctx context.Context, sc scope.Scope) (map[string]string, error) {
	settings, err := s.orders.RecentSettings(ctx, sc.StoreID)
	if err != nil || !settings.GetNoOrderSystem() {
		return nil, err
	}
	return map[string]string{
		lookupOrder: "Orders cannot be looked up here: this store has no order system connected. Asked about an order, say so, and " +
			"search its documents for how to reach it.",
	}, nil
}

const (
	shownPassages   = 3
	maxPassageShown = 1_500 // characters of a passage that a model is shown
)

const (
	// lookupOrder is the name of the tool that a store without an order system does not have.
	lookupOrder    = "lookup_order"
	searchPolicies = "search_policies"
)

// tools makes the tools of one turn.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	version := specialist.Prefetch(t, func(ctx context.Context) (string, error) { return s.policies.Version(ctx, t.Scope.StoreID) })
	tt := &turnTools{service: s, turn: t, version: version, done: make(map[string]bool)}
	return []agentloop.Tool{
		tt.orderTool(),
		agentloop.NewTool(searchPolicies,
			"Searches the store's own documents (returns, refunds, shipping, warranty, payment, privacy, contact ...) and gives the "+
				"passages to quote. Call it for any question about the store's rules or services. If nothing is found, try once with "+
				"other words or in English.",
			tt.searchPolicies),
		agentloop.NewTool("suggest_handoff",
			"Suggests that a person of the store takes over. Call it only when the shopper asks for a person or is in distress.",
			tt.suggestHandoff),
	}
}

// orderTool looks up orders: the customer's own, or with what a guest knows of one.
func (t *turnTools) orderTool() agentloop.Tool {
	if t.turn.Scope.CustomerID == "" {
		return withActionNames(agentloop.NewTool(lookupOrder,
			"Looks up an order of a shopper who is not signed in: status, what happens next, items, total, tracking, and what can be "+
				"done with it now. It needs the order's number, and its e-mail address or postal code, as the shopper wrote them. "+
				"Call it for any question about the shopper's own order, parcel or delivery.",
			t.lookupGuestOrder))
	}
	return withActionNames(agentloop.NewTool(lookupOrder,
		"Looks up an order of the signed-in shopper: status, what happens next, items, total, tracking, and what can be done with "+
			"it now. Call it for any question about the shopper's own order, parcel or delivery. Without order_id it gives their "+
			"latest order.",
		t.lookupOrder))
}

// turnTools are the tools of one turn, with what they have proposed already: a model that asks twice proposes once.
type turnTools struct {
	service *Service
	turn    *specialist.Turn
	version *specialist.Memo[string] // of the documents, when the turn had begun

	mu   sync.Mutex
	done map[string]bool
}

// first reports whether this is the first time that something is done in the turn.
func (t *turnTools) first(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done[what] {
		return false
	}
	t.done[what] = true
	return true
}

// forModel logs the cause and returns an error text for the model, which must not see internals.
func (s *Service) forModel(ctx context.Context, cause error, words string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.logger.WarnContext(ctx, "support tool failed", slog.Any("error", cause))
	return errors.New(words)
}

type searchArgs struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words, such as: return unopened shoes"`
}

type searchResult struct {
	Passages []shownPassage `json:"passages"`
	Note     string         `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r searchResult) Summary() string {
	if len(r.Passages) == 1 {
		return "1 passage"
	}
	return fmt.Sprintf("%d passages", len(r.Passages))
}

type shownPassage struct {
	Policy  string `json:"policy"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
	URL     string `json:"url,omitempty"`
}

func (t *turnTools) searchPolicies(ctx context.Context, in searchArgs) (searchResult, error) {
	query := strings.TrimSpace(in.Query)
	if query == "" || utf8.RuneCountInString(query) > policies.MaxQuestion {
		return searchResult{}, errors.New("query must say in a few words what to look for")
	}
	passages, err := t.passages(ctx, query)
	if err != nil {
		return searchResult{}, t.service.forModel(ctx, err, "the store's documents cannot be read now; say so, and name no rule")
	}
	r := searchResult{Passages: make([]shownPassage, 0, len(passages))}
	switch {
	case len(passages) == 0:
		t.turn.Found(0)
		r.Note = "No document of the store answers this. Say that you do not know; do not guess."
	case passages[0].GetNearInMeaning():
		t.turn.Found(0) // whether one answers it is for the model to say
		r.Note = "No document has the words of the question. Answer from a passage only if it answers the question; else say that you do not know."
	default:
		t.turn.Found(len(passages))
	}
	for _, p := range passages {
		r.Passages = append(r.Passages, shownPassage{
			Policy: p.GetPolicyTitle(), Section: p.GetSection(), Text: text.Cut(p.GetText(), maxPassageShown), URL: p.GetUrl(),
		})
		if t.first("passage " + p.GetPolicyId() + "\n" + p.GetSection() + "\n" + p.GetText()) {
			t.turn.AddPassages(p)
		}
	}
	return r, nil
}

// passages searches the documents as of the beginning of the turn, or newer. Their version, which takes a round trip, was
// prefetched.
func (t *turnTools) passages(ctx context.Context, query string) ([]*policyv1.Passage, error) {
	version, err := t.version.Get(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := t.service.policies.Search(ctx, t.turn.Scope.StoreID, version, query, t.turn.Scope.Locale, shownPassages)
	return found, err
}

type handoffArgs struct {
	Reason string `json:"reason" jsonschema:"why a person is needed, in one sentence"`
}

type handoffResult struct {
	Note string `json:"note"`
}

// Summary says what the result holds, for the call log.
func (handoffResult) Summary() string { return "a person, suggested" }

func (t *turnTools) suggestHandoff(_ context.Context, in handoffArgs) (handoffResult, error) {
	if t.first("handoff") {
		t.turn.AddActions(&specialistv1.SuggestedAction{
			Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: text.Cut(strings.TrimSpace(in.Reason), 500)}},
		})
	}
	return handoffResult{Note: "The store is asked to let a person take over. Nobody has answered yet."}, nil
}
