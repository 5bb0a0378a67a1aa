package grounding

import (
	"slices"
)

// derivation is what derived numbers may come from: the supported claims of an answer, and what the shopper wrote. An answer may state, of the
// amounts that it names itself, their sum, the difference of two, a multiple, a percentage of one, or one less a percentage; and by
// what percentage one is less than another. Of two amounts that follow each other in the evidence, such as the price before
// and now, it may state the difference and the percentage. Of any amount of the evidence it may state a multiple by a quantity
// that it names, the rest without an amount that it names, and a rounding that it calls one. What shipping costs counts as named where the
// text speaks of shipping, an offer's amounts and percentages where it or the shopper names the code, and the prices of products that they name
// may be added up. And it may count what it lists, and the rest of a tool's total. Measures and dates are derived in measures.go and dates.go.
// Nothing else is derived: with every sum that can be made, almost any amount would be one.
type derivation struct {
	amounts     []claim
	percentages []int64 // in thousandths of a percent
	numbers     []int64 // whole ones, which may be quantities
	pieces      []int64 // those without the unit of a measure or a period
	postage     []claim // what shipping costs, if the text speaks of it
	offers      []claim // amounts off by the codes that the text names
	counts      []int64
	dates       []Fact  // with a day
	measures    []Fact  // and periods
	stated      []int64 // bare numbers
	given       []claim // amounts that the shopper wrote
}

const (
	// thousand is how many thousandths, in which values are, make one.
	thousand = 1000
	// maxLearned bounds each list of a derivation. No honest text has more to derive from.
	maxLearned = 30
	// maxQuantity bounds how many times an amount may be taken.
	maxQuantity = 100
	// maxImplied is how many times it may be taken without a number in digits that says so: "two pairs" has none.
	maxImplied = 4
)

// learn takes in a supported claim.
func (d *derivation) learn(c claim) {
	switch {
	case isDate(c.Fact) && len(d.dates) < maxLearned:
		d.dates = append(d.dates, c.withYear())
	case len(c.values) == 0 || len(c.others) > 0:
	case c.currency != "" && len(d.amounts) < maxLearned:
		d.amounts = append(d.amounts, c)
	case c.Unit == Percent && len(d.percentages) < maxLearned:
		d.percentages = append(d.percentages, c.values[0])
	case unitOf(c.Fact) != "" && len(d.measures) < maxLearned:
		d.measures = append(d.measures, c.Fact)
	}
	if c.kind() == Number && len(c.values) > 0 && len(d.stated) < maxLearned {
		d.stated = append(d.stated, c.values[0])
	}
	d.learnNumber(c)
}

// yieldsBare reports whether a bare number is the sum, the difference or the product of two of the text. Of one digit, almost any is.
func (d *derivation) yieldsBare(c claim) bool {
	if c.kind() != Number || len(c.others) > 0 {
		return false
	}
	const least = 10 * thousand
	return slices.ContainsFunc(c.values, func(v int64) bool {
		for i, a := range d.stated {
			for _, b := range d.stated[:i] {
				if v >= least && a != v && b != v && (v == a+b || v == a-b || v == b-a || v*thousand == a*b) {
					return true
				}
			}
		}
		return false
	})
}

// isBareAmount reports whether a number without a unit is an amount that follows from others, or one above or below a limit: "40 are missing".
func (d *derivation) isBareAmount(e *Evidence, c claim) bool {
	if c.currency != "" || c.Unit != "" || len(e.amounts) == 0 || !c.IsNumber() || slices.Contains(c.values, 0) {
		return false
	}
	c.currency = e.amounts[0].currency
	return d.yieldsAmount(e.amounts, c) || e.isBeyondLimit(c)
}

// known returns how many claims that others may follow from were taken in.
func (d *derivation) known() int { return len(d.amounts) + len(d.measures) + len(d.dates) }

// learnNumber takes in a whole number that may be a quantity, also one in words.
func (d *derivation) learnNumber(c claim) {
	isWhole := len(c.values) > 0 && len(c.others) == 0 && c.values[0]%thousand == 0 && c.values[0] <= maxQuantity*thousand
	if !isWhole || !c.IsNumber() || c.currency != "" || c.Unit == Percent || len(d.numbers) == maxLearned {
		return
	}
	d.numbers = append(d.numbers, c.values[0]/thousand)
	if unitOf(c.Fact) == "" || c.isFactor {
		d.pieces = append(d.pieces, c.values[0]/thousand)
	}
}

