package grounding

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// assertion says something of subjects by a phrase of the table of topics, or denies it.
type assertion struct {
	topic       string
	denied      bool
	about       []*subject // of one kind each; none: it is general
	qualifiers  []string   // folded words that tell variants apart, such as sizes
	conditional bool       // it is true under a condition only
	isOwn       bool       // its sentence names what it is about
	isField     bool       // a field says it, which is surer than a text
	start, end  int        // of the clause in the text, in bytes
}

// Topics of assertions that are not in the table.
const (
	topicCan       = "can " // before cancel, return, ...
	topicUnderway  = "underway"
	topicAttribute = "has " // before an attribute that a product has or has not
)

// statuses are the topics of orders' statuses, with the statuses that an order must have had before.
var statuses = map[string][]string{
	"processing": nil, "shipped": {topicUnderway}, "delivered": {"shipped"}, "refunded": nil, "cancelled": nil,
}

// excludes maps a status to those that an order does not have then.
var excludes = map[string][]string{
	"processing": {"shipped", topicUnderway, "delivered", "refunded", "cancelled"}, "shipped": {"processing", "delivered", "refunded", "cancelled"},
	"delivered": {"processing", topicUnderway, "cancelled"}, "cancelled": {"delivered", "shipped", topicUnderway}, "refunded": {"processing"},
}

// assertionsOf returns what a text asserts and denies by the phrases of the table.
func assertionsOf(o outline) []assertion {
	clauses, refs := o.clauses, o.refs
	var out []assertion
	for i := range clauses {
		c := &clauses[i]
		if c.isQuestion || c.has("IF") || c.has("BEFORE") {
			continue
		}
		isConditional := sentenceHas(clauses, i, "IF") // "it is on its way, if you like to follow it"
		isShipping := (c.has("SHIPPING") || len(c.words) <= maxAside && sentenceHas(clauses, i, "SHIPPING")) && !sentenceHas(clauses, i, "return") && !sentenceHas(clauses, i, "exchange")
		for _, h := range c.hits {
			about := refs[i]
			if (h.topic == "stock" || h.topic == "available") && !c.has("ME") {
				about = o.about(i)
			}
			topic := topicOf(h, c, about, isShipping, isTableRow(o.raw, c.start))
			if _, isStatus := statuses[topic]; topic == "" || isConditional && !isStatus && topic != "stock" {
				continue
			}
			denied := h.denies != (c.denies(h) || i+1 < len(clauses) && clauses[i+1].isNo(c))
			if topic == "apply" && denied && o.about(i).of(kindProduct) != nil { // it does not apply to that product
				continue
			}
			out = append(out, assertion{
				topic: topic, denied: denied, about: about.named, qualifiers: qualifiersOf(o, i),
				conditional: isConditional || sentenceHas(clauses, i, "LIMIT") || topic == "free" && o.givesAmount(c), start: c.start, end: c.end,
			})
		}
	}
	return out
}

// givesAmount reports whether a clause has a number with a currency.
func (o outline) givesAmount(c *clause) bool {
	return slices.ContainsFunc(c.words, func(w text.Word) bool { return hasDigit(w) && isAmount(o.raw, w.Start, w.End) })
}

// maxAside is how many words a clause such as "free of charge" has that is about the thing before it.
const maxAside = 4

// reach is how many words a negation reaches ahead.
const reach = 8

// denies reports whether a negation of the clause is about a phrase: the phrases that follow it, or the last one before if none does.
func (c *clause) denies(h hit) bool {
	for _, n := range c.hits {
		if n.topic != "NOT" || n.at >= h.at && n.at < h.at+len(h.words) || n.at+1 < len(c.words) && isOnly(c.words[n.at+1].Text) {
			continue
		}
		last := -1 // phrase before the negation
		follows := false
		for _, o := range c.hits {
			switch {
			case !isTopic(o.topic):
			case o.at > n.at && o.at <= n.at+reach:
				follows = true
			case o.at < n.at:
				last = o.at
			}
		}
		isOfNoun := n.at+1 < len(c.words) && isDeterminer(c.words[n.at].Text) // "with 5 in stock there is no hurry", "can be cancelled without costs"
		if follows && h.at > n.at && h.at <= n.at+reach || !follows && !isOfNoun && h.at == last {
			return true
		}
	}
	return false
}

