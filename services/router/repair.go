package router

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// unknownConfidence is the confidence of an assignment when the model gave none.
const unknownConfidence = 0.5

// repair turns a model's answer into assignments that can be carried out: known names, sub-queries in the shopper's own
// words, nothing left out, in the order of the message. It compares texts by their terms.
type repair struct {
	*routing
	decision    *routerv1.RoutingDecision
	assignments []classifier.Assignment

	message string              // in lower case
	context []string            // terms of the message and of the conversation before it, sorted
	parts   [][]string          // terms of each of the classifier's assignments, sorted
	known   map[string][]string // terms by text
}

func (r *routing) newRepair(d *routerv1.RoutingDecision) *repair {
	p := &repair{
		routing: r, decision: d, message: strings.ToLower(r.req.GetMessage()), context: slices.Clone(r.classified.Terms),
		known: map[string][]string{},
	}
	for _, m := range r.req.GetHistory() {
		p.context = append(p.context, classifier.Terms(m.GetText())...)
	}
	slices.Sort(p.context)
	p.context = slices.Compact(p.context)
	for _, a := range r.classified.Assignments {
		p.parts = append(p.parts, p.terms(a.SubQuery))
	}
	return p
}

// byModel turns the model's answer, which took that many calls, into the decision.
func (r *routing) byModel(answer classification, calls int) (*routerv1.RoutingDecision, error) {
	p := r.newRepair(r.newDecision(routerv1.DecisionStage_DECISION_STAGE_FINAL, routerv1.DecisionSource_DECISION_SOURCE_MODEL))
	if calls > 1 {
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED, "the model's first answer was not valid; it was asked again")
	}
	for _, proposed := range answer.Assignments {
		p.assignments = append(p.assignments, p.accept(proposed))
	}
	p.restoreParts(p.restoreWords())
	p.finish()
	return p.decision, r.assign(p.decision, p.assignments)
}

// note adds a note, once.
func (p *repair) note(kind routerv1.DecisionNoteKind, format string, args ...any) {
	n := note(kind, format, args...)
	if !slices.ContainsFunc(p.decision.GetNotes(), func(o *routerv1.DecisionNote) bool { return o.GetText() == n.GetText() }) {
		p.decision.Notes = append(p.decision.Notes, n)
	}
}

// accept takes over one assignment of the model: an unknown name becomes the catch-all, and an unusable sub-query the
// whole message.
func (p *repair) accept(proposed proposedAssignment) classifier.Assignment {
	out := classifier.Assignment{
		Specialist: strings.ToLower(strings.TrimSpace(proposed.Specialist)), SubQuery: strings.TrimSpace(printable(proposed.SubQuery)),
		Reason: text.Cut(text.OneLine(printable(proposed.Reason)), maxReason), Confidence: readConfidence(proposed.Confidence),
	}
	if name := out.Specialist; !slices.Contains(p.classifier.Specialists(), name) {
		out.Specialist = p.classifier.CatchAll()
		out.Confidence = min(out.Confidence, unknownConfidence)
		if !specialistName.MatchString(name) {
			name = ""
		}
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST,
			"the model named an unknown specialist, %q; sent to %s", name, out.Specialist)
	}
	whole := strings.TrimSpace(p.req.GetMessage())
	if whole == "" {
		whole = p.req.GetMessage()
	}
	if problem := p.problem(out.SubQuery); problem != "" && out.SubQuery != whole {
		out.SubQuery = whole
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
			"the model's sub-query for %s %s; replaced by the whole message", out.Specialist, problem)
	}
	return out
}

// problem says why a sub-query is not the shopper's. Empty: it is.
func (p *repair) problem(subQuery string) string {
	terms := p.terms(subQuery)
	switch {
	case len(terms) == 0:
		return "is empty"
	case p.find(subQuery) >= 0:
		return ""
	case 2*len(intersection(terms, p.context)) < len(terms):
		return "has too few of the shopper's words"
	case slices.ContainsFunc(minus(terms, p.context), hasDigit):
		return "has a number that the shopper did not write"
	}
	return ""
}

