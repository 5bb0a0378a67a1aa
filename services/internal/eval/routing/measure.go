// Package routing measures a router on messages that are labelled with the right specialists. Read reads a labelled set,
// Run sends its messages to the router, and Measure computes the figures. docs/evaluation.md has the formulas.
//
// The package must not import a service: callers pass the router and the specialists' descriptions. It reads no files,
// flags or environment.
package routing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Rate is a share: N of Of. In JSON it is a number from 0 to 1, or null when Of is zero.
type Rate struct{ N, Of int }

// Value returns the share, and whether there is one.
func (r Rate) Value() (share float64, ok bool) {
	if r.Of == 0 {
		return 0, false
	}
	return float64(r.N) / float64(r.Of), true
}

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) {
	if v, ok := r.Value(); ok {
		return json.Marshal(v)
	}
	return []byte("null"), nil
}

// count adds one to the base, and one to the number if hit.
func (r *Rate) count(hit bool) {
	r.Of++
	if hit {
		r.N++
	}
}

// Summary holds the figures of a set or of a group of it.
type Summary struct {
	// Messages is how many there are.
	Messages int `json:"messages"`
	// ExactSetAccuracy is the share of messages whose decided specialists equal gold.
	ExactSetAccuracy Rate `json:"exact_set_accuracy"`
	// OverSplitRate is the share that was sent to a specialist that is not in gold.
	OverSplitRate Rate `json:"over_split_rate"`
	// UnderSplitRate is the share that was not sent to a specialist that is in gold.
	UnderSplitRate Rate `json:"under_split_rate"`
	// CertainShare is the share that the classifier decided without a model, because it was certain.
	CertainShare Rate `json:"certain_share"`
	// CertainShareSingle is CertainShare of the messages with one specialist in gold.
	CertainShareSingle Rate `json:"certain_share_single"`
	// CertainAccuracy is ExactSetAccuracy of the messages that the classifier decided without a model.
	CertainAccuracy Rate `json:"certain_accuracy"`
}

func (s *Summary) add(o Outcome) {
	certain := o.Source == routerv1.DecisionSource_DECISION_SOURCE_RULES
	s.Messages++
	s.ExactSetAccuracy.count(o.right())
	s.OverSplitRate.count(!subset(o.Got, o.Gold))
	s.UnderSplitRate.count(!subset(o.Gold, o.Got))
	s.CertainShare.count(certain)
	if len(o.Gold) == 1 {
		s.CertainShareSingle.count(certain)
	}
	if certain {
		s.CertainAccuracy.count(o.right())
	}
}

// right reports whether the decided specialists equal gold.
func (o Outcome) right() bool { return slices.Equal(o.Got, o.Gold) }

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// Specialist holds the figures of one specialist. Each message counts once.
type Specialist struct {
	// Precision is the share of the messages sent to the specialist that it should have got.
	Precision Rate `json:"precision"`
	// Recall is the share of the messages that the specialist should have got that were sent to it.
	Recall Rate `json:"recall"`
	// F1 is the harmonic mean of both.
	F1 Rate `json:"f1"`
	// Support is how many messages the specialist should have got.
	Support int `json:"support"`
}

// Confusion counts the messages for one set of specialists that were sent to another set, or to the same.
type Confusion struct {
	Gold     []string `json:"gold"`
	Got      []string `json:"got"`
	Messages int      `json:"messages"`
}

// Miss is a message whose decided specialists differ from gold.
type Miss struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	Gold      []string `json:"gold"`
	Got       []string `json:"got"`
	Certainty float64  `json:"certainty"`
	Source    string   `json:"source"`
	Notes     []string `json:"notes"`
}

// Report holds all figures of a set.
type Report struct {
	// Router and Model name what was measured. Measure leaves them empty.
	Router string `json:"router"`
	Model  string `json:"model"`
	Summary
	// BySource counts the messages by what decided: "rules", "examples", "model" or "fallback".
	BySource map[string]int `json:"by_source"`
	// ExamplesAccuracy is ExactSetAccuracy of the messages that the nearest examples decided.
	ExamplesAccuracy Rate `json:"examples_accuracy"`
	// BySpecialist has every specialist's figures by name.
	BySpecialist map[string]Specialist `json:"by_specialist"`
	// Kept is the share of the words with digits (numbers, ids, codes) of the messages that a sub-query has.
	Kept Rate `json:"kept"`
	// Reliability compares the certainty of decisions with how many of them are right. Ranges without a decision are left out.
	Reliability []Range `json:"reliability"`
	// ByParts has the figures by the number of specialists in gold.
	ByParts map[string]Summary `json:"by_parts"`
	// ByKind and ByLanguage have the figures of the messages with a kind or a language.
	ByKind     map[string]Summary `json:"by_kind"`
	ByLanguage map[string]Summary `json:"by_language"`
	// Confusion counts pairs of gold and decided sets, most frequent first. Equal pairs are right decisions.
	Confusion []Confusion `json:"confusion"`
	// MedianMicros and P99Micros are quantiles of the decisions' durations in microseconds.
	MedianMicros float64 `json:"median_us"`
	P99Micros    float64 `json:"p99_us"`
	// Misses are the messages with a wrong decision, in their order. Nil leaves them out of the JSON.
	Misses []Miss `json:"misses,omitzero"`
}

