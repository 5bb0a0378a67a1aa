package merge

import (
	"maps"
	"slices"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// factShare is the part of a section's facts that a merged text must repeat. A merge may drop the weaker half of a list; a
	// merge that drops more has dropped the section.
	factShare = 0.5
	// wordShare is the part of the longer words of a section without facts that a merged text must repeat. It is low, because
	// a merge may reword.
	wordShare = 0.25
	// wholeWordShare is wordShare for a text that was cut, which may lack the end of the section.
	wholeWordShare = 0.6
	// stemLength is the number of letters of a word that count. Shorter words do not count.
	stemLength = 4
)

// coverage checks which sections a merged text holds.
type coverage struct{ sections []section }

// section is an answer, as the coverage check sees it.
type section struct {
	query, text string
	courtesy    bool // an answer that rests on nothing and claims nothing, such as "you're welcome"
	folded      string
	features    []feature
	facts       *grounding.Set
}

// feature identifies a section: a title, folded, or else a fact.
type feature struct {
	title     string
	isProduct bool     // the title is a product's
	words     []string // of it, folded, that nothing else in the answers has: a text may shorten it to half of them
	fact      grounding.Fact
	shared    bool // another section has it too, so it counts only if the section has no other
}

// in reports whether a text has the feature: a date also without its year.
func (f feature) in(folded string, facts *grounding.Set) bool {
	if f.title != "" {
		return strings.Contains(folded, f.title) || f.isShortened(folded)
	}
	return facts.Has(f.fact.WithoutYear())
}

// isShortened reports whether a text has at least half of the words that only the title has, also with the s of a plural.
func (f feature) isShortened(folded string) bool {
	kept := 0
	for _, w := range f.words {
		if strings.Contains(folded, w) || strings.Contains(folded, strings.TrimSuffix(w, " ")+"s ") {
			kept++
		}
	}
	return kept > 0 && 2*kept >= len(f.words)
}

// newCoverage returns the coverage check of answers, which have been read as the sections.
func newCoverage(answered []Part, sections []*grounding.Section) *coverage {
	c := &coverage{}
	for i, p := range answered {
		c.sections = append(c.sections, newSection(p.Query, p.Answer, sections[i]))
	}
	for i, s := range c.sections {
		for j, f := range s.features {
			if f.isProduct {
				s.features[j].words = c.ownWords(i, f.title)
			}
		}
	}
	for i, s := range c.sections {
		for j, f := range s.features {
			s.features[j].shared = c.elsewhere(i, func(o section) bool { return f.in(o.folded, o.facts) })
		}
	}
	return c
}

// ownWords returns the words of a title of the i-th section that no other title of it and no other section has, each between spaces.
func (c *coverage) ownWords(i int, title string) []string {
	var out []string
	for word := range strings.FieldsSeq(title) {
		w := " " + word + " "
		isOthers := c.elsewhere(i, func(o section) bool { return strings.Contains(o.folded, w) }) ||
			slices.ContainsFunc(c.sections[i].features, func(f feature) bool { return f.title != title && strings.Contains(f.title, w) })
		isCount := len(word) == 1 && text.IsDigit(rune(word[0])) // or the number of an item in a list
		if !isCount && !isStopWord(word) && !isOthers {
			out = append(out, w)
		}
	}
	return out
}

// newSection returns a section with its titles and its facts, each once, without facts that any text may have.
func newSection(query string, a *specialistv1.Answer, read *grounding.Section) section {
	s := section{query: query, text: a.GetText(), courtesy: IsCourtesy(a), folded: fold(a.GetText()), facts: &read.Set}
	aside := asides(query, a)
	products := titles(a)
	var titled [][2]int // where the text has these, which may begin with a small letter there
	lower := strings.ToLower(a.GetText())
	if len(lower) != len(a.GetText()) { // some small letters are longer
		lower = a.GetText()
	}
	for _, name := range names(a) {
		isProduct := slices.Contains(products, name)
		if at := strings.Index(lower, strings.ToLower(name)); isProduct && at >= 0 {
			titled = append(titled, [2]int{at, at + len(name)})
		}
		if name = fold(name); name != "" && strings.Contains(s.folded, name) && !strings.Contains(fold(aside), name) {
			s.features = append(s.features, feature{title: name, isProduct: isProduct})
		}
	}
	var before grounding.Set
	for _, f := range read.Facts {
		isInTitle := slices.ContainsFunc(titled, func(span [2]int) bool { return span[0] <= f.Start && f.End <= span[1] })
		if !f.Plain && !isInTitle && !before.Has(f) && !strings.Contains(aside, a.GetText()[f.Start:f.End]) {
			s.features = append(s.features, feature{fact: f})
		}
		before.AddFacts(f)
	}
	return s
}

// asides returns the sentences of an answer about other products than the one that was asked about by name. A merge may drop them.
func asides(query string, a *specialistv1.Answer) string {
	asked, others := "", []string{}
	query = fold(query)
	for _, p := range a.GetProducts() {
		if name := fold(p.GetTitle()); name != "" && strings.Contains(query, name) {
			asked = name
		} else if name != "" {
			others = append(others, name)
		}
	}
	if asked == "" {
		return ""
	}
	var out strings.Builder
	for _, sentence := range text.SplitSentences(a.GetText()) {
		folded := fold(sentence)
		if !strings.Contains(folded, asked) && slices.ContainsFunc(others, func(name string) bool { return strings.Contains(folded, name) }) {
			out.WriteString(sentence)
		}
	}
	return out.String()
}

// IsCourtesy reports whether a specialist answered without a tool and without anything beside the text.
func IsCourtesy(a *specialistv1.Answer) bool {
	return a.GetEvidence() != nil && len(a.GetToolCalls()) == 0 && a.GetClaims() == 0 &&
		len(a.GetSuggestedActions()) == 0 && a.GetClarifyingQuestion() == nil
}

