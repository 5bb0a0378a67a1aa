package router

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

const (
	// unknownConfidence is the confidence of an assignment when the model gave none.
	unknownConfidence = 0.5
	// restoreConfidence is the confidence of the classifier above which a part that the model left out is added.
	restoreConfidence = 0.9
	// minOrderDigits is how many digits a number has at least that may be an order's.
	minOrderDigits = 5
)

// errNothingToAnswer is the error of a model's answer in which no assignment has a word.
var errNothingToAnswer = errors.New("no assignment has a sub-query")

// repair turns a model's answer into assignments that can be carried out. The model's word stands: a sub-query is never
// replaced, and a part is added only if no word of it is in any sub-query.
type repair struct {
	*routing
	decision    *routerv1.RoutingDecision
	assignments []classifier.Assignment
	message     []string // the content terms of the message, sorted
}

// byModel turns the model's answer, which took that many calls, into the decision. It returns errNothingToAnswer if nothing of the
// answer can be used.
func (r *routing) byModel(answer classification, calls int) (*routerv1.RoutingDecision, error) {
	p := &repair{
		routing: r, message: classifier.ContentTerms(r.req.GetMessage()),
		decision: r.newDecision(routerv1.DecisionStage_DECISION_STAGE_FINAL, routerv1.DecisionSource_DECISION_SOURCE_MODEL),
	}
	if calls > 1 {
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED, "the model's first answer was not valid; it was asked again")
	}
	for _, proposed := range answer.Assignments {
		p.accept(proposed)
	}
	if len(p.assignments) == 0 {
		return nil, errNothingToAnswer
	}
	p.restore()
	slices.SortStableFunc(p.assignments, func(a, b classifier.Assignment) int { return a.Start - b.Start })
	if len(p.assignments) > max(classifier.MaxAssignments, len(p.classifier.Specialists())) {
		p.assignments = classifier.Merge(p.assignments)
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_MERGED, "many requests; requests for the same specialist were merged")
	}
	p.decision.Certainty = 1
	for i := range p.assignments {
		a := &p.assignments[i]
		a.SubQuery = text.Cut(a.SubQuery, classifier.MaxMessage)
		p.decision.Certainty = min(p.decision.Certainty, a.Confidence)
	}
	return p.decision, r.assign(p.decision, p.assignments)
}

// note adds a note, once.
func (p *repair) note(kind routerv1.DecisionNoteKind, format string, args ...any) {
	n := note(kind, format, args...)
	if !slices.ContainsFunc(p.decision.GetNotes(), func(o *routerv1.DecisionNote) bool { return o.GetText() == n.GetText() }) {
		p.decision.Notes = append(p.decision.Notes, n)
	}
}

// accept takes over one assignment of the model. It drops one without a word, and one that is there already. A sub-query
// whose words are those of a provisional assignment is written as there, so that work that was started for it goes on.
func (p *repair) accept(proposed proposedAssignment) {
	a := classifier.Assignment{
		Specialist: strings.ToLower(strings.TrimSpace(proposed.Specialist)), SubQuery: strings.TrimSpace(printable(proposed.SubQuery)),
		Reason: text.Cut(text.OneLine(printable(proposed.Reason)), maxReason), Confidence: readConfidence(proposed.Confidence),
	}
	said := classifier.Normalise(a.SubQuery)
	if said == "" && !slices.ContainsFunc(p.classified.Assignments, func(c classifier.Assignment) bool { return c.SubQuery == a.SubQuery }) {
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED, "an assignment of the model had nothing to answer; it was dropped")
		return
	}
	if name := a.Specialist; !slices.Contains(p.classifier.Specialists(), name) {
		a.Specialist, a.Confidence = p.chooseFor(a.SubQuery), min(a.Confidence, unknownConfidence)
		if !specialistName.MatchString(name) {
			name = ""
		}
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST,
			"the model named an unknown specialist, %q; sent to %s", name, a.Specialist)
	}
	for _, c := range p.classified.Assignments {
		if c.Specialist == a.Specialist && sameWork(c.SubQuery, a.SubQuery) {
			a.SubQuery, said = c.SubQuery, classifier.Normalise(c.SubQuery)
		}
	}
	if slices.ContainsFunc(p.assignments, func(o classifier.Assignment) bool {
		return o.Specialist == a.Specialist && classifier.Normalise(o.SubQuery) == said
	}) {
		return
	}
	if a.Start = strings.Index(strings.ToLower(p.req.GetMessage()), strings.ToLower(a.SubQuery)); a.Start < 0 && len(p.assignments) > 0 {
		a.Start = p.assignments[len(p.assignments)-1].Start // in other words: it stays behind the one before
	}
	p.assignments = append(p.assignments, a)
}

