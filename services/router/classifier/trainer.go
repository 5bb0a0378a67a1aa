package classifier

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Sample is a labelled message.
type Sample struct {
	Input
	// Gold are the specialists that should get a part. Empty: the message asks for nothing.
	Gold []string
	// Part says that the sample is a part of a message, as a specialist is asked. Figures leave it out.
	Part bool
	// Weight is how much the sample counts: 1 for a message as a shopper writes it.
	Weight float64
	// Source says who wrote it. Empty: the description of a specialist, which every fit may use.
	Source string
}

// epochs is how often the fit reads the samples.
const epochs = 12

// Train fits a model to samples and returns its file. It writes to progress how many messages of each source are right if the
// model is fitted to the other sources; the calibration is fitted to these.
func Train(specialists []*specialistv1.Specialist, samples []Sample, progress io.Writer) ([]byte, error) {
	t, err := newTrainer(specialists, samples)
	if err != nil {
		return nil, err
	}
	decisions := t.unseen(samples, nil)
	m := t.fit(samples, nil)
	m.calibration = fitCalibration(decisions)
	fmt.Fprintf(progress, "%-16s %8s %8s %8s %8s\n", "left out", "messages", "right", "certain", "of these")
	for _, source := range t.sources {
		var all, right, certain, certainRight float64
		for _, d := range decisions {
			if d.source != source {
				continue
			}
			sure := m.calibration.confidence(d.input) >= Threshold
			all++
			right += count(d.right)
			certain += count(sure)
			certainRight += count(sure && d.right)
		}
		fmt.Fprintf(progress, "%-16s %8.0f %8.3f %8.3f %8.3f\n", source, all, right/all, certain/all, certainRight/max(certain, 1))
	}
	fmt.Fprintf(progress, "calibration: %.3f\n", m.calibration)
	return m.encode(), nil
}

func count(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// family is a part of the classifier that an ablation leaves out.
type family struct {
	name  string
	kinds []string // of features; none: see fit
}

const (
	familyKeywords = "published keywords"
	familyJoined   = "joined samples"
)

var families = []family{
	{name: "words", kinds: []string{"w"}},
	{name: "pairs of words", kinds: []string{"p"}},
	{name: "n-grams of letters", kinds: []string{"c"}},
	{name: "first words", kinds: []string{"first", "first two"}},
	{name: "questions", kinds: []string{"asked", "in a question", "beside a question", edgeKind + "asked"}},
	{name: "place of a clause", kinds: []string{"only", "start", "end"}},
	{name: "lengths", kinds: []string{"words", "clauses", edgeKind + "words", edgeKind + "words before"}},
	{name: "quotes", kinds: []string{"quoted"}},
	{name: "marks between clauses", kinds: []string{edgeKind + "gap", edgeKind + "gap first"}},
	{name: "words between clauses", kinds: []string{edgeKind + "first", edgeKind + "second", edgeKind + "first two", edgeKind + "last", edgeKind + "gap first"}},
	{name: familyKeywords},
	{name: familyJoined},
}

// Ablate writes how many messages of each source are right if the model is fitted to the other sources, without one family after
// the other.
func Ablate(specialists []*specialistv1.Specialist, samples []Sample, progress io.Writer) error {
	t, err := newTrainer(specialists, samples)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "%-22s", "without")
	for _, source := range t.sources {
		fmt.Fprintf(progress, " %9s", source)
	}
	fmt.Fprintf(progress, " %9s\n", "mean")
	for _, left := range append([]family{{name: "nothing"}}, families...) {
		all, right := make(map[string]float64), make(map[string]float64)
		for _, d := range t.unseen(samples, &left) {
			all[d.source]++
			right[d.source] += count(d.right)
		}
		fmt.Fprintf(progress, "%-22s", left.name)
		mean := 0.0
		for _, source := range t.sources {
			share := 100 * right[source] / all[source]
			mean += share / float64(len(t.sources))
			fmt.Fprintf(progress, " %9.1f", share)
		}
		fmt.Fprintf(progress, " %9.1f\n", mean)
	}
	return nil
}

// trainer fits models to samples of some sources.
type trainer struct {
	names     []string
	published keywords
	sources   []string
}

func newTrainer(specialists []*specialistv1.Specialist, samples []Sample) (*trainer, error) {
	t := &trainer{names: namesOf(specialists)}
	t.published = published(specialists, t.names)
	for _, s := range samples {
		if s.Source != "" && !slices.Contains(t.sources, s.Source) {
			t.sources = append(t.sources, s.Source)
		}
		for _, g := range s.Gold {
			if !slices.Contains(t.names, g) {
				return nil, fmt.Errorf("%q is labelled %s, which is none of %s", s.Message, g, strings.Join(t.names, ", "))
			}
		}
	}
	return t, nil
}

// decision is one on a message.
type decision struct {
	input  calibration
	right  bool
	source string
}

