package grounding

import (
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// variantStock is how many pieces of a variant, which has options in folded words, are in stock.
type variantStock struct {
	options []string
	pieces  int64
}

// miscounted returns the claims of clauses that say that another number of pieces is in stock than the evidence does, but for those with a
// fact that is rejected as it is.
func (s *subjects) miscounted(o outline, language string, before []*subject, facts []stated) Claims {
	var out Claims
	for i := range o.clauses {
		c := &o.clauses[i]
		isKnown := slices.ContainsFunc(facts, func(f stated) bool {
			return (f.other != nil || f.made.Verdict == Unsupported) && o.clauseAt(f.claim.Start) == i
		})
		of := s.miscounts(o, i, language, before)
		if of == nil && uses(famFocus) {
			of = s.countsOther(o, i, language)
		}
		if of != nil && !isKnown {
			out = append(out, Claim{Start: c.start, End: c.end, Text: o.raw[c.start:c.end], Kind: Statement, Subject: of.id, Verdict: Contradicted})
		}
	}
	return out
}

// miscounts returns the product of which a clause says that other numbers of pieces are in stock than the evidence does, or nil. Several
// variants may be counted together.
func (s *subjects) miscounts(o outline, clause int, language string, before []*subject) *subject {
	c := &o.clauses[clause]
	if !c.has("PIECES") || c.isQuestion || c.has("NOT") || hasIf(sentenceOf(o.clauses, clause), language) {
		return nil
	}
	of := o.refs[clause].of(kindProduct)
	if p := o.focus[clause].only(); p != nil && uses(famFocus) {
		of = p
	} else if last := ofKind(before, kindProduct); of == nil && len(last) > 0 && !isTableRow(o.raw, c.start) && !o.hintsAtOthers(clause, last[len(last)-1]) {
		of = last[len(last)-1] // "Five of them are in stock"
	}
	if of == nil {
		return nil
	}
	raw, stocks := o.raw[c.start:c.end], of.piecesOf(c)
	if !o.focus[clause].isOwn && len(o.own[clause].mentioned) == 0 { // "There are two left", of any that the text compares
		for _, p := range ofKind(before, kindProduct) {
			stocks = append(stocks, p.piecesOf(c)...)
		}
	}
	for _, f := range Read(raw, language).Facts {
		if n, ok := f.pieces(); ok && len(stocks) > 0 && !slices.Contains(stocks, n) && !(len(of.options) > 0 && of.facts.Has(f)) && !of.isNamedBy(raw[f.Start:f.End]) && !s.isAsked(raw[f.Start:f.End]) {
			return of
		}
	}
	return nil
}

// piecesOf returns how many pieces of a product a clause may say are in stock: those of the variants that it names, or of any, and their sum.
func (s *subject) piecesOf(c *clause) []int64 {
	isNamed := func(option string) bool {
		return slices.ContainsFunc(c.words, func(w text.Word) bool { return w.Text == option })
	}
	var stocks, qualified []int64
	for _, v := range s.stocks {
		stocks = append(stocks, v.pieces)
		if slices.ContainsFunc(v.options, isNamed) {
			qualified = append(qualified, v.pieces)
		}
	}
	if len(qualified) > 0 {
		stocks = qualified
	}
	var sum int64
	for _, n := range stocks {
		sum += n
	}
	if len(stocks) > 0 {
		stocks = append(stocks, sum)
	}
	return stocks
}

// isNamedOption reports whether words name a way in which one of some products comes, such as a colour, and only the stock of all ways is known:
// this one may be sold out. A size of one letter is a capital.
func isNamedOption(raw string, about []*subject, words []text.Word) bool {
	isThis := false // "in this colour"
	for i := 1; i < len(words); i++ {
		isThis = isThis || isWordOf(words[i], "OPTION") && isWordOf(words[i-1], "THIS")
	}
	return slices.ContainsFunc(about, func(p *subject) bool {
		return len(p.variants) == 0 && (isThis && len(p.options) > 0 || slices.ContainsFunc(words, func(w text.Word) bool {
			isSize := len(w.Text) == 1 && isCapital(raw[w.Start:]) && !strings.HasPrefix(raw[w.End:], "'") && !strings.HasPrefix(raw[w.End:], "’")
			isWord := len(w.Text) > 1 && !isStopWord(w.Text) && !slices.Contains(p.words, nameWord(w.Text))
			return (isSize || isWord) && slices.Contains(p.options, w.Text)
		}))
	})
}

// countsOther returns the product in focus if a clause of a sentence about stock has a number of it that is the stock of another product, and
// that nothing else has, or nil.
func (s *subjects) countsOther(o outline, clause int, language string) *subject {
	c := &o.clauses[clause]
	of := o.focus[clause].only()
	isAboutStock := slices.ContainsFunc([]string{"PIECES", "stock", "available"}, func(topic string) bool { return sentenceHas(o.clauses, clause, topic) })
	isNear := c.has("PIECES") || c.has("stock") || o.focus[clause].isOwn || clause > 0 && o.focus[clause-1].isOwn
	if of == nil || !isAboutStock || !isNear || c.isQuestion || c.has("NOT") || c.has("CART") || c.has("ORDER") || hasIf(o.clauses[clause:clause+1], language) {
		return nil
	}
	stocks := of.piecesOf(c)
	for _, f := range Read(o.raw[c.start:c.end], language).Facts {
		n, ok := f.count()
		isOther := func(p *subject) bool {
			return p != of && slices.ContainsFunc(p.stocks, func(v variantStock) bool { return v.pieces == n })
		}
		if ok && len(stocks) > 0 && !slices.Contains(stocks, n) && !of.facts.Has(f) && !s.common.Has(f) && slices.ContainsFunc(s.list, isOther) {
			return of
		}
	}
	return nil
}

// hasIf reports whether clauses have a word for a condition that is no number in their language: "once" is eleven in Spanish.
func hasIf(clauses []clause, language string) bool {
	return slices.ContainsFunc(clauses, func(c clause) bool {
		return slices.ContainsFunc(c.hits, func(h hit) bool { return h.topic == "IF" && numerals[language][h.words[0]] == 0 })
	})
}

// isAsked reports whether people wrote a word.
func (s *subjects) isAsked(word string) bool {
	return slices.ContainsFunc(foldedWords(word), func(w string) bool { return slices.Contains(s.asked, stemOf(w)) })
}

// isInStock reports whether pieces of one of the variants are.
func (s *subject) isInStock() bool {
	return slices.ContainsFunc(s.stocks, func(v variantStock) bool { return v.pieces > 0 })
}

// pieces returns the number of pieces that a fact may be, and not at least or at most. A number with a unit of its own is none.
func (f Fact) pieces() (n int64, ok bool) {
	n, ok = f.count()
	return n, ok && (counts[f.Unit] || unitsOfStock[f.Unit] || stockVerbs[f.Left] > 0)
}

// count returns the number of things that a fact may be, and not at least or at most. An amount, a percentage or a measure is none.
func (f Fact) count() (n int64, ok bool) {
	values := f.values()
	if len(values) == 0 || f.currency != "" || f.Unit == Percent || unitOf(f) != "" || limits[f.Left] > 0 || approximate[f.Left] > 0 || boundWords[f.Left] > 0 || values[0]%thousand != 0 {
		return 0, false
	}
	return values[0] / thousand, true
}

// isNamedBy reports whether a word is part of the name of a product, or of the options of what is in stock.
func (s *subject) isNamedBy(word string) bool {
	word = strings.ToLower(word)
	return slices.Contains(s.words, word) || slices.ContainsFunc(s.stocks, func(v variantStock) bool { return slices.Contains(v.options, word) })
}

// unitsOfStock are the words behind a number of pieces that say that they are in stock, as Fact.Unit has them.
var unitsOfStock = map[string]bool{
	"in": true, "rema": true, "avai": true, "auf": true, "verf": true, "da": true, "übri": true, "lief": true, "en": true, "disp": true, "rest": true,
}

// stockVerbs are those before a number of pieces, and boundWords those that make a number the least or the most.
var (
	stockVerbs = positions([]string{"reste restent queda quedan only just noch nur solo seulement"})
	boundWords = positions([]string{"than least most least über mehr als que de menos moins más plus all alle les los las"})
)
