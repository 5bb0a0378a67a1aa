package grounding

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// subject is a thing that evidence describes, such as a product, an order, a promotion or a passage, with the facts given of it.
type subject struct {
	id    string
	kind  string   // the JSON key of its id: only subjects of one kind are confused with each other
	name  string   // its title and id, which identify it
	words []string // of the name, as nameWord has them, each once
	title []string // the marks of the name, each once

	fields   map[string][]string    // of the object itself: the texts under each key, each once
	facts    Set                    // of the object and those in it
	stems    func() map[string]bool // of the words of the fields, read once
	variants []variant
	stocks   []variantStock
	options  []string   // words of the ways in which it comes, folded, if only the stock of all is known
	orders   []*subject // that have the item
}

// variant is one way in which a product comes.
type variant struct {
	words []string // of its options, folded
	facts []Fact
}

// subjects are the things that evidence describes, with what it says of them and of none of them.
type subjects struct {
	list       []*subject
	byWord     map[string][]*subject
	byMark     map[string][]*subject // products and items of orders
	common     Set                   // what the evidence says of no subject
	titles     []string              // of products, that would be several clauses
	known      string                // all that it says, in lower case
	asked      []string              // stems of what people wrote
	askedFor   []*subject            // that they name
	assertions []assertion
	said       []statement // the clauses of texts
	terms      []term
	freeFrom   []claim         // amounts from which shipping is free
	postage    []claim         // what it costs
	units      map[string]bool // of the numbers in products' details, as Fact.Unit has them, and the names of these numbers
}

// Kinds of subjects.
const (
	kindProduct = "product_id"
	kindOrder   = "order_id"
	kindCode    = "code"
	kindPassage = "policy"
	kindItem    = "item" // of an order
)

// kindOf maps the JSON keys whose values name a subject to its kind. A title or name alone makes none.
var kindOf = map[string]string{
	"title": "", "name": "", "product_id": kindProduct, "order_id": kindOrder, "order_number": kindOrder, "number": kindOrder,
	"code": kindCode, "id": "id", "policy": kindPassage, "section": kindPassage,
}

// nameKeys are the same keys, in the order in which they are looked for.
var nameKeys = []string{"title", "name", "product_id", "order_id", "order_number", "number", "code", "id", "section", "policy"}

// Correction returns what the evidence says in the place of a contradicted claim: what the claim's subject has where the other
// subject has the claim, such as its own price. ok is false if that is not one value.
func (e *Evidence) Correction(c Claim) (value string, ok bool) {
	i := slices.IndexFunc(e.subjects.list, func(s *subject) bool { return s.id == c.Subject })
	if c.Verdict != Contradicted || c.Subject == "" || i < 0 || len(c.Sources) == 0 {
		return "", false
	}
	pointer := c.Sources[0].Pointer
	own := e.subjects.list[i].fields[pointer[strings.LastIndexByte(pointer, '/')+1:]]
	if len(own) != 1 {
		return "", false
	}
	claims := claimsOf(own[0], "", nil)
	if len(claims) != 1 || claims[0].kind() != c.Kind {
		return "", false
	}
	return claims[0].text, true
}

// subject returns the subject of a kind with a name, and adds it if there is none.
func (s *subjects) subject(kind, id, name string) *subject {
	if i := slices.IndexFunc(s.list, func(o *subject) bool { return o.kind == kind && o.name == name }); i >= 0 {
		return s.list[i]
	}
	n := &subject{id: id, kind: kind, name: name, words: nameWords(name)}
	n.stems = sync.OnceValue(n.readStems)
	s.list = append(s.list, n)
	if s.byWord == nil {
		s.byWord = map[string][]*subject{}
	}
	for _, w := range n.words {
		s.byWord[w] = append(s.byWord[w], n)
	}
	if kind == kindProduct || kind == kindItem {
		for _, m := range s.addMarks(n, name) {
			if !slices.Contains(n.title, m.text) {
				n.title = append(n.title, m.text)
			}
		}
	}
	return n
}

// foldedWords returns the words of a text, each once.
func foldedWords(s string) []string {
	var out []string
	for _, w := range text.Words(s) {
		if !slices.Contains(out, w.Text) {
			out = append(out, w.Text)
		}
	}
	return out
}

