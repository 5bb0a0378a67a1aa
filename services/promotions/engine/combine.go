package engine

import (
	"math/bits"
	"slices"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// maxExact is the number of stackable promotions that are tried in all legal combinations. Of more promotions, those that save
// most are tried; then each other promotion that fits is added.
const maxExact = 20

// value is what a combination saves.
type value struct {
	saving       int64
	freeShipping bool // waives a shipping fee of unknown height
}

func (w value) exceeds(other value) bool {
	if w.saving != other.saving {
		return w.saving > other.saving
	}
	return w.freeShipping && !other.freeShipping
}

// candidate is a promotion that may be part of a combination.
type candidate struct {
	promotion *promotionv1.Promotion
	alone     value
	shares    []int64 // what it takes off each line of the basket; nil for shipping
	conflicts uint32  // candidates that it cannot be combined with, by position
}

// combine returns the combination that saves most, or one code alone when combining saves no more. Of equal combinations it is
// the one with the more valuable promotion at the first difference. Codes that add nothing are left out. Nil: no promotion is
// worth entering.
func combine(evaluations []*promotionv1.Evaluation, b Basket) *promotionv1.Combination {
	single := bestOf(evaluations, func(*promotionv1.Evaluation) bool { return true })
	if single == nil {
		return nil
	}
	chosen := []*candidate{newCandidate(single, b)}
	together := bestCombination(candidates(evaluations, b), b)
	if valueOf(together, b).exceeds(chosen[0].alone) {
		chosen = together
	}
	c := &promotionv1.Combination{Saving: b.money(valueOf(chosen, b).saving)}
	for _, one := range chosen {
		c.Codes = append(c.Codes, one.promotion.GetCode())
	}
	return c
}

// candidates returns the stackable promotions that are worth choosing, by value.
func candidates(evaluations []*promotionv1.Evaluation, b Basket) []*candidate {
	var stackable []*promotionv1.Evaluation
	for _, e := range evaluations {
		if WorthChoosing(e) && e.GetPromotion().GetStackable() {
			stackable = append(stackable, e)
		}
	}
	slices.SortFunc(stackable, compareValue)
	all := make([]*candidate, len(stackable))
	for i, e := range stackable {
		all[i] = newCandidate(e, b)
	}
	exact := all[:min(len(all), maxExact)]
	for i := range exact {
		for j := range exact {
			if i != j && !Combinable(exact[i].promotion, exact[j].promotion) {
				exact[i].conflicts |= 1 << j
			}
		}
	}
	return all
}

func newCandidate(e *promotionv1.Evaluation, b Basket) *candidate {
	p, saving := e.GetPromotion(), e.GetSaving().GetAmountMinor()
	c := &candidate{promotion: p, alone: value{saving: saving}}
	if p.GetFreeShipping() != nil {
		c.alone.freeShipping = saving == 0
		return c
	}
	c.shares = make([]int64, len(b.lines))
	lines := qualifying(p, b)
	if x := p.GetBuyXGetY(); x != nil {
		freeUnits(x, lines, c.shares)
	} else {
		spread(saving, lines, c.shares)
	}
	return c
}

// spread divides a saving among lines in proportion to their cost. Later lines get the remainder of rounding, so that the shares
// add up to the saving.
func spread(saving int64, lines []*line, shares []int64) {
	sum, _ := totals(lines)
	if sum == 0 {
		return
	}
	var passed, given int64
	for _, l := range lines {
		passed = add(passed, l.total())
		upTo := part(saving, passed, sum)
		shares[l.at], given = upTo-given, upTo
	}
}

// Combinable reports whether two promotions may be used together.
func Combinable(x, y *promotionv1.Promotion) bool {
	return x.GetStackable() && y.GetStackable() &&
		!ContainsCode(x.GetExcludedCodes(), y.GetCode()) && !ContainsCode(y.GetExcludedCodes(), x.GetCode())
}

// ContainsCode reports whether codes contain a code, ignoring case.
func ContainsCode(codes []string, code string) bool {
	return slices.ContainsFunc(codes, func(c string) bool { return strings.EqualFold(c, code) })
}

// valueOf returns what promotions save together. Each saving is computed on the cart's prices, so their order makes no
// difference. Together they take at most a line's price off it, and waive one shipping fee, the largest.
func valueOf(set []*candidate, b Basket) value {
	var w value
	var fee int64
	for _, c := range set {
		if c.shares == nil {
			fee = max(fee, c.alone.saving)
			w.freeShipping = w.freeShipping || c.alone.freeShipping
		}
	}
	for i := range b.lines {
		var off int64
		for _, c := range set {
			if c.shares != nil {
				off = add(off, c.shares[i])
			}
		}
		w.saving = add(w.saving, min(off, b.lines[i].total()))
	}
	w.saving = add(w.saving, fee)
	w.freeShipping = w.freeShipping && fee == 0 // shipping is free already
	return w
}

// CombinedSaving returns what eligible promotions save together on a basket.
func CombinedSaving(evaluations []*promotionv1.Evaluation, b Basket) *commonv1.Money {
	set := make([]*candidate, len(evaluations))
	for i, e := range evaluations {
		set[i] = newCandidate(e, b)
	}
	return b.money(valueOf(set, b).saving)
}

// Total returns the price of a basket with codes: its subtotal less what the eligible ones of them save together. A shipping fee is no
// part of it. Nil: the basket is empty.
func (o Outcome) Total(b Basket, codes []string) *commonv1.Money {
	if b.Empty() {
		return nil
	}
	var saved []*promotionv1.Evaluation
	for _, e := range o.Evaluations {
		if e.GetEligible() && e.GetPromotion().GetFreeShipping() == nil && ContainsCode(codes, e.GetPromotion().GetCode()) {
			saved = append(saved, e)
		}
	}
	return b.money(b.Subtotal().GetAmountMinor() - CombinedSaving(saved, b).GetAmountMinor())
}

// bestCombination returns the most valuable legal combination of candidates, which are sorted by value.
func bestCombination(all []*candidate, b Basket) []*candidate {
	s := search{all: all[:min(len(all), maxExact)], basket: b}
	s.run(0, 1<<len(s.all)-1)
	chosen := slices.Clone(s.pick(s.best))
	so := s.value
	for _, c := range all[len(s.all):] {
		if slices.ContainsFunc(chosen, func(other *candidate) bool { return !Combinable(c.promotion, other.promotion) }) {
			continue
		}
		with := append(chosen, c)
		if w := valueOf(with, b); w.exceeds(so) {
			chosen, so = with, w
		}
	}
	for i := len(chosen) - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(chosen), i, i+1); !valueOf(chosen, b).exceeds(valueOf(without, b)) {
			chosen = without
		}
	}
	return chosen
}

