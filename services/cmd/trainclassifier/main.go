// Trainclassifier fits the router's classifier to the labelled messages of the repository and writes its model. Run it by
//
//	go generate ./services/router/classifier
//
// after a change to the classifier, to the labelled messages or to the examples that the four specialists publish. The same
// input gives the same file.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// sources are the sets of labelled messages. held.jsonl and held_numbers.jsonl are not among them: they only measure.
var sources = []struct{ name, file string }{
	{"tuned", "../testdata/eval/tuned.jsonl"}, {"structure", "../testdata/eval/more_structure.jsonl"}, {"phrasing", "../testdata/eval/more_phrasing.jsonl"},
	{"a", "train/train_a.jsonl"}, {"b", "train/train_b.jsonl"}, {"queries", "train/queries.jsonl"}, {"products", "train/products.jsonl"},
	{"everyday", "train/everyday.jsonl"}, {"c", "train/train_c.jsonl"}, {"d", "train/train_d.jsonl"}, {"e", "train/train_e.jsonl"},
	{"f", "train/train_f.jsonl"}, {"g", "train/train_g.jsonl"}, {"h", "train/train_h.jsonl"}, {"i", "train/train_i.jsonl"},
	{"j", "train/train_j.jsonl"}, {"k", "train/train_k.jsonl"}, {"l", "train/train_l.jsonl"}, {"m", "train/train_m.jsonl"},
}

// Weights of samples that are no messages of shoppers.
const (
	subQueryWeight = 0.7
	exampleWeight  = 0.5
	publicWeight   = 0.3
)

func main() {
	out := flag.String("o", "model.bin", "the model's file")
	data := flag.String("data", os.Getenv("QUARTET_DATA"), "the folder of the public data, which has bitext; default: $QUARTET_DATA")
	ablate := flag.Bool("ablate", false, "write no model, but what is lost without each family of features")
	flag.Parse()
	if err := run(*out, *data, *ablate); err != nil {
		fmt.Fprintln(os.Stderr, "trainclassifier:", err)
		os.Exit(1)
	}
}

func run(out, data string, ablate bool) error {
	described, err := os.ReadFile("../testdata/specialists.json")
	if err != nil {
		return err
	}
	specialists, err := routing.ReadSpecialists(described)
	if err != nil {
		return fmt.Errorf("specialists.json: %w", err)
	}
	var names []string
	var samples []classifier.Sample
	add := func(source, message string, weight float64, gold ...string) *classifier.Sample {
		samples = append(samples, classifier.Sample{Input: classifier.Input{Message: message}, Gold: gold, Weight: weight, Source: source})
		return &samples[len(samples)-1]
	}
	for _, s := range specialists {
		names = append(names, s.GetName())
		for _, e := range s.GetExamples() {
			add("", e, exampleWeight, s.GetName())
		}
	}
	background, err := os.ReadFile("train/background.txt")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(background)) {
		add("", strings.TrimSpace(line), exampleWeight)
	}
	for _, s := range sources {
		messages, err := open(s.file, func(r io.Reader) ([]routing.Message, error) { return routing.Read(r, names) })
		if err != nil {
			return err
		}
		for _, m := range messages {
			add(s.name, m.Text, 1, m.Gold...).History = classifier.ShoppersTexts(m.History)
			for _, p := range m.Parts {
				if p.SubQuery != m.Text {
					add(s.name, p.SubQuery, subQueryWeight, p.Specialist).Part = true
				}
			}
		}
	}
	public, err := open(filepath.Join(data, "bitext", "bitext_8k.csv"), func(r io.Reader) ([]routing.Message, error) {
		return routing.ReadCSV(r, 1, 3, classifier.CatchAllName)
	})
	if err != nil {
		return fmt.Errorf("public data: %w; name its folder with -data", err)
	}
	for _, m := range public {
		if m.Line%publicEvery == 1 {
			add("bitext", m.Text, publicWeight, m.Gold...)
		}
	}
	if ablate {
		return classifier.Ablate(specialists, samples, os.Stdout)
	}
	file, err := classifier.Train(specialists, samples, os.Stdout)
	if err != nil {
		return err
	}
	return os.WriteFile(out, file, 0o644)
}

// publicEvery is how many messages of the public collection there are for each that the model is fitted to: the others measure it.
const publicEvery = 20

// open calls read with a file.
func open(path string, read func(io.Reader) ([]routing.Message, error)) ([]routing.Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	messages, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return messages, nil
}
