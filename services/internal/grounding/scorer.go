package grounding

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

//go:generate go test -count=1 -run TestScorerIsFittedToPhrases . -args -update

//go:embed concepts.txt
var conceptTable string

//go:embed scorer.bin
var scorerFile []byte

// scorer is a multinomial logistic regression over the concepts and words of a sentence: how likely it says each of what labels list. It
// meets the wordings that the table of topics lacks.
type scorer struct {
	keys   []uint32 // of the features, ascending
	starts []int32  // by the upper 16 bits of a key, the number of the first such key: most features have no weights
	rows   []byte   // of each feature its key and its weights, a signed byte for each label, in units of scale
	scale  float32
}

// row returns the weights of a feature. Nil: it has none.
func (m *scorer) row(key uint32) []byte {
	for i, end := m.starts[key>>16], m.starts[key>>16+1]; i < end; i++ {
		if m.keys[i] == key {
			return m.rows[int(i)*rowSize()+4:][:len(labels)]
		}
	}
	return nil
}

// rowSize is the length of a row of the file.
func rowSize() int { return 4 + len(labels) }

// labels are what a sentence may say. The last two say nothing that evidence can deny.
var labels = strings.Fields("in_stock out_of_stock shipped delivered processing cancelled refunded can_cancel cannot_cancel can_return cannot_return " +
	"action_claimed cheaper dearer cheapest free_shipping no_free_shipping code_valid code_expired code_not_met guaranteed arrives no_action none")

// Words that stand for names and numbers.
const (
	productWord, otherWord, orderWord, codeWord, numberWord = "qproduct", "qother", "qorder", "qcode", "qnumber"
)

// concept is a phrase of the table of concepts.
type concept struct {
	name   string
	words  []pattern
	hasGap bool
}

// pattern stands for words: one that is given, those that begin and end in some way, or up to maxGap of any.
type pattern struct {
	begin, end    string
	isPart, isGap bool
}

// concepts are by their first word, or by the first letters of it if it is the beginning of words; under "", it is their end.
var concepts = sync.OnceValue(func() (out struct{ byWord, byBeginning map[string][]concept }) {
	out.byWord, out.byBeginning = map[string][]concept{}, map[string][]concept{}
	for line := range strings.Lines(conceptTable) {
		name, list, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		for entry := range strings.SplitSeq(list, ", ") {
			c := concept{name: name, hasGap: strings.Contains(entry, "..")}
			for w := range strings.FieldsSeq(entry) {
				begin, end, isPart := strings.Cut(w, "*")
				c.words = append(c.words, pattern{begin, end, isPart, w == ".."})
			}
			if key := c.words[0].begin; c.words[0].isPart {
				out.byBeginning[beginningOf(key)] = append(out.byBeginning[beginningOf(key)], c)
			} else {
				out.byWord[key] = append(out.byWord[key], c)
			}
		}
	}
	return out
})

// beginningOf returns the first letters of a word under which beginnings of words are looked for.
func beginningOf(w string) string { return w[:min(len(w), 2)] }

// maxGap is how many words a gap stands for at most.
const maxGap = 4

// matches reports whether words begin with patterns.
func matches(words []string, patterns []pattern) bool {
	for i, p := range patterns {
		switch {
		case p.isGap:
			for k := i; k <= i+maxGap && k < len(words); k++ {
				if matches(words[k:], patterns[i+1:]) {
					return true
				}
			}
			return false
		case i == len(words):
			return false
		case !p.isPart && words[i] != p.begin, p.isPart && (len(words[i]) < len(p.begin)+len(p.end) || !strings.HasPrefix(words[i], p.begin) || !strings.HasSuffix(words[i], p.end)):
			return false
		}
	}
	return true
}