// isDeterminer reports whether a folded word denies the noun behind it.
func isDeterminer(w string) bool {
	return w == "no" || w == "without" || w == "ohne" || w == "sans" || w == "sin" || strings.HasPrefix(w, "kein") || strings.HasPrefix(w, "aucun") || strings.HasPrefix(w, "ningun")
}

// isNo reports whether a clause is only a no to the one before it: "returnable: no".
func (c *clause) isNo(before *clause) bool {
	return len(c.words) == 1 && c.sentence == before.sentence && isWordOf(c.words[0], "NO")
}

func isOnly(w string) bool {
	return w == "only" || w == "nur" || w == "seulement" || w == "solo" || w == "just" || w == "later"
}

// isTopic reports whether a phrase says something by itself.
func isTopic(topic string) bool { return topic[0] >= 'a' }

// topicOf returns the topic of a phrase where it stands, or "" if it says nothing that is sure.
func topicOf(h hit, c *clause, p reference, isShipping, isRow bool) string {
	isOrder := p.of(kindOrder) != nil || c.has("ORDER")
	hasBe := slices.ContainsFunc(c.words[h.at:h.at+len(h.words)], func(w text.Word) bool { return isWordOf(w, "BE") }) // "has arrived"
	isState := isOrder && !c.has("FUTURE") && (isRow || hasBe || c.hasBefore("BE", h.at) || h.topic == "processing" && c.hasBefore("BEING", h.at))
	switch h.topic {
	case "stock":
		return h.topic
	case "free":
		if isShipping {
			return h.topic
		}
	case "available":
		if p.of(kindProduct) != nil {
			return "stock"
		}
	case "delivered", "shipped", "processing", "refunded":
		if isState && !c.has("CAN") {
			return h.topic
		}
	case topicUnderway:
		if isState && !c.has("CAN") && !c.has("ENDED") {
			return h.topic
		}
	case "cancelled":
		switch {
		case c.has("ME"), c.has("UNTIL"):
		case c.has("CAN"):
			return topicCan + "cancel"
		case isState:
			return h.topic
		}
	case "cancel", "return", "exchange", "redirect", "change", "combine":
		if c.has("CAN") && !c.has("ONLY") && !c.isNeQue() && !c.has("ME") && !c.has("UNTIL") { // "I can't cancel it from here"
			return topicCan + h.topic
		}
	case "apply":
		if p.of(kindCode) != nil && !c.has("UNTIL") && !c.has("START") && !c.has("FUTURE") && !c.has("ONLY") {
			return h.topic
		}
	case "offer":
		if p.of(kindCode) != nil && !c.has("START") && !c.has("FUTURE") {
			return "apply"
		}
	}
	return ""
}

// isNeQue reports whether a French clause denies all but one thing: "on ne peut renvoyer que ...".
func (c *clause) isNeQue() bool {
	isWord := func(words ...string) bool {
		return slices.ContainsFunc(c.words, func(w text.Word) bool { return slices.Contains(words, w.Text) })
	}
	return isWord("ne", "n") && isWord("que", "qu")
}

// hasBefore reports whether the clause has a phrase of a topic before one of its words.
func (c *clause) hasBefore(topic string, at int) bool {
	return slices.ContainsFunc(c.hits, func(h hit) bool { return h.topic == topic && h.at < at })
}

// promisesArrival reports whether the clause at a byte of the text says for sure that something arrives.
func (o outline) promisesArrival(offset int) bool {
	i := o.clauseAt(offset)
	if i < 0 {
		return false
	}
	c := &o.clauses[i]
	return c.has("ARRIVE") && !c.has("HEDGE") && !c.has("NOT") && !c.isQuestion && !sentenceHas(o.clauses, i, "IF")
}

