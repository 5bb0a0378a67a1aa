package grounding

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// MaxChecked bounds the claims that a check looks at. No honest answer makes as many.
	MaxChecked = 200
	// maxSources bounds the sources of one claim.
	maxSources = 3
)

// Evidence is what the claims of one answer may rest on: what tools returned, what people wrote, and what the assignment
// gives. The zero value supports nothing and is ready. It must not be used by several goroutines at once.
type Evidence struct {
	// Language is the language in which the answer is to be, a BCP 47 tag. Empty: it is unknown.
	Language string

	results []result
	texts   []string

	isRead  bool
	places  []place
	facts   []Fact    // of the places, in order
	values  [][]int64 // of each fact
	origins []int     // of each fact, the number of its place
	set     Set       // the same, and the words
	amounts []claim   // in order; only the facts and their values
	// bare are numbers without a currency that may be amounts, in thousandths.
	bare     []int64
	limits   []claim // amounts that something depends on
	carts    []claim // subtotals of carts
	given    []claim // amounts and measures that people wrote
	timeline timeline
	subjects subjects
}

// result is what a tool returned.
type result struct{ callID, text string }

// place is a text of the evidence: a string or number of a tool's result, a result that is no JSON, or what a person wrote.
type place struct {
	callID, pointer, text string
	isResult              bool
}

// AddResult adds what a tool call returned, as JSON or as text. All is added before the first check.
func (e *Evidence) AddResult(callID, text string) {
	e.results = append(e.results, result{callID: callID, text: text})
}

// AddText adds what a person wrote, or what the assignment gives. All is added before the first check.
func (e *Evidence) AddText(text string) { e.texts = append(e.texts, text) }

// ReadAhead reads evidence by a function that does so once, while a model writes. The caller waits for the group. If the function panics,
// so does the first check, which calls it too.
func ReadAhead(group *sync.WaitGroup, read func()) {
	group.Go(func() {
		defer func() { _ = recover() }()
		read()
	})
}

// Check checks the claims of a text, as a Checker does sentence by sentence.
func (e *Evidence) Check(s string) Claims {
	k := e.NewChecker()
	k.Write(s)
	return k.Claims()
}

// ruleOf returns the rule by which a claim follows from the evidence and from what the text names, or "".
func (d *derivation) ruleOf(e *Evidence, c claim, named []*subject) string {
	c = c.asAmount(e.amounts)
	switch {
	case d.yieldsCount(e, c):
		return RuleCount
	case d.yieldsFrom(e, c), d.multipliesMeasure(c, e.facts):
		return RuleQuantity
	case isConversion(c, e.facts), isConversion(c, d.measures):
		return RuleConversion
	case isDayOf(c, e.set.has), d.isDay(c, e.timeline):
		return RuleDay
	case d.yieldsAmount(e.amounts, c), d.yieldsGiven(c), isDifference(c, e.facts), isSumOf(c, e.facts), d.yieldsMeasure(c), d.isOfNamed(e, c, named), e.isBeyondLimit(c),
		d.isWithExtra(c, func(rest claim) bool { return d.isOfNamed(e, rest, named) }):
		return RuleAmount
	case d.yieldsPercentage(e.amounts, c):
		return RulePercentage
	case d.yieldsBare(c), d.isBareAmount(e, c):
		return RuleAmount
	case isAbout(c, e.amounts), isAboutDerived(c, e.amounts), isAboutDerived(c, d.amounts), isAboutMeasure(c, e.facts):
		return RuleRounding
	}
	return ""
}

// isOfNamed reports whether a claim follows from the prices of what is named and from the cart.
func (d *derivation) isOfNamed(e *Evidence, c claim, named []*subject) bool {
	return e.subjects.isOfSubjects(c, named) || d.isWithSubjects(c, named) || d.isWithCart(e, c, named)
}

// asAmount returns a number that is written like an amount or added up, without a currency, as one in that of the evidence: "49,00", and
// "15 + 16 = 31 EUR"; and cents as the part of one.
func (c claim) asAmount(amounts []claim) claim {
	digits := len(c.text) - 1 - strings.LastIndexAny(c.text, ".,")
	isDay := slices.ContainsFunc(c.readings, func(reading []key) bool { return reading[0].kind == day })
	if hundredths := subunitUnits[c.Unit] && c.IsNumber() && len(c.values) > 0; hundredths && len(amounts) > 0 {
		c.currency, c.values = amounts[0].currency, []int64{c.values[0] / 100}
		return c
	}
	isPlain := c.Unit == "" || isStopWord(text.Fold(c.Unit)) || c.isSummand
	if c.currency == "" && c.Unit != Percent && unitOf(c.Fact) == "" && isPlain && !isDay && c.IsNumber() && (digits == 2 && digits < len(c.text)-1 || c.isSummand) && len(amounts) > 0 {
		c.currency = amounts[0].currency
	}
	return c
}

// hasOtherUnit reports whether the evidence has the number of a claim only in another unit.
func (e *Evidence) hasOtherUnit(c claim) bool {
	last := c.Fact
	if n := len(c.others); n > 0 {
		last = c.others[n-1]
	}
	return hasOtherUnit(last, e.facts, false)
}

// sources returns where a claim stands in the evidence.
func (e *Evidence) sources(c claim) []Source {
	var out []Source
	for i, f := range e.facts {
		var same bool
		if c.currency == "" {
			same = c.Matches(f)
		} else {
			same = (f.currency == "" || sameCurrency(c.currency, f.currency)) && f.IsNumber() && shareOne(c.values, e.values[i])
		}
		if !same {
			continue
		}
		if source := e.places[e.origins[i]].source(f); !slices.Contains(out, source) {
			out = append(out, source)
		}
		if len(out) == maxSources {
			break
		}
	}
	return out
}