// conceptsOf returns the concepts that words name, in order, and at the end how often they deny something. Words of a longer phrase name
// nothing else.
func conceptsOf(words []string) []string {
	out := make([]string, 1, len(words)+3)
	out[0] = "^"
	table := concepts()
	for i := 0; i < len(words); {
		first, longest, end := len(out), 0, i+1
		for _, of := range [...][]concept{table.byWord[words[i]], table.byBeginning[beginningOf(words[i])], table.byBeginning[""]} {
			for _, c := range of {
				switch {
				case len(c.words) < longest || !matches(words[i:], c.words):
				case len(c.words) > longest:
					out, longest, end = append(out[:first], c.name), len(c.words), i+1
					if !c.hasGap {
						end = i + longest
					}
				case c.name != out[len(out)-1]:
					out = append(out, c.name)
				}
			}
		}
		if i = end; first < len(out) && out[first] == out[first-1] {
			out = slices.Delete(out, first, first+1)
		}
	}
	denials := 0
	for i, c := range out {
		if isDenial[c] && !(c == "NOT" && isDenial[out[i-1]]) {
			denials++
		}
	}
	return append(out, []string{"DENIED0", "DENIED1", "DENIED2", "DENIED3"}[min(denials, 3)], []string{"EVEN", "ODD"}[denials%2])
}

// isDenial has the concepts that deny something or say that it is over.
var isDenial = map[string]bool{
	"NOT": true, "EXCLUDED": true, "LATE": true, "GONE": true, "CLOSED": true, "PREVENT": true, "REJECT": true, "NOMORE": true, "NOTYET": true,
}

// feature is a hashed feature of a sentence, and its value.
type feature struct {
	key   uint32
	value float32
}

// featuresOf returns the features of a sentence in folded words: its concepts and the pairs of them, its words, their stems and
// the pairs of words that follow each other.
func featuresOf(words, found []string) []feature {
	ids := make([]uint32, len(found))
	for i, c := range found {
		ids[i] = hashed(c)
	}
	out := make([]feature, 0, 3*len(words)+len(found)*(len(found)+3)/2)
	for i, a := range ids {
		out = append(out, feature{a, 1})
		for _, b := range ids[i+1:] {
			if a != b {
				out = append(out, feature{max(a, b)*mixer ^ min(a, b), 1})
			}
		}
		if i+1 < len(ids) && ids[i+1] != a {
			out = append(out, feature{(a*mixer+1)*mixer ^ ids[i+1], 1})
		}
	}
	slices.SortFunc(out, func(a, b feature) int { return cmp.Compare(a.key, b.key) })
	out = slices.Compact(out)
	value := float32(wordValue / math.Sqrt(float64(len(words))))
	for i, w := range words {
		out = append(out, feature{hashed(w), value})
		if stem := stemOf(w); stem != w {
			out = append(out, feature{hashed(stem, "*"), value})
		}
		if i+1 < len(words) {
			out = append(out, feature{hashed(w, " ", words[i+1]), value})
		}
	}
	return append(out, feature{0, 1})
}

// wordValue weighs words, which are in small letters, against concepts, which are not.
const wordValue = 5

// mixer is the prime of FNV-1a.
const mixer = 16777619

// hashed is the FNV-1a hash of parts of a text.
func hashed(parts ...string) uint32 {
	h := uint32(2166136261)
	for _, s := range parts {
		for i := range len(s) {
			h = (h ^ uint32(s[i])) * mixer
		}
	}
	return h
}

// score returns the probability of each label.
func (m *scorer) score(features []feature) []float64 {
	out := make([]float64, len(labels))
	for _, f := range features {
		unit := f.value * m.scale
		for l, w := range m.row(f.key) {
			out[l] += float64(unit * float32(int8(w)))
		}
	}
	return softmax(out)
}

// softmax turns sums into probabilities, in place.
func softmax(out []float64) []float64 {
	top, sum := slices.Max(out), 0.0
	for l := range out {
		out[l] = math.Exp(out[l] - top)
		sum += out[l]
	}
	for l := range out {
		out[l] /= sum
	}
	return out
}