// mergedText is the part of a merged text that was passed on, as the coverage check sees it. The zero value is empty.
type mergedText struct {
	folded strings.Builder
	facts  grounding.Set
}

// add takes in a sentence and its facts.
func (m *mergedText) add(sentence string, read grounding.Text) {
	foldTo(&m.folded, sentence)
	m.facts.Add(read)
}

// missing returns which sections a text does not hold, in order. One that the model finished may leave out the weaker half
// of a section; in one that was cut, nothing may be missing.
func (c *coverage) missing(merged string, m *mergedText, finished bool) []int {
	var out []int
	for i := range c.sections {
		if !c.covered(i, merged, m, finished) {
			out = append(out, i)
		}
	}
	return out
}

// covered reports whether a text holds a section: enough of its facts, which are product titles, codes, dates and
// numbers, and one of those that no other section has; or, if it has none, enough of its words.
func (c *coverage) covered(i int, merged string, m *mergedText, finished bool) bool {
	features := c.sections[i].features
	own, kept, ownKept := 0, 0, 0
	for _, f := range features {
		found := f.in(m.folded.String(), &m.facts)
		if found {
			kept++
		}
		if !f.shared {
			own++
		}
		if found && !f.shared {
			ownKept++
		}
	}
	share := factShare
	if !finished {
		share = 1
	}
	switch {
	case len(features) == 0 && c.sections[i].courtesy && finished:
		return true
	case len(features) == 0, own+kept == 0 && !slices.ContainsFunc(features, func(f feature) bool { return f.title == "" }): // others have its titles, too
		return c.retold(i, merged, m, finished)
	case own > 0 && ownKept == 0:
		return false
	}
	return float64(kept) >= share*float64(len(features))
}

// unsaid returns the sentences of a section with something that a text lacks; the whole section if the text has nothing of it.
func (c *coverage) unsaid(i int, m *mergedText, e *grounding.MergeEvidence) string {
	s := c.sections[i]
	var lacking []feature
	for _, f := range s.features {
		if !f.in(m.folded.String(), &m.facts) {
			lacking = append(lacking, f)
		}
	}
	if len(lacking) == len(s.features) {
		return s.text
	}
	var out strings.Builder
	for _, sentence := range text.SplitSentences(s.text) {
		var facts grounding.Set
		facts.Add(e.Read(sentence))
		folded := fold(sentence)
		if slices.ContainsFunc(lacking, func(f feature) bool { return f.in(folded, &facts) }) {
			out.WriteString(sentence)
		}
	}
	return out.String()
}

// retold reports whether a text has the words of a section without facts. Where the text is in another language than the
// section, those of its question speak for it, which the shopper wrote.
func (c *coverage) retold(i int, merged string, m *mergedText, finished bool) bool {
	s := c.sections[i]
	if strings.Contains(m.folded.String(), s.folded) {
		return true
	}
	words, share := s.folded, wordShare
	if from, to := text.Language(s.text), text.Language(merged); from != "" && to != "" && from != to {
		words = fold(s.query)
	}
	if !finished {
		share = wholeWordShare
	}
	elsewhere := map[string]bool{}
	for j, o := range c.sections {
		if j != i {
			maps.Copy(elsewhere, stemsOf(o.folded))
		}
	}
	own, kept, stems := 0, 0, stemsOf(m.folded.String())
	for w := range stemsOf(words) {
		if elsewhere[w] {
			continue
		}
		own++
		if stems[w] {
			kept++
		}
	}
	return own > 0 && float64(kept) >= share*float64(own)
}

// asks reports whether a merged text asks a question, in its own words or in others: then one of its questions has at least half of
// the question's stems.
func asks(merged, question string) bool {
	if strings.Contains(fold(merged), fold(question)) {
		return true
	}
	stems := stemsOf(fold(question))
	for _, s := range text.SplitSentences(merged) {
		kept := 0
		for w := range stemsOf(fold(s)) {
			if stems[w] {
				kept++
			}
		}
		if strings.ContainsAny(s, "?？؟") && kept > 0 && 2*kept >= len(stems) {
			return true
		}
	}
	return false
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
	out := titles(a)
	if code := a.GetPromotion().GetCode(); code != "" {
		out = append(out, code)
	}
	if id := a.GetOrder().GetOrderId(); id != "" {
		out = append(out, id)
	}
	return out
}

// fold turns a text into folded words between single spaces, with a space at either end, so that whole words can be looked for.
func fold(s string) string {
	var b strings.Builder
	foldTo(&b, s)
	return b.String()
}

// foldTo appends the folded words of a text that starts at the start of a word.
func foldTo(b *strings.Builder, s string) {
	for _, w := range text.Words(s) {
		if b.Len() == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
		b.WriteByte(' ')
	}
}

// stemsOf returns the beginnings of the words of a folded text, which are the same for return, returns and returned. Stop words
// are left out. In scripts without spaces between words, each two neighbouring characters are a stem.
func stemsOf(folded string) map[string]bool {
	out := map[string]bool{}
	last := ""
	for w := range strings.FieldsSeq(folded) {
		runes := []rune(w)
		switch {
		case text.IsUnspaced(runes[0]):
			if last != "" {
				out[last+w] = true
			}
			last = w
			continue
		case len(runes) >= stemLength && !isStopWord(w):
			out[string(runes[:stemLength])] = true
		}
		last = ""
	}
	return out
}

// isStopWord reports whether a folded word is a stop word in one of the languages that shoppers use most.
func isStopWord(w string) bool {
	return slices.ContainsFunc([]string{"en", "es", "de", "fr"}, func(tag string) bool { return text.IsStopWord(tag, w) })
}
