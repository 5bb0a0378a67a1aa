// Package classifier splits a shopper's message into sub-queries and assigns each to a specialist, without a language model.
//
// Classify works in stages, one file each: normalise (words), segment (clauses), feature (hashed features of clauses and of the
// places between them), chain (the probabilities of specialists and of sets of them), keyword (what specialists and stores
// publish), calibrate (confidence). The weights come from labelled messages: cmd/trainclassifier fits them.
//
// The package must not import a service, read the environment or keep state between calls.
package classifier

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// MaxMessage is the longest message and the longest sub-query in characters.
	MaxMessage = 8000
	// MaxAssignments is how many assignments a message has at most, unless there are more specialists than that.
	MaxAssignments = 8
	// CatchAllName gets greetings, nonsense and messages that fit no other specialist; without it, the last specialist does.
	CatchAllName = "support"
	// productName is the specialist whose requests may be nothing but the name of a thing.
	productName = "search"
	// maxCandidates is how many specialists a message is divided among; of more, those that score highest. The chain's cost
	// doubles with each.
	maxCandidates = 7
)

// Classifier classifies messages for a fixed set of specialists. It is immutable and safe for concurrent use. Use New to make
// one.
type Classifier struct {
	names    []string
	catchAll int
	chain    *chain   // its labels are the names, in order
	keywords keywords // that specialists publish
	own      keywords // of a store; nil: none
	// certainty turns probabilities into confidences.
	certainty certainty
}

// New makes a classifier for specialists, of which there must be at least one. The weights of the specialists that the
// built-in model knows are used as they are. Those of others are fitted to their examples, and their keywords count. New keeps
// no reference to its argument.
func New(specialists []*specialistv1.Specialist) *Classifier {
	return newClassifier(namesOf(specialists), published(specialists, fitted().names), fitted().forSpecialists(specialists), fitted().certainty)
}

func newClassifier(names []string, published keywords, chain *chain, certainty certainty) *Classifier {
	c := &Classifier{names: names, keywords: published, chain: chain, certainty: certainty}
	if c.catchAll = slices.Index(c.names, CatchAllName); c.catchAll < 0 {
		c.catchAll = len(c.names) - 1
	}
	return c
}

// WithKeywords returns a classifier that also knows a store's own keywords, and shares everything else with c. Their words
// count as the store says and no longer as the model learned them. Keywords for unknown specialists do not speak for anyone.
func (c *Classifier) WithKeywords(own []*routerv1.RoutingKeyword) *Classifier {
	if len(own) == 0 {
		return c
	}
	out := *c
	out.own = ownKeywords(own, c.names)
	return &out
}

// Specialists returns the names of the specialists in the order given to New. The result must not be modified.
func (c *Classifier) Specialists() []string { return c.names }

// CatchAll returns the name of the specialist that gets messages which fit no other: "support", or else the last one.
func (c *Classifier) CatchAll() string { return c.names[c.catchAll] }

// Input is a message to classify.
type Input struct {
	// Message is the shopper's message. It must not be empty.
	Message string
	// History holds the shopper's earlier messages of the conversation, oldest first. May be empty.
	History []string
	// Question is what a specialist has just asked the shopper. Nil: nothing.
	Question *specialistv1.PendingQuestion
}

// ShoppersTexts returns what the shopper wrote in a conversation, for Input.History.
func ShoppersTexts(messages []*commonv1.Message) []string {
	var out []string
	for _, m := range messages {
		if m.GetRole() == commonv1.Role_ROLE_USER {
			out = append(out, m.GetText())
		}
	}
	return out
}

// Assignment is a part of a message and the specialist that should answer it.
type Assignment struct {
	// Specialist is one of the classifier's specialists.
	Specialist string
	// SubQuery is the part in the shopper's words. Where a pronoun stands for something in an earlier part, that part follows
	// in brackets. Never empty.
	SubQuery string
	// Reason says in a few words why.
	Reason string
	// Confidence is the estimated probability that the specialist should get a part, 0 to 1.
	Confidence float64
	// Start is where the part begins in the message, in bytes.
	Start int
}

// Result is a classified message.
type Result struct {
	// Assignments cover the message in its order. Never empty.
	Assignments []Assignment
	// Confidence is the estimated probability that the set of specialists is right, 0 to 1.
	Confidence float64
	// Notes say what a caller should know about the result beyond the assignments. Usually empty.
	Notes []string
	// OnlyNames says that the message names products and asks for nothing in words: it has no verb and no subject.
	OnlyNames bool
	// Incomplete says that the assignments may lack something: two questions became one part, a clear keyword or an order number speaks
	// for a specialist that gets no part, the message is short and may be an answer to the one before, or it is long and has no mark
	// that says where a request ends, or another cut makes the specialists doubtful. Confidence is bounded then.
	Incomplete bool

	features calibration // of the confidence
}

