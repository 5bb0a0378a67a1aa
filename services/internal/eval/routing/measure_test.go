package routing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// decided is an outcome: gold and got are names, sorted and separated by spaces.
func decided(gold, got, source string) Outcome {
	return Outcome{
		Message:  Message{Gold: strings.Fields(gold)},
		Got:      strings.Fields(got),
		Source:   routerv1.DecisionSource(routerv1.DecisionSource_value["DECISION_SOURCE_"+strings.ToUpper(source)]),
		Notes:    []string{},
		Duration: time.Millisecond,
	}
}

func TestMeasureASet(t *testing.T) {
	tests := []struct {
		name     string
		outcomes []Outcome
		want     Summary
	}{
		{"all right and certain", []Outcome{decided("search", "search", "rules"), decided("search support", "search support", "rules")},
			Summary{2, Rate{2, 2}, Rate{0, 2}, Rate{0, 2}, Rate{2, 2}, Rate{1, 1}, Rate{2, 2}}},
		{"one too many is over-split", []Outcome{decided("search", "search support", "fallback")},
			Summary{1, Rate{0, 1}, Rate{1, 1}, Rate{0, 1}, Rate{0, 1}, Rate{0, 1}, Rate{0, 0}}},
		{"one too few is under-split", []Outcome{decided("search support", "support", "fallback")},
			Summary{1, Rate{0, 1}, Rate{0, 1}, Rate{1, 1}, Rate{0, 1}, Rate{0, 0}, Rate{0, 0}}},
		{"another is both", []Outcome{decided("search", "support", "rules")},
			Summary{1, Rate{0, 1}, Rate{1, 1}, Rate{1, 1}, Rate{1, 1}, Rate{1, 1}, Rate{0, 1}}},
		{"a model's decision is not the rules'", []Outcome{decided("search", "search", "model"), decided("search", "search", "rules")},
			Summary{2, Rate{2, 2}, Rate{0, 2}, Rate{0, 2}, Rate{1, 2}, Rate{1, 2}, Rate{1, 1}}},
		{"nothing decided", []Outcome{decided("search", "", "fallback")},
			Summary{1, Rate{0, 1}, Rate{0, 1}, Rate{1, 1}, Rate{0, 1}, Rate{0, 1}, Rate{0, 0}}},
		{"no messages", nil, Summary{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Measure(tt.outcomes, four).Summary); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMeasureCertaintyAndWhatSubQueriesKeep(t *testing.T) {
	a, b := decided("search", "search", "rules"), decided("search support", "search", "fallback")
	a.Text, a.SubQueries, a.Certainty = "boots in 42", []string{"boots in 42"}, 1
	b.Text, b.SubQueries, b.Certainty = "boots in 43, and where is QT-10031?", []string{"boots in 43"}, 0.85
	r := Measure([]Outcome{a, b}, four)
	if want := (Rate{2, 3}); r.Kept != want {
		t.Errorf("kept %v, want %v", r.Kept, want)
	}
	want := []Range{{0.8, 0.9, Rate{0, 1}, 1}, {0.95, 1, Rate{1, 1}, 1}}
	if diff := cmp.Diff(want, r.Reliability); diff != "" {
		t.Error(diff)
	}
	if one, two := r.ByParts["1"].ExactSetAccuracy, r.ByParts["2"].ExactSetAccuracy; one != (Rate{1, 1}) || two != (Rate{0, 1}) {
		t.Errorf("one specialist %v, two %v", one, two)
	}
}

func TestMeasureWhatExamplesDecided(t *testing.T) {
	r := Measure([]Outcome{
		decided("search", "search", "examples"), decided("search", "support", "examples"), decided("search", "support", "rules"),
	}, four)
	if r.ExamplesAccuracy != (Rate{1, 2}) || r.BySource["examples"] != 2 || r.CertainShare != (Rate{1, 3}) {
		t.Errorf("examples %v, sources %v, certain %v", r.ExamplesAccuracy, r.BySource, r.CertainShare)
	}
}

func TestMeasureEachSpecialist(t *testing.T) {
	got := Measure([]Outcome{
		decided("search", "search", "rules"),
		decided("search", "search support", "rules"),
		decided("search support", "support", "rules"),
		decided("support", "search", "rules"),
		decided("promotions", "search", "rules"),
	}, four).BySpecialist
	want := map[string]Specialist{
		"search":     {Precision: Rate{2, 4}, Recall: Rate{2, 3}, F1: Rate{4, 7}, Support: 3},
		"support":    {Precision: Rate{1, 2}, Recall: Rate{1, 2}, F1: Rate{2, 4}, Support: 2},
		"promotions": {Precision: Rate{0, 0}, Recall: Rate{0, 1}, F1: Rate{0, 1}, Support: 1},
		"recommend":  {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The names of the fields are a contract with whoever reads the JSON.
func TestReportAsJSON(t *testing.T) {
	right := decided("search", "search", "rules")
	right.Kind, right.Language, right.Duration = "plain", "en", 1500*time.Nanosecond
	wrong := decided("search support", "support", "fallback")
	wrong.ID, wrong.Text, wrong.Certainty, wrong.Notes, wrong.Kind = "m2", "hats?", 0.25, []string{"late"}, "two"
	report := Measure([]Outcome{wrong, right, right}, []string{"search", "support"})
	report.Router, report.Model = "auto", "m"
	got, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(wantReport), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestMissesMayBeLeftOut(t *testing.T) {
	report := Measure([]Outcome{decided("search", "search", "rules")}, four)
	for _, want := range []bool{true, false} {
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), `"misses":[]`); got != want {
			t.Errorf("there are misses: %v, want %v in %s", got, want, text)
		}
		report.Misses = nil
	}
}

const wantReport = `
{
  "router": "auto",
  "model": "m",
  "messages": 3,
  "exact_set_accuracy": 0.6666666666666666,
  "over_split_rate": 0,
  "under_split_rate": 0.3333333333333333,
  "certain_share": 0.6666666666666666,
  "certain_share_single": 1,
  "certain_accuracy": 1,
  "by_source": {
    "examples": 0,
    "fallback": 1,
    "model": 0,
    "rules": 2
  },
  "examples_accuracy": null,
  "by_specialist": {
    "search": {
      "precision": 1,
      "recall": 0.6666666666666666,
      "f1": 0.8,
      "support": 3
    },
    "support": {
      "precision": 1,
      "recall": 1,
      "f1": 1,
      "support": 1
    }
  },
  "kept": null,
  "reliability": [
    {
      "from": 0,
      "to": 0.2,
      "right": 1,
      "messages": 2
    },
    {
      "from": 0.2,
      "to": 0.4,
      "right": 0,
      "messages": 1
    }
  ],
  "by_parts": {
    "1": {
      "messages": 2,
      "exact_set_accuracy": 1,
      "over_split_rate": 0,
      "under_split_rate": 0,
      "certain_share": 1,
      "certain_share_single": 1,
      "certain_accuracy": 1
    },
    "2": {
      "messages": 1,
      "exact_set_accuracy": 0,
      "over_split_rate": 0,
      "under_split_rate": 1,
      "certain_share": 0,
      "certain_share_single": null,
      "certain_accuracy": null
    }
  },
  "by_kind": {
    "plain": {
      "messages": 2,
      "exact_set_accuracy": 1,
      "over_split_rate": 0,
      "under_split_rate": 0,
      "certain_share": 1,
      "certain_share_single": 1,
      "certain_accuracy": 1
    },
    "two": {
      "messages": 1,
      "exact_set_accuracy": 0,
      "over_split_rate": 0,
      "under_split_rate": 1,
      "certain_share": 0,
      "certain_share_single": null,
      "certain_accuracy": null
    }
  },
  "by_language": {
    "en": {
      "messages": 2,
      "exact_set_accuracy": 1,
      "over_split_rate": 0,
      "under_split_rate": 0,
      "certain_share": 1,
      "certain_share_single": 1,
      "certain_accuracy": 1
    }
  },
  "confusion": [
    {
      "gold": [
        "search"
      ],
      "got": [
        "search"
      ],
      "messages": 2
    },
    {
      "gold": [
        "search",
        "support"
      ],
      "got": [
        "support"
      ],
      "messages": 1
    }
  ],
  "median_us": 1.5,
  "p99_us": 1000,
  "misses": [
    {
      "id": "m2",
      "text": "hats?",
      "gold": [
        "search",
        "support"
      ],
      "got": [
        "support"
      ],
      "certainty": 0.25,
      "source": "fallback",
      "notes": [
        "late"
      ]
    }
  ]
}
`
