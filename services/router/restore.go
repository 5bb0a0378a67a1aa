package router

import (
	"slices"
	"strings"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// nowhere is the home of a draft that speaks of several of the rules' parts, or of none.
const nowhere = -1

// align gives the model's drafts the shopper's words again, as the rules cut them, where a draft is about one part
// alone: a model that shortens loses order numbers and what "it" was. The words being those of the provisional decision,
// what was begun on it can go on. It returns the part that each draft is about.
func (m *mender) align() (homes []int) {
	members := make([][]int, len(m.parts))
	for i, d := range m.drafts {
		home := m.home(d)
		if homes = append(homes, home); home != nowhere {
			members[home] = append(members[home], i)
		}
	}
	for home, those := range members {
		if len(those) == 0 {
			continue
		}
		if m.oneSpecialist(those) {
			m.reword(those, home)
			continue
		}
		m.explain(those)
	}
	return homes
}

// home returns the one part that all words of a draft come from: of the same specialist rather than another, and the
// shortest there is.
func (m *mender) home(d draft) int {
	own, best := intersection(m.stemsOf(d.text), m.context), nowhere
	rank := func(i int) int {
		if m.ruling.drafts[i].specialist == d.specialist {
			return len(m.parts[i])
		}
		return len(m.parts[i]) + maxMessage
	}
	for i, part := range m.parts {
		within := len(own) > 0 && len(minus(own, part)) == 0 || holds(m.ruling.drafts[i].text, d.text)
		if within && (best == nowhere || rank(i) < rank(best)) {
			best = i
		}
	}
	return best
}

func (m *mender) oneSpecialist(those []int) bool {
	for _, i := range those {
		if m.drafts[i].specialist != m.drafts[those[0]].specialist {
			return false
		}
	}
	return true
}

// reword gives drafts of one specialist the words of the part that they are about, so that they are one and the same.
// Where the rules are sure that another specialist should get the part, only a draft that has all of it gets its words.
func (m *mender) reword(those []int, home int) {
	part := m.ruling.drafts[home]
	lost := minus(m.parts[home], m.stemsOfAll(those))
	if len(lost) > 0 && m.sure(part) && m.drafts[those[0]].specialist != part.specialist {
		return
	}
	if len(lost) > 0 {
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
			"model's sub-query for %s had lost some of the shopper's words; they were put back",
			m.lexicon.names[m.drafts[those[0]].specialist])
	}
	for _, i := range those {
		m.drafts[i].text = part.text
	}
}

// explain tells what a pronoun stands for in drafts of several specialists about one part: what the draft before it says.
func (m *mender) explain(those []int) {
	for n, i := range those[1:] {
		d, before := &m.drafts[i], m.drafts[those[n]].text
		points := slices.ContainsFunc(splitWords(d.text), func(w word) bool { return w.is(pointer) })
		if points && len(minus(m.stemsOf(before), m.stemsOf(d.text))) > 0 {
			d.text += " (about: " + strings.TrimRight(before, " ?!.") + ")"
			m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REPAIRED,
				"model's sub-query for %s did not say what it is about; that was added", m.lexicon.names[d.specialist])
		}
	}
}

func (m *mender) sure(part draft) bool { return part.confidence >= m.cfg.CertainThreshold }

// restore adds what the model gave to nobody.
func (m *mender) restore(homes []int) {
	for i, part := range m.ruling.drafts {
		if m.sure(part) && m.keeps(i, homes) || !m.sure(part) && !m.misses(i) {
			continue
		}
		m.drafts = append(m.drafts, part)
		m.note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_RESTORED,
			"model left out a part of the message; added for %s", m.lexicon.names[part.specialist])
	}
}

// keeps reports whether the drafts keep a part that the rules are sure of: each word is with the specialist that they are
// sure of or in drafts about that very part, and one draft is that specialist's or has the whole part.
func (m *mender) keeps(i int, homes []int) bool {
	var with []int
	placed := false
	for j, d := range m.drafts {
		right := d.specialist == m.ruling.drafts[i].specialist
		if !right && (j >= len(homes) || homes[j] != i) {
			continue
		}
		with = append(with, j)
		stems := m.stemsOf(d.text)
		placed = placed || right && common(m.parts[i], stems) > 0 || len(minus(m.parts[i], stems)) == 0
	}
	return placed && len(minus(m.parts[i], m.stemsOfAll(with))) == 0
}

// misses reports whether what a shopper wants with a part that the rules are not sure of is in no draft: most of its
// words, or a number.
func (m *mender) misses(i int) bool {
	all := meaning(splitWords(m.ruling.drafts[i].text))
	var said []string
	for _, d := range m.drafts {
		said = append(said, m.stemsOf(d.text)...)
	}
	slices.Sort(said)
	lost := minus(all, said)
	return 2*len(lost) > len(all) || slices.ContainsFunc(lost, hasDigit)
}

// stemsOfAll returns the stems of some drafts, sorted.
func (m *mender) stemsOfAll(those []int) []string {
	if len(those) == 1 {
		return m.stemsOf(m.drafts[those[0]].text)
	}
	var all []string
	for _, i := range those {
		all = append(all, m.stemsOf(m.drafts[i].text)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// minus returns what a has and b has not. Both must be sorted.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool {
		_, found := slices.BinarySearch(b, s)
		return found
	})
}

// intersection returns what both have. b must be sorted.
func intersection(a, b []string) []string { return minus(a, minus(a, b)) }