// learnPostage takes in what shipping costs by the evidence if a text speaks of shipping: "70.40 EUR with delivery".
func (d *derivation) learnPostage(s *subjects, o outline) {
	if o.has("SHIPPING") {
		d.postage = s.postage
	}
}

// learnOffers takes in the amounts and percentages off by the codes that a text names.
func (d *derivation) learnOffers(named []*subject) {
	for _, code := range ofKind(named, kindCode) {
		for _, offer := range code.fields["offer"] {
			for _, f := range Read(offer, "").Facts {
				off := claim{Fact: f, values: f.values()}
				switch {
				case len(off.values) == 0 || limitWords[f.Left] > 0: // 10 EUR off from 100 EUR
				case f.Unit == Percent && !slices.Contains(d.percentages, off.values[0]):
					d.learn(off)
				case f.currency != "" && len(d.offers) < maxLearned:
					d.offers = append(d.offers, off)
				}
			}
		}
	}
}

// yieldsCount reports whether a claim is how many things the text lists, or all but those of a tool's total.
func (d *derivation) yieldsCount(e *Evidence, c claim) bool {
	if !c.IsNumber() || c.currency != "" || len(c.others) > 0 || len(c.values) == 0 || c.values[0]%thousand != 0 {
		return false
	}
	n := c.values[0] / thousand
	return slices.ContainsFunc(d.counts, func(listed int64) bool { return listed > 0 && (n == listed || e.hasTotal(n+listed)) })
}

// without returns the derivation without the amounts that a claim states.
func (d *derivation) without(c claim) *derivation {
	rest := &derivation{percentages: d.percentages, numbers: d.numbers, pieces: d.pieces, postage: d.postage, offers: d.offers}
	for _, a := range d.amounts {
		if !shareOne(a.values, c.values) {
			rest.amounts = append(rest.amounts, a)
		}
	}
	return rest
}

// yields reports whether a claim is an amount or a percentage that can be derived from others.
func (d *derivation) yields(evidence []claim, c claim) bool {
	return d.yieldsAmount(evidence, c) || d.yieldsPercentage(evidence, c)
}

// yieldsAmount reports whether a claim is an amount that can be derived from others, or from two that follow each other in the
// evidence, also with postage or less what a code takes off.
func (d *derivation) yieldsAmount(evidence []claim, c claim) bool {
	return d.yieldsOwn(evidence, c) || d.isWithExtra(c, func(rest claim) bool { return d.yieldsOwn(evidence, rest) })
}

// isWithExtra reports whether a claim is an amount of the text, or one of which something is true, with postage or less what a code takes off.
func (d *derivation) isWithExtra(c claim, is func(claim) bool) bool {
	isBut := func(sign int64) func(claim) bool {
		return func(extra claim) bool {
			rest, ok := c.plus(sign, extra)
			return ok && !shareOne(rest.values, extra.values) && (slices.ContainsFunc(d.amounts, func(own claim) bool { return shareOne(own.values, rest.values) }) || is(rest))
		}
	}
	return slices.ContainsFunc(d.postage, isBut(-1)) || slices.ContainsFunc(d.offers, isBut(1))
}

// mayBeAmount reports whether a claim is an amount, or a bare number, which may be one: "44 EUR, the other one 8 more".
func (c claim) mayBeAmount() bool {
	return c.currency != "" || c.Unit != Percent && unitOf(c.Fact) == ""
}

// plus returns a claim with an amount added or taken away. ok is false if nothing is left, or the currencies differ.
func (c claim) plus(sign int64, a claim) (sum claim, ok bool) {
	if c.currency == "" || len(c.values) == 0 || len(a.values) == 0 || !sameCurrency(c.currency, a.currency) {
		return claim{}, false
	}
	sum = c
	sum.values = []int64{c.values[0] + sign*a.values[0]}
	return sum, sum.values[0] > 0
}

