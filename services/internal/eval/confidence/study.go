package confidence

import (
	"fmt"
	"io"
	"slices"

	"github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/eval"
)

// claims is the feature that knows of the text's claims only.
const claims = 4

// Results are what Study found.
type Results struct {
	Weights confidence.Weights `json:"weights"`
	// Validated has the figures of replies by weights that were fitted to other replies.
	Validated *Report `json:"validated"`
	// Held has the figures of the store that no weight was fitted to. Nil: none was held out.
	Held *Report `json:"held,omitempty"`
	// Unseen has the figures of parts of the replies, all by weights that were not fitted to them.
	Unseen []Part `json:"unseen"`
	// Without has, for each feature but the first, the figures of a cross-validation without it.
	Without []Part `json:"without"`
}

// Part is a part of the replies, or a way to train, with its figures.
type Part struct {
	Name   string  `json:"name"`
	Report *Report `json:"report"`
}

// Study fits weights to replies, and measures them on replies that they were not fitted to, some of them of a store that was held out.
func Study(replies, held []Reply) (*Results, error) {
	s := &Results{}
	var err error
	if s.Weights, err = (Trainer{}).Train(replies); err != nil {
		return nil, err
	}
	validated, err := Trainer{}.CrossValidate(replies)
	if err != nil {
		return nil, err
	}
	if s.Validated, err = Measure(validated); err != nil {
		return nil, err
	}
	crossed, err := Trainer{}.CrossSources(replies)
	if err != nil {
		return nil, err
	}
	var sources []string
	for _, r := range replies {
		if !slices.Contains(sources, r.Source) {
			sources = append(sources, r.Source)
		}
	}
	add := func(name string, replies []Reply) error {
		r, err := Measure(replies)
		s.Unseen = append(s.Unseen, Part{name, r})
		return err
	}
	for _, by := range []struct {
		how     string
		replies []Reply
	}{{"cross-validated", validated}, {"by the other sources", crossed}} {
		if err := add(by.how, by.replies); err != nil {
			return nil, err
		}
		for _, source := range sources {
			part := slices.DeleteFunc(slices.Clone(by.replies), func(r Reply) bool { return r.Source != source })
			if err := add(by.how+": "+source, part); err != nil {
				return nil, err
			}
		}
	}
	if len(held) > 0 {
		for i := range held {
			held[i] = held[i].With(s.Weights)
		}
		if s.Held, err = Measure(held); err != nil {
			return nil, err
		}
		s.Unseen = append(s.Unseen, Part{"store held out", s.Held})
	}
	without := func(name string, features ...int) error {
		t := Trainer{Without: make(map[int]bool)}
		for _, i := range features {
			t.Without[i] = true
		}
		validated, err := t.CrossValidate(replies)
		if err != nil {
			return err
		}
		r, err := Measure(validated)
		s.Without = append(s.Without, Part{name, r})
		return err
	}
	var others []int
	for i := 1; i < len(confidence.Names); i++ {
		if err := without(confidence.Names[i], i); err != nil {
			return nil, err
		}
		if i != claims {
			others = append(others, i)
		}
	}
	return s, without("all but claims", others...)
}

// Print writes the results for people.
func (s *Results) Print(w io.Writer) {
	rows := [][]string{{"feature", "weight"}}
	for i, name := range confidence.Names {
		rows = append(rows, []string{name, fmt.Sprintf("%.2f", s.Weights[i])})
	}
	eval.Table(w, rows)
	for _, t := range []struct {
		name  string
		parts []Part
	}{{"unseen replies", s.Unseen}, {"cross-validated without", s.Without}} {
		rows = [][]string{{t.name, "replies", "Brier", "of the mean", "AUC"}}
		for _, p := range t.parts {
			rows = append(rows, []string{p.Name, fmt.Sprint(p.Report.Replies), fine(p.Report.Brier), fine(p.Report.BrierOfMean), show(p.Report.AUC)})
		}
		eval.Table(w, rows)
	}
	fmt.Fprintln(w, "\nCross-validation:")
	s.Validated.Print(w)
	if s.Held != nil {
		fmt.Fprintln(w, "\nStore held out:")
		s.Held.Print(w)
	}
}

// fine shows what features differ by little in.
func fine(figure *float64) string {
	if figure == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *figure)
}