// fitted is the scorer that is built in.
var fitted = sync.OnceValue(func() *scorer {
	rows := scorerFile[4:] // ascending
	m := &scorer{starts: make([]int32, 1<<16+1), rows: rows, scale: math.Float32frombits(binary.LittleEndian.Uint32(scorerFile))}
	for row := range slices.Chunk(rows, rowSize()) {
		key := binary.LittleEndian.Uint32(row)
		m.keys = append(m.keys, key)
		m.starts[key>>16+1]++
	}
	for i := range 1 << 16 {
		m.starts[i+1] += m.starts[i]
	}
	return m
})

// scorable returns the words of a sentence with names and numbers replaced by words that stand for them. byWord has the subjects by the
// words of their names, of which the sentence names some. products are those named, in order.
func scorable(words []text.Word, byWord map[string][]*subject, named []*subject) (out []string, products []*subject) {
	out = make([]string, 0, len(words))
	for i := 0; i < len(words); {
		if of, end := nameAt(words, i, byWord, named); of != nil {
			if of.kind == kindProduct && !slices.Contains(products, of) {
				products = append(products, of)
			}
			i = end
			switch {
			case of.kind == kindOrder:
				out = append(out, orderWord)
			case of.kind == kindCode:
				out = append(out, codeWord)
			case of == products[0]:
				out = append(out, productWord)
			default:
				out = append(out, otherWord)
			}
			continue
		}
		t := words[i].Text
		i++
		if strings.Trim(t, "0.,") == "" {
			t = "0"
		} else if strings.ContainsFunc(t, unicode.IsDigit) {
			t = numberWord
		}
		if n := len(out); n == 0 || t != out[n-1] || t != numberWord {
			out = append(out, t)
		}
	}
	return out, products
}

// nameAt returns the subject that words from one on name, and where its name ends: of several that share a word, the one with the most words
// there.
func nameAt(words []text.Word, start int, byWord map[string][]*subject, named []*subject) (of *subject, end int) {
	if len(named) == 0 {
		return nil, 0
	}
	for _, s := range byWord[nameWord(words[start].Text)] {
		if s.kind != kindProduct && s.kind != kindOrder && s.kind != kindCode || !slices.Contains(named, s) {
			continue
		}
		k := start + 1
		for k < len(words) && slices.Contains(byWord[nameWord(words[k].Text)], s) {
			k++
		}
		if k > end {
			of, end = s, k
		}
	}
	return of, end
}

// meanings are the assertions that the labels stand for.
var meanings = map[string]assertion{
	"in_stock": {topic: "stock"}, "out_of_stock": {topic: "stock", denied: true},
	"shipped": {topic: "shipped"}, "delivered": {topic: "delivered"}, "processing": {topic: "processing"}, "cancelled": {topic: "cancelled"},
	"refunded": {topic: "refunded"}, "can_cancel": {topic: topicCan + "cancel"}, "cannot_cancel": {topic: topicCan + "cancel", denied: true},
	"can_return": {topic: topicCan + "return"}, "cannot_return": {topic: topicCan + "return", denied: true},
	"free_shipping": {topic: "free"}, "no_free_shipping": {topic: "free", denied: true},
	"code_valid": {topic: "apply"}, "code_expired": {topic: "apply", denied: true}, "code_not_met": {topic: "apply", denied: true},
}

// isScored has the topics of labels but for statuses, whose phrases in the table are surer.
var isScored = func() map[string]bool {
	out := map[string]bool{}
	for _, a := range meanings {
		_, isStatus := statuses[a.topic]
		out[a.topic] = !isStatus
	}
	return out
}()

// kindsOf are the kinds of subjects that the other labels are about.
var kindsOf = map[string]string{
	"in_stock": kindProduct, "out_of_stock": kindProduct, "code_valid": kindCode, "code_expired": kindCode, "code_not_met": kindCode,
}