// nothingConfidence is the confidence in a result for a message without a word.
const nothingConfidence = 0.6

// doubtful bounds the confidence of a result that is incomplete. Of unseen authors' follow-ups that would be certain otherwise, 9 of 10
// wrong ones have at most fewWords. Of their messages of manyWords or more without a mark, 6 of 23 were wrong. Of those whose probability
// another cut brings below leastCut, 4 of 19 lost a part.
const (
	doubtful     = 0.9
	fewWords     = 6
	manyWords    = 16
	clearKeyword = 2 // weight
	leastCut     = 0.75
)

// maxEarlier is how many clauses of the message before count, the last ones.
const maxEarlier = 8

// Classify splits and assigns a message. What only answers the question, by its own words, goes to the specialist that asked.
func (c *Classifier) Classify(in Input) Result {
	if in.Question != nil && c.answers(in.Message, c.classify(Input{Message: in.Message}), in.Question) {
		return Result{Confidence: 1, Assignments: []Assignment{
			{Specialist: in.Question.GetSpecialist(), SubQuery: in.Message, Reason: "answers its question", Confidence: 1},
		}}
	}
	return c.classify(in)
}

// classify classifies a message without regard to a question.
func (c *Classifier) classify(in Input) Result {
	return c.classifyBy(reader{published: c.keywords, own: c.own, labels: c.chain.labels}, in)
}

// classifyBy classifies a message as a reader reads it.
func (c *Classifier) classifyBy(r reader, in Input) Result {
	var out Result
	read := r.read(in)
	ws, cs, matches := read.words, read.clauses, read.matches
	if len(ws) == 0 {
		out.Confidence = nothingConfidence
		out.Assignments = []Assignment{{Specialist: c.CatchAll(), SubQuery: cmp.Or(strings.TrimSpace(in.Message), in.Message),
			Reason: "nothing that can be read", Confidence: nothingConfidence}}
		return out
	}
	m, candidates := c.candidates(&read.input)
	p := m.potentials(read.input)
	probabilities := m.setProbabilities(p)
	set := decide(probabilities)
	cut := probabilities[set]
	if cut > worthCutting && len(ws) <= mostCut {
		cut = min(cut, r.cutProbability(read, m, candidates, set))
	}
	out.features = calibrationInput(probabilities[set], cut, set, read, len(in.History) > 0)
	out.Confidence = c.certainty.confidence(out.features)
	if probabilities[0] > slices.Max(probabilities[1:]) {
		out.Assignments = []Assignment{{Specialist: c.CatchAll(), SubQuery: excerpt(in.Message, ws, 0, len(ws)), Start: ws[0].start,
			Reason: "asks for nothing", Confidence: out.Confidence}}
		return out
	}
	for _, part := range parts(m.labeling(p, set)[p.earlier:], m.labels-1) {
		lo, hi := cs[part.lo].lo, cs[part.hi-1].hi
		a := Assignment{
			Specialist: c.names[candidates[part.label]], SubQuery: excerpt(in.Message, ws, lo, hi), Start: ws[lo].start,
			Reason:     reason(within(clause{lo, hi}, matches), candidates[part.label]),
			Confidence: min(1, max(out.Confidence, probabilityOf(probabilities, part.label))),
		}
		out.Assignments = append(out.Assignments, withAntecedent(a, out.Assignments))
	}
	out.OnlyNames = len(out.Assignments) == 1 && out.Assignments[0].Specialist == productName &&
		!slices.ContainsFunc(ws, func(w word) bool { return w.asked || openers[w.norm] && !leadIns[w.norm] })
	left := slices.ContainsFunc(matches, func(m match) bool {
		return m.weight >= clearKeyword && !slices.ContainsFunc(out.Assignments, func(a Assignment) bool { return a.Specialist == c.names[m.label] })
	})
	out.Incomplete = left || c.leavesID(in.Message, ws, out.Assignments) || strings.Count(in.Message, "?") > 1 && len(out.Assignments) == 1 ||
		len(in.History) > 0 && len(ws) <= fewWords || cut < min(leastCut, probabilities[set]) ||
		len(ws) >= manyWords && !slices.ContainsFunc(ws[1:], func(w word) bool { return w.gap != gapSpace })
	if out.Incomplete {
		out.Confidence = min(out.Confidence, doubtful)
		for i := range out.Assignments {
			out.Assignments[i].Confidence = min(out.Assignments[i].Confidence, doubtful)
		}
	}
	if len(out.Assignments) > MaxAssignments {
		out.Assignments = Merge(out.Assignments)
		out.Notes = append(out.Notes, "many requests; requests for the same specialist were merged")
	}
	return out
}

