package grounding

import (
	"slices"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// detail is a number that a product's details give by a name, such as "drying time 30 min".
type detail struct {
	stems []string // of the words of content in the name
	fact  Fact
}

// addDetail adds a number of the details by the words before it. start is where the words begin in the details.
func (p *subject) addDetail(words []text.Word, start int, number Fact) {
	d := detail{fact: number}
	for _, w := range words {
		if start+w.End <= number.Start && isContent(w.Text) {
			d.stems = append(d.stems, stemOf(w.Text))
		}
	}
	if len(d.stems) > 0 {
		p.details = append(p.details, d)
	}
}

// misstates returns a product that a clause is about if a number in it is none of its details: the clause names one that has another number,
// or the evidence has the number only of others, and of one in another unit. What the text has named before, as before lists, may have it.
func (e *Evidence) misstates(o outline, c claim, before []*subject) *subject {
	i := o.clauseAt(c.Start)
	if i < 0 || c.currency != "" || !c.IsNumber() || c.Unit == Percent || len(c.others) > 0 {
		return nil
	}
	of := &o.clauses[i]
	if of.isQuestion || e.isAsked(c) || of.has("COMPARE") || len(comparisonsOf(of.words)) > 0 {
		return nil
	}
	unit := unitOf(c.Fact)
	isElsewhere := unit != "" && slices.ContainsFunc(e.facts, func(f Fact) bool { return unitOf(f) == unit && shareOne(c.values, f.values()) })
	isOther := func(p *subject) bool {
		switch {
		case unit == "" && p.facts.Has(c.Fact), slices.ContainsFunc(c.measures(), p.facts.has):
			return false
		case p.namesDetail(of, c):
			return true
		}
		return !isElsewhere && p.hasInOtherUnit(c)
	}
	for _, r := range o.own[:i+1] {
		before = append(before, r.mentioned...)
	}
	if slices.ContainsFunc(before, func(p *subject) bool { return slices.ContainsFunc(c.measures(), p.facts.has) }) {
		return nil
	}
	products := o.focus[i].products
	if o.focus[i].isOwn {
		products = e.subjects.productsBut(o, i, c)
	}
	if len(products) == 0 || !all(products, isOther) {
		return nil
	}
	return products[0]
}

// namesDetail reports whether a clause names a detail of a product that has a number of the unit of a claim.
func (p *subject) namesDetail(of *clause, c claim) bool {
	return slices.ContainsFunc(p.details, func(d detail) bool {
		unit := unitOf(d.fact)
		isSameUnit := unit == unitOf(c.Fact) && (unit != "" || c.Unit == d.fact.Unit && c.Unit != "")
		named := slices.DeleteFunc(slices.Clone(d.stems), func(stem string) bool { return !of.hasStems(stem) })
		return isSameUnit && 2*len(named) >= len(d.stems)
	})
}

// hasInOtherUnit reports whether a detail of a product has the number of a measure in another unit.
func (p *subject) hasInOtherUnit(c claim) bool {
	own := unitOf(c.Fact)
	return own != "" && slices.ContainsFunc(p.details, func(d detail) bool {
		unit := unitOf(d.fact)
		return unit != "" && unit != own && shareOne(c.values, d.fact.values())
	})
}

// isAsked reports whether a fact stands in what people wrote.
func (e *Evidence) isAsked(c claim) bool {
	for i, f := range e.facts {
		if !e.places[e.origins[i]].isResult && c.Matches(f) {
			return true
		}
	}
	return false
}
