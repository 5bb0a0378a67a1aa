package classifier

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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

	requests []request // of a joined sample
}

// request is a request in a joined sample, or what asks for nothing: bytes up to its end.
type request struct {
	end        int
	specialist string // "": none
}

// epochs is how often the fit reads the samples.
const epochs = 12

// Train fits a model to samples and returns its file. It writes to progress how many messages of each source are right if the
// model is fitted to other sources; the calibration is fitted to these.
func Train(specialists []*specialistv1.Specialist, samples []Sample, progress io.Writer) ([]byte, error) {
	t, err := newTrainer(specialists, samples)
	if err != nil {
		return nil, err
	}
	decisions := t.unseen(samples, nil)
	m := t.fit(samples, nil)
	m.certainty = fitCertainty(decisions)
	m.unseen = t.figures(decisions, m.certainty)
	fmt.Fprintf(progress, "%-16s %8s %8s %8s %8s\n", "left out", "messages", "right", "certain", "of these")
	for _, f := range m.unseen {
		fmt.Fprintf(progress, "%-16s %8d %8.3f %8d %8d\n", f.Source, f.Messages, float64(f.Right)/float64(f.Messages), f.Certain, f.CertainRight)
	}
	for shape, by := range m.certainty {
		name := [shapes]string{"one clause", "several clauses, one specialist", "several specialists"}[shape]
		fmt.Fprintf(progress, "%s: calibration %.3f, certain from %.3f\n", name, by.Calibration, by.Least)
	}
	return m.encode(), nil
}

// sourceFigures counts the decisions on the messages of a source by a model that was not fitted to it.
type sourceFigures struct {
	Source       string `json:"source"`
	Messages     int    `json:"messages"`
	Right        int    `json:"right"`
	Certain      int    `json:"certain"`
	CertainRight int    `json:"certain_right"`
}

// figures counts decisions by source.
func (t *trainer) figures(decisions []decision, c certainty) []sourceFigures {
	out := make([]sourceFigures, len(t.sources))
	for i, source := range t.sources {
		f := &out[i]
		f.Source = source
		for _, d := range decisions {
			if d.source != source {
				continue
			}
			certain := d.confidence(c) >= Threshold
			f.Messages++
			f.Right += int(count(d.right))
			f.Certain += int(count(certain))
			f.CertainRight += int(count(certain && d.right))
		}
	}
	return out
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
	{name: "message before", kinds: []string{followUpKind}},
	{name: familyKeywords},
	{name: familyJoined},
}

// Ablate writes how many messages of each source are right if the model is fitted to other sources, without one family after the
// other.
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
	input      calibration
	incomplete bool // never certain
	right      bool
	source     string
}

// confidence returns the confidence of the decision.
func (d decision) confidence(c certainty) float64 {
	if d.incomplete {
		return doubtful
	}
	return c.confidence(d.input)
}

// folds is into how many groups the sources are divided. Each is measured by a model that is fitted to the other groups.
const folds = 9

// unseen returns the decisions on the messages of each source of a model that is not fitted to it, without a family or nil.
func (t *trainer) unseen(samples []Sample, without *family) []decision {
	byFold := make([][]decision, folds)
	var wait errgroup.Group
	wait.SetLimit(runtime.GOMAXPROCS(0))
	for fold := range byFold {
		isLeftOut := func(s Sample) bool { return s.Source != "" && slices.Index(t.sources, s.Source)%folds == fold }
		wait.Go(func() error {
			m := t.fit(slices.DeleteFunc(slices.Clone(samples), isLeftOut), without)
			for _, s := range samples {
				if isLeftOut(s) && !s.Part {
					byFold[fold] = append(byFold[fold], m.decide(s))
				}
			}
			return nil
		})
	}
	_ = wait.Wait() // nothing fails
	return slices.Concat(byFold...)
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
		read := m.reader().read(s.Input)
		examples[i] = example{in: read.input, set: m.set(s.Gold), allowed: m.allowed(s, read), weight: s.Weight}
	}
	m.chain.fit(examples, epochs)
	return m
}

func (m *model) reader() reader {
	return reader{published: m.published, labels: m.chain.labels, without: m.without}
}

