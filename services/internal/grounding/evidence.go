package grounding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// MaxChecked bounds the claims that a check looks at. No honest answer makes as many.
	MaxChecked = 200
	// maxSources bounds the sources of one claim.
	maxSources = 3
	// rangeGap is how many bytes may stand between the numbers of a range: 2-3, 2 to 3.
	rangeGap = 6
)

// Evidence is what the claims of one answer may rest on: what tools returned, what people wrote, and what the assignment
// gives. The zero value supports nothing and is ready. It must not be used by several goroutines at once.
type Evidence struct {
	results []result
	texts   []string

	read    int     // texts that were read: results first, and only as many as the claims need
	facts   []Fact  // of these texts, in order
	origins []int   // of each fact, the number of its text
	set     Set     // the same, and their words
	amounts []claim // in order; only the facts and their values
	// bare are numbers without a currency that may be amounts, in thousandths.
	bare []int64

	hasSubjects bool   // subjects were read
	known       string // all results and texts, in lower case
	subjects    subjects
}

// AddResult adds what a tool call returned, as JSON or as text. All is added before the first Check.
func (e *Evidence) AddResult(callID, text string) {
	e.results = append(e.results, result{callID: callID, text: text})
}

// AddText adds what a person wrote, or what the assignment gives. All is added before the first Check.
func (e *Evidence) AddText(text string) { e.texts = append(e.texts, text) }