// yieldsOwn is yieldsAmount without postage and codes.
func (d *derivation) yieldsOwn(evidence []claim, c claim) bool {
	if c.currency == "" {
		return false
	}
	var own []int64
	for _, a := range d.amounts {
		if a.values[0] > 0 && sameCurrency(c.currency, a.currency) {
			own = append(own, a.values...)
		}
	}
	return slices.ContainsFunc(c.values, func(v int64) bool {
		if isSum(v, own, maxSummed) {
			return true
		}
		for i, a := range own {
			sum := a
			for _, b := range own[i+1:] {
				if sum += b; v == sum || v == a+b || v == a-b || v == b-a {
					return true
				}
			}
			if slices.ContainsFunc(d.numbers, func(n int64) bool { // two of these and one of those
				return n > 1 && n <= maxImplied && slices.ContainsFunc(own, func(b int64) bool { return b != a && v == n*a+b })
			}) {
				return true
			}
			if v%a == 0 && v/a <= maxImplied || slices.ContainsFunc(d.numbers, func(n int64) bool { return v == a*n }) ||
				d.isShare(v, a) {
				return true
			}
		}
		for _, a := range evidence {
			if sameCurrency(c.currency, a.currency) && slices.ContainsFunc(d.numbers, func(n int64) bool {
				return n > 2 && slices.ContainsFunc(a.values, func(x int64) bool { return isPart(v, x, n) })
			}) {
				return true
			}
		}
		return anyNeighbours(evidence, func(a, b claim, x, y int64) bool {
			return (v == x-y || v == y-x) && sameCurrency(c.currency, a.currency) && sameCurrency(c.currency, b.currency)
		})
	})
}

// maxSummed is how many amounts that do not follow each other may be added up, and maxSummands of how many.
const maxSummed, maxSummands = 4, 12

// isSum reports whether v is the sum of at most n of some amounts.
func isSum(v int64, amounts []int64, n int) bool {
	if n == 0 || len(amounts) > maxSummands {
		return false
	}
	for i, a := range amounts {
		if v == a && n < maxSummed || v > a && isSum(v-a, amounts[i+1:], n-1) {
			return true
		}
	}
	return false
}

// yieldsFrom reports whether a claim is a multiple of an amount of the evidence by a quantity that the text names, or what is left of
// such an amount without one that the text names: "four of them are 7.40 EUR", "without it, the cart is 163 EUR".
func (d *derivation) yieldsFrom(e *Evidence, c claim) bool {
	if c.currency == "" || len(c.others) > 0 {
		return false
	}
	has := func(v int64) bool { return e.hasAmount(claim{Fact: c.Fact, values: []int64{v}}) }
	return slices.ContainsFunc(c.values, func(v int64) bool {
		return slices.ContainsFunc(d.numbers, func(n int64) bool { return n > 1 && v%n == 0 && has(v/n) }) ||
			slices.ContainsFunc(d.amounts, func(a claim) bool { return sameCurrency(c.currency, a.currency) && has(v+a.values[0]) })
	})
}

// yieldsPercentage reports whether a claim is by how many percent an amount is less than another, to whole percent or tenths.
func (d *derivation) yieldsPercentage(evidence []claim, c claim) bool {
	if c.Unit != Percent {
		return false
	}
	return slices.ContainsFunc(c.values, func(v int64) bool {
		less := func(_, _ claim, x, y int64) bool {
			low, high := min(x, y), max(x, y)
			unit := int64(thousand)
			if v%thousand != 0 {
				unit /= 10
			}
			return high > low && v == ((high-low)*100*(thousand/unit)+high/2)/high*unit
		}
		return anyNeighbours(evidence, less) || anyNeighbours(d.amounts, less)
	})
}

// anyNeighbours reports whether something is true of two amounts that follow each other, and their values.
func anyNeighbours(amounts []claim, is func(a, b claim, x, y int64) bool) bool {
	for i := 1; i < len(amounts); i++ {
		a, b := amounts[i-1], amounts[i]
		if len(a.values) > 0 && len(b.values) > 0 && is(a, b, a.values[0], b.values[0]) {
			return true
		}
	}
	return false
}