// nameWords returns the words of a name, each once.
func nameWords(name string) []string {
	var out []string
	for _, w := range foldedWords(name) {
		if w = nameWord(w); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// nameWord returns a folded word without the s of a plural.
func nameWord(w string) string {
	if len(w) > 3 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// reference is what a clause is about.
type reference struct {
	named     []*subject // the subjects that it names, or that those before it do: one of a kind
	mentioned []*subject // all that it may name
	hinted    []*subject // those of which it has a word, too
}

// of returns the named subject of a kind, or nil.
func (p reference) of(kind string) *subject {
	for _, n := range p.named {
		if n.kind == kind {
			return n
		}
	}
	return nil
}

// minScore is the number of points from which words name a subject.
const minScore = 2

// naming returns what a clause names itself.
func (s *subjects) naming(raw string, c *clause) reference {
	var candidates []candidate
	var hinted []*subject
	last := -1 // number of the last word that is of a name
	for i, w := range c.words {
		of := s.byWord[nameWord(w.Text)]
		if len(of) == 0 {
			continue
		}
		isNumber := !strings.ContainsFunc(w.Text, unicode.IsLetter)
		isShort := isNumber && len(w.Text) < 3
		if !isNumber && isStopWord(w.Text) {
			continue
		}
		isBeside := last >= 0 && last == i-1
		for _, o := range of {
			if isNumber && !isBeside && (isShort || o.kind == kindProduct || o.kind == kindPassage) {
				if i > 0 && isArticle(c.words[i-1].Text) {
					hinted = append(hinted, o) // "the 50 is sold out"
				}
				continue // a number is part of a title only beside another part
			}
			last = i
			k := slices.IndexFunc(candidates, func(x candidate) bool { return x.subject == o })
			if k < 0 {
				k = len(candidates)
				candidates = append(candidates, candidate{subject: o})
			}
			candidates[k].add(nameWord(w.Text), s.points(raw, w, o, isNumber, isShort))
			candidates[k].hasCapital = candidates[k].hasCapital || isCapital(raw[w.Start:])
		}
	}
	for i := range candidates {
		if c := &candidates[i]; c.kind == kindProduct && c.hasCapital && c.isWhole() {
			c.points = max(c.points, minScore) // a whole title, all words of which are of others, too: "Alder" beside "Alder Pro"
		}
	}
	r := referenceOf(candidates)
	if len(candidates) == 0 && len(hinted) == 1 {
		r.named, r.mentioned = slices.Clone(hinted), slices.Clone(hinted)
	}
	for _, c := range candidates {
		hinted = append(hinted, c.subject)
	}
	r.hinted = hinted
	for _, item := range ofKind(r.named, kindItem) {
		if len(item.orders) == 1 && r.of(kindOrder) == nil && !r.mentionsKind(kindOrder) {
			r.named, r.mentioned = append(r.named, item.orders[0]), append(r.mentioned, item.orders[0])
		}
	}
	return r
}

// isArticle reports whether a folded word is one before what stands for a name: "the 50", "celle de 100 cm".
func isArticle(w string) bool {
	return slices.Contains([]string{"the", "der", "die", "das", "den", "dem", "le", "la", "les", "de", "du", "el", "los", "las"}, w)
}

// candidate is a subject that words may name.
type candidate struct {
	*subject
	words      []string
	points     int
	hasCapital bool
}

// isWhole reports whether the words are all of the name.
func (c *candidate) isWhole() bool { return len(c.words) == len(c.subject.words) }

func (c *candidate) add(word string, points int) {
	if !slices.Contains(c.words, word) {
		c.words, c.points = append(c.words, word), c.points+points
	}
}

// points says how much a word tells about a subject: a word of this one alone more than one that it shares with others of its kind.
func (s *subjects) points(raw string, w text.Word, of *subject, isNumber, isShort bool) int {
	shared := slices.ContainsFunc(s.byWord[nameWord(w.Text)], func(o *subject) bool { return o != of && o.kind == of.kind && o.id != of.id })
	first, _ := utf8.DecodeRuneInString(raw[w.Start:])
	switch {
	case of.kind == kindCode && !isNumber && !unicode.IsUpper(first):
		return 0 // "save 20 EUR" does not name SAVE-20
	case shared || isShort || of.kind == kindPassage: // "Delivery" may be any of several passages
		return 1
	case isNumber, unicode.IsUpper(first), hasDigit(w):
		return minScore
	}
	return 1
}

// referenceOf returns the candidates with enough points, of each kind, that have a word of their own. One that is the only one of its
// kind is named. A whole name is not that of a thing whose name has more words.
func referenceOf(candidates []candidate) reference {
	var r reference
	slices.SortStableFunc(candidates, func(a, b candidate) int { return b.points - a.points })
	for _, c := range candidates {
		if c.points < minScore {
			break
		}
		isCovered := slices.ContainsFunc(candidates, func(o candidate) bool {
			return o.kind == c.kind && (o.points > c.points || o.isWhole() && !c.isWhole()) && !slices.ContainsFunc(c.words, func(w string) bool { return !slices.Contains(o.words, w) })
		})
		if !isCovered {
			r.mentioned = append(r.mentioned, c.subject)
		}
	}
	for _, n := range r.mentioned {
		if !slices.ContainsFunc(r.mentioned, func(o *subject) bool { return o.kind == n.kind && o != n }) {
			r.named = append(r.named, n)
		}
	}
	return r
}

// isStopWord reports whether a folded word is a stop word in one of the languages that shoppers use most.
func isStopWord(w string) bool { return stopWords()[w] }

var stopWords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, tag := range []string{"en", "es", "de", "fr"} {
		for _, w := range text.StopWords(tag) {
			out[text.Fold(w)] = true
		}
	}
	return out
})

// outline is a text in clauses.
type outline struct {
	raw     string
	words   []text.Word
	clauses []clause
	own     []reference // what each clause names itself
	refs    []reference // what each is about
	focus   []focus     // the products that each may be about
	before  []*subject  // those that the text before it is about
	amounts []claim     // that the text has
}

// has reports whether a clause has a phrase of a topic.
func (o outline) has(topic string) bool {
	return slices.ContainsFunc(o.clauses, func(c clause) bool { return c.has(topic) })
}

// clauseAt returns the number of the clause at a byte of the text, or -1.
func (o outline) clauseAt(offset int) int {
	i, found := slices.BinarySearchFunc(o.clauses, offset, func(c clause, at int) int { return c.start - at })
	if !found {
		i--
	}
	return i
}

// at returns the clause at a byte of the text, and what it is about.
func (o outline) at(offset int) (*clause, reference) {
	if i := o.clauseAt(offset); i >= 0 {
		return &o.clauses[i], o.refs[i]
	}
	return &clause{}, reference{}
}

// mentions reports whether a sentence may name a subject.
func (o outline) mentions(s *subject, sentence int) bool {
	for i, c := range o.clauses {
		if c.sentence == sentence && slices.Contains(o.refs[i].mentioned, s) {
			return true
		}
	}
	return false
}

// subject returns the first subject that the clause at a byte of the text is about, or nil.
func (o outline) subject(offset int) *subject {
	if _, r := o.at(offset); len(r.named) > 0 {
		return r.named[0]
	}
	return nil
}

// outline returns the clauses of a text, behind one that is about some products. A clause without a name of a kind goes on about that of the
// clause before it in its sentence.
func (s *subjects) outline(raw string, before []*subject) outline {
	words := text.Words(raw)
	clauses := clausesOf(raw, words, s.titles)
	own := make([]reference, len(clauses))
	for i := range clauses {
		own[i] = s.naming(raw, &clauses[i])
	}
	out := make([]reference, len(clauses))
	for i := range clauses {
		c := &clauses[i]
		out[i] = reference{named: slices.Clone(own[i].named), mentioned: slices.Clone(own[i].mentioned), hinted: own[i].hinted}
		if i+1 < len(clauses) && clauses[i+1].inBrackets && len(own[i].mentioned) == 0 && len(own[i+1].named) > 0 && !c.inBrackets {
			out[i] = own[i+1] // 24.90 EUR (Chalk pouch)
		} else if last := lastMain(clauses, i); last >= 0 && !c.has("COMPARE") {
			out[i].inherit(out[last])
		}
	}
	return outline{raw, words, clauses, own, out, s.focusOf(raw, clauses, before), before, nil}
}

// lastMain returns the last clause before one in its sentence that goes on behind it: not in brackets, unless the clause is there too.
func lastMain(clauses []clause, i int) int {
	for k := i - 1; k >= 0 && clauses[k].sentence == clauses[i].sentence; k-- {
		if !clauses[k].inBrackets || clauses[i].inBrackets {
			return k
		}
	}
	return -1
}

// isRow reports whether the line of a byte is an item of a list or a row of a table.
func isRow(raw string, offset int) bool {
	return isTableRow(raw, offset) || IsItem(lineAt(raw, offset), ".)")
}

// inherit adds the subjects of kinds that the reference has none of, but for those of which others are hinted at.
func (p *reference) inherit(from reference) {
	for _, n := range from.named {
		if !p.hintsAtOthers(n) && !slices.ContainsFunc(p.mentioned, func(o *subject) bool { return o.kind == n.kind }) {
			p.named, p.mentioned = append(p.named, n), append(p.mentioned, n)
		}
	}
}

// hintsAtOthers reports whether the clause has words of other subjects of a kind, and none of this one.
func (p *reference) hintsAtOthers(n *subject) bool {
	return !slices.Contains(p.hinted, n) && slices.ContainsFunc(p.hinted, func(o *subject) bool { return o.kind == n.kind })
}

// hintsAtOthers reports whether the sentence of a clause mentions or hints at others of a subject's kind.
func (o outline) hintsAtOthers(clause int, n *subject) bool {
	for i := range o.clauses {
		if o.clauses[i].sentence == o.clauses[clause].sentence && (o.refs[i].mentionsKind(n.kind) || o.own[i].hintsAtOthers(n)) {
			return true
		}
	}
	return false
}

// contradicts returns the subject of a claim's clause if the evidence has the claim of another subject of its kind only, or of
// another variant of it; or else nil.
func (s *subjects) contradicts(in outline, c claim) *subject {
	of, r := in.at(c.Start)
	if !isSpecific(c) && !s.units[c.Unit] || of.has("COMPARE") || c.currency == "" && len(comparisonsOf(of.words)) > 0 || s.common.Has(c.Fact) || in.listsNames(c.Start) {
		return nil
	}
	if order := r.of(kindOrder); order != nil && order.hasOtherTotal(of, c) {
		return order
	}
	if p := r.of(kindProduct); p != nil && p.isOfOtherVariant(in, of.sentence, c) {
		return p
	}
	has := func(n *subject) bool { // an order has what its items have
		return n.facts.Has(c.Fact) && (n.kind != kindOrder || r.of(kindItem) == nil)
	}
	var product *subject // that the amount is of
	if uses(famFocus) {
		product = s.productOf(in, c)
	}
	if product != nil && has(product) {
		return nil
	}
	if c.currency == "" { // a measure may be of a part, or of what the text compares with
		product = nil
	}
	isOwn := func(n *subject) bool { return has(n) && (product == nil || n.kind != kindProduct) }
	if slices.ContainsFunc(r.mentioned, isOwn) {
		return nil
	}
	isMeasure := c.currency == "" && c.Unit != Percent && c.Unit != Date
	if _, isPeriod := periods[c.Unit]; isMeasure && !isPeriod && c.Plain && !s.units[c.Unit] && len(c.others) == 0 {
		return nil // a small number may count anything
	}
	var named *subject
	measures := c.measures()
	for _, o := range s.list {
		if !has(o) || len(measures) > 0 && !slices.ContainsFunc(measures, o.facts.has) {
			continue
		}
		named = r.of(o.kind)
		if product != nil && (o.kind == kindProduct || o.kind == kindItem && named == nil || o.kind == kindOrder && s.hasItemWith(o, c)) {
			named = product
			continue
		}
		if o.kind == kindPassage && isMeasure {
			if !in.spellsOut(named, of.sentence) {
				named = nil
			}
			named = s.otherTerm(of, c, named)
		}
		if named == nil || isMeasure && in.mentions(o, of.sentence) || o.kind == kindPassage && !isMeasure {
			return nil
		}
	}
	return named
}

// hasItemWith reports whether a claim is true of an item of an order.
func (s *subjects) hasItemWith(order *subject, c claim) bool {
	return slices.ContainsFunc(s.list, func(o *subject) bool { return slices.Contains(o.orders, order) && o.facts.Has(c.Fact) })
}

// hasOtherTotal reports whether a clause gives an amount as the total of an order, and it is another one.
func (s *subject) hasOtherTotal(c *clause, amount claim) bool {
	if amount.currency == "" || !c.has("TOTAL") || c.has("SHIPPING") {
		return false
	}
	total, currency, ok := s.valueOf("total")
	return ok && sameCurrency(currency, amount.currency) && !slices.Contains(amount.values, total.least)
}

// spellsOut reports whether a sentence has all words of content of a subject's name: "costs" alone may be of several passages.
func (o outline) spellsOut(s *subject, sentence int) bool {
	return s != nil && !slices.ContainsFunc(s.words, func(word string) bool {
		return isContent(word) && !slices.ContainsFunc(o.clauses, func(c clause) bool {
			return c.sentence == sentence && slices.ContainsFunc(c.words, func(w text.Word) bool { return nameWord(w.Text) == word })
		})
	})
}

// listsNames reports whether the sentence of a byte lists names before it gives values: "the first, the second and the third cost 20, 30
// and 40 EUR".
func (o outline) listsNames(offset int) bool {
	last := o.clauseAt(offset)
	for i := 1; i <= last; i++ {
		before, c := &o.clauses[i-1], &o.clauses[i]
		if c.sentence == o.clauses[last].sentence && before.sentence == c.sentence && !before.hasValue() &&
			slices.ContainsFunc(o.own[i].named, func(n *subject) bool { return o.own[i-1].of(n.kind) != nil && o.own[i-1].of(n.kind) != n }) {
			return true
		}
	}
	return false
}

// hasValue reports whether the clause has a number that is no part of a short name: one with decimals, or of three digits.
func (c *clause) hasValue() bool {
	return slices.ContainsFunc(c.words, func(w text.Word) bool { return hasDigit(w) && len(w.Text) >= 2 })
}

// isOfOtherVariant reports whether a sentence names one variant of a product, and a claim in it is true of others only.
func (s *subject) isOfOtherVariant(in outline, sentence int, c claim) bool {
	named, isOthers := -1, false
	for i, v := range s.variants {
		if !s.isNamedVariant(in, sentence, v) {
			isOthers = isOthers || v.has(c.Fact)
			continue
		}
		if named >= 0 || v.has(c.Fact) {
			return false
		}
		named = i
	}
	return named >= 0 && isOthers
}

// isNamedVariant reports whether a sentence has a word of the options of a variant that the options of other variants do not have.
func (s *subject) isNamedVariant(in outline, sentence int, v variant) bool {
	for _, c := range in.clauses {
		for _, w := range c.words {
			if c.sentence != sentence || !slices.Contains(v.words, w.Text) {
				continue
			}
			having := 0
			for _, o := range s.variants {
				if slices.Contains(o.words, w.Text) {
					having++
				}
			}
			if having == 1 {
				return true
			}
		}
	}
	return false
}

func (v variant) has(f Fact) bool { return slices.ContainsFunc(v.facts, f.Matches) }

// isSpecific reports whether a claim tells subjects of a kind apart: an amount, a percentage, a date, a period or a measure. A bare
// number may count anything.
func isSpecific(c claim) bool {
	if c.currency != "" || c.Unit == Percent || c.Unit == Date {
		return true
	}
	unit := c.Unit
	if n := len(c.others); n > 0 {
		unit = c.others[n-1].Unit
	}
	_, isPeriod := periods[unit]
	return isPeriod || measures[unit] != "" || counts[unit]
}

// addUnits adds the units and the names of the numbers in a product's details: "pressure 15 bar; strings 6".
func (s *subjects) addUnits(details string, facts []Fact) {
	start := 0
	for part := range strings.SplitSeq(details, ";") {
		end := start + len(part)
		for ; len(facts) > 0 && facts[0].Start < end; facts = facts[1:] {
			f := facts[0]
			if !f.IsNumber() || f.currency != "" {
				continue
			}
			if s.units == nil {
				s.units = map[string]bool{}
			}
			for _, w := range text.Words(part) {
				if isContent(w.Text) && !isNumeral(w) || w.Text == f.Unit {
					s.units[unitWord(strings.ToLower(part[w.Start:w.End]))] = true
				}
			}
		}
		start = end + len(";")
	}
}

// counts are the words behind a number of pieces in stock.
var counts = map[string]bool{"pair": true, "piec": true, "left": true, "stüc": true, "paar": true, "pièc": true, "piez": true, "unid": true}