const (
	// minLikely is the probability from which a sentence is taken to say what the evidence denies.
	minLikely = 0.8
	// minTrue is the probability from which a sentence counts as supported by the evidence, whatever its phrases.
	minTrue = 0.4
	// minVouched is the probability from which a sentence vouches for a time of arrival, which it states in any case.
	minVouched = 0.5
	// minStatus is the probability from which a status in words that the table of topics lacks is one.
	minStatus = 0.6
	// maxRead is how many words a sentence of several clauses has at most that the scorer overrules phrases in: longer ones say several
	// things, unlike those that it is fitted to.
	maxRead = 16
	// minDoubtful is that from which a phrase of the table of topics is taken to say what the evidence denies.
	minDoubtful = 0.1
)

// reading is what a sentence says by its wording, and how that compares with the evidence.
type reading struct {
	start, end         int // numbers of its clauses
	about              []*subject
	several            []string           // kinds of which it names several
	agreed             map[string]float64 // probabilities of what the evidence says, too, by topic
	contradicted, acts float64
	vouches            float64 // for a time of arrival
	none               float64
	isNamed            bool
	words              int
}

// overrules reports whether the sentence as a whole says something else than what a phrase in it asserts against the evidence. The scorer
// does not tell variants apart.
func (r reading) overrules(a assertion) bool {
	_, isStatus := statuses[a.topic]
	if !uses(famScorer) || !isStatus && !isScored[a.topic] || a.topic == "stock" && len(a.qualifiers) > 0 {
		return false
	}
	if slices.ContainsFunc(a.about, func(n *subject) bool { return slices.Contains(r.several, n.kind) }) {
		return false
	}
	agreed := r.agreed[a.topic]
	if r.end-r.start == 1 && (agreed >= minTrue || isScored[a.topic] && r.contradicted < minDoubtful) {
		return true
	}
	if isStatus { // "handed to the courier" is no delivery
		for topic := range statuses {
			agreed = max(agreed, r.agreed[topic])
		}
	}
	return r.words <= maxRead && (r.contradicted < minDoubtful || max(agreed, r.none) >= minLikely)
}

// readings returns how the sentences of a text read. before are the products and orders that the text has named.
func (s *subjects) readings(o outline, before []*subject) []reading {
	var out []reading
	for i := 0; i < len(o.clauses); {
		r := s.readingOf(o, i, before)
		for _, own := range o.own[r.start:r.end] {
			before = append(before, own.mentioned...)
		}
		out = append(out, r)
		i = r.end
	}
	return out
}

// readingAt returns the reading of the sentence of a clause.
func readingAt(readings []reading, clause int) reading {
	return readings[slices.IndexFunc(readings, func(r reading) bool { return clause < r.end })]
}

// readingOf reads the sentence that begins with a clause. A quotation contradicts nothing, since an order may be an exception to a rule.
func (s *subjects) readingOf(o outline, first int, before []*subject) reading {
	sentence := sentenceOf(o.clauses, first)
	if sentence[0].isQuestion || s.quotes(sentence) || isHeader(o, sentence) || !uses(famScorer) {
		return reading{start: first, end: first + len(sentence)}
	}
	r := s.read(o, first, sentence, before)
	if len(sentence) > 1 && r.contradicted >= minLikely && s.agreesByClause(o, r, before) {
		r.contradicted = 0
	}
	return r
}

// isHeader reports whether a sentence is a row of a table that names nothing.
func isHeader(o outline, sentence []clause) bool {
	return isTableRow(o.raw, sentence[0].start) && !slices.ContainsFunc(sentence, func(c clause) bool {
		return len(o.own[o.clauseAt(c.start)].mentioned) > 0
	})
}

// agreesByClause reports whether one clause of a sentence says what the evidence says, and none by itself what it denies: a sentence that
// says two things may read as a third.
func (s *subjects) agreesByClause(o outline, r reading, before []*subject) bool {
	agrees := false
	for i := r.start; i < r.end; i++ {
		c := s.read(o, i, o.clauses[i:i+1], slices.Concat(before, r.about))
		if c.contradicted >= minTrue {
			return false
		}
		for _, p := range c.agreed {
			agrees = agrees || p >= minTrue
		}
	}
	return agrees
}

