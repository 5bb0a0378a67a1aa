package grounding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/judge"
)

// Outputs are what a model has answered as the judge of cases, by their ids. A case that is missing was not judged.
type Outputs map[string]string

// Judge has a model judge cases, some of them at once. progress hears how many are done, one call at a time. Cases that it could not
// judge are missing in the outputs, and the error says why; it is nil only if there are none.
func Judge(ctx context.Context, cases []Case, model agentloop.Model, parallel int, progress func(done int)) (Outputs, error) {
	var mu sync.Mutex
	var errs []error
	done, out := 0, Outputs{}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, c := range cases {
		group.Go(func() error {
			_, result, err := judge.Ask(ctx, model, nil, c.toJudge())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				out[c.ID] = result.Text
			} else {
				errs = append(errs, fmt.Errorf("case %s: %w", c.ID, err))
			}
			done++
			progress(done)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return out, errors.Join(errs...)
}

// CheckIDs reports an id that two cases have: outputs are by id.
func CheckIDs(cases []Case) error {
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.ID] {
			return fmt.Errorf("two texts have the id %q, and verdicts are by id: measure their files one by one", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// toJudge returns what a model judges of a case, as in a turn.
func (c Case) toJudge() judge.Case {
	out := judge.Case{Given: append([]string{c.Message}, c.Given...), Answer: c.text(), IsMerge: len(c.Sections) > 0}
	for _, p := range c.Payloads {
		out.Results = append(out.Results, string(p.Result))
	}
	for _, s := range c.Sections {
		out.Results = append(out.Results, s.Text)
	}
	return out
}

// verdict returns what a model has said of a case. Nil: it was not judged.
func (o Outputs) verdict(ctx context.Context, c Case) *judge.Verdict {
	output, ok := o[c.ID]
	if !ok {
		return nil
	}
	step := scripted.Step{Text: output}
	v, _, _ := judge.Ask(ctx, scripted.New(step, step), nil, c.toJudge()) // nil if the output is broken
	return v
}

// outputLine is a line of a file of outputs.
type outputLine struct {
	ID     string `json:"id"`
	Output string `json:"output"`
}

// ReadOutputs reads what Write has written.
func ReadOutputs(r io.Reader) (Outputs, error) {
	out := Outputs{}
	for d := json.NewDecoder(r); ; {
		var l outputLine
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("output %d: %w", len(out)+1, err)
		case l.ID == "" || out[l.ID] != "":
			return nil, fmt.Errorf("output %d: the id %q is missing or is there twice", len(out)+1, l.ID)
		}
		out[l.ID] = l.Output
	}
}

// Write writes the outputs in JSON Lines, by id.
func (o Outputs) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, id := range slices.Sorted(maps.Keys(o)) {
		if err := e.Encode(outputLine{id, o[id]}); err != nil {
			return err
		}
	}
	return nil
}
