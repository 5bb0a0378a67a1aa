// Package turns runs scenarios, conversations with what must and must not come of them, against a gateway, and measures how often
// they pass. The package must not import a service.
package turns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Scenario is a conversation, whose last reply is checked.
type Scenario struct {
	// ID is unique among all files. Required.
	ID string `yaml:"id"`
	// Store and Customer ask. No customer is a guest.
	Store    string `yaml:"store"`
	Customer string `yaml:"customer"`
	// Messages are sent one after the other. At least one.
	Messages []string `yaml:"messages"`
	// Specialists must each have answered a part of the last message. Others may have, too.
	Specialists []string `yaml:"specialists"`
	// Tools must each have been called without an error for the last message.
	Tools []string `yaml:"tools"`
	// Says must each be in the text, whatever the case. "this|that" is one of several.
	Says []string `yaml:"says"`
	// Never must not be in the text, whatever the case.
	Never []string `yaml:"never"`
	// Actions must each be suggested: add_to_cart, apply_promotion, start_return, change_order or hand_off.
	Actions []string `yaml:"actions"`
	// Language that the text is in, a BCP 47 tag such as "de". Empty: any.
	Language string `yaml:"language"`
}

// Read reads all scenarios of a folder: its files *.yaml, each a list. All that is wrong is reported at once.
func Read(folder fs.FS) ([]Scenario, error) {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there are no scenarios: no file *.yaml")
	}
	var all []Scenario
	var errs []error
	seen := make(map[string]string)
	for _, name := range names {
		raw, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		var list []Scenario
		d := yaml.NewDecoder(bytes.NewReader(raw))
		d.KnownFields(true)
		if err := d.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		for i, s := range list {
			where := fmt.Sprintf("%s: scenario %d (%s)", name, i+1, s.ID)
			if seen[s.ID] != "" {
				errs = append(errs, fmt.Errorf("%s: the id is also in %s", where, seen[s.ID]))
			}
			seen[s.ID] = name
			if err := s.check(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", where, err))
			}
		}
		all = append(all, list...)
	}
	return all, errors.Join(errs...)
}

// actions are the names of suggested actions.
var actions = []string{"add_to_cart", "apply_promotion", "start_return", "change_order", "hand_off"}

func (s Scenario) check() error {
	switch {
	case s.ID == "", s.Store == "", len(s.Messages) == 0, slices.Contains(s.Messages, ""):
		return errors.New("id, store and messages are required")
	case len(s.Specialists)+len(s.Tools)+len(s.Says)+len(s.Never)+len(s.Actions) == 0 && s.Language == "":
		return errors.New("nothing is checked")
	}
	for _, a := range s.Actions {
		if !slices.Contains(actions, a) {
			return fmt.Errorf("unknown action %q; the actions are %s", a, strings.Join(actions, ", "))
		}
	}
	if s.Language != "" {
		if _, err := language.Parse(s.Language); err != nil {
			return fmt.Errorf("language %q is no BCP 47 tag", s.Language)
		}
	}
	return nil
}