// sentenceRead is a sentence as the scorer reads it.
type sentenceRead struct {
	about    []*subject // one of a kind: that it names, or that the text named last
	several  []string   // kinds of which its clauses name several
	products []*subject // that it names, in order
	likely   map[string]float64
	none     float64 // the probability that it says nothing that evidence can deny
	isNamed  bool    // it names what it is about, or the text named one thing at most before
}

// says returns what clauses of a sentence may say, with the probabilities. Rules of the evidence are not of the only order.
func (s *subjects) says(o outline, first int, sentence []clause, before []*subject, isEvidence bool) sentenceRead {
	var r sentenceRead
	var words []text.Word
	var named, sure []*subject
	var all reference
	for k := range sentence {
		words = append(words, sentence[k].words...)
		all.hinted = append(all.hinted, o.own[first+k].hinted...)
		sure = append(sure, o.own[first+k].named...)
		for _, n := range o.own[first+k].mentioned {
			if !slices.Contains(named, n) {
				named = append(named, n)
			}
		}
	}
	scored, products := scorable(words, s.byWord, named)
	r.products, r.isNamed = products, len(named) > 0 || !slices.ContainsFunc(before, func(b *subject) bool { return b != before[0] })
	for _, kind := range []string{kindProduct, kindOrder, kindCode} {
		of := ofKind(named, kind)
		if last := ofKind(before, kind); len(of) == 0 && len(last) > 0 && !all.hintsAtOthers(last[len(last)-1]) {
			of = last[len(last)-1:]
		}
		if kind == kindProduct && uses(famFocus) {
			if meant := o.meantIn(first, len(sentence)); len(meant) == 1 {
				of = meant
			}
		}
		if all := ofKind(s.list, kindOrder); kind == kindOrder && len(of) == 0 && len(all) == 1 && !isEvidence {
			of = all // "you can still send it back"
		}
		isLater := len(sentence) > 1 && sentence[0].saysSomething() && len(ofKind(before, kind)) > 0 && !o.own[first].mentionsKind(kind)
		if len(of) == 1 && !(isLater && len(ofKind(named, kind)) > 0) { // "it is sold out; the other one is not"
			r.about = append(r.about, of[0])
		}
		if len(ofKind(sure, kind)) > 1 {
			r.several = append(r.several, kind)
		}
	}
	r.likely = map[string]float64{}
	for l, p := range fitted().score(featuresOf(scored, conceptsOf(scored))) {
		label := labels[l]
		kind := kindsOf[label]
		switch {
		case p < minCounted:
		case label == "none" || label == "no_action":
			r.none += p
		case kind == "" || slices.ContainsFunc(r.about, func(n *subject) bool { return n.kind == kind }):
			r.likely[label] = p
		}
	}
	return r
}

// statesMissing reports whether a sentence gives the amount that its code still asks for.
func (r sentenceRead) statesMissing(o outline, sentence []clause) bool {
	for _, code := range ofKind(r.about, kindCode) {
		missing, currency, ok := code.valueOf("missing")
		if !ok {
			continue
		}
		for _, f := range Read(o.raw[sentence[0].start:min(len(o.raw), sentence[len(sentence)-1].end+len(" EUR"))], "").Facts {
			if sameCurrency(f.currency, currency) && slices.Contains(f.values(), missing.least) {
				return true
			}
		}
	}
	return false
}

// read compares what clauses of a sentence say with the evidence.
func (s *subjects) read(o outline, first int, sentence []clause, before []*subject) reading {
	said := s.says(o, first, sentence, before, false)
	r := reading{start: first, end: first + len(sentence), about: said.about, several: said.several, acts: said.likely["action_claimed"], vouches: said.likely["guaranteed"], none: said.none, isNamed: said.isNamed, agreed: map[string]float64{}}
	for i := range sentence {
		r.words += len(sentence[i].words)
	}
	for label, p := range said.likely {
		switch s.compareLabel(o, said, label, first, sentence, before) {
		case Supported:
			r.agreed[meanings[label].topic] += p
		case Contradicted:
			r.contradicted += p
		}
	}
	return r
}