// chooseFor returns the specialist that the classifier is most certain of for a sub-query.
func (r *routing) chooseFor(subQuery string) string {
	found := r.classifier.Classify(classifier.Input{Message: subQuery}).Assignments
	return slices.MaxFunc(found, func(a, b classifier.Assignment) int { return cmp.Compare(a.Confidence, b.Confidence) }).Specialist
}

// sameWork reports whether a provisional sub-query has all words of the model's, in order, and no content word more.
func sameWork(provisional, said string) bool {
	return strings.Contains(" "+classifier.Normalise(provisional)+" ", " "+classifier.Normalise(said)+" ") &&
		slices.Equal(classifier.ContentTerms(provisional), classifier.ContentTerms(said))
}

// restore adds what the model left out: a part of which the classifier is certain, with no content word in any sub-query, and an
// order number or a code that is in none.
func (p *repair) restore() {
	var said strings.Builder
	for _, a := range p.assignments {
		said.WriteString(a.SubQuery + "\n")
	}
	for _, c := range p.classified.Assignments {
		missing := lacking(c.SubQuery, said.String())
		switch own := classifier.ContentTerms(c.SubQuery); {
		case (c.Confidence > restoreConfidence || missing != "") && len(own) > 0 &&
			!sharesTerm(own, classifier.ContentTerms(said.String())) && !p.translated(c.Specialist):
		case missing != "": // the model has the part, but not the number
			c.SubQuery = missing
		default:
			continue
		}
		p.assignments = append(p.assignments, c)
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_RESTORED, "the model left out a part of the message; added for %s", c.Specialist)
	}
}

// lacking returns the first order number or code of a part that is not said, or "". Models write numbers in other forms, such as
// "qt 10031", so of a longer number only the digits count.
func lacking(part, said string) string {
	said = strings.ToLower(said)
	for _, f := range grounding.Read(part, "").Facts {
		id := part[f.Start:f.End]
		digits := strings.Map(func(r rune) rune {
			if !text.IsDigit(r) {
				return -1
			}
			return r
		}, id)
		isID := f.Name && digits != "" || f.IsNumber() && f.Unit == "" && len(digits) >= minOrderDigits
		if isID && !strings.Contains(said, strings.ToLower(id)) && (len(digits) < minOrderDigits-1 || !strings.Contains(said, digits)) {
			return id
		}
	}
	return ""
}

// translated reports whether a specialist has a sub-query without a content word of the message: in other words or in another
// language it may be any part.
func (p *repair) translated(specialist string) bool {
	return slices.ContainsFunc(p.assignments, func(a classifier.Assignment) bool {
		return a.Specialist == specialist && !sharesTerm(classifier.ContentTerms(a.SubQuery), p.message)
	})
}

// sharesTerm reports whether two lists of terms have one in common.
func sharesTerm(a, b []string) bool {
	return slices.ContainsFunc(a, func(term string) bool { return slices.Contains(b, term) })
}

// printable returns s without control characters other than line breaks and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// readConfidence reads a confidence as models write it: 0.9, "0.9", 90, "90 %".
func readConfidence(said any) float64 {
	raw, err := json.Marshal(said)
	if err != nil {
		return unknownConfidence
	}
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"% `), 64)
	switch {
	case err != nil || !(f >= 0 && f <= 100):
		return unknownConfidence
	case f > 1:
		return f / 100
	}
	return f
}
