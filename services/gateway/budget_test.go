package gateway

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func usd(micros int64) *commonv1.Cost {
	return &commonv1.Cost{AmountMicros: micros, CurrencyCode: "USD"}
}

func usageOf(n int64) *commonv1.Usage { return &commonv1.Usage{InputTokens: n, ModelCalls: 1} }

// decided is a decision for assignments named by letters.
func decided(final bool, used *commonv1.Usage, cost *commonv1.Cost, ids string) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{Stage: routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL, Usage: used, Cost: cost}
	if final {
		d.Stage = routerv1.DecisionStage_DECISION_STAGE_FINAL
	}
	for _, id := range ids {
		d.Assignments = append(d.Assignments, &routerv1.Assignment{AssignmentId: string(id)})
	}
	return d
}

// company plays the assignments of a turn, named by letters, to its ledger.
type company struct {
	*ledger
	branches map[string]*branch
}

func newCompany(b *commonv1.Budget) company { return company{newLedger(b), map[string]*branch{}} }

// begin gives each assignment its share and returns the last.
func (p company) begin(ids string) (share *commonv1.Budget) {
	for _, id := range ids {
		b := &branch{assignment: &routerv1.Assignment{AssignmentId: string(id)}}
		p.branches[string(id)] = b
		share = p.share(b, string(id))
	}
	return share
}

// end settles an assignment that was answered, or failed with an error.
func (p company) end(id string, used *commonv1.Usage, cost *commonv1.Cost, err error) {
	b := p.branches[id]
	if err != nil {
		b.spent = used
		p.settle(b, nil, err)
		return
	}
	p.settle(b, &specialistv1.Answer{Usage: used, Cost: cost}, nil)
}

func TestABudgetIsDividedBeforeItIsSpent(t *testing.T) {
	budget := &commonv1.Budget{MaxTokens: 10_000, MaxCost: usd(1000)}
	bug, gone := errors.New("bug"), &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE}
	share := func(tokens, micros int64) *commonv1.Budget {
		return &commonv1.Budget{MaxTokens: tokens, MaxCost: usd(micros)}
	}
	tests := []struct {
		name string
		play func(company) (last *commonv1.Budget)
		want *commonv1.Budget // of the last share
		rest wrap.Spend       // for the merge
	}{
		{"one assignment gets all", func(p company) *commonv1.Budget {
			p.routed(decided(true, nil, nil, "a"))
			return p.begin("a")
		}, share(10_000, 1000), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"two share what the merge leaves", func(p company) *commonv1.Budget {
			p.routed(decided(true, nil, nil, "ab"))
			return p.begin("ab")
		}, share(4000, 400), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"the router's work counts", func(p company) *commonv1.Budget {
			p.routed(decided(true, usageOf(1000), usd(20), "ab"))
			return p.begin("ab")
		}, share(3500, 390), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"the router's work of unknown cost counts as a tenth", func(p company) *commonv1.Budget {
			p.routed(decided(true, usageOf(1000), nil, "a"))
			return p.begin("a")
		}, share(9000, 900), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"what is not used is left for the merge", func(p company) *commonv1.Budget {
			p.routed(decided(true, nil, nil, "ab"))
			last := p.begin("ab")
			p.end("a", usageOf(1000), usd(100), nil)
			p.end("b", usageOf(500), nil, nil) // at an unknown price
			return last
		}, share(4000, 400), wrap.Spend{Tokens: 8500, CostMicros: 500}},
		{"what a failed one told counts, and all where it was cut off", func(p company) *commonv1.Budget {
			p.routed(decided(true, nil, nil, "abc"))
			last := p.begin("abc")
			p.end("a", usageOf(500), nil, bug)
			p.end("b", usageOf(500), nil, gone)
			p.end("c", &commonv1.Usage{}, nil, bug) // asked no model
			return last
		}, share(2666, 266), wrap.Spend{Tokens: 10_000 - 500 - 2666, CostMicros: 1000 - 266 - 266}},
		{"before the routing is final, a tenth and one share are kept", func(p company) *commonv1.Budget {
			p.routed(decided(false, nil, nil, "ab"))
			return p.begin("ab")
		}, share(2333, 233), wrap.Spend{Tokens: 9000 - 2*2333, CostMicros: 900 - 2*233}},
		{"what the final routing adds shares what is left", func(p company) *commonv1.Budget {
			p.routed(decided(false, nil, nil, "ab"))
			p.begin("ab")
			p.end("b", usageOf(333), usd(33), bug) // was wrong
			p.routed(decided(true, usageOf(1000), usd(100), "acd"))
			return p.begin("cd")
		}, share((9000-2333-333-2000)/2, (900-233-233-200)/2), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"one that was not planned for gets no more than there is", func(p company) *commonv1.Budget {
			p.routed(decided(true, nil, nil, "a"))
			return p.begin("ax")
		}, share(1, 1), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"what is overspent leaves next to nothing", func(p company) *commonv1.Budget {
			p.routed(decided(true, usageOf(20_000), usd(2000), "ab"))
			return p.begin("a")
		}, share(1, 1), wrap.Spend{Tokens: -1, CostMicros: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newCompany(budget)
			if diff := cmp.Diff(tt.want, tt.play(p), protocmp.Transform()); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
			if got := p.rest(); got != tt.rest {
				t.Errorf("for the merge %v, want %v", got, tt.rest)
			}
		})
	}
}

