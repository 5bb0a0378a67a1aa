package grounding

import (
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// minName is the length of the shortest word of a name, in bytes.
const minName = 3

// unknownName returns the first name in a text that the evidence does not have: a title of which a word is another one, or a name in a
// clause with the price of a product, if its sentence names no product. facts are those of the text that the evidence has. hasNames
// reports whether the text is in a language in which only names have capitals.
func (s *subjects) unknownName(o outline, facts []claim, hasNames bool) Claims {
	for i := range o.clauses {
		first, end := s.changedTitle(o, i, facts, hasNames)
		if end == 0 {
			first, end = s.alikeTitle(o, i)
		}
		if at := s.priceOfUnnamed(o, i, facts); end == 0 && at >= 0 {
			first, end = s.newName(o, i, at, hasNames)
		}
		if end > 0 {
			return o.nameAt(i, first, end)
		}
	}
	return nil
}

// properName returns the first unknown name behind a word in small letters: "a Lorvane sole". It is not that of a place: "in Lorvane".
func (s *subjects) properName(o outline, language string) Claims {
	for i := range o.clauses {
		words := o.clauses[i].words
		for k := 1; k < len(words) && !o.clauses[i].isQuestion; k++ {
			before := words[k-1]
			isPlace := isWordOf(before, "PREPOSITION") && !(before.Text == "a" && language == "en") // "à" and "a"
			isQuoted := strings.ContainsAny(o.raw[before.End:words[k].Start], "«„“\"'‘")            // its capital is that of a beginning
			if s.isUnknownName(o.raw, words[k]) && !isCapital(o.raw[before.Start:]) && !isPlace && !isQuoted && !isAboutButtons(words) {
				return o.nameAt(i, k, k+1)
			}
		}
	}
	return nil
}

// isAboutButtons reports whether words name something to press or to fill in, which has a name of its own: "tap Add".
func isAboutButtons(words []text.Word) bool {
	scored, _ := scorable(words, nil, nil)
	return slices.Contains(conceptsOf(scored), "BUTTON")
}

// nameAt returns the claim that some words of a clause name something.
func (o outline) nameAt(clause, first, end int) Claims {
	words := o.clauses[clause].words
	c := Claim{Start: words[first].Start, End: words[end-1].End, Kind: Statement, Verdict: Unsupported}
	c.Text = o.raw[c.Start:c.End]
	return Claims{c}
}

// hasCapitalsForNames reports whether a language, a BCP 47 tag, is one that is known to write only names with capitals.
func hasCapitalsForNames(language string) bool {
	base, _, _ := strings.Cut(language, "-")
	return base == "en" || base == "fr" || base == "es"
}

// changedTitle returns the words of a clause that are the title of a product with another word in it, or one more: "Alder Max" for the
// Alder Two. The sentence must give a fact of the product.
func (s *subjects) changedTitle(o outline, clause int, facts []claim, hasNames bool) (first, end int) {
	c := &o.clauses[clause]
	for k := range c.words[:len(c.words)-1] {
		if o.raw[c.words[k].End:c.words[k+1].Start] != " " || !s.isUnknownName(o.raw, c.words[k+1]) {
			continue
		}
		for _, of := range s.byWord[nameWord(c.words[k].Text)] {
			rest := of.words[slices.Index(of.words, nameWord(c.words[k].Text))+1:]
			isChanged := hasNames && len(rest) == 0
			if len(rest) > 0 {
				isChanged = !slices.ContainsFunc(c.words, func(w text.Word) bool { return nameWord(w.Text) == rest[0] })
			}
			if of.kind == kindProduct && isChanged && o.hasFactOf(of, c.sentence, facts) {
				return k, k + 2
			}
		}
	}
	return 0, 0
}

// alikeTitle returns the word of a clause that stands beside a word of a product's title in the place of one that is like it and that the
// sentence lacks: "Muirfield Chanter" for the Muirhead Chanter.
func (s *subjects) alikeTitle(o outline, clause int) (first, end int) {
	c := &o.clauses[clause]
	for k := range c.words {
		if !s.isUnknownName(o.raw, c.words[k]) {
			continue
		}
		for _, beside := range []int{k - 1, k + 1} {
			if beside < 0 || beside >= len(c.words) {
				continue
			}
			for _, of := range s.byWord[nameWord(c.words[beside].Text)] {
				at := slices.Index(of.words, nameWord(c.words[beside].Text)) + k - beside
				if (of.kind == kindProduct || of.kind == kindItem) && at >= 0 && at < len(of.words) && isAlike(c.words[k].Text, of.words[at]) && !o.hasWord(c.sentence, of.words[at]) {
					return k, k + 1
				}
			}
		}
	}
	return 0, 0
}

// hasWord reports whether a sentence has a folded word.
func (o outline) hasWord(sentence int, word string) bool {
	return slices.ContainsFunc(o.clauses, func(c clause) bool {
		return c.sentence == sentence && slices.ContainsFunc(c.words, func(w text.Word) bool { return nameWord(w.Text) == word })
	})
}

const (
	// alike is how many letters two names that are alike have in common at their ends.
	alike = 4
	// maxEnding is how many letters the ending of a form of a word has at most.
	maxEnding = 3
)

// isAlike reports whether two folded words are different names that are alike, such as "Muirfield" and "Muirhead": they have some letters in
// common at their beginnings and ends, and more than two fifths of the longer one. With another short ending, or a letter more, they are forms
// of one word.
func isAlike(a, b string) bool {
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return false
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	begin, end := 0, 0
	for begin < short && a[begin] == b[begin] {
		begin++
	}
	for end < short-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	isForm := begin >= alike && long-begin <= maxEnding || begin+end >= short && long-short == 1 // "batteries" and "battery", "Maschine" and "machine"
	return begin+end >= alike && 5*(begin+end) > 2*long && !isForm
}

// hasFactOf reports whether a sentence has one of the facts that a product has and another thing may lack.
func (o outline) hasFactOf(of *subject, sentence int, facts []claim) bool {
	return slices.ContainsFunc(facts, func(f claim) bool {
		i := o.clauseAt(f.Start)
		return i >= 0 && o.clauses[i].sentence == sentence && isSpecific(f) && of.facts.Has(f.Fact)
	})
}

// newName returns the words of a clause that are a name: two unknown words with capitals; one within the sentence, in a language in which
// no other noun has one; or what costs something at the beginning of the sentence, without an article. price is the place of that.
func (s *subjects) newName(o outline, clause, price int, hasNames bool) (first, end int) {
	words := o.clauses[clause].words
	startsSentence := clause == 0 || o.clauses[clause-1].sentence != o.clauses[clause].sentence
	for k, w := range words {
		if !s.isUnknownName(o.raw, w) {
			continue
		}
		if k > 0 && isWordOf(words[k-1], "PREPOSITION") && (k < 2 || !isWordOf(words[k-2], "PRICE")) { // "in Germany", not "the price of Alder"
			continue
		}
		isWithin := (k > 0 || !startsSentence) && !strings.ContainsAny(text.HeadBytes(o.raw[w.End:], 1), ":")
		switch {
		case k+1 < len(words) && s.isUnknownName(o.raw, words[k+1]) && (hasNames || k > 0 || !startsSentence):
			return k, k + 2
		case hasNames && isWithin:
			return k, k + 1
		case k == 0 && startsSentence:
			if verb := slices.IndexFunc(words, func(w text.Word) bool { return isWordOf(w, "COST") }); verb > 1 && words[verb].Start < price && !isWordOf(w, "EACH") {
				return 0, verb
			}
		}
	}
	return 0, 0
}

// isUnknownName reports whether a word has a capital and is not in the evidence.
func (s *subjects) isUnknownName(raw string, w text.Word) bool {
	name, _, _ := strings.Cut(strings.ReplaceAll(raw[w.Start:w.End], "’", "'"), "'") // "the Junior's"
	return len(w.Text) >= minName && isCapital(raw[w.Start:]) && !hasDigit(w) &&
		currencies[w.Text] == "" && !isStopWord(w.Text) && !calendar[w.Text] && !isMonth(w.Text) && strings.ToUpper(raw[w.Start:w.End]) != raw[w.Start:w.End] &&
		!strings.Contains(s.known, strings.TrimSuffix(strings.ToLower(name), "s")) // "three Merinos"
}

// priceOfUnnamed returns the place of the price of a product in a clause whose sentence names none, in bytes, or -1.
func (s *subjects) priceOfUnnamed(o outline, clause int, facts []claim) int {
	c := o.clauses[clause]
	for i := range o.clauses {
		if o.clauses[i].sentence == c.sentence && o.refs[i].mentionsKind(kindProduct) {
			return -1
		}
	}
	for _, f := range facts {
		if f.currency != "" && o.clauseAt(f.Start) == clause && !s.common.Has(f.Fact) &&
			slices.ContainsFunc(s.list, func(of *subject) bool { return of.kind == kindProduct && of.facts.Has(f.Fact) }) {
			return f.Start
		}
	}
	return -1
}

func (r reference) mentionsKind(kind string) bool {
	return slices.ContainsFunc(r.mentioned, func(m *subject) bool { return m.kind == kind })
}