// isInResults reports whether a fact stands in a tool's result.
func (e *Evidence) isInResults(c claim) bool {
	for i, f := range e.facts {
		if e.places[e.origins[i]].isResult && c.Matches(f) {
			return true
		}
	}
	return false
}

// source returns the source of a fact: what stands in its place in JSON, or the fact as it stands.
func (p place) source(f Fact) Source {
	if p.pointer == "" {
		return Source{CallID: p.callID, Value: p.text[f.Start:f.End]}
	}
	return Source{CallID: p.callID, Pointer: p.pointer, Value: text.Cut(p.text, maxValue)}
}

// claim is a fact that a text must not state without support, or several that are one: the numbers of a range.
type claim struct {
	Fact
	text      string // as it stands
	others    []Fact // of a range such as 2-3
	values    []int64
	isSummand bool // it stands beside a sign of addition or equality
	isFactor  bool // it stands before a sign of multiplication and an amount
}

// claimsOf returns the claims of a text. Numbers in words of its language, the base of a BCP 47 tag or "", are claims with a period or one of
// some units only.
func claimsOf(text, language string, units map[string]bool) []claim {
	return Read(text, language).claims(units)
}

// claims returns the claims of a text, as claimsOf does.
func (t Text) claims(units map[string]bool) []claim {
	var out []claim
	text, inRange := t.raw, false
	for i, f := range t.Facts {
		isInWords := !f.Name && !strings.ContainsFunc(text[f.Start:f.End], unicode.IsDigit)
		if f.isCurrency() || isInWords && !(f.IsNumber() && (isPeriod(f) || units[f.Unit])) {
			continue
		}
		n := len(out) - 1
		if i > 0 && inRange && f.IsNumber() && out[n].end() < f.Start && text[out[n].end():f.Start] == "-" { // "11$1" is two amounts with one sign
			out[n].others = append(out[n].others, f)
			out[n].text = text[out[n].Start:f.End]
			continue
		}
		inRange = f.IsNumber() && f.currency == ""
		c := t.claim(f)
		if i+1 < len(t.Facts) && t.Facts[i+1].currency != "" {
			sign := strings.Trim(text[f.End:max(f.End, t.Facts[i+1].Start)], spaces+"*")
			c.isFactor = sign == "×" || sign == "x"
		}
		out = append(out, c)
	}
	return out
}

// claim returns a fact of the text as a claim.
func (t Text) claim(f Fact) claim {
	before, after := strings.TrimRight(t.raw[:f.Start], spaces+"*"), strings.TrimLeft(t.raw[f.End:], spaces+"*")
	isFactor := strings.HasPrefix(after, "×") || strings.HasPrefix(after, "x ") || strings.HasSuffix(before, "×") || strings.HasSuffix(before, " x")
	return claim{Fact: f, text: t.raw[f.Start:f.End], values: f.values(), isSummand: !isFactor && (addsTo(after) || isAddedTo(before))}
}

// addsTo reports whether a text begins with a sign of addition or equality and a number or an amount behind it: "100+ reviews" adds nothing.
func addsTo(after string) bool {
	if after == "" || !strings.ContainsAny(after[:1], "+=") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after[1:], spaces+"*"))
	return unicode.IsDigit(next) || unicode.Is(unicode.Sc, next)
}

// isAddedTo reports whether a text ends in such a sign and has a number or an amount before it.
func isAddedTo(before string) bool {
	if before == "" || !strings.ContainsAny(before[len(before)-1:], "+=") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before[:len(before)-1], spaces+"*"))
	return unicode.IsDigit(last) || unicode.Is(unicode.Sc, last)
}

// made returns the claim with a verdict.
func (c claim) made(v Verdict) Claim {
	return Claim{Start: c.Start, End: c.end(), Text: c.text, Kind: c.kind(), Verdict: v}
}

// end returns where the claim ends in its text.
func (c claim) end() int { return c.Start + len(c.text) }

// has reports whether a claim stands in the evidence.
func (e *Evidence) has(c claim) bool {
	switch {
	case len(c.others) > 0:
		return e.set.Has(c.Fact) && !slices.ContainsFunc(c.others, func(f Fact) bool { return !e.set.Has(f) })
	case c.currency != "":
		return e.hasAmount(c)
	case c.Name:
		return e.set.hasWhole(c.Fact)
	}
	return e.set.Has(c.Fact)
}

// hasAmount reports whether the evidence has an amount, or the bare number and, elsewhere, the currency.
func (e *Evidence) hasAmount(c claim) bool {
	isSame := func(a claim) bool { return sameCurrency(c.currency, a.currency) }
	if slices.ContainsFunc(e.amounts, func(a claim) bool { return isSame(a) && shareOne(c.values, a.values) }) {
		return true
	}
	return shareOne(c.values, e.bare) && slices.ContainsFunc(e.amounts, isSame)
}

// shareOne reports whether two lists have a value in common.
func shareOne(a, b []int64) bool {
	return slices.ContainsFunc(a, func(v int64) bool { return slices.Contains(b, v) })
}

// sameCurrency reports whether two currencies may be the same, since several share a sign.
func sameCurrency(a, b string) bool { return a == b || signOf[a] == b || signOf[b] == a }

// hasTotal reports whether a tool returned a number as its total.
func (e *Evidence) hasTotal(n int64) bool {
	total := `"total":` + strconv.FormatInt(n, 10)
	return slices.ContainsFunc(e.results, func(r result) bool {
		_, after, found := strings.Cut(r.text, total)
		return found && (after == "" || after[0] != '.' && !unicode.IsDigit(rune(after[0])))
	})
}
