package grounding

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// MergeEvidence is what a merged text may rest on: the facts of the answers, and what the shopper wrote where the text only
// quotes it. It is only read once all is added, so goroutines may share it from then on.
type MergeEvidence struct {
	// Language is the base of the reply's language, such as "de", for texts that show no language of their own.
	Language string
	// ProductIDs are the ids of products by their titles, for the subjects of claims. A title without one stands for itself.
	ProductIDs map[string]string

	sections []*Section
	amounts  []claim         // of the sections, in order
	currency Set             // of the store
	counts   Set             // how many products, items and prices a section has, which a text may state
	units    map[string]bool // what the sections give numbers of
	shopper  []Fact
	messages []string // of the shopper

	answers  []answer
	subjects func() *subjects // of the answers, made once
}

type answer struct {
	text   string
	titles []string
}

// Section is an answer that a reply is merged from, as the checks look at it. It is immutable.
type Section struct {
	Text
	// Set is what the section says.
	Set Set

	timeline timeline
}

// Read reads a text in the language that it shows, or in that of the reply.
func (e *MergeEvidence) Read(s string) Text {
	shown := text.Language(s)
	t := Read(s, languageOf(shown, e.Language))
	t.shown = shown
	return t
}

// languageOf returns the language that a text shows if its numerals are known, and else that of the reply: short Spanish may look like
// Portuguese.
func languageOf(shown, reply string) string {
	if numerals[shown] == nil {
		return reply
	}
	return shown
}

// AddShopper adds what the shopper wrote.
func (e *MergeEvidence) AddShopper(message string) {
	e.shopper = append(e.shopper, e.Read(message).Facts...)
	e.messages = append(e.messages, message)
}

// AddCurrency adds the currency of the store, by its ISO 4217 code in capitals, and the sign that it shares with others.
func (e *MergeEvidence) AddCurrency(code string) {
	e.currency.add(moneyKey(code))
	if sign := signOf[code]; sign != "" {
		e.currency.add(moneyKey(sign))
	}
}

// AddAnswer adds an answer, and the titles of the products that stand beside it.
func (e *MergeEvidence) AddAnswer(answer string, titles []string) *Section {
	s := &Section{Text: e.Read(answer)}
	s.timeline = newTimeline(s.Facts)
	e.addSubjects(answer, titles)
	s.Set.Add(s.Text)
	e.sections = append(e.sections, s)
	if e.units == nil {
		e.units = map[string]bool{}
	}
	items, prices := 0, 0
	for line := range strings.Lines(answer) {
		if IsItem(strings.TrimSpace(line), ".") {
			items++
		}
	}
	for _, f := range s.Facts {
		if f.Unit != "" {
			e.units[f.Unit] = true
		}
		if f.currency != "" && f.IsNumber() {
			prices++
			e.amounts = append(e.amounts, claim{Fact: f, values: f.values()})
		}
	}
	for _, n := range []int{items, prices, len(titles)} {
		if n > 1 {
			e.counts.add(countKey(n))
		}
	}
	return s
}

// addSubjects adds an answer whose subjects are the products beside it and the codes in it.
func (e *MergeEvidence) addSubjects(raw string, titles []string) {
	e.answers = append(e.answers, answer{raw, titles})
	e.subjects = sync.OnceValue(func() *subjects {
		var s subjects
		facts := make([][]Fact, len(e.answers))
		for i, a := range e.answers {
			facts[i] = Read(a.text, "").Facts
			for _, title := range a.titles {
				s.subject(kindProduct, cmp.Or(e.ProductIDs[title], title), title)
			}
			for _, f := range facts[i] {
				if f.Name && strings.ContainsFunc(a.text[f.Start:f.End], unicode.IsDigit) && !strings.Contains(a.text[f.Start:f.End], "://") {
					kind := kindCode
					if hits := hitsOf(text.Words(f.Left)); len(hits) > 0 && hits[0].topic == "ORDER" {
						kind = kindOrder
					}
					s.subject(kind, a.text[f.Start:f.End], a.text[f.Start:f.End])
				}
			}
		}
		known := slices.Clone(e.messages)
		for i, a := range e.answers {
			s.addAnswer(a.text, facts[i])
			known = append(append(known, a.text), a.titles...)
		}
		s.known = strings.ToLower(strings.Join(known, "\n"))
		return &s
	})
}

// Prepare reads what the answers say of their subjects, unless that was done. The first check does it otherwise.
func (e *MergeEvidence) Prepare() {
	if e.subjects != nil {
		e.subjects()
	}
}