// leavesID reports whether the message has an order number or a code, and the specialist whom such words fit best gets no part.
func (c *Classifier) leavesID(message string, ws []word, assignments []Assignment) bool {
	return slices.ContainsFunc(ws, func(w word) bool {
		if !w.isID(message) {
			return false
		}
		bucket := hashed("w", w.norm, clauseBuckets)
		best := 0
		for l := range c.names {
			if c.chain.clause[l][bucket] > c.chain.clause[best][bucket] {
				best = l
			}
		}
		return !slices.ContainsFunc(assignments, func(a Assignment) bool { return a.Specialist == c.names[best] })
	})
}

// reading is a message as the chain reads it.
type reading struct {
	input   input
	words   []word
	clauses []clause
	matches []match
}

// reader reads messages for a chain.
type reader struct {
	published, own keywords
	labels         int
	without        []string // kinds of features, in an ablation
}

// read reads a message and, in front of it, the end of the message before.
func (r reader) read(in Input) reading {
	out := r.readOne(in.Message)
	if len(in.History) == 0 || len(out.words) == 0 || slices.Contains(r.without, followUpKind) {
		return out
	}
	before := r.readOne(in.History[len(in.History)-1]).input
	n := len(before.clauses)
	if n == 0 {
		return out
	}
	from := max(0, n-maxEarlier)
	out.input = input{
		clauses: slices.Concat(before.clauses[from:], out.input.clauses),
		edges:   slices.Concat(before.edges[from:], [][]feature{followUpFeatures(out.words, out.clauses)}, out.input.edges),
		prior:   slices.Concat(before.prior[from:], out.input.prior),
		earlier: n - from,
	}
	return out
}

// readOne reads a message by itself.
func (r reader) readOne(message string) reading {
	out := reading{words: splitWords(message)}
	out.clauses, out.matches = clauses(out.words), find(message, out.words, r.published, r.own)
	out.input = r.inputOf(out, out.clauses)
	return out
}

// inputOf returns the input of a message that is divided into clauses. Words of a store's own keywords have no features.
func (r reader) inputOf(read reading, cs []clause) input {
	var out input
	ignored := make([]bool, len(read.words))
	for _, m := range read.matches {
		for i := m.lo; i < m.hi && m.own; i++ {
			ignored[i] = true
		}
	}
	for i, c := range cs {
		out.clauses = append(out.clauses, clauseFeatures(read.words, cs, i, ignored, r.without))
		if i > 0 {
			out.edges = append(out.edges, edgeFeatures(read.words, cs, i, r.without))
		}
		prior := make([]float64, r.labels)
		for _, m := range within(c, read.matches) {
			prior[m.label] += m.logOdds
		}
		out.prior = append(out.prior, prior)
	}
	return out
}

// worthCutting is the probability of a set from which other cuts are looked at, and mostCut how many words a message has at most then.
const (
	worthCutting = 0.85
	mostCut      = 40
)

// cutProbability returns the lowest probability of a set if one clause is cut once more, wherever that leaves enough words.
func (r reader) cutProbability(read reading, m *chain, candidates []int, set int) float64 {
	lowest := 1.0
	e := read.input.earlier
	for i, c := range read.clauses {
		for at := c.lo + minClause; at+minClause <= c.hi; at++ {
			cs := slices.Insert(slices.Clone(read.clauses), i+1, clause{at, c.hi})
			cs[i].hi = at
			in := r.inputOf(read, cs)
			narrow(&in, candidates)
			in.clauses, in.prior = slices.Concat(read.input.clauses[:e], in.clauses), slices.Concat(read.input.prior[:e], in.prior)
			in.edges, in.earlier = slices.Concat(read.input.edges[:e], in.edges), e
			lowest = min(lowest, m.setProbabilities(m.potentials(in))[set])
		}
	}
	return lowest
}

// candidates returns a chain over the specialists that score highest and their numbers. It narrows the input's priors to them.
func (c *Classifier) candidates(in *input) (*chain, []int) {
	all := make([]int, len(c.names))
	best := make([]float64, len(c.names))
	for l := range all {
		all[l], best[l] = l, math.Inf(-1)
	}
	if len(all) <= maxCandidates {
		return c.chain, all
	}
	for i, fs := range in.clauses {
		for l := range best {
			score := dot(c.chain.clause[l], fs)
			if in.prior != nil {
				score += in.prior[i][l]
			}
			best[l] = max(best[l], score)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(best[b], best[a]) })
	all = all[:maxCandidates]
	labels := append(slices.Clone(all), len(c.names))
	narrow(in, all)
	m := &chain{labels: len(labels), clause: pick(c.chain.clause, labels), edge: c.chain.edge}
	for _, row := range pick(c.chain.pair, labels) {
		m.pair = append(m.pair, pick(row, labels))
	}
	return m, all
}