// isAbout reports whether a claim rounds an amount and says so: "about 70 EUR" for 69.95 EUR.
func isAbout(c claim, amounts []claim) bool {
	return c.currency != "" && approximate[c.Left] > 0 && slices.ContainsFunc(amounts, func(a claim) bool {
		return len(a.values) > 0 && sameCurrency(c.currency, a.currency) && slices.ContainsFunc(c.values, func(v int64) bool {
			return isNearly(v, a.values[0])
		})
	})
}

// isAboutDerived reports whether a claim rounds a sum or difference of two amounts, or by how much one is less, and says so.
func isAboutDerived(c claim, amounts []claim) bool {
	if approximate[c.Left] == 0 || len(c.values) == 0 || c.currency == "" && c.Unit != Percent {
		return false
	}
	v := c.values[0]
	for i, a := range amounts[:min(len(amounts), maxLearned)] {
		for _, b := range amounts[:i] {
			if len(a.values) == 0 || len(b.values) == 0 || !sameCurrency(a.currency, b.currency) {
				continue
			}
			low, high := min(a.values[0], b.values[0]), max(a.values[0], b.values[0])
			if c.Unit == Percent && high > 0 && max(v-(high-low)*100*thousand/high, (high-low)*100*thousand/high-v) < 2*thousand ||
				c.currency != "" && sameCurrency(c.currency, a.currency) && (isNearly(v, high-low) || isNearly(v, high+low)) {
				return true
			}
		}
	}
	return false
}

// limitWords are the words before an amount that something depends on: "free from 75 EUR".
var limitWords = positions([]string{"from over above ab über dès desde de"})

// readLimits returns the amounts that something depends on: those that people wrote, and those behind a word for a limit.
func (e *Evidence) readLimits() []claim {
	var out []claim
	for i, f := range e.facts {
		isPersons := !e.places[e.origins[i]].isResult
		if values := e.values[i]; len(values) > 0 && values[0] >= 10*thousand && f.IsNumber() &&
			(isPersons && (f.currency != "" || f.Unit == "") || f.currency != "" && limitWords[f.Left] > 0) && len(out) < maxLearned {
			out = append(out, claim{Fact: f, values: values})
		}
	}
	return out
}

// isBeyondLimit reports whether a claim is by how much an amount is above or below a limit: "7 EUR more and shipping is free".
func (e *Evidence) isBeyondLimit(c claim) bool {
	if c.currency == "" || len(c.values) == 0 {
		return false
	}
	v := c.values[0]
	for _, limit := range e.limits {
		for _, a := range e.amounts {
			if len(a.values) == 0 || !sameCurrency(c.currency, a.currency) || limit.currency != "" && !sameCurrency(limit.currency, a.currency) {
				continue
			}
			diff := max(a.values[0]-limit.values[0], limit.values[0]-a.values[0])
			if v == diff || approximate[c.Left] > 0 && isNearly(v, diff) {
				return true
			}
		}
	}
	return false
}

// isOfSubjects reports whether a claim is the sum of the prices of products that are named, all or up to maxSummed, or of the totals of orders
// that are or of all, or the difference of two of few.
func (s *subjects) isOfSubjects(c claim, named []*subject) bool {
	if !c.mayBeAmount() {
		return false
	}
	for _, of := range []struct {
		field property
		list  []*subject
	}{{"price", ofKind(named, kindProduct)}, {"total", ofKind(named, kindOrder)}, {"total", ofKind(s.list, kindOrder)}} {
		var values []int64
		sum := int64(0)
		for _, n := range of.list {
			if v, currency, ok := n.valueOf(of.field); ok && v.least == v.largest && sameCurrency(currency, c.currency) {
				values, sum = append(values, v.least), sum+v.least
			}
		}
		if len(values) < 2 {
			continue
		}
		if slices.ContainsFunc(c.values, func(v int64) bool {
			return v == sum || isSum(v, values, maxSummed) || len(values) <= maxSummed && isDifferenceOf(v, values)
		}) {
			return true
		}
	}
	return false
}

// isDifferenceOf reports whether v is the difference of two of some values.
func isDifferenceOf(v int64, values []int64) bool {
	return slices.ContainsFunc(values, func(a int64) bool { return slices.Contains(values, a-v) })
}

