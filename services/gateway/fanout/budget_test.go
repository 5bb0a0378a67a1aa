package fanout

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func usd(micros int64) *commonv1.Cost {
	return &commonv1.Cost{AmountMicros: micros, CurrencyCode: "USD"}
}

func usedTokens(n int64) *commonv1.Usage { return &commonv1.Usage{InputTokens: n, ModelCalls: 1} }

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

// play plays the assignments of a turn, named by letters, to its budget.
type play struct {
	*Budget
	branches map[string]*branch
}

func newPlay(b *commonv1.Budget) play { return play{NewBudget(b), map[string]*branch{}} }

// begin gives each assignment its share and returns the last.
func (p play) begin(ids string) (share *commonv1.Budget) {
	for _, id := range ids {
		b := &branch{assignment: &routerv1.Assignment{AssignmentId: string(id)}}
		p.branches[string(id)] = b
		share = p.share(b, string(id))
	}
	return share
}

// end settles an assignment that was answered, or failed with an error.
func (p play) end(id string, used *commonv1.Usage, cost *commonv1.Cost, err error) {
	b := p.branches[id]
	if err != nil {
		b.spent = used
		p.settle(b, nil, err)
		return
	}
	p.settle(b, &specialistv1.Answer{Usage: used, Cost: cost}, nil)
}

func TestBudgetIsDividedBeforeItIsSpent(t *testing.T) {
	budget := &commonv1.Budget{MaxTokens: 10_000, MaxCost: usd(1000)}
	bug, gone := errors.New("bug"), &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE}
	share := func(tokens, micros int64) *commonv1.Budget {
		return &commonv1.Budget{MaxTokens: tokens, MaxCost: usd(micros)}
	}
	tests := []struct {
		name   string
		script func(play) (last *commonv1.Budget)
		want   *commonv1.Budget // of the last share
		rest   wrap.Spend       // for the merge
	}{
		{"one assignment gets all", func(p play) *commonv1.Budget {
			p.plan(decided(true, nil, nil, "a"))
			return p.begin("a")
		}, share(10_000, 1000), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"two share what the merge leaves", func(p play) *commonv1.Budget {
			p.plan(decided(true, nil, nil, "ab"))
			return p.begin("ab")
		}, share(4000, 400), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"the router's work counts", func(p play) *commonv1.Budget {
			p.plan(decided(true, usedTokens(1000), usd(20), "ab"))
			return p.begin("ab")
		}, share(3500, 390), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"the router's work of unknown cost counts as a tenth", func(p play) *commonv1.Budget {
			p.plan(decided(true, usedTokens(1000), nil, "a"))
			return p.begin("a")
		}, share(9000, 900), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"what is not used is left for the merge", func(p play) *commonv1.Budget {
			p.plan(decided(true, nil, nil, "ab"))
			last := p.begin("ab")
			p.end("a", usedTokens(1000), usd(100), nil)
			p.end("b", usedTokens(500), nil, nil) // at an unknown price
			return last
		}, share(4000, 400), wrap.Spend{Tokens: 8500, CostMicros: 500}},
		{"what a failed one told counts, and all where it was cut off", func(p play) *commonv1.Budget {
			p.plan(decided(true, nil, nil, "abc"))
			last := p.begin("abc")
			p.end("a", usedTokens(500), nil, bug)
			p.end("b", usedTokens(500), nil, gone)
			p.end("c", &commonv1.Usage{}, nil, bug) // asked no model
			return last
		}, share(2666, 266), wrap.Spend{Tokens: 10_000 - 500 - 2666, CostMicros: 1000 - 266 - 266}},
		{"before the routing is final, a tenth and one share are kept", func(p play) *commonv1.Budget {
			p.plan(decided(false, nil, nil, "ab"))
			return p.begin("ab")
		}, share(2333, 233), wrap.Spend{Tokens: 9000 - 2*2333, CostMicros: 900 - 2*233}},
		{"what the final routing adds shares what is left", func(p play) *commonv1.Budget {
			p.plan(decided(false, nil, nil, "ab"))
			p.begin("ab")
			p.end("b", usedTokens(333), usd(33), bug) // was wrong
			p.plan(decided(true, usedTokens(1000), usd(100), "acd"))
			return p.begin("cd")
		}, share((9000-2333-333-2000)/2, (900-233-233-200)/2), wrap.Spend{Tokens: 2000, CostMicros: 200}},
		{"one that was not planned for gets no more than there is", func(p play) *commonv1.Budget {
			p.plan(decided(true, nil, nil, "a"))
			return p.begin("ax")
		}, share(1, 1), wrap.Spend{Tokens: -1, CostMicros: -1}},
		{"what is overspent leaves next to nothing", func(p play) *commonv1.Budget {
			p.plan(decided(true, usedTokens(20_000), usd(2000), "ab"))
			return p.begin("a")
		}, share(1, 1), wrap.Spend{Tokens: -1, CostMicros: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlay(budget)
			if diff := cmp.Diff(tt.want, tt.script(p), protocmp.Transform()); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
			if got, _ := p.Rest(); got != tt.rest {
				t.Errorf("for the merge %v, want %v", got, tt.rest)
			}
		})
	}
}

func TestUnboundedFieldsStayUnbounded(t *testing.T) {
	for _, none := range []*commonv1.Budget{nil, {}, {MaxCost: usd(0)}} {
		if p := newPlay(none); p.Budget != nil || p.begin("a") != nil {
			t.Errorf("%v bounds something", none)
		}
	}
	p := newPlay(&commonv1.Budget{MaxTokens: 100})
	p.plan(decided(true, usedTokens(10), usd(10), "ab"))
	if got := p.begin("a"); got.GetMaxTokens() != 35 || got.GetMaxCost() != nil {
		t.Errorf("share %v", got)
	}
	if got, _ := p.Rest(); got != (wrap.Spend{Tokens: 55}) {
		t.Errorf("rest %v", got)
	}
}

// Whatever the routing, and in whatever order branches start and end: if each keeps to its share, the turn keeps to its budget.
func TestSharesNeverExceedTheBudget(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		total := 1000 + r.Int64N(10_000)
		p := newPlay(&commonv1.Budget{MaxTokens: total})
		spent := int64(0)
		begin := func(d *routerv1.RoutingDecision) map[string]int64 {
			p.plan(d)
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
				p.end(id, usedTokens(used), nil, nil)
			}
		}
		provisional := begin(decided(false, nil, nil, "abcd"[:1+r.IntN(4)]))
		router := r.Int64N(total / 10)
		spent += router
		if r.IntN(2) == 0 {
			end(provisional)
			provisional = nil
		}
		final := begin(decided(true, usedTokens(router), nil, "cdef"[:1+r.IntN(4)]))
		end(final)
		end(provisional)
		if rest, _ := p.Rest(); rest.Tokens != total-spent && (rest.Tokens != -1 || spent != total) {
			t.Fatalf("seed %d: %d of %d are spent and %d left", seed, spent, total, rest.Tokens)
		}
	}
}