// addAnswer adds what an answer, and its facts, say of subjects that were added before.
func (s *subjects) addAnswer(raw string, facts []Fact) {
	o := s.outline(raw, nil)
	for _, f := range facts {
		_, r := o.at(f.Start)
		if len(r.named) == 0 {
			s.common.AddFacts(f)
		}
		named := r.named
		if f.currency == "" && o.standsBeforeNames(f.Start) {
			named = o.namedIn(f.Start)
		}
		for _, n := range named {
			n.facts.AddFacts(f)
		}
	}
	s.addStatements(o, nil)
	s.addLikely(o)
}

// standsBeforeNames reports whether a byte is before all names of its sentence, where a value may be of all of them: "down to -10 °C go the
// first and the second".
func (o outline) standsBeforeNames(offset int) bool {
	clause := o.clauseAt(offset)
	for i := clause; i >= 0 && o.clauses[i].sentence == o.clauses[clause].sentence; i-- {
		for _, n := range o.own[i].named {
			if slices.ContainsFunc(o.clauses[i].words, func(w text.Word) bool { return w.Start < offset && slices.Contains(n.words, nameWord(w.Text)) }) {
				return false
			}
		}
	}
	return true
}

// namedIn returns the subjects that the sentence of a byte names from there on.
func (o outline) namedIn(offset int) []*subject {
	var out []*subject
	first := max(o.clauseAt(offset), 0)
	for i := first; i < len(o.clauses) && o.clauses[i].sentence == o.clauses[first].sentence; i++ {
		out = append(out, o.own[i].named...)
	}
	return out
}

// Rejected returns what keeps a text from being said: facts that neither stand in the evidence nor are derived from it, claims that are
// true of other subjects, what the answers assert and it denies, and actions that it claims. Empty: the text rests on the evidence.
// Amounts may be derived from those of the text before it, too.
func (e *MergeEvidence) Rejected(t, before Text) Claims {
	return slices.Concat(e.unsupportedFacts(t, before), e.checkStatements(t).Rejected(), actionsOf(t.raw, MaxChecked))
}

// RejectedLiterally returns which literal claims of a text do not rest on the evidence.
func (e *MergeEvidence) RejectedLiterally(t Text) Claims {
	var out Claims
	for _, f := range t.Facts {
		if f.Name && !f.holds(e.has) && !e.quotes(f) {
			out = append(out, t.claim(f).made(Unsupported))
		}
	}
	isMeaning := func(c Claim) bool { return !c.Kind.IsLiteral() }
	return slices.Concat(out, slices.DeleteFunc(e.checkStatements(t).Rejected(), isMeaning), actionsOf(t.raw, MaxChecked))
}

// checkStatements returns the claims of what a text says of subjects, as far as it is not in its facts alone.
func (e *MergeEvidence) checkStatements(t Text) Claims {
	if e.subjects == nil {
		return nil
	}
	s := e.subjects()
	o := s.outline(t.raw, nil)
	var d derivation
	claims := t.claims(nil)
	for _, c := range claims {
		d.learn(c)
	}
	o.amounts = d.amounts
	out := append(s.check(o, nil, MaxChecked), s.unknownName(o, claims, hasCapitalsForNames(t.shown))...)
	for _, c := range claims {
		if about := s.contradicts(o, c); about != nil && !d.without(c).yields(e.amounts, c) {
			made := c.made(Contradicted)
			made.Subject = about.id
			out = append(out, made)
		}
	}
	return out
}

// unsupportedFacts returns the facts of a text that neither rest on the evidence nor are amounts derived from it.
func (e *MergeEvidence) unsupportedFacts(t, before Text) Claims {
	var said derivation
	var open []claim
	for _, f := range t.Facts {
		c := t.claim(f)
		isWeekday := func(s *Section) bool { return t.isWeekday(f, s.timeline) }
		if f.holds(e.has) && !e.hasOtherUnit(f) || e.quotes(f) || slices.ContainsFunc(e.sections, isWeekday) {
			said.learn(c.asAmount(e.amounts))
		} else {
			open = append(open, c)
		}
	}
	for _, f := range before.Facts { // "Together they are 100 EUR."
		said.learn(claim{Fact: f, values: f.values()})
	}
	open = slices.DeleteFunc(open, func(c claim) bool {
		if t.statesNothing(c.Fact) {
			said.learn(c)
			return true
		}
		return said.isQuantity(c, e.amounts, open)
	})
	var out Claims
	for _, c := range open {
		if said.ruleOfMerge(e, c) != "" {
			said.learn(c.asAmount(e.amounts))
			continue
		}
		out = append(out, c.made(Unsupported))
	}
	return out
}

