package router

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// dispatch writes the drafts into the decision, each to a specialist that is available now.
func (t *turn) dispatch(d *routerv1.RoutingDecision, drafts []draft) error {
	standIn := t.standIn()
	if standIn < 0 {
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "route message: none of the specialists is available",
		}
	}
	told := map[string]bool{}
	for _, draft := range drafts {
		a := &routerv1.Assignment{
			Specialist: t.lexicon.names[draft.specialist], SubQuery: draft.text, Reason: draft.reason, Confidence: rounded(draft.confidence),
			Certain: draft.confidence >= t.cfg.CertainThreshold,
		}
		if wanted := t.offered.specialists[draft.specialist]; !wanted.GetAvailable() {
			a.RemappedFrom, a.Specialist, a.Reason = wanted.GetName(), t.lexicon.names[standIn], unavailable(wanted)
			if !told[a.RemappedFrom] {
				told[a.RemappedFrom] = true
				d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REMAPPED,
					"sent to %s: %s", a.Specialist, a.Reason))
			}
		}
		add(d, a)
	}
	t.identify(d.GetAssignments())
	d.Certainty = rounded(d.GetCertainty())
	d.Duration = durationpb.New(time.Since(t.start))
	return nil
}

// add adds an assignment, unless its specialist has the same sub-query already: one is then enough, and it tells why the
// specialist stands in for another.
func add(d *routerv1.RoutingDecision, a *routerv1.Assignment) {
	for _, o := range d.GetAssignments() {
		if o.GetSpecialist() == a.GetSpecialist() && o.GetSubQuery() == a.GetSubQuery() {
			if o.GetRemappedFrom() == "" {
				o.RemappedFrom, o.Reason = a.GetRemappedFrom(), a.GetReason()
			}
			return
		}
	}
	d.Assignments = append(d.Assignments, a)
}

// identify gives each assignment its identifier. One that is the same work as a provisional one is that one: it keeps its
// identifier, and its reason, which the specialist may have been told already. New work gets new identifiers.
func (t *turn) identify(assignments []*routerv1.Assignment) {
	next := len(t.provisional)
	for _, a := range assignments {
		same := slices.IndexFunc(t.provisional, func(p *routerv1.Assignment) bool { return sameWork(p, a) })
		if same >= 0 {
			a.AssignmentId, a.Reason = t.provisional[same].GetAssignmentId(), t.provisional[same].GetReason()
			continue
		}
		next++
		a.AssignmentId = fmt.Sprintf("a%d", next)
	}
}

// sameWork reports whether two assignments ask the same of the same specialist.
func sameWork(a, b *routerv1.Assignment) bool {
	return a.GetSpecialist() == b.GetSpecialist() && a.GetRemappedFrom() == b.GetRemappedFrom() && a.GetSubQuery() == b.GetSubQuery()
}

// rounded rounds to three decimals: more of them would claim to know more than anybody does.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

// standIn returns the specialist that answers for those that are not available: the catch-all, else the first that is
// available, else -1.
func (t *turn) standIn() int {
	specialists := t.offered.specialists
	if c := t.lexicon.catchAll; specialists[c].GetName() == catchAllName && specialists[c].GetAvailable() {
		return c
	}
	for i, s := range specialists {
		if s.GetAvailable() {
			return i
		}
	}
	return -1
}

// unavailable says that a specialist is not available and why.
func unavailable(s *specialistv1.Specialist) string {
	text := s.GetName() + " is not available"
	if why := strings.TrimSpace(s.GetUnavailableReason()); why != "" {
		text += ": " + why
	}
	return text
}