// isWithSubjects reports whether a claim is an amount of the text with the price of a product that it names, or less what a code that it
// names saves.
func (d *derivation) isWithSubjects(c claim, named []*subject) bool {
	if !c.mayBeAmount() {
		return false
	}
	for _, n := range named {
		property, sign := property("price"), int64(1)
		if n.kind == kindCode {
			property, sign = "saving", -1
		}
		v, currency, ok := n.valueOf(property)
		if ok && (n.kind == kindCode || n.kind == kindProduct) && sameCurrency(currency, c.currency) && slices.ContainsFunc(c.values, func(total int64) bool {
			return slices.ContainsFunc(slices.Concat(d.amounts, d.postage, d.given), func(a claim) bool { return slices.Contains(a.values, total-sign*v.least) })
		}) {
			return true
		}
	}
	return false
}

// isWithCart reports whether a claim is the subtotal of the cart with something more that the text names.
func (d *derivation) isWithCart(e *Evidence, c claim, named []*subject) bool {
	return c.currency != "" && len(c.values) > 0 && slices.ContainsFunc(e.carts, func(cart claim) bool {
		more := c
		more.values = []int64{c.values[0] - cart.values[0]}
		isNamed := slices.ContainsFunc(d.amounts, func(a claim) bool { return shareOne(a.values, more.values) })
		return sameCurrency(cart.currency, c.currency) && more.values[0] > 0 && (isNamed || d.yieldsAmount(nil, more) || e.subjects.isOfSubjects(more, named))
	})
}

// swapsPercent reports whether a claim is a percentage where the promotion that it is about, or else one of those known, has the number as
// an amount, or the other way round. It is not derived from others then.
func (s *subjects) swapsPercent(c claim, about *subject) bool {
	if c.currency == "" && c.Unit != Percent {
		return false
	}
	codes := ofKind(s.list, kindCode)
	if about != nil && about.kind == kindCode {
		codes = []*subject{about}
	}
	isSwapped := false
	for _, reading := range c.readings {
		if len(reading) != 1 {
			continue
		}
		k := reading[0]
		swapped := key{percent, k.text}
		if k.kind == percent {
			swapped.kind = number
		}
		for _, code := range codes {
			if code.facts.has(k) {
				return false
			}
			isSwapped = isSwapped || code.facts.has(swapped)
		}
	}
	return isSwapped
}

// isNearly reports whether v is a number as people round it: by a small part, or to its own digits, such as 7 for 6.8.
func isNearly(v, exact int64) bool {
	diff, step := max(v-exact, exact-v), int64(1)
	for v > 0 && v%(step*10) == 0 {
		step *= 10
	}
	return diff <= exact/roundedShare || diff <= step/2 && diff <= exact/roundedDigits
}

// roundedShare is the part of an amount by which people round it.
const roundedShare = 40

// roundedDigits is the part of a number by which rounding to its digits may change it.
const roundedDigits = 12

// yieldsGiven reports whether a claim is a percentage of an amount that the shopper wrote, what it leaves, or that amount with one of the text or
// without it.
func (d *derivation) yieldsGiven(c claim) bool {
	return c.currency != "" && slices.ContainsFunc(d.given, func(g claim) bool {
		whole := g.values[0]
		return sameCurrency(c.currency, g.currency) && slices.ContainsFunc(c.values, func(v int64) bool {
			return d.isShare(v, whole) || slices.ContainsFunc(d.amounts, func(a claim) bool {
				return slices.ContainsFunc(a.values, func(w int64) bool { return w != whole && (v == whole+w || v == whole-w || v == w-whole) })
			})
		})
	})
}

// isShare reports whether v is one of the percentages of an amount, or what it leaves.
func (d *derivation) isShare(v, amount int64) bool {
	return slices.ContainsFunc(d.percentages, func(p int64) bool {
		part := amount / 10 * p / 10_000
		return isRounded(v, part) || isRounded(v, amount-part)
	})
}

// isPart reports whether v is an nth of an amount, rounded to hundredths: 66.50 of 199.50 in three parts.
func isPart(v, amount, n int64) bool { return max(v*n-amount, amount-v*n) <= 5*n }

// isRounded reports whether two amounts are the same but for rounding to hundredths.
func isRounded(a, b int64) bool { return a-b < 10 && b-a < 10 }