// isSureToArrive reports whether the clause says that something is sure to arrive.
func (c *clause) isSureToArrive() bool {
	isOther := c.has("NOT") || c.has("HEDGE") || c.has("return") || c.isQuestion
	return c.has("CERTAIN") && (c.has("ARRIVE") || c.has("SHIPPING")) && !isOther
}

// sentenceHas reports whether the sentence of a clause has a phrase of a topic.
func sentenceHas(clauses []clause, i int, topic string) bool {
	sentence := sentenceOf(clauses, i)
	for j := range sentence {
		if sentence[j].has(topic) {
			return true
		}
	}
	return false
}

// sentenceOf returns the clauses of the sentence of a clause.
func sentenceOf(clauses []clause, i int) []clause {
	first, end := i, i+1
	for first > 0 && clauses[first-1].sentence == clauses[i].sentence {
		first--
	}
	for end < len(clauses) && clauses[end].sentence == clauses[i].sentence {
		end++
	}
	return clauses[first:end]
}

// qualifiersOf returns the sizes and the like in a clause, and in those after it in its sentence that only go on with it.
func qualifiersOf(o outline, i int) []string {
	var out []string
	for j := i; j < len(o.clauses) && o.clauses[j].sentence == o.clauses[i].sentence; j++ {
		if j > i && slices.ContainsFunc(o.clauses[j].hits, func(h hit) bool { return isTopic(h.topic) }) {
			break
		}
		end := -1
		for _, w := range o.clauses[j].words {
			switch {
			case !hasDigit(w) || strings.ContainsAny(w.Text, ".,") || len(w.Text) > maxQualifier:
				continue
			case end >= 0 && end == w.Start-1 && o.raw[end] == '/': // 32/34
				out[len(out)-1] += w.Text
			default:
				out = append(out, w.Text)
			}
			end = w.End
		}
	}
	return out
}

// maxQualifier is the length of the longest size, in bytes.
const maxQualifier = 4

// minStated is how many words of content a sentence has that states something.
const minStated = 3

// uncompared returns a sentence at a byte of its text as an undecided claim if it states something, and not what the speaker does or asks.
func uncompared(sentence string, start int) Claims {
	stated := strings.TrimSpace(sentence)
	words := text.Words(stated)
	isOther := slices.ContainsFunc(words, func(w text.Word) bool { return isWordOf(w, "ME") || isWordOf(w, "IF") })
	content := 0
	for _, w := range words {
		if isContent(w.Text) {
			content++
		}
	}
	if isOther || content < minStated || strings.HasSuffix(strings.TrimRight(stated, closers), "?") {
		return nil
	}
	return Claims{SentenceClaim(sentence, start, Statement, Undecided)}
}

// judge compares an assertion with those of the evidence. It is undecided if they say nothing of its topic and its subject.
func (s *subjects) judge(a assertion) Verdict {
	var relevant []assertion
	for _, o := range s.assertions {
		if o.topic == a.topic {
			relevant = append(relevant, o)
		}
	}
	if a.topic == "free" {
		return judgeFree(a, relevant)
	}
	isField := func(o assertion) bool { return o.isField && !isAboutOthers(a.about, o.about) }
	if len(a.about) > 0 && slices.ContainsFunc(relevant, isField) {
		relevant = slices.DeleteFunc(relevant, func(o assertion) bool { return !isField(o) })
	}
	if a.topic == topicCan+"return" || a.topic == topicCan+"exchange" {
		switch {
		case len(a.about) == 0, !a.isOwn && (a.denied || a.about[0].kind == kindProduct), a.about[0].kind == kindItem:
			return Undecided
		case a.denied: // the documents allow returns of unused or faulty goods only, so just the order decides
			relevant = slices.DeleteFunc(relevant, func(o assertion) bool { return !o.denied && (len(o.about) == 0 || o.about[0].kind != kindOrder) })
		}
	}
	if len(a.about) > 0 {
		relevant = slices.DeleteFunc(relevant, func(o assertion) bool { return isAboutOthers(a.about, o.about) })
	}
	qualified := slices.DeleteFunc(slices.Clone(relevant), func(o assertion) bool { return !sharesWord(a.qualifiers, o.qualifiers) })
	if len(qualified) > 0 {
		relevant = qualified
	}
	switch {
	case len(relevant) == 0:
		return Undecided
	case slices.ContainsFunc(relevant, func(o assertion) bool { return o.denied == a.denied }):
		return Supported
	}
	return Contradicted
}