// allowed returns the labels that each clause of a joined sample may have, as bits: those of the requests that it belongs to, and the
// background.
func (m *model) allowed(s Sample, read reading) []int {
	if len(s.requests) == 0 {
		return nil
	}
	out := make([]int, len(read.clauses))
	for i, c := range read.clauses {
		out[i] = 1 << (m.chain.labels - 1)
		from, to, start := read.words[c.lo].start, read.words[c.hi-1].end, 0
		for _, r := range s.requests {
			if start < to && from < r.end && r.specialist != "" {
				out[i] |= m.set([]string{r.specialist})
			}
			start = r.end
		}
	}
	return out
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
	r := newClassifier(m.names, m.published, m.chain, certainty{}).classifyBy(m.reader(), s.Input)
	set := 0
	for _, a := range r.Assignments {
		set |= m.set([]string{a.Specialist})
	}
	return decision{r.features, r.Incomplete, set == m.set(s.Gold), s.Source}
}

const (
	joinedSamples  = 5000
	joinedWeight   = 0.5
	shortestJoined = 8 // bytes of a part
	longestJoined  = 120
	longestPlain   = 45 // of half of the joined samples, whose requests are put plainly
)

// joiners stand between two requests, the commonest more than once. " and " is replaced by the word of the language.
var joiners = []string{". ", ". ", "? ", ", ", ", ", " and ", " and ", ", and ", "\n", " - ", " also ", "; ", " & "}

// ands are the words for "and" by language.
var ands = map[string]string{"de": "und", "fr": "et", "es": "y", "it": "e", "nl": "en", "pt": "e", "sv": "och", "pl": "i"}

// numbers are how many specialists joined samples have, each as often as it stands here.
var numbers = []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4}

// join makes messages of several requests from messages of one, in one language: labelled sets have too few of them to learn
// where one request ends.
func join(samples []Sample) []Sample {
	r := rand.New(rand.NewPCG(3, 4))
	var gold []string
	var first []string // the languages of the messages of one request
	type pool struct {
		specialist, language string // the specialist is "" for the background
		isPlain              bool
	}
	single := map[pool][]string{} // messages of one request
	for _, s := range samples {
		n := len(s.Message)
		if len(s.History) > 0 || n <= shortestJoined || n >= longestJoined || len(s.Gold) > 1 {
			continue
		}
		key := pool{language: text.Language(s.Message)}
		if len(s.Gold) == 1 {
			key.specialist = s.Gold[0]
			if first = append(first, key.language); !slices.Contains(gold, key.specialist) {
				gold = append(gold, key.specialist)
			}
		}
		single[key] = append(single[key], s.Message)
		if key.isPlain = n <= longestPlain; key.isPlain {
			single[key] = append(single[key], s.Message)
		}
	}
	if len(gold) < 4 {
		return nil
	}
	oneOf := func(all []string) string { return all[r.IntN(len(all))] }
	var out []Sample
	for len(out) < joinedSamples {
		chosen := numbers[r.IntN(len(numbers))]
		labels, language, isPlain := pick(gold, r.Perm(len(gold))[:chosen]), oneOf(first), r.IntN(2) == 0
		switch r.IntN(8) {
		case 0, 1:
			labels[1] = labels[0]
		case 2:
			labels = append(labels, labels[0]) // comes back to it
		}
		if slices.ContainsFunc(labels, func(l string) bool { return len(single[pool{l, language, isPlain}]) == 0 }) {
			continue
		}
		message := ""
		var requests []request
		if background := single[pool{language: language}]; len(background) > 0 && r.IntN(4) == 0 {
			message = oneOf(background) + ". "
			requests = append(requests, request{end: len(message)})
		}
		for k, label := range labels {
			if k > 0 {
				joiner := oneOf(joiners)
				if joiner == "? " || joiner == ". " || r.IntN(2) == 0 {
					message = strings.TrimRight(message, "?.! ")
				}
				message = strings.TrimRight(message, " ")
				requests[len(requests)-1].end = len(message)
				message += strings.Replace(joiner, "and", cmp.Or(ands[language], "and"), 1)
			}
			message += oneOf(single[pool{label, language, isPlain}])
			requests = append(requests, request{len(message), label})
		}
		slices.Sort(labels)
		out = append(out, Sample{Input: Input{Message: message}, Gold: slices.Compact(labels), Weight: joinedWeight, requests: requests})
	}
	return out
}
