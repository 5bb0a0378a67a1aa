package merge

import (
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// grounds are what a merged text may rest on: the facts of the answers, and what the shopper wrote where it only quotes
// that.
type grounds struct {
	base     string // the language's, for what does not show its own
	answers  grounding.Set
	counts   grounding.Set   // how many products, items and prices an answer has, which a text may say of itself
	units    map[string]bool // what the answers give numbers of
	shoppers []grounding.Fact
}

// reading is what an answer says.
type reading struct {
	text grounding.Text
	set  grounding.Set
}

// readAnswers reads the texts of answered parts.
func readAnswers(base string, answered []Part) []*reading {
	said := make([]*reading, len(answered))
	for i, p := range answered {
		said[i] = &reading{text: readIn(base, p.Answer.GetText())}
		said[i].set.Add(said[i].text)
	}
	return said
}

// newGrounds returns the grounds of a merge. Said is what its answered parts say, in order.
func newGrounds(in Input, said []*reading) *grounds {
	g := &grounds{base: in.base(), units: map[string]bool{}}
	for _, p := range in.Parts {
		g.shoppers = append(g.shoppers, g.read(p.Query).Facts...)
		if p.Answer == nil {
			continue
		}
		g.learn(p.Answer.GetText(), said[0])
		g.count(len(p.Answer.GetProducts()))
		said = said[1:]
	}
	g.shoppers = append(g.shoppers, g.read(in.Message).Facts...)
	if in.CurrencyCode != "" {
		g.answers.AddCurrency(in.CurrencyCode)
	}
	return g
}

// read reads a text in its own language, or in the reply's.
func (g *grounds) read(text string) grounding.Text { return readIn(g.base, text) }

// readIn reads a text in its own language, or in another where it does not show that.
func readIn(base, s string) grounding.Text {
	if own := text.Language(s); own != "" {
		base = own
	}
	return grounding.Of(s, base)
}

// learn takes in an answer, and what it says.
func (g *grounds) learn(text string, said *reading) {
	g.answers.Join(&said.set)
	items, prices := 0, 0
	for _, f := range said.text.Facts {
		if f.Unit != "" {
			g.units[f.Unit] = true
		}
		if f.Unit == grounding.Money && f.IsNumber() {
			prices++
		}
	}
	for line := range strings.Lines(text) {
		if grounding.IsItem(strings.TrimSpace(line), ".") {
			items++
		}
	}
	g.count(items)
	g.count(prices)
}

// count lets a text name a number of things.
func (g *grounds) count(n int) {
	if n > 1 {
		g.counts.AddNumber(n)
	}
}

// hold reports whether all facts of a text rest on something.
func (g *grounds) hold(said grounding.Text) bool {
	for _, f := range said.Facts {
		if !g.answers.Has(f) && !(f.Plain && g.counts.Has(f)) && !g.quoted(f) {
			return false
		}
	}
	return true
}

// quoted reports whether a fact only repeats what the shopper wrote: a code or an address; or a number that stands as it
// does there, of something that the answers give no number of. What they say of days, prices or dates is not up to the
// shopper.
func (g *grounds) quoted(f grounding.Fact) bool {
	for _, said := range g.shoppers {
		if !f.SaidBy(said) {
			continue
		}
		near := f.Left != "" && f.Left == said.Left || f.Unit != "" && f.Unit == said.Unit
		if f.Name || near && !g.units[f.Unit] {
			return true
		}
	}
	return false
}
