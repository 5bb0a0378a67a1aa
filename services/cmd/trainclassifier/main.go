// Trainclassifier fits the router's classifier to the labelled messages of the repository and writes its model. Run it by
//
//	go generate ./services/router/classifier
//
// after a change to the classifier, to the labelled messages or to the examples that the four specialists publish. The same
// input gives the same file.
package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// sources are the sets of labelled messages. held.jsonl is not among them: it only measures.
var sources = []struct{ name, file string }{
	{"tuned", "../testdata/eval/tuned.jsonl"}, {"structure", "../testdata/eval/more_structure.jsonl"},
	{"phrasing", "../testdata/eval/more_phrasing.jsonl"}, {"a", "train/train_a.jsonl"}, {"b", "train/train_b.jsonl"}, {"queries", "train/queries.jsonl"}, {"products", "train/products.jsonl"}, {"everyday", "train/everyday.jsonl"},
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
	flag.Parse()
	if err := run(*out, *data); err != nil {
		fmt.Fprintln(os.Stderr, "trainclassifier:", err)
		os.Exit(1)
	}
}

func run(out, data string) error {
	specialists, samples, err := published("../testdata/specialists.json")
	if err != nil {
		return err
	}
	background, err := os.ReadFile("train/background.txt")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(background)) {
		samples = append(samples, classifier.Sample{Input: classifier.Input{Message: strings.TrimSpace(line)}, Weight: exampleWeight})
	}
	for _, s := range sources {
		labelled, err := read(s.name, s.file)
		if err != nil {
			return err
		}
		samples = append(samples, labelled...)
	}
	public, err := serviceRequests(filepath.Join(data, "bitext", "bitext_8k.csv"))
	if err != nil {
		return fmt.Errorf("public data: %w; name its folder with -data", err)
	}
	file, err := classifier.Train(specialists, append(samples, public...), os.Stdout)
	if err != nil {
		return err
	}
	return os.WriteFile(out, file, 0o644)
}

// published reads the specialists and their examples.
func published(file string) (specialists []*specialistv1.Specialist, samples []classifier.Sample, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, one := range raw {
		s := new(specialistv1.Specialist)
		if err := protojson.Unmarshal(one, s); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		specialists = append(specialists, s)
		for _, e := range s.GetExamples() {
			samples = append(samples, classifier.Sample{
				Input: classifier.Input{Message: e}, Gold: []string{s.GetName()}, Weight: exampleWeight,
			})
		}
	}
	return specialists, samples, nil
}

// read reads labelled messages and, where they have them, their sub-queries.
func read(source, file string) ([]classifier.Sample, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []classifier.Sample
	for line := range strings.Lines(string(data)) {
		var m struct {
			Text    string
			Gold    []string
			History []json.RawMessage
			Parts   []struct {
				Specialist string
				SubQuery   string `json:"sub_query"`
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		in := classifier.Input{Message: m.Text}
		for _, h := range m.History {
			if said := shoppersWords(h); said != "" {
				in.History = append(in.History, said)
			}
		}
		out = append(out, classifier.Sample{Input: in, Gold: m.Gold, Weight: 1, Source: source})
		for _, p := range m.Parts {
			if p.SubQuery != m.Text {
				out = append(out, classifier.Sample{
					Input: classifier.Input{Message: p.SubQuery}, Gold: []string{p.Specialist}, Weight: subQueryWeight, Source: source, Part: true,
				})
			}
		}
	}
	return out, nil
}

// publicEvery is how many messages of the public collection there are for each that the model is fitted to: the others measure it.
const publicEvery = 20

// serviceRequests reads some of a public collection of requests to a customer service.
func serviceRequests(file string) ([]classifier.Sample, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []classifier.Sample
	for i := publicEvery; i < len(rows); i += publicEvery {
		out = append(out, classifier.Sample{
			Input: classifier.Input{Message: rows[i][1]}, Gold: []string{classifier.CatchAllName}, Weight: publicWeight, Source: "bitext",
		})
	}
	return out, nil
}

// shoppersWords returns an earlier message if it is the shopper's: a string, or an object with the role "user".
func shoppersWords(raw json.RawMessage) string {
	var said string
	if json.Unmarshal(raw, &said) == nil {
		return said
	}
	var m struct{ Role, Text string }
	if json.Unmarshal(raw, &m) == nil && m.Role == "user" {
		return m.Text
	}
	return ""
}
