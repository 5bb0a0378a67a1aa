package support

import (
	"cmp"
	"context"
	_ "embed" // the prompt and the examples
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/wording"
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
		Purpose: "The shopper's own orders (status, tracking, delivery) and the store's rules (returns, refunds, shipping, warranty, " +
			"payment, contact). Also greetings, thanks, complaints, requests for a human, and anything " +
			"else that no other specialist is for.",
		Examples:      strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:      vocabulary,
		Prompt:        prompt,
		Tools:         s.tools,
		DisabledTools: s.disabledTools,
		ToolReads: map[string][]scope.Read{
			lookupOrder: {scope.ReadOrders}, searchPolicies: {scope.ReadPolicies}, carttool.Name: {scope.ReadCarts},
		},
		ReadsCart: true,
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
	maxPassageShown = 1_500 // characters of a passage that a model is shown when it asks for all of it
	maxExcerpt      = 300   // characters of a passage that it is shown else
)

const (
	// lookupOrder is the name of the tool that a store without an order system does not have.
	lookupOrder    = "lookup_order"
	searchPolicies = "search_policies"
)

// tools makes the tools of one turn.
func (s *Service) tools(t *specialist.Turn) []agentloop.Tool {
	version := specialist.Prefetch(t, func(ctx context.Context) (string, error) { return s.policies.Version(ctx, t.Scope.StoreID) })
	tt := &turnTools{service: s, turn: t, version: version, done: make(map[string]bool), proposed: make(map[string]*specialistv1.SuggestedAction)}
	tools := []agentloop.Tool{
		tt.orderTool(),
		agentloop.NewTool(searchPolicies,
			"Searches the store's documents. If nothing is found, try once with other words or in English.",
			tt.searchPolicies),
		agentloop.NewTool("suggest_handoff",
			"Suggests a person.",
			tt.suggestHandoff),
	}
	if t.Cart != nil { // for questions such as how much is missing for free delivery
		tools = append(tools, carttool.New(t, carttool.Config{}))
	}
	return tools
}

// orderTool looks up orders: the customer's own, or with what a guest knows of one.
func (t *turnTools) orderTool() agentloop.Tool {
	if t.turn.Scope.CustomerID == "" {
		return withActionNames(agentloop.NewTool(lookupOrder,
			"Looks up an order by its number and its e-mail address or postal code. Ask a shopper who names no number to sign in, or for "+
				"the number and one of the two.",
			t.lookupGuestOrder))
	}
	return withActionNames(agentloop.NewTool(lookupOrder,
		"An order by order_id or item, else the latest, and what can be done with it.",
		t.lookupOrder))
}

// turnTools are the tools of one turn, with what they have proposed already: a model that asks twice proposes once.
type turnTools struct {
	service *Service
	turn    *specialist.Turn
	version *specialist.Memo[string] // of the documents, when the turn had begun

	mu       sync.Mutex
	done     map[string]bool
	proposed map[string]*specialistv1.SuggestedAction // by action and order
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
	Query string `json:"query"`
	Full  bool   `json:"full,omitempty" jsonschema:"whole passages"`
}

type searchResult struct {
	Passages    []shownPassage `json:"passages"`
	Note        string         `json:"note,omitempty"`
	Instruction string         `json:"instruction,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r searchResult) Summary() string {
	if len(r.Passages) == 1 {
		return "1 passage"
	}
	return fmt.Sprintf("%d passages", len(r.Passages))
}

// shownPassage is a passage as a model reads it. Its address travels beside the answer's text.
type shownPassage struct {
	Policy  string `json:"policy"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
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
		r.Note, r.Instruction = "No document of the store answers this.", "Say that you do not know; do not guess."
	case passages[0].GetNearInMeaning():
		t.turn.Found(0) // whether one answers it is for the model to say
		r.Instruction = "Perhaps no document answers this. Answer from a passage only if it answers the question; else say that you do not know."
	default:
		t.turn.Found(len(passages))
	}
	for _, p := range passages {
		shown := text.Cut(p.GetText(), maxPassageShown)
		if !in.Full {
			shown = excerpt(p.GetText(), query)
		}
		r.Passages = append(r.Passages, shownPassage{Policy: p.GetPolicyTitle(), Section: p.GetSection(), Text: shown})
		if t.first("passage " + p.GetPolicyId() + "\n" + p.GetSection() + "\n" + p.GetText()) {
			t.turn.AddPassages(p)
		}
	}
	return r, nil
}

// excerpt shortens a passage to the sentences that share most words with a query, in their order; equals count by place. An
// ellipsis stands for what is left out.
func excerpt(passage, query string) string {
	if utf8.RuneCountInString(passage) <= maxExcerpt {
		return passage
	}
	sentences := text.SplitSentences(passage)
	language := cmp.Or(text.Language(passage), "en")
	asked := stems(language, query)
	rank := make([]int, len(sentences))
	shared := make([]int, len(sentences))
	for i, s := range sentences {
		rank[i] = i
		for stem := range stems(language, s) {
			if asked[stem] {
				shared[i]++
			}
		}
	}
	slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(shared[b], shared[a]) })
	kept := make([]bool, len(sentences))
	for left, i := maxExcerpt, 0; i < len(rank); i++ {
		if n := utf8.RuneCountInString(sentences[rank[i]]); n <= left {
			kept[rank[i]] = true
			left -= n
		}
	}
	if !slices.Contains(kept, true) {
		return text.Cut(sentences[rank[0]], maxExcerpt)
	}
	var b strings.Builder
	for i, s := range sentences {
		switch {
		case kept[i]:
			b.WriteString(s)
		case i == 0 || kept[i-1]:
			b.WriteString(" …")
		}
	}
	return strings.TrimSpace(b.String())
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
	Reason  string `json:"reason"`
	Summary string `json:"summary,omitempty" jsonschema:"what is wanted, found, open"`
}

// Limits of what the model writes for a person, in characters.
const (
	maxHandOffReason  = 500
	maxHandOffSummary = 1_000
)

type handoffResult struct {
	Say string `json:"say"` // in the shopper's language
}

// Summary says what the result holds, for the call log.
func (handoffResult) Summary() string { return "a person, suggested" }

func (t *turnTools) suggestHandoff(_ context.Context, in handoffArgs) (handoffResult, error) {
	if t.first("handoff") {
		t.turn.AddActions(&specialistv1.SuggestedAction{
			Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{
				Reason: text.Cut(strings.TrimSpace(in.Reason), maxHandOffReason), Summary: text.Cut(strings.TrimSpace(in.Summary), maxHandOffSummary),
			}},
		})
	}
	return handoffResult{Say: wording.In(t.turn.Language).PersonOffered}, nil
}