// compareLabel compares what a label says of a sentence with the evidence.
func (s *subjects) compareLabel(o outline, said sentenceRead, label string, first int, sentence []clause, before []*subject) Verdict {
	switch a, isAssertion := meanings[label]; {
	case label == "out_of_stock" && slices.ContainsFunc(sentence, func(c clause) bool { return isNamedOption(o.raw, said.about, c.words) }):
	case label == "cannot_return" && sentenceHas(o.clauses, first, "ONLY"): // of all but unused goods
	case label == "can_return" && (sentenceHas(o.clauses, first, "ONLY") || sentenceHas(o.clauses, first, "IF")) && !s.cannotReturn(said.about): // of sealed goods
	case label == "cheaper" && len(said.products) == 2:
		return s.comparePrices(said.products[0], said.products[1])
	case label == "dearer" && len(said.products) == 2:
		return s.comparePrices(said.products[1], said.products[0])
	case label == "cheaper" && len(said.products) == 1:
		if all := ofKind(s.list, kindProduct); len(all) == 2 { // "the cheaper of the two"
			return s.comparePrices(said.products[0], all[1-slices.Index(all, said.products[0])])
		}
	case label == "cheapest" && len(said.products) == 1:
		return s.compareAll(said.products[0], before, &sentence[0])
	case label == "free_shipping" && slices.ContainsFunc(sentence, func(c clause) bool { return c.hasValue() }): // from an amount on
	case label == "refunded" && sentenceHas(o.clauses, first, "FUTURE"):
	case isAssertion && a.topic == "apply" && (sentenceHas(o.clauses, first, "IF") || said.statesMissing(o, sentence)): // "it runs until May if you like to use it"
	case isAssertion && a.topic == "free" && s.isFree(o.amounts):
	case isAssertion:
		a.about, a.isOwn = said.about, true
		return s.judge(a)
	}
	return Undecided
}

// cannotReturn reports whether the evidence denies that an order among some subjects can be returned.
func (s *subjects) cannotReturn(about []*subject) bool {
	return slices.ContainsFunc(s.assertions, func(a assertion) bool {
		return a.topic == topicCan+"return" && a.denied && slices.ContainsFunc(ofKind(a.about, kindOrder), func(o *subject) bool { return slices.Contains(about, o) })
	})
}

// addLikely adds what sentences of an answer say by their wording, so that an answer supports itself.
func (s *subjects) addLikely(o outline) {
	var before []*subject
	for i := 0; i < len(o.clauses); {
		sentence := sentenceOf(o.clauses, i)
		said := s.says(o, i, sentence, before, true)
		for label, p := range said.likely {
			if a, isAssertion := meanings[label]; isAssertion && p >= minTrue {
				a.about = said.about
				s.assertions = append(s.assertions, a)
			}
		}
		for _, own := range o.own[i : i+len(sentence)] {
			before = append(before, own.mentioned...)
		}
		i += len(sentence)
	}
}

// minCounted is the least probability that counts.
const minCounted = 0.01

func ofKind(all []*subject, kind string) []*subject {
	var out []*subject
	for _, s := range all {
		if s.kind == kind && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// comparePrices compares that a product is cheaper than another one.
func (s *subjects) comparePrices(a, b *subject) Verdict {
	x, unit, ok := a.valueOf("price")
	y, u, isKnown := b.valueOf("price")
	switch {
	case !ok || !isKnown || unit != u:
	case x.isBetter(y, -1):
		return Supported
	case y.isBetter(x, -1):
		return Contradicted
	}
	return Undecided
}

// compareAll compares that a product is the cheapest of those named and of its rivals.
func (s *subjects) compareAll(product *subject, before []*subject, c *clause) Verdict {
	v := Undecided
	for _, of := range s.list {
		if of == product || of.kind != kindProduct || !slices.Contains(before, of) && !s.isRival(of, product, c) {
			continue
		}
		switch s.comparePrices(product, of) {
		case Contradicted:
			return Contradicted
		case Supported:
			v = Supported
		}
	}
	return v
}