// statesNothing reports whether a fact of a text is a number that may only word it: a small one in words, as in "two answers", a zero, or one
// without a unit in a question.
func (t Text) statesNothing(f Fact) bool {
	if !f.IsNumber() || f.currency != "" || unitOf(f) != "" {
		return false
	}
	values, isInWords := f.values(), !strings.ContainsFunc(t.raw[f.Start:f.End], unicode.IsDigit)
	return isInWords && f.Plain || len(values) > 0 && values[0] == 0 || strings.HasSuffix(strings.TrimRight(t.raw, closers), "?")
}

// isQuantity reports whether a claim is a number of pieces by which one of some amounts is a multiple of one of the evidence, and learns it:
// "two bags are 78 EUR".
func (d *derivation) isQuantity(c claim, evidence, amounts []claim) bool {
	if len(c.values) == 0 || c.currency != "" || unitOf(c.Fact) != "" || c.values[0] > maxQuantity*thousand {
		return false
	}
	n := c.values[0] / thousand
	is := slices.ContainsFunc(amounts, func(a claim) bool { return (&derivation{numbers: []int64{n}}).isMultiple(evidence, a) })
	if is {
		d.learn(c)
	}
	return is
}

// isMultiple reports whether a claim is an amount of the evidence times a number of pieces that the text has.
func (d *derivation) isMultiple(evidence []claim, c claim) bool {
	return c.currency != "" && slices.ContainsFunc(d.numbers, func(n int64) bool {
		return n > 1 && slices.ContainsFunc(evidence, func(one claim) bool {
			return len(one.values) > 0 && sameCurrency(c.currency, one.currency) && slices.Contains(c.values, n*one.values[0])
		})
	})
}

