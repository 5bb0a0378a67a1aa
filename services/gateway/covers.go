package gateway

import (
	"slices"
	"strings"
	"unicode/utf8"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/facts"
)

const (
	// factShare is the part of a section's facts that a merged text must repeat. A merge may drop the weaker half of a
	// list; one that drops more has dropped the section.
	factShare = 0.5
	// wordShare is the part of a section's longer words that must come back when it holds no facts. Rewording is fine, so
	// it is low.
	wordShare = 0.25
	// wholeWordShare is the same for a text that was cut, of which nobody knows whether the section's end was still to come.
	wholeWordShare = 0.6
	// stemLength is how many letters of a word count. Words that have fewer say nothing of what a text is about.
	stemLength = 4
)

// coverage tells which sections a merged text holds.
type coverage struct {
	base     string // language to read the text in where it does not show its own
	sections []section
}

// section is an answer, as coverage looks at it.
type section struct {
	query, text string
	folded      string
	facts       []facts.Fact // without those that any text may have, each once
	titles      []string
	said        facts.Set
	stems       map[string]bool
}

// newCoverage returns the coverage of answers, all of which have been read.
func newCoverage(base string, branches []*branch, said map[*branch]facts.Text) *coverage {
	c := &coverage{base: base}
	for _, b := range branches {
		c.sections = append(c.sections, newSection(b.assignment.GetSubQuery(), b.answer, said[b]))
	}
	return c
}

func newSection(query string, a *specialistv1.Answer, said facts.Text) section {
	words := foldedWords(a.GetText())
	s := section{query: query, text: a.GetText(), folded: spaced(words), stems: stemsOf(words)}
	var before facts.Set
	for _, f := range said.Facts {
		if !f.Plain && !before.Has(f) {
			s.facts = append(s.facts, f)
		}
		before.AddFacts(f)
	}
	s.said.Add(said)
	for _, name := range names(a) {
		if name = fold(name); name != "" && strings.Contains(s.folded, name) {
			s.titles = append(s.titles, name)
		}
	}
	return s
}

// missing returns which sections a text does not hold, in order. One that the model finished may leave out the weaker half
// of a section; in one that was cut, nothing may be missing.
func (c *coverage) missing(text string, finished bool) []int {
	words := foldedWords(text)
	m := merging{text: text, folded: spaced(words), stems: stemsOf(words)}
	m.said.Add(readIn(c.base, text))
	var out []int
	for i := range c.sections {
		if !c.covered(i, m, finished) {
			out = append(out, i)
		}
	}
	return out
}

// merging is a merged text, as coverage looks at it.
type merging struct {
	text, folded string
	said         facts.Set
	stems        map[string]bool
}

// covered reports whether a text holds a section: enough of its facts, which are product titles, codes, dates and
// numbers; or, if it has none, enough of its words. What another section says as well shows nothing, unless there is
// nothing else.
func (c *coverage) covered(i int, m merging, finished bool) bool {
	s := c.sections[i]
	own, kept, ownKept := 0, 0, 0
	count := func(found, shared bool) {
		if found {
			kept++
		}
		if !shared {
			own++
		}
		if found && !shared {
			ownKept++
		}
	}
	for _, title := range s.titles {
		count(strings.Contains(m.folded, title), c.elsewhere(i, func(o section) bool { return strings.Contains(o.folded, title) }))
	}
	for _, f := range s.facts {
		count(m.said.Has(f), c.elsewhere(i, func(o section) bool { return o.said.Has(f) }))
	}
	all := len(s.titles) + len(s.facts)
	share := factShare
	if !finished {
		share = 1
	}
	switch {
	case all == 0:
		return c.retold(i, m, finished)
	case own > 0 && float64(ownKept) < share*float64(own):
		return false
	}
	return float64(kept) >= share*float64(all)
}

// retold reports whether a text has the words of a section without facts. Where the text is in another language than the
// section, those of its question speak for it, which the shopper wrote.
func (c *coverage) retold(i int, m merging, finished bool) bool {
	s := c.sections[i]
	if strings.Contains(m.folded, s.folded) {
		return true
	}
	words, share := s.stems, wordShare
	if from, to := languageOf(s.text), languageOf(m.text); from != "" && to != "" && from != to {
		words = stemsOf(foldedWords(s.query))
	}
	if !finished {
		share = wholeWordShare
	}
	own, kept := 0, 0
	for w := range words {
		if c.elsewhere(i, func(o section) bool { return o.stems[w] }) {
			continue
		}
		own++
		if m.stems[w] {
			kept++
		}
	}
	return own > 0 && float64(kept) >= share*float64(own)
}

// elsewhere reports whether something is true of a section other than the i-th.
func (c *coverage) elsewhere(i int, is func(section) bool) bool {
	for j, o := range c.sections {
		if j != i && is(o) {
			return true
		}
	}
	return false
}

// names are the names that code put beside the text.
func names(a *specialistv1.Answer) []string {
	var out []string
	for _, p := range a.GetProducts() {
		out = append(out, p.GetTitle())
	}
	if code := a.GetPromotion().GetCode(); code != "" {
		out = append(out, code)
	}
	if id := a.GetOrder().GetOrderId(); id != "" {
		out = append(out, id)
	}
	return out
}

// fold turns a text into lower-case words between single spaces, with a space at either end, so that whole words can be
// looked for.
func fold(text string) string { return spaced(foldedWords(text)) }

func spaced(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}

// foldedWords returns the words of a text in lower case. Of scripts without spaces between words, each character is one.
func foldedWords(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !facts.IsLetter(r) && !facts.IsDigit(r) && !facts.IsUnspaced(r) }) {
		begin := 0
		for i, r := range w {
			if facts.IsUnspaced(r) {
				out = append(out, w[begin:i], string(r))
				begin = i + utf8.RuneLen(r)
			}
		}
		out = append(out, w[begin:])
	}
	return slices.DeleteFunc(out, func(w string) bool { return w == "" })
}

// stemsOf returns the beginnings of folded words, which are the same for return, returns and returned. Small words
// are left out. Of scripts without spaces between words, each two characters that are neighbours are a stem.
func stemsOf(words []string) map[string]bool {
	out := make(map[string]bool, len(words))
	last := ""
	for _, w := range words {
		runes := []rune(w)
		switch {
		case facts.IsUnspaced(runes[0]):
			if last != "" {
				out[last+w] = true
			}
			last = w
			continue
		case len(runes) >= stemLength && smallWords[w] == nil:
			out[string(runes[:stemLength])] = true
		}
		last = ""
	}
	return out
}
