package grounding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Checker checks the claims of a text sentence by sentence, as it is written. A claim is a number with its currency or percent sign, a
// date, a time, a code, an id or an address, a clause that asserts or denies something of the table of topics, and a sentence that claims
// an action. Numbers in words without a period, and months and weekdays without a day are none. A claim is supported if it stands in the evidence, in
// whatever wording, or if it is a derived amount. It is contradicted if it stands there of another subject than its clause is about, or if
// the evidence says the opposite.
type Checker struct {
	evidence *Evidence
	text     strings.Builder
	shown    string // language of the text so far; "": it shows none
	stated   []stated
	others   Claims     // that are no facts
	named    []*subject // that the text names
	focus    []*subject // the products that its last clause may be about

	derivation derivation
	items      int64 // of the lists of the text
	quantities int   // the bytes of the text from which quantities were learned
}

// settled is the length of a text, in bytes, from which its language no longer changes.
const settled = 300

// stated is a fact that the text states.
type stated struct {
	claim
	made  Claim
	about *subject // of the clause; nil: it is not known
	other *subject // that the evidence has the claim of, and not of the subject that the text has it of
}

// NewChecker returns a checker of a text that rests on the evidence, to which nothing is added from then on.
func (e *Evidence) NewChecker() *Checker {
	e.Read()
	k := &Checker{evidence: e}
	k.derivation.learnOffers(e.subjects.askedFor)
	for _, a := range e.given {
		if unitOf(a.Fact) != "" {
			k.derivation.learn(a)
			continue
		}
		if a.currency == "" && len(e.amounts) > 0 {
			a.currency = e.amounts[0].currency
		}
		k.derivation.given = append(k.derivation.given, a)
	}
	return k
}

// Text returns the text so far.
func (k *Checker) Text() string { return k.text.String() }

// Write adds a text by its sentences.
func (k *Checker) Write(s string) {
	for _, sentence := range text.SplitSentences(s) {
		k.Add(sentence)
	}
}

// Add adds the next sentence with the space before it, and returns the claims in it, as the text so far supports them.
func (k *Checker) Add(sentence string) Claims {
	const start = "\n" // where a number may count the items of a list
	s, offset := sentence, k.text.Len()
	if offset == 0 {
		s, offset = start+s, -len(start)
	}
	k.text.WriteString(sentence)
	e := k.evidence
	outline := e.subjects.outline(s, k.focus)
	if n := len(outline.focus); n > 0 {
		k.focus = outline.focus[n-1].products
	}
	first := len(k.stated)
	if k.text.Len() < settled || k.shown == "" { // a first sentence of titles may show another language than the answer's
		k.shown = text.Language(k.text.String())
	}
	shown, language := k.shown, languageOf(k.shown, e.Language)
	for _, c := range claimsOf(s, language, e.subjects.units) {
		if k.left() == 0 {
			break
		}
		f := stated{claim: c, made: c.made(Unsupported)}
		f.made.Start, f.made.End = f.made.Start+offset, f.made.End+offset
		if f.about = outline.subject(c.Start); f.about != nil {
			f.made.Subject = f.about.id
		}
		if e.has(c) && !(uses(famUnits) && e.hasOtherUnit(c)) && !(uses(famArrival) && c.Unit == Time && outline.promisesArrival(c.Start) && !e.isInResults(c)) {
			f.made.Verdict, f.made.Sources = Supported, e.sources(c)
			if uses(famSubjects) {
				f.other = e.subjects.contradicts(outline, c)
			}
			k.derivation.learn(c.asAmount(e.amounts))
		} else if c.isFactor && c.kind() == Number { // 4 × 24.90 EUR: the product is checked
			f.made.Verdict = Undecided
		}
		k.stated = append(k.stated, f)
	}
	k.derivation.learnPostage(&e.subjects, outline)
	_, lines, _ := strings.Cut(s, "\n")
	for l := range strings.Lines(lines) {
		if IsItem(strings.TrimLeft(l, " \t"), ".)") {
			k.items++
		}
	}
	hasNames := hasCapitalsForNames(language) && hasCapitalsForNames(cmp.Or(e.Language, shown))
	outline.amounts = k.derivation.amounts
	var others Claims
	if uses(famNames) {
		others = e.subjects.unknownName(outline, k.found(first), hasNames)
	}
	if len(others) == 0 && hasNames && uses(famProperNames) {
		others = e.subjects.properName(outline, shown)
	}
	others = append(others, e.subjects.check(outline, k.named, k.left())...)
	if uses(famPieces) {
		others = append(others, e.subjects.miscounted(outline, language, k.named, k.stated[first:])...)
	}
	if uses(famComparisons) {
		others = append(others, e.subjects.compare(outline, k.named)...)
	}
	for i, r := range outline.own {
		k.derivation.learnOffers(r.mentioned)
		k.named = append(k.named, r.mentioned...)
		if p := outline.focus[i].own(); p != nil && !slices.Contains(k.named, p) {
			k.named = append(k.named, p)
		}
	}
	if len(others) < k.left() && claimAction(outline.words) {
		others = append(others, SentenceClaim(s, 0, Action, Unsupported))
	}
	for i := range others {
		others[i].Start, others[i].End = others[i].Start+offset, others[i].End+offset
	}
	made := inOrder(k.judge(first), others)
	if len(made) == 0 && k.left() > 0 {
		others = uncompared(sentence, k.text.Len()-len(sentence))
		made = others
	}
	k.others = append(k.others, others...)
	return made
}

