package grounding_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	eval "github.com/quartet-commerce/quartet/services/internal/eval/grounding"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

var ablation = flag.Bool("ablation", false, "print what each family of rules is for")

// TestAblation counts what is caught and flagged without each family of rules.
func TestAblation(t *testing.T) {
	if !*ablation {
		t.Skip("takes minutes; run it with -args -ablation")
	}
	sets := []string{"unread", "shops", "public", "generated"}
	cases := map[string][]eval.Case{}
	add := func(set string, of []eval.Case, err error) {
		if err != nil {
			t.Fatal(err)
		}
		cases[set] = append(cases[set], of...)
	}
	for _, name := range []string{"phrases-unread", "sentences-unread", "authors-unread", "answers-unread", "shops-unread", "styles-unread", "honest-unread", "shops", "styles", "honest"} {
		f, err := os.Open("../eval/grounding/testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		of, err := eval.Read(f)
		set := "shops"
		if strings.HasSuffix(name, "-unread") {
			set = "unread"
		}
		add(set, of, err)
	}
	for _, name := range []string{"answers", "honest", "corrupted"} {
		of, err := eval.Read(publicdata.Open(t, "grounding/"+name+".jsonl"))
		add("public", of, err)
	}
	of, err := eval.Generate(1040, 7, eval.Unseen)
	add("generated", of, err)
	of, err = eval.Generate(1040, 7, eval.Seen)
	add("generated", of, err)

	defer grounding.SetWithout("")
	for _, family := range append([]string{""}, grounding.Families...) {
		grounding.SetWithout(family)
		line := fmt.Sprintf("%-26s", family)
		for _, set := range sets {
			r := eval.Measure(t.Context(), cases[set], nil)
			line += fmt.Sprintf(" | %s: caught %4d of %d, honest flagged %3d of %d", set, r.Caught.N, r.Caught.Of,
				r.Flagged.N+r.Harmed.N, r.Flagged.Of+r.Harmed.Of)
		}
		t.Log(line)
	}
}