// narrow leaves out the priors of specialists that are no candidates.
func narrow(in *input, candidates []int) {
	for i, prior := range in.prior {
		if len(prior) > len(candidates)+1 {
			in.prior[i] = pick(prior, append(slices.Clone(candidates), len(prior)-1))
		}
	}
}

// pick returns the elements at some places.
func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = all[k]
	}
	return out
}

// wanted is the probability from which a specialist gets a part. It is below a half, since a lost part costs more than one too many: of
// unseen messages with several specialists 108 of 187 had the right set in place of 93, and of all messages 5 more of 1,297.
const wanted = 0.45

// decide returns the set of the specialists that probably get a part, or else the most probable set that is not empty: a message goes
// somewhere.
func decide(probabilities []float64) int {
	set, best := 0, 1
	for l := 0; 1<<l < len(probabilities); l++ {
		if probabilityOf(probabilities, l) > wanted {
			set |= 1 << l
		}
	}
	for s := range probabilities {
		if s > 0 && probabilities[s] > probabilities[best] {
			best = s
		}
	}
	if probabilities[set] == 0 || set == 0 || probabilities[0] > probabilities[best] { // fewer clauses than specialists
		return best
	}
	return set
}

// probabilityOf returns the probability that a specialist is in the set.
func probabilityOf(probabilities []float64, label int) float64 {
	var sum float64
	for set, p := range probabilities {
		if set>>label&1 == 1 {
			sum += p
		}
	}
	return sum
}

// part is a run of clauses for one label: clauses from lo to hi-1.
type part struct{ lo, hi, label int }

// parts joins neighbouring clauses with the same label. What is background belongs to the part after it, or else before it.
func parts(labels []int, background int) []part {
	var out []part
	for i, l := range labels {
		switch n := len(out) - 1; {
		case n >= 0 && (out[n].label == l || out[n].label == background):
			out[n].hi, out[n].label = i+1, l
		default:
			out = append(out, part{i, i + 1, l})
		}
	}
	if n := len(out) - 1; n > 0 && out[n].label == background {
		out[n-1].hi = out[n].hi
		out = out[:n]
	}
	return slices.DeleteFunc(joined(out), func(p part) bool { return p.label == background })
}

// joined joins neighbouring parts with the same label, as they are once the background between them has gone.
func joined(ps []part) []part {
	var out []part
	for _, p := range ps {
		if n := len(out) - 1; n >= 0 && out[n].label == p.label {
			out[n].hi = p.hi
			continue
		}
		out = append(out, p)
	}
	return out
}

// withAntecedent adds in brackets what a pronoun in the part may stand for: the last part before of the same specialist, or
// else the last one.
func withAntecedent(a Assignment, before []Assignment) Assignment {
	if len(before) == 0 || !hasPronoun(a.SubQuery) {
		return a
	}
	from := before[len(before)-1]
	for _, b := range slices.Backward(before) {
		if b.Specialist == a.Specialist {
			from = b
			break
		}
	}
	about, _, _ := strings.Cut(from.SubQuery, prompt.AboutMark)
	if about = strings.TrimRight(text.OneLine(about), " ?!."); len(a.SubQuery)+len(about) < MaxMessage-12 {
		a.SubQuery += prompt.AboutMark + about + ")"
	}
	return a
}

// reason says in words what speaks for a label.
func reason(matches []match, label int) string {
	var terms []string
	for _, m := range matches {
		if term := strconv.Quote(m.term); m.label == label && m.logOdds > 0 && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	if len(terms) == 0 {
		return "resembles examples"
	}
	return strings.Join(terms, ", ")
}

// Merge joins the assignments of each specialist into one, on a line each, in the order of their first ones. The
// confidence is the lowest of those joined.
func Merge(assignments []Assignment) []Assignment {
	var out []Assignment
	index := map[string]int{}
	for _, a := range assignments {
		i, seen := index[a.Specialist]
		if !seen {
			index[a.Specialist] = len(out)
			out = append(out, a)
			continue
		}
		out[i].SubQuery += "\n" + a.SubQuery
		out[i].Confidence = min(out[i].Confidence, a.Confidence)
	}
	return out
}
