package grounding

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// focus is which products a clause may be about: those that its words mean, or else those that the text is about already. Names need not be
// whole: "the 8 mm one", "les grelots M", "in size M".
type focus struct {
	products []*subject
	isOwn    bool // the clause has words for them
}

// only returns the product if there is just one, or nil.
func (f focus) only() *subject {
	if len(f.products) == 1 && f.products[0].kind == kindProduct {
		return f.products[0]
	}
	return nil
}

// own returns the product that the clause's own words mean, if there is just one, or nil.
func (f focus) own() *subject {
	if f.isOwn {
		return f.only()
	}
	return nil
}

// focusOf returns the focus of each clause of a text, behind one that is about some products. Words that fit several products mean those
// that the text is about already, if these are among them.
func (s *subjects) focusOf(raw string, clauses []clause, before []*subject) []focus {
	out := make([]focus, len(clauses))
	if len(s.byMark) == 0 {
		return out
	}
	end := 0
	var inside []*subject // those that the text is about in brackets, behind which it goes on about those before
	for i := range clauses {
		c := &clauses[i]
		if gap := raw[end:c.start]; strings.Contains(gap, "\n\n") || strings.Contains(gap, "\n") && isTableRow(raw, c.start) {
			before = nil
		}
		end = c.end
		meant := s.meant(raw, c)
		if len(meant) == 0 && i+1 < len(clauses) && clauses[i+1].inBrackets && !c.inBrackets {
			meant = s.meant(raw, &clauses[i+1]) // 24.90 EUR (Chalk pouch)
		}
		if !c.inBrackets {
			inside = nil
		}
		from := before
		if inside != nil {
			from = inside
		}
		isOther := slices.ContainsFunc([]string{"COMPARE", "BOTH", "OTHER", "REST"}, c.has) || len(comparisonsOf(c.words)) > 0
		about := from
		switch {
		case isOther:
			about = meant
		case len(meant) > 0:
			about = narrowed(meant, from)
		case hasUnknownModel(raw, c):
			about = nil
		}
		out[i] = focus{about, len(meant) > 0}
		switch isEnd := i+1 == len(clauses) || !clauses[i+1].inBrackets; {
		case c.inBrackets && i > 0:
			inside = about
		case !isEnd || !isAside(c):
			before = about
		}
	}
	return out
}

// isAside reports whether a clause only names what the text compares with: "unlike the Birch", "à la différence de l'autre".
func isAside(c *clause) bool {
	return slices.ContainsFunc(c.hits, func(h hit) bool { return h.topic == "UNLIKE" && h.at < reachOfAside })
}

// reachOfAside is how far from its beginning a clause says that it only compares, in words.
const reachOfAside = 2

// hasUnknownModel reports whether a clause has a word of letters and digits, which may name a product.
func hasUnknownModel(raw string, c *clause) bool {
	return slices.ContainsFunc(c.words, func(w text.Word) bool {
		return hasDigit(w) && strings.ContainsFunc(w.Text, unicode.IsLetter) && !isAmount(raw, w.Start, w.End)
	})
}

// narrowed returns those of what words may mean that the text is about already, or all if none is.
func narrowed(meant, before []*subject) []*subject {
	same := slices.DeleteFunc(slices.Clone(meant), func(p *subject) bool { return !slices.Contains(before, p) })
	if len(same) > 0 {
		return same
	}
	return meant
}