func TestWhatABudgetDoesNotBoundIsNotBounded(t *testing.T) {
	for _, none := range []*commonv1.Budget{nil, {}, {MaxCost: usd(0)}} {
		if p := newCompany(none); p.ledger != nil || p.begin("a") != nil {
			t.Errorf("%v bounds something", none)
		}
	}
	p := newCompany(&commonv1.Budget{MaxTokens: 100})
	p.routed(decided(true, usageOf(10), usd(10), "ab"))
	if got := p.begin("a"); got.GetMaxTokens() != 35 || got.GetMaxCost() != nil {
		t.Errorf("share %v", got)
	}
	if got := p.rest(); got != (wrap.Spend{Tokens: 55}) {
		t.Errorf("rest %v", got)
	}
}

// Whatever the routing, and however the company of a turn come and go: as long as each keeps to its share, the turn keeps to
// its budget.
func TestNobodyGoesBeyondTheBudget(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		total := 1000 + r.Int64N(10_000)
		p := newCompany(&commonv1.Budget{MaxTokens: total})
		spent := int64(0)
		begin := func(d *routerv1.RoutingDecision) map[string]int64 {
			p.routed(d)
			shares := map[string]int64{}
			for _, a := range d.GetAssignments() {
				if id := a.GetAssignmentId(); p.branches[id] == nil {
					shares[id] = p.begin(id).GetMaxTokens()
				}
			}
			return shares
		}
		end := func(shares map[string]int64) {
			for id, share := range shares {
				used := r.Int64N(share + 1)
				spent += used
				p.end(id, usageOf(used), nil, nil)
			}
		}
		provisional := begin(decided(false, nil, nil, "abcd"[:1+r.IntN(4)]))
		router := r.Int64N(total / 10)
		spent += router
		if r.IntN(2) == 0 {
			end(provisional)
			provisional = nil
		}
		final := begin(decided(true, usageOf(router), nil, "cdef"[:1+r.IntN(4)]))
		end(final)
		end(provisional)
		if rest := p.rest().Tokens; rest != total-spent && (rest != -1 || spent != total) {
			t.Fatalf("seed %d: %d of %d are spent and %d left", seed, spent, total, rest)
		}
	}
}

func TestSpecialistsAndMergeKeepToTheTurnsBudget(t *testing.T) {
	tests := []struct {
		name   string
		tokens int64
		used   int64 // by each of two specialists
		method gatewayv1.MergeMethod
	}{
		{"enough", 20_000, 1000, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{"just enough", 10_000, 4000, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{"used up by the specialists", 2000, 800, gatewayv1.MergeMethod_MERGE_METHOD_JOINED},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, miniredis.RunT(t))
			model := scripted.New(scripted.Step{Text: goodMerge})
			h.config.Model, h.config.Budget = model, &commonv1.Budget{MaxTokens: tt.tokens, MaxCost: usd(9)} // the price is not known
			h.start()
			stock(h)
			for _, name := range []string{"search", "support"} {
				answer := h.specialists[name].answer
				h.specialists[name].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
					return answer(req, using{stream, usageOf(tt.used)})
				}
			}
			reply := h.ask(shoesAndReturns)
			if reply.GetMergeMethod() != tt.method {
				t.Errorf("method %v, %d calls left", reply.GetMergeMethod(), model.Remaining())
			}
			for _, r := range model.Requests() {
				if left := tt.tokens - 2*tt.used; r.MaxOutputTokens != int(min(left/2, agentloop.DefaultMaxOutputTokens)) {
					t.Errorf("%d tokens of answer where %d are left", r.MaxOutputTokens, left)
				}
			}
			asked, _ := h.specialists["search"].calls()
			want := &commonv1.Budget{MaxTokens: tt.tokens * 2 / 5, MaxCost: usd(4)}
			if diff := cmp.Diff(want, asked[0].GetBudget(), protocmp.Transform()); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
		})
	}
}

// using adds a usage to the answers that are sent.
type using struct {
	answerStream
	usage *commonv1.Usage
}

func (u using) Send(r *specialistv1.AnswerResponse) error {
	if a := r.GetAnswer(); a != nil {
		a.Usage = u.usage
	}
	return u.answerStream.Send(r)
}

func TestMoneyBoundsTheMergeOnlyAtAPriceInTheSameCurrency(t *testing.T) {
	price := func(currency string) *agentloop.Price {
		return &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 1_000_000, Currency: currency}
	}
	for _, tt := range []struct {
		price  *agentloop.Price
		method gatewayv1.MergeMethod
	}{
		{nil, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{price("EUR"), gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{price("USD"), gatewayv1.MergeMethod_MERGE_METHOD_JOINED},
	} {
		t.Run(fmt.Sprintf("%v", tt.price), func(t *testing.T) {
			h := newHouse(t, miniredis.RunT(t))
			h.config.Model, h.config.Price = scripted.New(scripted.Step{Text: goodMerge}), tt.price
			h.config.Budget = &commonv1.Budget{MaxCost: usd(1000)}
			h.start()
			stock(h)
			if reply := h.ask(shoesAndReturns); reply.GetMergeMethod() != tt.method {
				t.Errorf("method %v", reply.GetMergeMethod())
			}
		})
	}
}