// search finds the best legal combination by branch and bound. A further promotion never lowers the value of a combination, so
// only combinations that cannot be extended matter.
type search struct {
	all    []*candidate
	basket Basket
	best   uint32
	value  value
	picked []*candidate // reused
}

// run tries the chosen candidates with all legal subsets of the open ones, which are compatible with the chosen. Of equal
// combinations it keeps the first, which has the earliest candidates.
func (s *search) run(chosen, open uint32) {
	// The bound: all of them together, without regard to conflicts, are at least as valuable as any combination of them.
	if !s.sum(chosen|open).exceeds(s.value) || !valueOf(s.pick(chosen|open), s.basket).exceeds(s.value) {
		return
	}
	for rest := open; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros32(rest)
		if conflicts := s.all[i].conflicts & open; conflicts != 0 {
			s.run(chosen|1<<i, open&^(1<<i|conflicts))
			s.run(chosen, open&^(1<<i))
			return
		}
	}
	if w := valueOf(s.pick(chosen|open), s.basket); w.exceeds(s.value) {
		s.best, s.value = chosen|open, w
	}
}

// sum is an upper bound of the value of some candidates that is cheaper to compute than the value.
func (s *search) sum(set uint32) value {
	var w value
	for ; set != 0; set &= set - 1 {
		alone := s.all[bits.TrailingZeros32(set)].alone
		w.saving = add(w.saving, alone.saving)
		w.freeShipping = w.freeShipping || alone.freeShipping
	}
	return w
}

// pick returns candidates by position. The result is valid until the next call.
func (s *search) pick(set uint32) []*candidate {
	s.picked = s.picked[:0]
	for ; set != 0; set &= set - 1 {
		s.picked = append(s.picked, s.all[bits.TrailingZeros32(set)])
	}
	return s.picked
}

// refuseConflicts refuses eligible promotions that cannot be combined with applied promotions that are still eligible. Applied
// promotions are not refused, because the store has combined them already.
func refuseConflicts(evaluations []*promotionv1.Evaluation, who Buyer) {
	var applied []*promotionv1.Promotion
	for _, e := range evaluations {
		if e.GetEligible() && who.hasApplied(e.GetPromotion()) {
			applied = append(applied, e.GetPromotion())
		}
	}
	for _, e := range evaluations {
		if !e.GetEligible() || who.hasApplied(e.GetPromotion()) {
			continue
		}
		for _, p := range applied {
			if !Combinable(e.GetPromotion(), p) {
				e.ConflictingCodes = append(e.ConflictingCodes, p.GetCode())
			}
		}
		if len(e.GetConflictingCodes()) > 0 {
			slices.Sort(e.ConflictingCodes)
			e.Eligible, e.Saving = false, nil
			e.RefusalReason = promotionv1.RefusalReason_REFUSAL_REASON_NOT_COMBINABLE
			e.Explanation = explain(e, who)
		}
	}
}