// isAboutOthers reports whether two things are about subjects of one kind, and none that are the same.
func isAboutOthers(a, b []*subject) bool {
	sharesKind := false
	for _, s := range a {
		if slices.Contains(b, s) {
			return false
		}
		sharesKind = sharesKind || slices.ContainsFunc(b, func(o *subject) bool { return o.kind == s.kind })
	}
	return sharesKind
}

func sharesWord(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

// judgeFree decides whether something is free without a condition, if the evidence says that something is free on one.
func judgeFree(a assertion, relevant []assertion) Verdict {
	switch {
	case a.denied && len(relevant) > 0 && !slices.ContainsFunc(relevant, func(o assertion) bool {
		return o.denied || o.conditional || len(o.about) > 0 && o.about[0].kind == kindCode
	}):
		return Contradicted
	case a.denied || a.conditional || len(relevant) == 0:
		return Undecided
	case slices.ContainsFunc(relevant, func(o assertion) bool { return !o.denied && !o.conditional }):
		return Supported
	case slices.ContainsFunc(relevant, func(o assertion) bool { return !o.denied && len(o.about) > 0 && o.about[0].kind == kindCode }):
		return Undecided // a promotion may give it
	}
	return Contradicted
}

// isFree reports whether one of some amounts reaches one from which shipping is free.
func (s *subjects) isFree(amounts []claim) bool {
	return slices.ContainsFunc(amounts, func(a claim) bool {
		return slices.ContainsFunc(s.freeFrom, func(from claim) bool {
			return len(a.values) > 0 && len(from.values) > 0 && sameCurrency(a.currency, from.currency) && a.values[0] >= from.values[0]
		})
	})
}

// assertStatus adds what an order's status says.
func (s *subjects) assertStatus(status string, about []*subject) {
	topic := statusOf(text.Words(strings.ReplaceAll(status, "_", " ")))
	if topic == "" {
		return
	}
	for _, topic := range append(slices.Clone(statuses[topic]), topic) {
		s.assertions = append(s.assertions, assertion{topic: topic, about: about})
	}
	for _, topic := range excludes[topic] {
		s.assertions = append(s.assertions, assertion{topic: topic, denied: true, about: about})
	}
}

// statusOf returns the topic of a status by the table, or else by the scorer, or "".
func statusOf(words []text.Word) string {
	for _, h := range hitsOf(words) {
		if _, isStatus := statuses[h.topic]; isStatus {
			return h.topic
		}
	}
	if len(words) == 0 {
		return ""
	}
	scored, _ := scorable(words, nil, nil)
	scored = append([]string{orderWord}, scored...)
	for l, p := range fitted().score(featuresOf(scored, conceptsOf(scored))) {
		if _, isStatus := statuses[labels[l]]; isStatus && p >= minStatus {
			return labels[l]
		}
	}
	return ""
}

// assertAttributes adds the attributes that a product has or has not: "hood no; length knee".
func (s *subjects) assertAttributes(details string, about []*subject) {
	for part := range strings.SplitSeq(details, ";") {
		words := text.Words(part)
		if len(words) < 2 {
			continue
		}
		last := words[len(words)-1]
		if isYes := isWordOf(last, "YES"); isYes || isWordOf(last, "NO") {
			var name []string
			for _, w := range words[:len(words)-1] {
				name = append(name, stemOf(w.Text))
			}
			s.assertions = append(s.assertions, assertion{topic: topicAttribute + strings.Join(name, " "), denied: !isYes, about: about})
		}
	}
}

// attributesOf returns what clauses say of attributes of the evidence.
func (s *subjects) attributesOf(o outline) []assertion {
	var out []assertion
	for i := range o.clauses {
		c, p := &o.clauses[i], o.refs[i]
		if !isTableRow(o.raw, c.start) { // whose columns may be the products
			p = o.about(i)
		}
		product := p.of(kindProduct)
		if product == nil || c.isQuestion || c.has("IF") {
			continue
		}
		for _, a := range s.assertions {
			name, isAttribute := strings.CutPrefix(a.topic, topicAttribute)
			if isAttribute && slices.Contains(a.about, product) && c.hasStems(name) && !slices.ContainsFunc(out, func(o assertion) bool {
				return o.topic == a.topic && o.start == c.start
			}) {
				out = append(out, assertion{topic: a.topic, denied: c.deniesBeside(name) || isWordOf(c.words[len(c.words)-1], "NO"), about: p.named, start: c.start, end: c.end})
			}
		}
	}
	return out
}

// deniesBeside reports whether the clause has a negation that is no part of an attribute's name, such as "sans acide".
func (c *clause) deniesBeside(name string) bool {
	stems := strings.Fields(name)
	return slices.ContainsFunc(c.hits, func(h hit) bool { return h.topic == "NOT" && !slices.Contains(stems, stemOf(c.words[h.at].Text)) })
}

// hasStems reports whether the clause has words with all of the stems.
func (c *clause) hasStems(stems string) bool {
	for stem := range strings.FieldsSeq(stems) {
		if !slices.ContainsFunc(c.words, func(w text.Word) bool { return stemOf(w.Text) == stem }) {
			return false
		}
	}
	return true
}

// stemLength is how many letters of a word count.
const stemLength = 5

// stemOf returns the beginning of a folded word, which is the same for replaced and replacement.
func stemOf(w string) string {
	if len(w) > stemLength && !strings.ContainsFunc(w, unicode.IsDigit) {
		return text.HeadBytes(w, stemLength)
	}
	return w
}

// statement is what a clause says: the stems of its content words, and the stem that it denies.
type statement struct {
	words   string // all folded words, joined by spaces; set for clauses of the evidence
	stems   []string
	denied  string   // "": none
	denies  bool     // it has a word that denies something
	isBut   bool     // it denies or excludes something; set for clauses of the evidence
	denials []string // all stems that it denies, if its sentence has no condition
	about   []*subject
}

// guaranteesArrival reports whether the evidence itself guarantees when something arrives.
func (s *subjects) guaranteesArrival() bool {
	return slices.ContainsFunc(s.said, func(o statement) bool {
		words := text.Words(o.words)
		return slices.ContainsFunc(hitsOf(words), func(h hit) bool { return h.topic == "SHIPPING" }) && slices.ContainsFunc(words, func(w text.Word) bool {
			return strings.HasPrefix(w.Text, "guarant") || strings.HasPrefix(w.Text, "garant")
		})
	})
}

// addStatements adds what a text of the evidence says. about is what it is about where it names nothing.
func (s *subjects) addStatements(o outline, about []*subject) {
	for i := range o.clauses {
		if len(o.refs[i].named) == 0 {
			o.refs[i].named = about
		}
		if c := &o.clauses[i]; !c.isQuestion {
			said := statementOf(c)
			if sentenceHas(o.clauses, i, "IF") || sentenceHas(o.clauses, i, "ONLY") {
				said.denials, said.denies = nil, false
			}
			said.isBut = c.has("NOT") || c.has("EXCEPT")
			said.words, said.about = c.text(), o.refs[i].named
			s.said = append(s.said, said)
		}
	}
	s.assertions = append(s.assertions, assertionsOf(o)...)
	if len(about) > 0 && about[0].kind == kindPassage {
		for _, f := range Read(o.raw, text.Language(o.raw)).Facts {
			if i := o.clauseAt(f.Start); i >= 0 && isPeriod(f) {
				s.terms = append(s.terms, term{f, sentenceStems(o.clauses, i), about[0]})
			}
		}
	}
	if !o.has("SHIPPING") {
		return
	}
	for _, f := range Read(o.raw, "").Facts {
		i := o.clauseAt(f.Start)
		if f.currency == "" || i < 0 {
			continue
		}
		if sentenceHas(o.clauses, i, "SHIPPING") {
			s.assertions = append(s.assertions, assertion{topic: "free", denied: true})
		}
		amount := claim{Fact: f, values: f.values()}
		switch {
		case o.clauses[i].has("free") && o.clauses[i].has("LIMIT"):
			s.freeFrom = append(s.freeFrom, amount)
		case sentenceHas(o.clauses, i, "SHIPPING") && limitWords[f.Left] == 0 && o.refs[i].of(kindProduct) == nil && o.refs[i].of(kindOrder) == nil:
			s.postage = append(s.postage, amount)
		}
	}
}

func statementOf(c *clause) statement {
	var out statement
	for _, w := range c.words {
		if isContent(w.Text) {
			out.stems = append(out.stems, stemOf(w.Text))
		}
	}
	for _, h := range c.hits {
		if h.topic == "NOT" && !c.isNeQue() {
			out.denies = true
			stem := c.deniedBy(h)
			if stem != "" && len(h.words) == 1 { // "is closed" is no denial of closed
				out.denials = append(out.denials, stem)
			}
			out.denied = cmp.Or(out.denied, stem)
		}
	}
	return out
}

// text returns the folded words of the clause.
func (c *clause) text() string {
	words := make([]string, len(c.words))
	for i, w := range c.words {
		words[i] = w.Text
	}
	return strings.Join(words, " ")
}

// quotes reports whether most of a sentence stands in the evidence, word for word.
func (s *subjects) quotes(sentence []clause) bool {
	quoted, all := 0, 0
	for i := range sentence {
		n, words := len(sentence[i].words), sentence[i].text()
		all += n
		if slices.ContainsFunc(s.said, func(o statement) bool { return o.words == words }) {
			quoted += n
		}
	}
	return quoted > minStated && 4*quoted >= 3*all
}

// term is a period that a passage gives, with what its clause says.
type term struct {
	Fact
	stems []string
	of    *subject
}

// contentStems returns the stems of a clause's words of content, but for numbers and periods.
func (c *clause) contentStems() []string {
	return slices.DeleteFunc(statementOf(c).stems, func(stem string) bool {
		_, isPeriod := periods[text.HeadBytes(stem, min(len(stem), 4))]
		return isPeriod || strings.ContainsFunc(stem, unicode.IsDigit)
	})
}

// otherTerm returns the passage that a period contradicts: one that gives another period for what the clause says, and shares more of its
// words than any that gives the period itself; or else the one that the clause names. There is none if a passage gives the period for that.
func (s *subjects) otherTerm(c *clause, period claim, named *subject) *subject {
	stems := c.contentStems()
	var own []wordSet // of those that give the period
	most := 0
	for _, t := range s.terms {
		if t.Matches(period.Fact) {
			own = append(own, sharedWords(stems, t.stems, ""))
			most = max(most, own[len(own)-1].len())
		}
	}
	var other *subject
	for _, t := range s.terms {
		words := sharedWords(stems, t.stems, "")
		if t.Matches(period.Fact) || words.len() < minShared {
			continue
		}
		if len(own) > 0 && !slices.ContainsFunc(own, func(o wordSet) bool { return !o.isPartOf(words) }) {
			return t.of
		}
		other = t.of
	}
	switch {
	case most >= minShared, most > 0 && named == nil:
		return nil
	case named != nil:
		return named
	}
	return other
}

// wordSet is a set of the first maxWords words of a clause.
type wordSet uint64

const maxWords = 64

// sharedWords returns which of some words others have, too: all but one, or "".
func sharedWords(words, others []string, but string) (out wordSet) {
	for i, w := range words {
		if w != but && slices.Contains(others, w) {
			out |= 1 << i
		}
	}
	return out
}

func (w wordSet) len() int { return bits.OnesCount64(uint64(w)) }

// isPartOf reports whether another set has all words of this one, and more.
func (w wordSet) isPartOf(other wordSet) bool { return w&^other == 0 && w != other }

// isContent reports whether a folded word says what a clause is about: a longer word or a number.
func isContent(w string) bool {
	isNumber := strings.ContainsFunc(w, unicode.IsDigit)
	return isNumber || len(w) >= 4 && !isStopWord(w) && !slices.ContainsFunc(phrases[w], func(p phrase) bool { return p.topic == "NOT" })
}

// deniedBy returns the stem of the first content word near behind a negation, or "".
func (c *clause) deniedBy(n hit) string {
	const near = 3
	if n.at+1 < len(c.words) && isWordOf(c.words[n.at+1], "PREPOSITION") { // "but not for boots"
		return ""
	}
	for i := n.at + 1; i < len(c.words) && i <= n.at+near; i++ {
		if w := c.words[i].Text; isContent(w) && !strings.ContainsFunc(w, unicode.IsDigit) {
			return stemOf(w)
		}
	}
	return ""
}

// minShared is how many words of content a clause must share with a passage, to speak of the same.
const minShared = 2

// reverses reports whether a clause denies what the evidence says of the same thing, or says what it denies: one of its statements has the
// word that is denied and another one of the clause, and no statement that agrees on that word shares as much.
func (s *subjects) reverses(c *clause, named []*subject) bool {
	if c.isQuestion || c.has("IF") || c.has("ME") || c.has("NEED") {
		return false
	}
	st := statementOf(c)
	if st.denied == "" && c.has("NOT") {
		return false
	}
	for _, o := range s.said {
		stem := cmp.Or(st.denied, o.denied)
		if stem == "" || (st.denied == stem) == (o.denied == stem) || st.denied != "" && o.isBut || isAboutOthers(named, o.about) {
			continue
		}
		against := st.shared(o, stem)
		if against.len() < minShared {
			continue
		}
		agrees := func(other statement) bool {
			words := st.shared(other, stem)
			return (st.denied == stem) == (other.denied == stem) && words != 0 && !words.isPartOf(against)
		}
		if !slices.ContainsFunc(s.said, agrees) {
			return !isAboutButtons(c.words)
		}
	}
	return false
}

// unopposed are the topics of sentences that assert nothing, or not all of what they name.
var unopposed = []string{"IF", "ME", "NEED", "NOT", "ONLY", "EXCEPT"}

// opposes reports whether a clause asserts what the evidence denies: it has most words of a clause of the evidence that denies something, or
// all but names of one and a word that it denies, and none that denies nothing has as many of them.
func (s *subjects) opposes(o outline, clause int, named []*subject) bool {
	c := &o.clauses[clause]
	stems := c.contentStems()
	isUnopposed := slices.ContainsFunc(unopposed, func(topic string) bool { return sentenceHas(o.clauses, clause, topic) })
	if isUnopposed || c.isQuestion || len(stems) < minShared || isTableRow(o.raw, c.start) {
		return false
	}
	same, other := 0, 0 // most words of a clause that denies nothing, and of one that does
	for _, e := range s.said {
		if isAboutOthers(named, e.about) {
			continue
		}
		n := sharedWords(stems, e.stems, "").len()
		if !e.denies {
			same = max(same, n)
			continue
		}
		missing := 0
		for _, stem := range e.stems {
			if !slices.Contains(stems, stem) && !slices.Contains(e.denials, stem) && len(s.byMark[stem]) == 0 {
				missing++
			}
		}
		if n > minShared && 2*missing <= n || missing == 0 && sharesWord(stems, e.denials) {
			other = max(other, n)
		}
	}
	return other > same && other >= minShared && (other > minShared || 2*other > len(stems))
}

// shared returns which words of a statement another one has, too, if both have a stem: all but that one.
func (st statement) shared(o statement, stem string) wordSet {
	if !slices.Contains(st.stems, stem) || !slices.Contains(o.stems, stem) {
		return 0
	}
	return sharedWords(st.stems, o.stems, stem)
}

// check returns the claims of what a text asserts and denies, and of what it reverses, at most limit. before are the subjects that the text
// has named.
func (s *subjects) check(o outline, before []*subject, limit int) Claims {
	var out Claims
	decided := map[int]bool{}      // starts of clauses
	contradicted := map[int]bool{} // of those that the evidence contradicts
	denied := map[int]bool{}       // of those with a phrase that denies something, and rightly
	add := func(start, end int, about []*subject, v Verdict) {
		c := Claim{Start: start, End: end, Text: o.raw[start:end], Kind: Statement, Verdict: v}
		if len(about) > 0 {
			c.Subject = about[0].id
		}
		if len(out) < limit {
			out = append(out, c)
		}
	}
	readings := s.readings(o, before)
	for _, a := range append(assertionsOf(o), s.attributesOf(o)...) {
		v := s.judge(a)
		isOption := a.topic == "stock" && a.denied && isNamedOption(o.raw, a.about, o.clauses[o.clauseAt(a.start)].words)
		if isOption || a.topic == "free" && s.isFree(o.amounts) {
			v = Undecided
		}
		r := readingAt(readings, o.clauseAt(a.start))
		isAttribute := strings.HasPrefix(a.topic, topicAttribute)
		if v == Contradicted && r.overrules(a) || isAttribute && !uses(famAttributes) || !isAttribute && !uses(famTable) {
			v = Undecided
		}
		decided[a.start] = decided[a.start] || v != Undecided
		contradicted[a.start] = contradicted[a.start] || v == Contradicted
		denied[a.start] = denied[a.start] || v == Supported && a.denied
		add(a.start, a.end, a.about, v)
	}
	for i := range o.clauses {
		switch c := &o.clauses[i]; {
		case uses(famPromises) && c.has("PROMISE") && !c.has("NOT") && !c.isQuestion:
			add(c.start, c.end, nil, Unsupported)
		case uses(famPromises) && c.isSureToArrive() && !sentenceHas(o.clauses, i, "IF") && !s.guaranteesArrival():
			add(c.start, c.end, nil, Unsupported)
		case contradicted[c.start]:
		case uses(famReversals) && (!decided[c.start] && s.reverses(c, o.refs[i].named) || s.opposes(o, i, o.refs[i].named)):
			add(c.start, c.end, o.refs[i].named, Contradicted)
		}
	}
	for _, r := range readings {
		start, end := o.clauses[r.start].start, o.clauses[r.end-1].end
		isKnown := slices.ContainsFunc(out, func(c Claim) bool { return c.Verdict >= Contradicted && c.Start < end && start < c.End })
		switch {
		case isKnown, r.end-r.start == 1 && denied[start]: // the scorer misses some denials
		case r.contradicted >= minLikely && r.isNamed:
			add(start, end, r.about, Contradicted)
		case r.vouches >= minVouched && !sentenceHas(o.clauses, r.start, "NOT") && !sentenceHas(o.clauses, r.start, "HEDGE") && len(ofKind(r.about, kindOrder)) > 0 && !s.guaranteesArrival():
			add(start, end, nil, Unsupported)
		case r.acts >= minLikely && !ClaimsAction(o.raw[start:end]) && len(out) < limit:
			out = append(out, Claim{Start: start, End: end, Text: o.raw[start:end], Kind: Action, Verdict: Unsupported})
		}
	}
	return out
}

// sentenceStems returns the stems of the words of content in the sentence of a clause.
func sentenceStems(clauses []clause, i int) []string {
	var out []string
	for _, c := range sentenceOf(clauses, i) {
		out = append(out, c.contentStems()...)
	}
	return out
}