// unseen returns the decisions on the messages of each source of a model that is fitted to the others, without a family or nil.
func (t *trainer) unseen(samples []Sample, without *family) []decision {
	bySource := make([][]decision, len(t.sources))
	var wait sync.WaitGroup
	for i, source := range t.sources {
		wait.Go(func() {
			m := t.fit(slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Source == source }), without)
			for _, s := range samples {
				if s.Source == source && !s.Part {
					bySource[i] = append(bySource[i], m.decide(s))
				}
			}
		})
	}
	wait.Wait()
	return slices.Concat(bySource...)
}

// fit fits a chain to samples, without a family or nil.
func (t *trainer) fit(samples []Sample, without *family) *model {
	m := &model{names: t.names, chain: newChain(len(t.names) + 1), published: t.published}
	joined := join(samples)
	if without != nil {
		m.without = without.kinds
		switch without.name {
		case familyKeywords:
			m.published = nil
		case familyJoined:
			joined = nil
		}
	}
	samples = slices.Concat(samples, joined)
	examples := make([]example, len(samples))
	for i, s := range samples {
		in, _, _ := m.prepare(s.Message)
		examples[i] = example{in: in, set: m.set(s.Gold), weight: s.Weight}
	}
	m.chain.fit(examples, epochs)
	return m
}

// prepare makes the input for a message.
func (m *model) prepare(message string) (input, []word, []clause) {
	ws := splitWords(message)
	cs := clauses(ws)
	return prepare(ws, cs, find(message, ws, m.published, nil), m.chain.labels, m.without), ws, cs
}

// set returns the set of specialists as bits.
func (m *model) set(specialists []string) int {
	set := 0
	for _, s := range specialists {
		set |= 1 << slices.Index(m.names, s)
	}
	return set
}

// decide returns the decision on a sample.
func (m *model) decide(s Sample) decision {
	in, ws, cs := m.prepare(s.Message)
	if len(ws) == 0 {
		return decision{right: true, source: s.Source}
	}
	probabilities := m.chain.setProbabilities(m.chain.potentials(in))
	set := mostProbable(probabilities)
	input := calibrationInput(probabilities[set], set, len(cs), len(ws), len(s.History) > 0)
	return decision{input, set == m.set(s.Gold), s.Source}
}

const (
	joinedSamples  = 3000
	joinedWeight   = 0.7
	shortestJoined = 8 // bytes of a part
	longestJoined  = 120
)

// joiners stand between two requests, the commonest more than once. " and " is replaced by the word of the language.
var joiners = []string{". ", ". ", "? ", ", ", ", ", " and ", " and ", ", and ", "\n", " - ", " also ", "; ", " & "}

// ands are the words for "and" by language.
var ands = map[string]string{"de": "und", "fr": "et", "es": "y", "it": "e", "nl": "en", "pt": "e", "sv": "och", "pl": "i"}

// join makes messages of several requests from messages of one, in one language: labelled sets have too few of them to learn
// where one request ends.
func join(samples []Sample) []Sample {
	r := rand.New(rand.NewPCG(3, 4))
	var gold []string
	var first []string                 // the languages of the messages of one request
	single := map[[2]string][]string{} // messages by specialist and language; of the background under ""
	for _, s := range samples {
		n := len(s.Message)
		if len(s.History) > 0 || n <= shortestJoined || n >= longestJoined || len(s.Gold) > 1 {
			continue
		}
		key := [2]string{"", text.Language(s.Message)}
		if len(s.Gold) == 1 {
			key[0] = s.Gold[0]
			if first = append(first, key[1]); !slices.Contains(gold, key[0]) {
				gold = append(gold, key[0])
			}
		}
		single[key] = append(single[key], s.Message)
	}
	if len(gold) < 3 {
		return nil
	}
	oneOf := func(all []string) string { return all[r.IntN(len(all))] }
	var out []Sample
	for len(out) < joinedSamples {
		chosen := 2
		if r.IntN(4) == 0 {
			chosen = 3
		}
		labels, language := pick(gold, r.Perm(len(gold))[:chosen]), oneOf(first)
		if r.IntN(4) == 0 {
			labels[1] = labels[0]
		}
		if slices.ContainsFunc(labels, func(l string) bool { return len(single[[2]string{l, language}]) == 0 }) {
			continue
		}
		message := ""
		if background := single[[2]string{"", language}]; len(background) > 0 && r.IntN(4) == 0 {
			message = oneOf(background) + ". "
		}
		for k, label := range labels {
			if k > 0 {
				joiner := oneOf(joiners)
				if joiner == "? " || joiner == ". " || r.IntN(2) == 0 {
					message = strings.TrimRight(message, "?.! ")
				}
				message = strings.TrimRight(message, " ") + strings.Replace(joiner, "and", cmp.Or(ands[language], "and"), 1)
			}
			message += oneOf(single[[2]string{label, language}])
		}
		slices.Sort(labels)
		out = append(out, Sample{Input: Input{Message: message}, Gold: slices.Compact(labels), Weight: joinedWeight})
	}
	return out
}