// Measure computes the figures of outcomes. Names must hold all specialists.
func Measure(outcomes []Outcome, names []string) *Report {
	r := &Report{
		BySource:     map[string]int{"rules": 0, "examples": 0, "model": 0, "fallback": 0},
		BySpecialist: bySpecialist(outcomes, names),
		ByParts:      groups(outcomes, func(o Outcome) string { return strconv.Itoa(len(o.Gold)) }),
		Reliability:  reliability(outcomes),
		ByKind:       groups(outcomes, func(o Outcome) string { return o.Kind }),
		ByLanguage:   groups(outcomes, func(o Outcome) string { return o.Language }),
		Confusion:    confusions(outcomes),
		Misses:       []Miss{},
	}
	var durations []time.Duration
	for _, o := range outcomes {
		r.add(o)
		r.BySource[sourceName(o.Source)]++
		if o.Source == routerv1.DecisionSource_DECISION_SOURCE_EXAMPLES {
			r.ExamplesAccuracy.count(o.right())
		}
		for _, w := range withDigits(o.Text) {
			r.Kept.count(slices.Contains(withDigits(strings.Join(o.SubQueries, "\n")), w))
		}
		durations = append(durations, o.Duration)
		if !o.right() {
			r.Misses = append(r.Misses, Miss{
				ID: o.ID, Text: o.Text, Gold: o.Gold, Got: o.Got, Certainty: o.Certainty, Source: sourceName(o.Source), Notes: o.Notes,
			})
		}
	}
	slices.Sort(durations)
	r.MedianMicros, r.P99Micros = micros(eval.Quantile(durations, 0.5)), micros(eval.Quantile(durations, 0.99))
	return r
}

// Range holds the decisions whose certainty is from From to below To; the last range includes To.
type Range struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Right is the share of right decisions.
	Right Rate `json:"right"`
	// Messages is how many decisions there are.
	Messages int `json:"messages"`
}

// certaintyBounds are where ranges of certainty begin, and where the last one ends.
var certaintyBounds = []float64{0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1}

func reliability(outcomes []Outcome) []Range {
	ranges := []Range{}
	for i, from := range certaintyBounds[:len(certaintyBounds)-1] {
		r := Range{From: from, To: certaintyBounds[i+1]}
		for _, o := range outcomes {
			if o.Certainty >= from && (o.Certainty < r.To || r.To == 1) {
				r.Messages++
				r.Right.count(o.right())
			}
		}
		if r.Messages > 0 {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// withDigits returns the folded words of a text that have a digit.
func withDigits(s string) []string {
	var out []string
	for _, w := range text.Words(s) {
		if strings.ContainsAny(w.Text, "0123456789") {
			out = append(out, w.Text)
		}
	}
	return out
}

// sourceName returns "rules", "examples", "model" or "fallback".
func sourceName(s routerv1.DecisionSource) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "DECISION_SOURCE_"))
}

func bySpecialist(outcomes []Outcome, names []string) map[string]Specialist {
	figures := make(map[string]Specialist)
	for _, name := range names {
		var s Specialist
		for _, o := range outcomes {
			want, got := slices.Contains(o.Gold, name), slices.Contains(o.Got, name)
			if got {
				s.Precision.count(want)
			}
			if want {
				s.Recall.count(got)
			}
		}
		s.F1 = Rate{N: 2 * s.Recall.N, Of: s.Precision.Of + s.Recall.Of}
		s.Support = s.Recall.Of
		figures[name] = s
	}
	return figures
}

// groups summarizes the outcomes by label. Outcomes with an empty label are in no group.
func groups(outcomes []Outcome, label func(Outcome) string) map[string]Summary {
	all := make(map[string]Summary)
	for _, o := range outcomes {
		if name := label(o); name != "" {
			s := all[name]
			s.add(o)
			all[name] = s
		}
	}
	return all
}

func confusions(outcomes []Outcome) []Confusion {
	pairs := make(map[[2]string]*Confusion)
	for _, o := range outcomes {
		key := [2]string{strings.Join(o.Gold, " "), strings.Join(o.Got, " ")}
		if pairs[key] == nil {
			pairs[key] = &Confusion{Gold: o.Gold, Got: o.Got}
		}
		pairs[key].Messages++
	}
	all := make([]Confusion, 0, len(pairs))
	for _, c := range pairs {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), slices.Compare(a.Gold, b.Gold), slices.Compare(a.Got, b.Got))
	})
	return all
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
