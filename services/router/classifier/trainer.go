package classifier

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

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
	names := namesOf(specialists)
	published := published(specialists, names)
	var sources []string
	for _, s := range samples {
		if s.Source != "" && !slices.Contains(sources, s.Source) {
			sources = append(sources, s.Source)
		}
		for _, g := range s.Gold {
			if !slices.Contains(names, g) {
				return nil, fmt.Errorf("%q is labelled %s, which is none of %s", s.Message, g, strings.Join(names, ", "))
			}
		}
	}
	var features []calibration
	var right []bool
	var from []string // their sources
	for _, left := range sources {
		m := trainModel(names, published, slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Source == left }))
		n, hits := 0, 0
		for _, s := range samples {
			if s.Source != left || s.Part {
				continue
			}
			f, hit := m.decide(s)
			features, right, from = append(features, f), append(right, hit), append(from, left)
			if n++; hit {
				hits++
			}
		}
		fmt.Fprintf(progress, "%-16s %4d messages; right if fitted to the others: %.3f\n", left, n, float64(hits)/float64(n))
	}
	m := trainModel(names, published, samples)
	m.calibration = fitCalibration(features, right)
	fmt.Fprintf(progress, "calibration: %.3f\n", m.calibration)
	for _, source := range sources {
		all, certain, hits := 0, 0, 0
		for i, f := range features {
			if from[i] != source {
				continue
			}
			if all++; m.calibration.confidence(f) >= Threshold {
				if certain++; right[i] {
					hits++
				}
			}
		}
		fmt.Fprintf(progress, "%-16s certain of %.3f, of these right %.3f\n", source,
			float64(certain)/float64(all), float64(hits)/float64(max(certain, 1)))
	}
	return m.encode(), nil
}

// trainModel fits a chain to samples.
func trainModel(names []string, published keywords, samples []Sample) *model {
	samples = slices.Concat(samples, join(samples))
	m := &model{names: names, chain: newChain(len(names) + 1), published: published}
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
	return prepare(ws, cs, find(message, ws, m.published, nil), m.chain.labels), ws, cs
}

// set returns the set of specialists as bits.
func (m *model) set(specialists []string) int {
	set := 0
	for _, s := range specialists {
		set |= 1 << slices.Index(m.names, s)
	}
	return set
}

// decide returns the calibration's features of the decision on a sample, and whether it is right.
func (m *model) decide(s Sample) (calibration, bool) {
	in, ws, cs := m.prepare(s.Message)
	if len(ws) == 0 {
		return calibration{}, true
	}
	probabilities := m.chain.setProbabilities(m.chain.potentials(in))
	set := mostProbable(probabilities)
	return calibrationInput(probabilities[set], set, len(cs), len(ws), len(s.History) > 0), set == m.set(s.Gold)
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