// noPart is the part of an assignment that is about several of the classifier's parts, or about none.
const noPart = -1

// restoreWords gives the model's assignments the shopper's words again, as the classifier cut them, where an assignment
// is about one part: a model that shortens loses order numbers and what "it" means. Work that was started for the
// provisional decision can then go on. It returns the part of each assignment.
func (p *repair) restoreWords() (parts []int) {
	members := make([][]int, len(p.parts))
	for i, a := range p.assignments {
		part := p.partOf(a)
		if parts = append(parts, part); part != noPart {
			members[part] = append(members[part], i)
		}
	}
	for part, indexes := range members {
		switch {
		case len(indexes) == 0:
		case p.oneSpecialist(indexes):
			p.useWordsOf(part, indexes)
		default:
			p.explainPronouns(indexes)
		}
	}
	return parts
}

// partOf returns the one part that has all words of an assignment: rather one of the same specialist, then the shortest.
func (p *repair) partOf(a classifier.Assignment) int {
	own, best := intersection(p.terms(a.SubQuery), p.context), noPart
	rank := func(i int) int {
		if p.classified.Assignments[i].Specialist == a.Specialist {
			return len(p.parts[i])
		}
		return len(p.parts[i]) + classifier.MaxMessage
	}
	for i, part := range p.parts {
		within := len(own) > 0 && len(minus(own, part)) == 0 ||
			strings.Contains(strings.ToLower(p.classified.Assignments[i].SubQuery), strings.ToLower(a.SubQuery))
		if within && (best == noPart || rank(i) < rank(best)) {
			best = i
		}
	}
	return best
}

func (p *repair) oneSpecialist(indexes []int) bool {
	return !slices.ContainsFunc(indexes, func(i int) bool {
		return p.assignments[i].Specialist != p.assignments[indexes[0]].Specialist
	})
}

// useWordsOf gives assignments of one specialist the words of a part. Where the classifier is certain that another
// specialist should get the part, it does so only if they have all of the part's words.
func (p *repair) useWordsOf(part int, indexes []int) {
	from, specialist := p.classified.Assignments[part], p.assignments[indexes[0]].Specialist
	if len(minus(p.parts[part], p.termsOfAll(indexes))) > 0 {
		if p.certain(from.Confidence) && specialist != from.Specialist {
			return
		}
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
			"the model's sub-query for %s lacked some of the shopper's words; they were restored", specialist)
	}
	for _, i := range indexes {
		p.assignments[i].SubQuery = from.SubQuery
	}
}

// explainPronouns adds to assignments of several specialists about one part what their pronouns mean: the words of the
// assignment before.
func (p *repair) explainPronouns(indexes []int) {
	for n, i := range indexes[1:] {
		a, before := &p.assignments[i], p.assignments[indexes[n]].SubQuery
		if classifier.HasPronoun(a.SubQuery) && len(minus(p.terms(before), p.terms(a.SubQuery))) > 0 {
			a.SubQuery += " (about: " + strings.TrimRight(before, " ?!.") + ")"
			p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
				"the model's sub-query for %s did not say what it is about; that was added", a.Specialist)
		}
	}
}

// restoreParts adds the classifier's parts that the model left out. Parts holds the part of each assignment.
func (p *repair) restoreParts(parts []int) {
	for i, from := range p.classified.Assignments {
		certain := p.certain(from.Confidence)
		if certain && p.covered(i, parts) || !certain && !p.lost(i) {
			continue
		}
		p.assignments = append(p.assignments, from)
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_RESTORED,
			"the model left out a part of the message; added for %s", from.Specialist)
	}
}

