package router

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// unsaid is the confidence of an assignment whose model did not say how sure it is.
const unsaid = 0.5

// mender makes of a model's answer, which is a proposal, one that can be carried out: known names, sub-queries in the
// shopper's own words, nothing forgotten, in the message's order.
type mender struct {
	*turn
	*heard
	decision *routerv1.RoutingDecision
	drafts   []draft
}

// byModel turns the model's answer, which took so many calls, into the decision.
func (t *turn) byModel(answer classification, calls int) (*routerv1.RoutingDecision, error) {
	t.prepare()
	m := &mender{turn: t, heard: t.heard, decision: t.decision(
		routerv1.DecisionStage_DECISION_STAGE_FINAL, routerv1.DecisionSource_DECISION_SOURCE_MODEL)}
	if calls > 1 {
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED, "model's first answer was not valid; it was asked again")
	}
	for _, a := range answer.Assignments {
		m.drafts = append(m.drafts, m.adopt(a))
	}
	m.restore(m.align())
	m.order()
	return m.decision, t.dispatch(m.decision, m.drafts)
}

// note adds a note, once.
func (m *mender) note(kind routerv1.DecisionNoteKind, format string, args ...any) {
	n := note(kind, format, args...)
	if !slices.ContainsFunc(m.decision.GetNotes(), func(o *routerv1.DecisionNote) bool { return o.GetText() == n.GetText() }) {
		m.decision.Notes = append(m.decision.Notes, n)
	}
}

// adopt turns one assignment of the model into a draft, with a note on whatever had to be mended.
func (m *mender) adopt(a classified) draft {
	out := draft{
		text: strings.TrimSpace(printable(a.SubQuery)), reason: cut(oneLine(printable(a.Reason)), maxReason),
		confidence: confidenceOf(a.Confidence),
	}
	name := strings.ToLower(strings.TrimSpace(a.Specialist))
	if out.specialist = slices.Index(m.lexicon.names, name); out.specialist < 0 {
		out.specialist = m.lexicon.catchAll
		out.confidence = min(out.confidence, unsaid)
		if !specialistName.MatchString(name) {
			name = ""
		}
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_UNKNOWN_SPECIALIST,
			"model named unknown specialist %q; sent to %s", name, m.lexicon.names[out.specialist])
	}
	whole := strings.TrimSpace(m.req.GetMessage())
	if whole == "" {
		whole = m.req.GetMessage()
	}
	if fault := m.faultOf(out.text); fault != "" && out.text != whole {
		out.text = whole
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
			"model's sub-query for %s %s; it gets the whole message", m.lexicon.names[out.specialist], fault)
	}
	return out
}

// printable returns s without control characters that no shopper types.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// confidenceOf reads a confidence however a model writes it: 0.9, "0.9", 90, "90 %".
func confidenceOf(said any) float64 {
	raw, err := json.Marshal(said)
	if err != nil {
		return unsaid
	}
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"% `), 64)
	switch {
	case err != nil || !(f >= 0 && f <= 100):
		return unsaid
	case f > 1:
		return f / 100
	}
	return f
}

// faultOf says why a sub-query can not stand: it would speak for the shopper. Empty: it can.
func (m *mender) faultOf(subQuery string) string {
	asked := m.stemsOf(subQuery)
	if len(asked) == 0 {
		return "is empty"
	}
	if m.found(subQuery) >= 0 {
		return ""
	}
	if 2*common(asked, m.context) < len(asked) {
		return "has too few of the shopper's words"
	}
	if slices.ContainsFunc(minus(asked, m.context), hasDigit) {
		return "has a number that the shopper did not write"
	}
	return ""
}

// order puts the drafts into the message's order, each once, and none too long.
func (m *mender) order() {
	for i := range m.drafts {
		m.drafts[i].at = m.position(m.drafts[i].text)
	}
	slices.SortStableFunc(m.drafts, func(a, b draft) int { return a.at - b.at })
	m.drafts = once(m.drafts)
	if len(m.drafts) > max(maxAssignments, len(m.lexicon.names)) {
		m.drafts = gather(m.drafts)
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_GATHERED, "many requests; those for one specialist were put together")
	}
	m.decision.Certainty = 1
	for i := range m.drafts {
		d := &m.drafts[i]
		m.decision.Certainty = min(m.decision.Certainty, d.confidence)
		if utf8.RuneCountInString(d.text) > maxMessage {
			d.text = m.req.GetMessage()
		}
	}
}

// once returns the drafts without those that say the same to the same specialist as one before.
func once(drafts []draft) []draft {
	type work struct {
		specialist int
		words      string
	}
	seen, of := map[work]bool{}, map[int]int{}
	for _, d := range drafts {
		of[d.specialist]++
	}
	return slices.DeleteFunc(drafts, func(d draft) bool {
		if of[d.specialist] == 1 {
			return false
		}
		w := work{d.specialist, spoken(d.text)}
		again := seen[w]
		seen[w] = true
		return again
	})
}

// spoken returns the words of a text, so that texts can be compared whatever their case and marks.
func spoken(text string) string {
	var b strings.Builder
	for _, w := range splitWords(text) {
		b.WriteString(w.norm)
		b.WriteByte(' ')
	}
	return b.String()
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// holds reports whether text contains part, whatever the case.
func holds(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// position returns where in the message a sub-query begins, in bytes: where its words stand as they are, or else where
// the rules' draft begins that it shares most words with.
func (m *mender) position(subQuery string) int {
	if i := m.found(subQuery); i >= 0 {
		return i
	}
	asked, best, at := m.stemsOf(subQuery), 0, len(m.req.GetMessage())
	for i, d := range m.ruling.drafts {
		if n := common(asked, m.parts[i]); n > best {
			best, at = n, d.at
		}
	}
	return at
}

// common counts what two sorted lists share.
func common(a, b []string) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n, i, j = n+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}