// Judge says what is wrong with a reply, one line each.
func (s Scenario) Judge(reply *gatewayv1.AskResponse) (wrong []string) {
	said := strings.ToLower(reply.GetText())
	for _, want := range s.Says {
		if !slices.ContainsFunc(strings.Split(strings.ToLower(want), "|"), func(w string) bool { return strings.Contains(said, w) }) {
			wrong = append(wrong, fmt.Sprintf("does not say %q", want))
		}
	}
	for _, ban := range s.Never {
		if strings.Contains(said, strings.ToLower(ban)) {
			wrong = append(wrong, fmt.Sprintf("says %q", ban))
		}
	}
	did := make(map[string]bool)
	for _, r := range reply.GetResults() {
		if r.GetAnswer() == nil {
			continue
		}
		did["specialist "+r.GetAssignment().GetSpecialist()] = true
		for _, c := range r.GetAnswer().GetToolCalls() {
			did["tool "+c.GetToolName()] = did["tool "+c.GetToolName()] || c.GetError() == ""
		}
	}
	for _, a := range reply.GetSuggestedActions() {
		m := a.ProtoReflect()
		if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("action")); f != nil {
			did["action "+string(f.Name())] = true
		}
	}
	for kind, wants := range map[string][]string{"specialist": s.Specialists, "tool": s.Tools, "action": s.Actions} {
		for _, want := range wants {
			if !did[kind+" "+want] {
				wrong = append(wrong, fmt.Sprintf("no %s %s", kind, want))
			}
		}
	}
	if base, _, _ := strings.Cut(s.Language, "-"); base != "" {
		if got := text.Language(reply.GetText()); got != "" && got != base { // of a short text it is unknown
			wrong = append(wrong, fmt.Sprintf("is in %q, not %q", got, base))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// Run is one run of a scenario.
type Run struct {
	Scenario Scenario
	Reply    *gatewayv1.AskResponse // of the last message; nil: an error
	Err      error
	Wrong    []string // empty: the run passed
	Took     time.Duration
	Score    *Score // of a judge; nil: there is none
	Unscored error  // why the judge gave no score; nil: it did, or there is no judge
}

// Passed reports whether a run passed.
func (r Run) Passed() bool { return r.Err == nil && len(r.Wrong) == 0 }

// Ask runs a scenario once. Name tells conversations of several runs apart.
func Ask(ctx context.Context, gateway gatewayv1.GatewayServiceClient, s Scenario, name string) Run {
	r := Run{Scenario: s}
	for _, m := range s.Messages {
		req := &gatewayv1.AskRequest{StoreId: s.Store, CustomerId: s.Customer, Message: m}
		if len(s.Messages) > 1 {
			req.ThreadId = name
		}
		began := time.Now()
		reply, err := gateway.Ask(ctx, req)
		r.Reply, r.Err, r.Took = reply, err, time.Since(began)
		if err != nil {
			return r
		}
	}
	r.Wrong = s.Judge(r.Reply)
	return r
}

// Figures are what the runs of one store come to.
type Figures struct {
	Store        string  `json:"store"`
	Runs         int     `json:"runs"`
	Passed       int     `json:"passed"`
	PassRate     float64 `json:"pass_rate"`
	Errors       int     `json:"errors"`
	MedianMillis int64   `json:"median_ms"`
	InputTokens  int64   `json:"input_tokens_per_turn"`
	OutputTokens int64   `json:"output_tokens_per_turn"`
	CostMicros   int64   `json:"cost_micros_per_turn"` // of the turns whose cost is known
	Unpriced     int     `json:"turns_of_unknown_cost"`
	MeanScore    float64 `json:"mean_score,omitempty"` // of the replies that a judge scored
	Unscored     int     `json:"unscored,omitempty"`
}

// Measure returns the figures of each store, by its id, and of all under "all".
func Measure(runs []Run) []Figures {
	by := make(map[string][]Run)
	for _, r := range runs {
		by[r.Scenario.Store] = append(by[r.Scenario.Store], r)
	}
	var all []Figures
	for store, runs := range by {
		all = append(all, figures(store, runs))
	}
	slices.SortFunc(all, func(a, b Figures) int { return cmp.Compare(a.Store, b.Store) })
	return append(all, figures("all", runs))
}

func figures(store string, runs []Run) Figures {
	f := Figures{Store: store, Runs: len(runs)}
	var took []time.Duration
	var replies, priced, scored int64
	for _, r := range runs {
		if r.Passed() {
			f.Passed++
		}
		if r.Err != nil {
			f.Errors++
			continue
		}
		replies++
		took = append(took, r.Took)
		f.InputTokens += r.Reply.GetUsage().GetInputTokens()
		f.OutputTokens += r.Reply.GetUsage().GetOutputTokens()
		if c := r.Reply.GetCost(); c != nil {
			priced++
			f.CostMicros += c.GetAmountMicros()
		} else {
			f.Unpriced++
		}
		if r.Unscored != nil {
			f.Unscored++
		}
		if r.Score != nil {
			scored++
			f.MeanScore += float64(r.Score.Helpful)
		}
	}
	f.PassRate = float64(f.Passed) / float64(max(1, f.Runs))
	if slices.Sort(took); len(took) > 0 {
		f.MedianMillis = took[len(took)/2].Milliseconds()
	}
	f.InputTokens, f.OutputTokens = f.InputTokens/max(1, replies), f.OutputTokens/max(1, replies)
	f.CostMicros /= max(1, priced)
	f.MeanScore /= float64(max(1, scored))
	return f
}

// HasStores reports whether a folder has stores of its own. Else the scenarios are of stores that are there already.
func HasStores(folder fs.FS) bool {
	_, err := fs.Stat(folder, "stores.jsonl")
	return err == nil
}
