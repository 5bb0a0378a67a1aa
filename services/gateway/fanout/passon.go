package fanout

import (
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// maxColleagues is the largest number of colleagues that a specialist is told of.
const maxColleagues = 32

// colleagues returns the specialists that a branch may be passed on to, in the order of the registry. There are none if the assignment
// was passed on before, or if its specialist stands in for one that is not available.
func (r *Run) colleagues(b *branch) []string {
	if b.next != "" || b.remappedFrom != "" {
		return nil
	}
	names := slices.DeleteFunc(r.fanout.cfg.Registry.Available(r.turn.Scope.StoreID), func(n string) bool { return n == b.specialist })
	return names[:min(len(names), maxColleagues)]
}

// passOn returns the specialist to ask if an answer passes the assignment on, and prepares the branch for it. Else it returns "".
func (r *Run) passOn(b *branch, a *specialistv1.Answer) string {
	if a.GetNotMine() == nil {
		return ""
	}
	next := b.colleagues[0]
	for _, name := range []string{r.fanout.cfg.CatchAll, a.GetNotMine().GetSpecialist()} {
		if slices.Contains(b.colleagues, name) {
			next = name
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.first, b.spent = next, a, a.GetUsage()
	b.own, b.before = nil, b.spent
	r.fanout.cfg.Logger.InfoContext(r.ctx, "assignment passed on", "store", r.turn.Scope.StoreID, "turn", r.turn.Scope.TurnID,
		"assignment", b.request.GetAssignmentId(), "specialist", b.specialist, "to", next)
	return next
}

// addFirst adds to the answer of the specialist that was asked next what the first one did: its tool calls, usage and time.
func (b *branch) addFirst(a *specialistv1.Answer) {
	a.Specialist = b.next
	a.ToolCalls = slices.Concat(b.first.GetToolCalls(), a.GetToolCalls())
	a.ModelCalls = slices.Concat(b.first.GetModelCalls(), a.GetModelCalls())
	var sum usage.Sum
	sum.Add(b.first.GetUsage(), b.first.GetCost())
	sum.Add(a.GetUsage(), a.GetCost())
	a.Usage, a.Cost = sum.Usage(), sum.Cost()
	a.Duration = durationpb.New(b.first.GetDuration().AsDuration() + a.GetDuration().AsDuration())
}