// Claims returns the claims of the text. Amounts that follow from others that come later, such as a sum before its parts, are supported.
func (k *Checker) Claims() Claims { return inOrder(k.judge(0), k.others) }

// found returns the facts from the first one on that stand in the evidence.
func (k *Checker) found(first int) []claim {
	var out []claim
	for _, f := range k.stated[first:] {
		if f.made.Verdict == Supported {
			out = append(out, f.claim)
		}
	}
	return out
}

// left returns how many claims are still looked at.
func (k *Checker) left() int { return max(0, MaxChecked-len(k.stated)-len(k.others)) }

func inOrder(a, b Claims) Claims {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// judge returns the claims of the facts from the first one on. It decides those anew that more text may support: a sum may stand before
// the multiples that it adds up.
func (k *Checker) judge(first int) Claims {
	known := k.derivation.known()
	out := k.judgeOnce(first)
	if k.derivation.known() > known {
		return k.judgeOnce(first)
	}
	return out
}

func (k *Checker) judgeOnce(first int) Claims {
	var out Claims
	named := slices.Concat(k.named, k.evidence.subjects.askedFor)
	for i := range k.stated[first:] {
		f := &k.stated[first+i]
		switch {
		case f.other != nil && !k.derivation.without(f.claim).yields(nil, f.claim):
			contradicted := f.made
			contradicted.Verdict, contradicted.Subject = Contradicted, f.other.id
			out = append(out, contradicted)
			continue
		case f.made.Verdict == Unsupported && !k.evidence.subjects.swapsPercent(f.claim, f.about):
			k.learnQuantities()
			if rule := k.derivation.ruleOf(k.evidence, f.claim, named); rule != "" && uses(rule) {
				f.made.Verdict, f.made.Sources = Supported, []Source{{Rule: rule}}
				k.derivation.learn(f.claim.asAmount(k.evidence.amounts))
			}
		}
		out = append(out, f.made)
	}
	return out
}

// learnQuantities takes in the whole numbers of the text, also in words, and counts what it lists: items and amounts.
func (k *Checker) learnQuantities() {
	d, s := &k.derivation, k.text.String()
	d.counts = append(d.counts[:0], k.items, int64(len(d.amounts)))
	if k.quantities == len(s) {
		return
	}
	for _, f := range Read(s[k.quantities:], languageOf(text.Language(s), k.evidence.Language)).Facts {
		d.learnNumber(claim{Fact: f, values: f.values()})
	}
	k.quantities = len(s)
}
