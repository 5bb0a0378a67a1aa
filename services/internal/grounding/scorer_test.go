package grounding

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

var update = flag.Bool("update", false, "write the fitted scorer")

// labelled is a sentence of a collection with what it says.
type labelled struct{ Language, Supports, Text string }

func readLabelled(t testing.TB, file string) []labelled {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	for d := json.NewDecoder(f); d.More(); {
		var l labelled
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// placeholders are what sentences of a collection are about, as the scorer reads it.
var placeholders = strings.NewReplacer("{product}", productWord, "{other}", otherWord, "{order}", orderWord, "{code}", codeWord,
	"{date}", numberWord, "{percent}", numberWord, "{price}", numberWord)

// words returns the words of the sentence as the scorer reads them.
func (l labelled) words() []string {
	byWord, named := map[string][]*subject{}, []*subject{}
	for word, kind := range map[string]string{productWord: kindProduct, otherWord: kindProduct, orderWord: kindOrder, codeWord: kindCode} {
		named = append(named, &subject{kind: kind})
		byWord[nameWord(word)] = named[len(named)-1:]
	}
	out, _ := scorable(text.Words(placeholders.Replace(l.Text)), byWord, named)
	return out
}

// label returns the number of what a sentence says. The first product that it names is the cheaper one or the dearer one.
func (l labelled) label() int {
	other := strings.Index(l.Text, "{other}")
	if l.Supports == "cheaper" && other >= 0 && other < strings.Index(l.Text, "{product}") {
		return slices.Index(labels, "dearer")
	}
	return slices.Index(labels, l.Supports)
}

// Settings of the fit, chosen by cross-validation.
var (
	fitDecay   = 1e-2 // L2
	fitEpochs  = 12
	fitDropout = 0.2 // the share of features that each pass leaves out
	fitJoined  = 0.5 // the share of sentences that are also joined with another
)

const (
	fitRate   = 0.1
	leastSeen = 3 // sentences that have a feature
)

// joints join two sentences, by language.
var joints = map[string][]string{"en": {"; ", ", and ", " and "}, "de": {"; ", ", und ", " und "}, "fr": {" ; ", ", et ", " et "}, "es": {"; ", ", y ", " y "}}

// joined returns sentences that state two matters, as people do: some of those given, before or behind one that states nothing.
func joined(sentences []labelled, r *rand.Rand) []labelled {
	asides := map[string][]labelled{}
	for _, l := range sentences {
		if l.Supports == "none" {
			asides[l.Language] = append(asides[l.Language], l)
		}
	}
	pick := func(all []string) string { return all[r.IntN(len(all))] }
	var out []labelled
	for _, l := range sentences {
		if of := asides[l.Language]; len(of) > 0 && r.Float64() < fitJoined {
			parts := []string{strings.TrimRight(l.Text, ".!? "), strings.TrimRight(of[r.IntN(len(of))].Text, ".!? ")}
			if r.IntN(2) == 0 {
				slices.Reverse(parts)
			}
			l.Text = strings.Join(parts, pick(joints[l.Language]))
			out = append(out, l)
		}
	}
	return out
}

// training is a scorer that is being fitted.
type training struct {
	rows    map[uint32]int // by feature, where its weights begin
	weights []float32      // one for each label
}

func (m *training) row(key uint32) []float32 {
	if at, ok := m.rows[key]; ok {
		return m.weights[at : at+len(labels)]
	}
	return nil
}

func (m *training) score(features []feature) []float64 {
	out := make([]float64, len(labels))
	for _, f := range features {
		for l, w := range m.row(f.key) {
			out[l] += float64(f.value * w)
		}
	}
	return softmax(out)
}

// fit maximises the likelihood of the labels of sentences by AdaGrad.
func fit(sentences []labelled) *training {
	r := rand.New(rand.NewPCG(1, 2))
	written := len(sentences)
	sentences = append(slices.Clone(sentences), joined(sentences, r)...)
	seen := map[uint32]int{}
	features := make([][]feature, len(sentences))
	for i, l := range sentences {
		words := l.words()
		features[i] = featuresOf(words, conceptsOf(words))
		for _, f := range features[i] {
			if i < written {
				seen[f.key]++
			}
		}
	}
	m := &training{rows: map[uint32]int{}}
	for i := range features {
		features[i] = slices.DeleteFunc(features[i], func(f feature) bool { return seen[f.key] < leastSeen })
		for _, f := range features[i] {
			if m.row(f.key) == nil {
				m.rows[f.key], m.weights = len(m.weights), append(m.weights, make([]float32, len(labels))...)
			}
		}
	}
	squares := make([]float32, len(m.weights))
	for range fitEpochs {
		for _, i := range r.Perm(len(sentences)) {
			kept := slices.Clone(features[i])
			kept = slices.DeleteFunc(kept, func(feature) bool { return r.Float64() < fitDropout })
			gradient := m.score(kept)
			for l := range gradient {
				gradient[l] = -gradient[l]
			}
			gradient[sentences[i].label()]++
			for _, f := range kept {
				w, s := m.row(f.key), squares[m.rows[f.key]:]
				for l, g := range gradient {
					d := g*float64(f.value) - fitDecay*float64(w[l])
					s[l] += float32(d * d)
					w[l] += float32(fitRate * d / math.Sqrt(float64(s[l])+1e-6))
				}
			}
		}
	}
	return m
}

// encode writes the weights, a signed byte each.
func (m *training) encode() []byte {
	var top float32
	for _, w := range m.weights {
		top = max(top, w, -w)
	}
	scale := top / math.MaxInt8
	out := binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale))
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		out = binary.LittleEndian.AppendUint32(out, key)
		for _, w := range m.row(key) {
			out = append(out, byte(int8(math.Round(float64(w/scale)))))
		}
	}
	return out
}

// TestScorerIsFittedToPhrases fits the scorer anew, and compares it with the one that is built in. With -update it writes it.
func TestScorerIsFittedToPhrases(t *testing.T) {
	if !*update {
		racedetector.SkipOneGoroutine(t)
	}
	var sentences []labelled
	for _, file := range []string{"phrases", "words", "sentences", "authors"} {
		sentences = append(sentences, readLabelled(t, "../eval/grounding/testdata/"+file+".jsonl")...)
	}
	file := fit(sentences).encode()
	if *update {
		if err := os.WriteFile("scorer.bin", file, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(file, scorerFile) {
		t.Error("the scorer is not that of the collections; run go generate")
	}
}