// Check returns the claims of a reply. known are the claims of the answers: a claim that an answer makes, too, has its verdict and
// sources. One that only stands in an answer's text is undecided.
func (e *MergeEvidence) Check(s string, known Claims) Claims {
	facts := make([]claim, len(known))
	for i, k := range known {
		if claims := claimsOf(k.Text, e.Language, nil); len(claims) == 1 {
			facts[i] = claims[0]
		}
	}
	var all Claims
	var said derivation
	t := e.Read(s)
	for _, c := range t.claims(nil) {
		if len(all) == MaxChecked {
			break
		}
		claim := c.made(Supported)
		if i := slices.IndexFunc(facts, c.isSame); i >= 0 {
			claim.Subject, claim.Verdict, claim.Sources = known[i].Subject, known[i].Verdict, known[i].Sources
		} else if rule := said.ruleOfMerge(e, c); rule != "" {
			claim.Sources = []Source{{Rule: rule}}
		} else if e.quotes(c.Fact) {
			claim.Sources = []Source{{Value: c.text}}
		} else if c.holds(e.has) && !e.hasOtherUnit(c.Fact) {
			claim.Verdict = Undecided
		} else {
			claim.Verdict = Unsupported
		}
		if claim.Verdict != Unsupported {
			said.learn(c)
		}
		all = append(all, claim)
	}
	for _, c := range e.checkStatements(t) {
		if i := slices.IndexFunc(all, func(o Claim) bool { return o.Start == c.Start && o.Kind == c.Kind }); i >= 0 {
			all[i] = c
		} else if len(all) < MaxChecked {
			all = append(all, c)
		}
	}
	all = append(all, actionsOf(s, MaxChecked-len(all))...)
	end := 0
	for _, sentence := range text.SplitSentences(s) {
		start := end
		end += len(sentence)
		if len(all) < MaxChecked && !slices.ContainsFunc(all, func(c Claim) bool { return c.Start < end && c.End > start }) {
			all = append(all, uncompared(sentence, start)...)
		}
	}
	for i, c := range all {
		same := func(k Claim) bool { return k.Kind == Statement && k.Text == c.Text }
		if k := slices.IndexFunc(known, same); k >= 0 && c.Kind == Statement && c.Verdict == Undecided {
			all[i].Verdict, all[i].Sources = known[k].Verdict, known[k].Sources
		}
	}
	slices.SortStableFunc(all, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// Meant returns the facts of the answers that a text has in other words: rounded, in another unit, as "a year", as the double of a half price,
// or a day without its month.
func (e *MergeEvidence) Meant(t Text) []Fact {
	var out []Fact
	isHalf := hasHalf(t.raw)
	var d derivation
	for _, f := range t.Facts {
		d.learnNumber(claim{Fact: f, values: f.values()})
	}
	for _, f := range append(singlePeriods(t.raw), t.Facts...) {
		isOther := !f.holds(e.has) || isPeriod(f) || approximate[f.Left] > 0 || dayEndings[f.Unit] > 0
		if !f.IsNumber() || !isOther && !(isHalf && f.currency != "") {
			continue
		}
		c := claim{Fact: f, values: f.values()}
		for _, s := range e.sections {
			for _, o := range s.Facts {
				day := func(k key) bool { return o.holds(func(own key) bool { return own == k }) }
				amount := claim{Fact: o, values: o.values()}
				isWhole := isHalf && o.currency != "" && slices.ContainsFunc(c.values, func(v int64) bool { return slices.Contains(amount.values, 2*v) })
				if d.isMultiple([]claim{amount}, c) || isAbout(c, []claim{amount}) || isAboutMeasure(c, []Fact{o}) || isConversion(c, []Fact{o}) || isWhole || o.Unit == Date && isDayOf(c, day) {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// hasHalf reports whether a text names a half.
func hasHalf(s string) bool {
	return slices.ContainsFunc(text.Words(s), func(w text.Word) bool {
		return slices.Contains([]string{"half", "halben", "halbe", "halber", "halbem", "halfte", "moitie", "mitad"}, w.Text)
	})
}

// singlePeriods returns the periods of a text that have an article in place of a number: "a year", "within a fortnight".
func singlePeriods(s string) []Fact {
	var out []Fact
	words := text.Words(s)
	for i, w := range words {
		f := Fact{Unit: unitWord(strings.ToLower(s[w.Start:w.End])), readings: [][]key{{countKey(1)}}}
		switch {
		case w.Text == "fortnight":
			f.Unit, f.readings = "week", [][]key{{countKey(2)}}
		case i == 0 || !slices.Contains([]string{"a", "one", "ein", "eine", "einen", "einem", "einer", "eines", "un", "une", "una"}, words[i-1].Text) || !isPeriod(f):
			continue
		}
		out = append(out, f)
	}
	return out
}

// hasOtherUnit reports whether the answers have the number of a period only in another unit.
func (e *MergeEvidence) hasOtherUnit(f Fact) bool {
	if unitOf(f) == "" {
		return false
	}
	var all []Fact
	for _, s := range e.sections {
		all = append(all, s.Facts...)
	}
	return hasOtherUnit(f, all, true)
}

// isSame reports whether two claims state the same.
func (c claim) isSame(other claim) bool {
	switch {
	case len(c.others) != len(other.others) || len(other.readings) == 0:
		return false
	case c.currency != "" || other.currency != "":
		return sameCurrency(c.currency, other.currency) && shareOne(c.values, other.values)
	}
	for i, f := range c.others {
		if !f.Matches(other.others[i]) {
			return false
		}
	}
	return c.Matches(other.Fact)
}

// ruleOfMerge returns the rule by which a claim follows from the answers, or "".
func (d *derivation) ruleOfMerge(e *MergeEvidence, c claim) string {
	c = c.asAmount(e.amounts)
	switch {
	case c.Plain && unitOf(c.Fact) == "" && e.counts.Has(c.Fact):
		return RuleCount
	case isDayOf(c, e.has), slices.ContainsFunc(e.sections, func(s *Section) bool { return d.isDay(c, s.timeline) }):
		return RuleDay
	case d.isMultiple(e.amounts, c):
		return RuleQuantity
	case d.yieldsAmount(e.amounts, c), d.yieldsMeasure(c), slices.ContainsFunc(e.sections, func(s *Section) bool { return isDifference(c, s.Facts) }):
		return RuleAmount
	case d.yieldsPercentage(e.amounts, c):
		return RulePercentage
	case isAbout(c, e.amounts), isAboutDerived(c, e.amounts), slices.ContainsFunc(e.sections, func(s *Section) bool { return isAboutMeasure(c, s.Facts) }):
		return RuleRounding
	case slices.ContainsFunc(e.sections, func(s *Section) bool { return isConversion(c, s.Facts) }):
		return RuleConversion
	}
	return ""
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

// quotes reports whether a fact only repeats what the shopper wrote: a code or an address, or a number beside the same word,
// of something that the sections give no number of. If the sections do give days, prices or dates, a number of these must
// come from them, but for a measure, and for a limit of a price that the shopper set: "with 59 cm", "under 150 EUR".
func (e *MergeEvidence) quotes(f Fact) bool {
	for _, other := range e.shopper {
		if !f.Matches(other) {
			continue
		}
		isNear := f.Left != "" && f.Left == other.Left || f.Unit != "" && f.Unit == other.Unit
		isMeasure := measures[f.Unit] != "" && f.Left != "" && f.Left == other.Left && f.Unit == other.Unit
		isLimit := f.Unit == Money && f.Left == other.Left && limits[f.Left] > 0
		if f.Name || isNear && !e.units[f.Unit] || isMeasure || isLimit {
			return true
		}
	}
	return false
}
