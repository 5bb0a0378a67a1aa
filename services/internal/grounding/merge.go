package grounding

import (
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// ReadOwn reads a text in the language that it shows, or in another one where it shows none.
func ReadOwn(s, otherwise string) Text {
	if own := text.Language(s); own != "" {
		otherwise = own
	}
	return Read(s, otherwise)
}

// Section is an answer that a reply is merged from, as the checks look at it.
type Section struct {
	Text
	// Set is what the section says.
	Set Set

	items int // of lists
}

// ReadSection reads an answer. The language is that of the reply, for an answer that shows none of its own.
func ReadSection(answer, language string) *Section {
	s := &Section{Text: ReadOwn(answer, language)}
	s.Set.Add(s.Text)
	for line := range strings.Lines(answer) {
		if IsItem(strings.TrimSpace(line), ".") {
			s.items++
		}
	}
	return s
}

// MergeEvidence is what a merged text may rest on: the facts of its sections, and what the shopper wrote where the text only
// quotes that. It is only read once all is added, so goroutines may share it then.
type MergeEvidence struct {
	sections []*Section
	currency Set             // of the store
	counts   Set             // how many products, items and prices a section has, which a text may state
	units    map[string]bool // what the sections give numbers of
	shopper  []Fact
}

// AddShopper adds what the shopper wrote.
func (e *MergeEvidence) AddShopper(said Text) { e.shopper = append(e.shopper, said.Facts...) }

// AddCurrency adds the currency of the store, by its ISO 4217 code in capitals, and the sign that it shares with others.
func (e *MergeEvidence) AddCurrency(code string) {
	e.currency.add(moneyKey(code))
	if sign := signOf[code]; sign != "" {
		e.currency.add(moneyKey(sign))
	}
}

// AddSection adds a section, and how many products stand beside it.
func (e *MergeEvidence) AddSection(s *Section, products int) {
	e.sections = append(e.sections, s)
	if e.units == nil {
		e.units = map[string]bool{}
	}
	prices := 0
	for _, f := range s.Facts {
		if f.Unit != "" {
			e.units[f.Unit] = true
		}
		if f.Unit == Money && f.IsNumber() {
			prices++
		}
	}
	for _, n := range []int{s.items, prices, products} {
		if n > 1 {
			e.counts.add(countKey(n))
		}
	}
}

// Supports reports whether all facts of a text rest on the evidence.
func (e *MergeEvidence) Supports(t Text) bool {
	for _, f := range t.Facts {
		if !f.holds(e.has) && !(f.Plain && e.counts.Has(f)) && !e.quotes(f) {
			return false
		}
	}
	return true
}

// has reports whether the sections or the store have a key.
func (e *MergeEvidence) has(k key) bool {
	for _, s := range e.sections {
		if s.Set.has(k) {
			return true
		}
	}
	return e.currency.has(k)
}

// quotes reports whether a fact only repeats what the shopper wrote: a code or an address; or a number that stands as it
// does there, of something that the sections give no number of. What they say of days, prices or dates is not up to the
// shopper.
func (e *MergeEvidence) quotes(f Fact) bool {
	for _, said := range e.shopper {
		if !f.SaidBy(said) {
			continue
		}
		isNear := f.Left != "" && f.Left == said.Left || f.Unit != "" && f.Unit == said.Unit
		if f.Name || isNear && !e.units[f.Unit] {
			return true
		}
	}
	return false
}