// Check checks the claims of a text. A claim is a number with its currency or percent sign, a date, a time, a code, an id or an
// address, a clause that asserts or denies something of the table of topics, and a sentence that claims an action. Numbers in words,
// and months and weekdays without a day are none. A claim is supported if it stands in the evidence, in whatever wording, or if it is
// a derived amount. It is contradicted if it stands there of another subject than its clause is about, or if the evidence says the
// opposite.
func (e *Evidence) Check(s string) Claims {
	const start = "\n" // where a number may count the items of a list
	e.readSubjects()
	s = start + s
	outline := e.subjects.outline(s, true)
	var all Claims
	add := func(c claim, about *subject, v Verdict, sources ...Source) {
		claim := Claim{Start: c.Start, End: c.end(), Text: c.text, Kind: c.kind(), Verdict: v, Sources: sources}
		if about != nil {
			claim.Subject = about.id
		}
		all = append(all, claim)
	}
	var d derivation
	var open, found []claim
	for _, c := range claimsOf(s) {
		if len(open)+len(found) == MaxChecked {
			break
		}
		if e.supports(c) && !e.hasOtherUnit(c) {
			d.learn(c)
			found = append(found, c)
		} else {
			open = append(open, c)
		}
	}
	for _, c := range found {
		if about := e.contradicted(outline, c, &d); about != nil {
			add(c, about, Contradicted, e.sources(c)...)
		} else {
			add(c, outline.subject(c.Start), Supported, e.sources(c)...)
		}
	}
	if len(open) > 0 {
		d.countItems(s)
		d.learnQuantities(s)
	}
	for _, c := range open {
		rule := d.ruleOf(e, c)
		if rule == "" {
			add(c, outline.subject(c.Start), Unsupported)
			continue
		}
		d.learn(c)
		add(c, outline.subject(c.Start), Supported, Source{Rule: rule})
	}
	all = append(all, e.subjects.unknownNames(outline, found, e.known)...)
	all = append(all, e.subjects.check(outline, MaxChecked-len(all))...)
	all = append(all, actionsOf(s, MaxChecked-len(all))...)
	for i := range all {
		all[i].Start, all[i].End = all[i].Start-len(start), all[i].End-len(start)
	}
	slices.SortStableFunc(all, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// readSubjects reads the subjects of the evidence, once.
func (e *Evidence) readSubjects() {
	if e.hasSubjects {
		return
	}
	e.hasSubjects = true
	for _, r := range e.results {
		e.subjects.addResult(r.text)
	}
	for _, s := range e.texts {
		e.subjects.common.Add(Read(s, ""))
	}
	var all strings.Builder
	for _, r := range e.results {
		all.WriteString(strings.ToLower(r.text))
	}
	for _, s := range e.texts {
		all.WriteString(strings.ToLower(s))
	}
	e.known = all.String()
}

// contradicted returns the subject of which the text states a claim that the evidence has of another one, or nil: also if the claim
// follows from other amounts.
func (e *Evidence) contradicted(o outline, c claim, d *derivation) *subject {
	if s := e.subjects.contradicts(o, c); s != nil && !d.without(c).yields(e.amounts, c) {
		return s
	}
	return nil
}

// ruleOf returns the rule by which a claim follows from the evidence and from what the text names, or "".
func (d *derivation) ruleOf(e *Evidence, c claim) string {
	switch {
	case d.yieldsCount(e, c):
		return RuleCount
	case d.yieldsFrom(e, c):
		return RuleQuantity
	case isConversion(c, e.facts):
		return RuleConversion
	case isDayOf(c, e.set.has):
		return RuleDay
	case d.yieldsAmount(e.amounts, c), isDifference(c, e.facts):
		return RuleAmount
	case d.yieldsPercentage(e.amounts, c):
		return RulePercentage
	case isAbout(c, e.amounts), isAboutDerived(c, e.amounts):
		return RuleRounding
	}
	return ""
}

// hasOtherUnit reports whether the evidence has the number of a claim only in another unit.
func (e *Evidence) hasOtherUnit(c claim) bool {
	last := c.Fact
	if n := len(c.others); n > 0 {
		last = c.others[n-1]
	}
	if unitOf(last) == "" {
		return false
	}
	for e.readNext() { // the other unit may stand in the first texts, and this one in the last
	}
	return hasOtherUnit(last, e.facts, false)
}

// sources returns where a claim stands in the evidence.
func (e *Evidence) sources(c claim) []Source {
	var out []Source
	for i, f := range e.facts {
		same := c.Matches(f)
		if c.currency != "" {
			same = (f.currency == "" || sameCurrency(c.currency, f.currency)) && f.IsNumber() && shareOne(c.values, f.values())
		}
		if !same || len(out) == maxSources {
			continue
		}
		if source := e.source(e.origins[i], f); !slices.Contains(out, source) {
			out = append(out, source)
		}
	}
	return out
}

// source returns the place of a fact of the nth text.
func (e *Evidence) source(n int, f Fact) Source {
	if n >= len(e.results) {
		return Source{Value: e.texts[n-len(e.results)][f.Start:f.End]}
	}
	r := &e.results[n]
	place := r.at(f.Start)
	if place.pointer == "" {
		place.value = r.text[f.Start:f.End]
	}
	return Source{CallID: r.callID, Pointer: place.pointer, Value: text.Cut(place.value, maxValue)}
}

// claim is a fact that a text must not state without support, or several that are one: the numbers of a range.
type claim struct {
	Fact
	text   string // as it stands
	others []Fact // of a range such as 2-3
	values []int64
}

// claimsOf returns the claims of a text.
func claimsOf(text string) []claim {
	var out []claim
	inRange := false
	for i, f := range Read(text, "").Facts {
		if f.isCurrency() || !f.Name && !strings.ContainsFunc(text[f.Start:f.End], unicode.IsDigit) {
			continue
		}
		if n := len(out) - 1; i > 0 && inRange && f.IsNumber() && text[out[n].end():f.Start] == "-" {
			out[n].others = append(out[n].others, f)
			out[n].text = text[out[n].Start:f.End]
			continue
		}
		inRange = f.IsNumber() && f.currency == ""
		out = append(out, claim{Fact: f, text: text[f.Start:f.End], values: f.values()})
	}
	return out
}

// end returns where the claim ends in its text.
func (c claim) end() int { return c.Start + len(c.text) }

// readNext reads the next text, and reports whether there was one.
func (e *Evidence) readNext() bool {
	if e.read == len(e.results)+len(e.texts) {
		return false
	}
	isResult := e.read < len(e.results)
	var text string
	if isResult {
		text = unescaped.Replace(e.results[e.read].text)
	} else {
		text = e.texts[e.read-len(e.results)]
	}
	read := Read(text, "")
	e.set.Add(read)
	e.facts = append(e.facts, read.Facts...)
	for _, f := range read.Facts {
		e.origins = append(e.origins, e.read)
		switch values := f.values(); {
		case f.currency != "":
			e.amounts = append(e.amounts, claim{Fact: f, values: values})
		case f.IsNumber() && len(values) > 0 && (!isResult || values[0]%thousand != 0): // what people write, and what looks like a price
			e.bare = append(e.bare, values...)
		}
	}
	e.read++
	return true
}

// unescaped undoes what JSON does to white space, so that words are words. Facts keep their places.
var unescaped = strings.NewReplacer(`\n`, "\n ", `\t`, "\t ", `\"`, `" `)

// supports reports whether a claim stands in the evidence. If it does not, all texts have been read. More texts never take
// support away, so a claim that stands in the first ones needs no others.
func (e *Evidence) supports(c claim) bool {
	for !e.has(c) {
		if !e.readNext() {
			return false
		}
	}
	return true
}

// has reports whether a claim stands in the texts that were read.
func (e *Evidence) has(c claim) bool {
	switch {
	case len(c.others) > 0:
		return e.hasRange(append([]Fact{c.Fact}, c.others...))
	case c.currency != "":
		return e.hasAmount(c)
	case c.Name:
		return e.set.hasWhole(c.Fact)
	}
	return e.set.Has(c.Fact)
}

// hasRange reports whether the evidence has the numbers of a range one right after the other.
func (e *Evidence) hasRange(numbers []Fact) bool {
	for i := range e.facts {
		if i+len(numbers) > len(e.facts) {
			break
		}
		matches := true
		for j, f := range numbers {
			other := e.facts[i+j]
			if matches = f.Matches(other) && (j == 0 || isNear(other.Start, e.facts[i+j-1].End)); !matches {
				break
			}
		}
		if matches {
			return true
		}
	}
	return false
}

func isNear(start, end int) bool { return start >= end && start-end <= rangeGap }

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