// covered reports whether the assignments cover a part of which the classifier is certain. Every word must be with the
// part's specialist or in an assignment about that part, and one assignment must be the specialist's or have the whole
// part.
func (p *repair) covered(part int, parts []int) bool {
	var with []int
	placed := false
	for j, a := range p.assignments {
		right := a.Specialist == p.classified.Assignments[part].Specialist
		if !right && (j >= len(parts) || parts[j] != part) {
			continue
		}
		with = append(with, j)
		terms := p.terms(a.SubQuery)
		placed = placed || right && len(intersection(p.parts[part], terms)) > 0 || len(minus(p.parts[part], terms)) == 0
	}
	return placed && len(minus(p.parts[part], p.termsOfAll(with))) == 0
}

// lost reports whether the assignments lack most content words of a part, or one of its numbers.
func (p *repair) lost(part int) bool {
	all := classifier.ContentTerms(p.classified.Assignments[part].SubQuery)
	var said []string
	for _, a := range p.assignments {
		said = append(said, p.terms(a.SubQuery)...)
	}
	slices.Sort(said)
	missing := minus(all, said)
	return 2*len(missing) > len(all) || slices.ContainsFunc(missing, hasDigit)
}

// finish puts the assignments into the order of the message, drops repetitions, merges too many and replaces sub-queries
// that are too long.
func (p *repair) finish() {
	for i := range p.assignments {
		p.assignments[i].Start = p.position(p.assignments[i].SubQuery)
	}
	slices.SortStableFunc(p.assignments, func(a, b classifier.Assignment) int { return a.Start - b.Start })
	p.assignments = withoutRepetitions(p.assignments)
	if len(p.assignments) > max(classifier.MaxAssignments, len(p.classifier.Specialists())) {
		p.assignments = classifier.Merge(p.assignments)
		p.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_MERGED, "many requests; requests for the same specialist were merged")
	}
	p.decision.Certainty = 1
	for i := range p.assignments {
		a := &p.assignments[i]
		p.decision.Certainty = min(p.decision.Certainty, a.Confidence)
		if utf8.RuneCountInString(a.SubQuery) > classifier.MaxMessage {
			a.SubQuery = p.req.GetMessage()
		}
	}
}

// withoutRepetitions drops assignments with the specialist and the words of an earlier one.
func withoutRepetitions(assignments []classifier.Assignment) []classifier.Assignment {
	type work struct{ specialist, words string }
	seen := map[work]bool{}
	return slices.DeleteFunc(assignments, func(a classifier.Assignment) bool {
		w := work{a.Specialist, classifier.Normalise(a.SubQuery)}
		repeated := seen[w]
		seen[w] = true
		return repeated
	})
}

// find returns where the message has a text, in bytes of its lower-case form; below zero: nowhere.
func (p *repair) find(text string) int { return strings.Index(p.message, strings.ToLower(text)) }

// position returns where in the message a sub-query begins: where its words stand as they are, or else where the part
// begins that shares most words with it.
func (p *repair) position(subQuery string) int {
	if i := p.find(subQuery); i >= 0 {
		return i
	}
	terms, best, at := p.terms(subQuery), 0, len(p.req.GetMessage())
	for i, a := range p.classified.Assignments {
		if n := len(intersection(terms, p.parts[i])); n > best {
			best, at = n, a.Start
		}
	}
	return at
}

// terms is classifier.Terms, computed once for each text. The result must not be modified.
func (p *repair) terms(text string) []string {
	terms, ok := p.known[text]
	if !ok {
		terms = classifier.Terms(text)
		p.known[text] = terms
	}
	return terms
}

// termsOfAll returns the terms of some assignments, sorted, each once.
func (p *repair) termsOfAll(indexes []int) []string {
	var all []string
	for _, i := range indexes {
		all = append(all, p.terms(p.assignments[i].SubQuery)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// minus returns the elements of a that are not in b, which must be sorted.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool {
		_, found := slices.BinarySearch(b, s)
		return found
	})
}

// intersection returns the elements of a that are in b, which must be sorted.
func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool {
		_, found := slices.BinarySearch(b, s)
		return !found
	})
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

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