// meantIn returns the products that the words of some clauses mean, each where only one fits.
func (o outline) meantIn(first, n int) []*subject {
	var out []*subject
	for _, f := range o.focus[first : first+n] {
		if p := f.own(); p != nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// productOf returns the product that a clause is about without a claim in it, if its sentence has words for one up to there, or nil.
func (s *subjects) productOf(o outline, c claim) *subject {
	clause := o.clauseAt(c.Start)
	for i := clause; i >= 0 && o.clauses[i].sentence == o.clauses[clause].sentence; i-- {
		if !o.focus[i].isOwn {
			continue
		}
		switch {
		case i < clause && s.hasUnknownNoun(o, clause):
			return nil
		case i < clause, c.currency != "": // amounts are no marks
			return o.focus[clause].only()
		}
		rest := slices.DeleteFunc(slices.Clone(o.clauses[clause].words), func(w text.Word) bool { return c.Start < w.End && w.Start < c.end() })
		return focus{products: narrowed(s.meantBy(o, rest), o.productsBefore(clause))}.only()
	}
	return nil
}

// hasUnknownNoun reports whether a clause has a word with a capital that no product has: "five sacks of Soil".
func (s *subjects) hasUnknownNoun(o outline, clause int) bool {
	return slices.ContainsFunc(o.clauses[clause].words, func(w text.Word) bool {
		isNoun := len(w.Text) >= minName && isCapital(o.raw[w.Start:]) && !hasDigit(w) && !isStopWord(w.Text) && currencies[w.Text] == ""
		return isNoun && len(s.byMark[stemOf(nameWord(w.Text))]) == 0
	})
}

// about is refs, with the product in focus in place of others, or of none.
func (o outline) about(clause int) reference {
	r := o.refs[clause]
	if p := o.focus[clause].only(); p != nil && uses(famFocus) && r.of(kindProduct) != p {
		r.named = append(slices.DeleteFunc(slices.Clone(r.named), func(n *subject) bool { return n.kind == kindProduct }), p)
	}
	return r
}

// productsBefore returns the products that a text is about before a clause.
func (o outline) productsBefore(clause int) []*subject {
	if clause == 0 {
		return o.before
	}
	return o.focus[clause-1].products
}

// meantBy returns what some words of a clause may mean.
func (s *subjects) meantBy(o outline, words []text.Word) []*subject {
	return s.meant(o.raw, &clause{words: words, hits: hitsOf(words)})
}

// isTableRow reports whether the line of a byte is a row of a table.
func isTableRow(raw string, offset int) bool {
	return strings.HasPrefix(lineAt(raw, offset), "|")
}

// lineAt returns a text from the beginning of the line of a byte on, without the space before it.
func lineAt(raw string, offset int) string {
	return strings.TrimLeft(raw[strings.LastIndexByte(raw[:offset], '\n')+1:], " \t")
}

// marked is a product or an item of an order with the marks that a clause has of it, and those of them that its title has.
type marked struct {
	*subject
	marks, titled wordSet
}

// isWhole reports whether a clause has the whole title.
func (p marked) isWhole() bool { return len(p.title) > 0 && p.titled.len() >= len(p.title) }

// isLessThan reports whether a clause has all that it has of a product of another one, too, and more: further marks, or its whole title.
func (p marked) isLessThan(o marked) bool {
	isTitled := p.titled == o.titled || p.titled.isPartOf(o.titled)
	return isTitled && (p.marks.isPartOf(o.marks) || p.marks == o.marks && !p.isWhole() && o.isWhole())
}

// meant returns what the words of a clause may mean: the products and items of orders than which no other one has more of the clause.
func (s *subjects) meant(raw string, c *clause) []*subject {
	marks := slices.DeleteFunc(marksOf(raw, c.words), func(m mark) bool { // "auf Lager" is no shelf
		return slices.ContainsFunc(c.hits, func(h hit) bool { return isTopic(h.topic) && h.at <= m.at && m.at < h.at+len(h.words) })
	})
	marks = marks[:min(len(marks), maxWords)]
	var all []marked
	for i, m := range marks {
		for _, p := range s.byMark[m.text] {
			if m.isCount && !s.isBesideMark(p, marks, i) {
				continue
			}
			k := slices.IndexFunc(all, func(o marked) bool { return o.subject == p })
			if k < 0 {
				k, all = len(all), append(all, marked{subject: p})
			}
			all[k].marks |= 1 << i
			if slices.Contains(p.title, m.text) {
				all[k].titled |= 1 << i
			}
		}
	}
	var out []*subject
	for _, p := range all {
		isAlsoProduct := func(o marked) bool { return p.kind == kindItem && o.kind == kindProduct && o.name == p.name }
		if !slices.ContainsFunc(all, p.isLessThan) && !slices.ContainsFunc(all, isAlsoProduct) {
			out = append(out, p.subject)
		}
	}
	return out
}

// isBesideMark reports whether a mark stands beside another one of a product: "Orbela de 8".
func (s *subjects) isBesideMark(p *subject, marks []mark, at int) bool {
	const reach = 2 // words
	isOf := func(i int) bool { return slices.Contains(s.byMark[marks[i].text], p) }
	return at > 0 && marks[at].at-marks[at-1].at <= reach && isOf(at-1) || at+1 < len(marks) && marks[at+1].at-marks[at].at <= reach && isOf(at+1)
}

// addMarks adds the marks of a text that describes a product or an item of an order, and returns them.
func (s *subjects) addMarks(p *subject, raw string) []mark {
	if s.byMark == nil {
		s.byMark = map[string][]*subject{}
	}
	marks := marksOf(raw, text.Words(raw))
	for _, m := range marks {
		for _, t := range []string{m.text, m.number} { // "the 25", "der 25er" for 25 m
			if t != "" && !slices.Contains(s.byMark[t], p) {
				s.byMark[t] = append(s.byMark[t], p)
			}
		}
	}
	return marks
}

// mark is what may tell products apart in a text: the stem of a word of content, a number with its unit, a size such as M, or what a sign
// joins, such as 18/3.
type mark struct {
	text    string
	at      int    // number of its word
	isCount bool   // it is a small number without a unit, which may count anything
	number  string // of one with a unit
}

// marksOf returns the marks in some words of a text. Amounts are none, since they are what is checked.
func marksOf(raw string, words []text.Word) []mark {
	var out []mark
	for i := 0; i < len(words); i++ {
		w := words[i]
		written := raw[w.Start:w.End]
		isCapitals := strings.ToUpper(written) == written
		switch {
		case hasDigit(w):
			m, first := mark{text: numberMark(w.Text), at: i}, i
			for i+1 < len(words) && hasDigit(words[i+1]) && isJoint(raw[words[i].End:words[i+1].Start]) {
				i++
				m.text += "/" + numberMark(words[i].Text)
			}
			m.isCount = len(m.text) <= maxCount && !strings.ContainsFunc(m.text, unicode.IsLetter) && (first == 0 || !isArticle(words[first-1].Text))
			if i+1 < len(words) {
				if unit := measures[unitWord(words[i+1].Text)]; unit != "" {
					m.text, m.number, m.isCount = m.text+unit, m.text, false
				}
			}
			if !isAmount(raw, w.Start, words[i].End) {
				out = append(out, m)
			}
			if m.number != "" {
				i++ // its unit
			}
		case len(w.Text) == 1 && isCapitals && !strings.HasPrefix(raw[w.End:], "'") && !strings.HasPrefix(raw[w.End:], "’"):
			out = append(out, mark{text: written, at: i})
		case len(w.Text) == 2 && (isCapitals || i > 0 && isCapital(written)), len(w.Text) > 2 && (!isStopWord(w.Text) || i > 0 && isCapital(written)):
			out = append(out, mark{text: stemOf(nameWord(w.Text)), at: i, isCount: numberWords()[w.Text] && !isCapital(written)})
		}
	}
	return out
}

// maxCount is how many digits a number has at most that counts something.
const maxCount = 2

func hasDigit(w text.Word) bool { return strings.ContainsFunc(w.Text, unicode.IsDigit) }

// isJoint reports whether what stands between two numbers makes them one mark.
func isJoint(gap string) bool { return len(gap) > 0 && strings.Contains("/:x×-", gap) }

// numberMark returns a number in one form: 0,80 and 0.8 are the same.
func numberMark(w string) string {
	if digits, ok := strings.CutSuffix(w, "er"); ok && len(digits) > 0 && text.IsDigit(rune(digits[len(digits)-1])) {
		return digits // "der 25er"
	}
	whole, rest, found := strings.Cut(strings.ReplaceAll(w, ",", "."), ".")
	if !found || strings.ContainsFunc(w, unicode.IsLetter) {
		return w
	}
	return decimal(whole, rest)
}

// numberWords are the numbers in words from 2 to 19, folded, in all languages.
var numberWords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, words := range belowTwenty {
		for _, w := range strings.Fields(words)[2:] {
			out[text.Fold(w)] = true
		}
	}
	return out
})

// isAmount reports whether a number has a currency beside it.
func isAmount(raw string, start, end int) bool {
	before, after := strings.TrimRight(raw[:start], spaces), strings.TrimLeft(raw[end:], spaces)
	first, _ := utf8.DecodeRuneInString(after)
	last, _ := utf8.DecodeLastRuneInString(before)
	letters := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) })
	if letters < 0 {
		letters = len(after)
	}
	return unicode.Is(unicode.Sc, first) || unicode.Is(unicode.Sc, last) || currencies[strings.ToLower(after[:letters])] != ""
}
