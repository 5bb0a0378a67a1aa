// Package modelcheck tries what Quartet needs of a model endpoint. The package must not import a service.
package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Models are the two models of a deployment.
type Models struct {
	// Answering writes answers. Required.
	Answering agentloop.Model
	// Fast classifies messages, without reasoning where it can be asked not to. Required.
	Fast agentloop.Model
}

// Result is the outcome of one check.
type Result struct {
	Name string
	Err  error  // nil: it works
	Hint string // what to do if it does not
	Took time.Duration
}

// check is one thing that Quartet needs.
type check struct {
	name, hint string
	try        func(context.Context, Models) error
}

// marker is what a long prompt hides at its beginning.
const marker = "heron-4711"

// checks are in the order in which they make sense: if the first fails, so do all.
var checks = []check{
	{"answers", "see the error: URL, name and key of the model", func(ctx context.Context, m Models) error {
		_, _, err := run(ctx, agentloop.Config{Model: m.Answering}, "Reply with the one word ready.")
		return err
	}},
	{"streams its answer", "shoppers wait for the whole reply; if the endpoint refuses to stream, set --model-no-stream", streams},
	{"ends by itself", "answers run into their limit: check the model's chat template", func(ctx context.Context, m Models) error {
		r, _, err := run(ctx, agentloop.Config{Model: m.Answering}, "Name three colours.")
		if err == nil && r.FinishReason != agentloop.FinishStop {
			err = fmt.Errorf("ended with %q", r.FinishReason)
		}
		return err
	}},
	{"keeps to a limit of tokens", "--turn-budget-tokens cannot be kept", func(ctx context.Context, m Models) error {
		r, _, err := run(ctx, agentloop.Config{Model: m.Answering, MaxOutputTokens: 16}, "Count from 1 to 200 in words.")
		if err == nil && r.FinishReason != agentloop.FinishLength {
			err = fmt.Errorf("ended with %q", r.FinishReason)
		}
		return err
	}},
	{"reports its usage", "tokens and costs are estimates", func(ctx context.Context, m Models) error {
		r, _, err := run(ctx, agentloop.Config{Model: m.Answering}, "Reply with the one word ready.")
		if err == nil && r.Usage.Estimated {
			err = errors.New("no usage in the answer")
		}
		return err
	}},
	{"calls a tool", "set --model-tools text; vLLM needs --enable-auto-tool-choice", func(ctx context.Context, m Models) error {
		return callsTools(ctx, m.Answering, "What is the weather in Oslo? Use the tool.", 1)
	}},
	{"calls two tools in one step", "questions of two parts take one more call each", func(ctx context.Context, m Models) error {
		return callsTools(ctx, m.Answering, "What is the weather in Oslo and in Lima? Call the tool for both at once.", 2)
	}},
	{"answers from a tool's result", "answers do not follow the tools: use another model", func(ctx context.Context, m Models) error {
		r, _, err := run(ctx, weather(m.Answering), "What is the weather in Oslo? Use the tool, then answer in one sentence.")
		return contains(r, err, "hail")
	}},
	{"writes JSON by a schema", "set --model-response-format json_object, or none", func(ctx context.Context, m Models) error {
		type colours struct {
			Colours []string `json:"colours"`
		}
		got, _, err := agentloop.Generate[colours](ctx, agentloop.GenerateConfig{Model: m.Fast, Name: "colours", System: "You name colours."}, nil, "Name exactly three.")
		if err == nil && len(got.Colours) != 3 {
			err = fmt.Errorf("%d colours, want 3", len(got.Colours))
		}
		return err
	}},
	{"does not reason when asked not to", "routing is slow: set --model-reasoning-switch", func(ctx context.Context, m Models) error {
		r, _, err := run(ctx, agentloop.Config{Model: m.Fast}, "What is 17 times 23? Reply with the number.")
		if err == nil && r.Usage.ReasoningTokens > 0 {
			err = fmt.Errorf("%d tokens of reasoning", r.Usage.ReasoningTokens)
		}
		return err
	}},
	{"reads a long prompt", "the context is too short for carts, threads and documents: raise it to 16,000 tokens or more", func(ctx context.Context, m Models) error {
		filler := strings.Repeat("The river was high that spring, and the ferry did not run. ", 700) // about 9,000 tokens
		return says(ctx, m.Answering, "The code word is "+marker+".\n\n"+filler+"\n\nWhat is the code word? Reply with it alone.", marker)
	}},
	{"answers in the shopper's language", "shoppers of other languages get English: use another model", func(ctx context.Context, m Models) error {
		for tag, question := range map[string]string{"de": "Warum ist der Himmel blau? Antworte in zwei Sätzen.", "es": "¿Por qué el cielo es azul? Responde en dos frases."} {
			r, _, err := run(ctx, agentloop.Config{Model: m.Answering, System: "Answer in the language of the question."}, question)
			if err != nil {
				return err
			}
			if got := text.Language(r.Text); got != tag {
				return fmt.Errorf("answered a question in %q in %q", tag, got)
			}
		}
		return nil
	}},
}

// Run tries everything, one after the other, and reports each result as it comes. Each check has timeout. It stops after the first
// check if the endpoint does not answer at all, and returns the number of checks that failed.
func Run(ctx context.Context, m Models, timeout time.Duration, report func(Result)) (failed int) {
	for i, c := range checks {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		err := c.try(ctx, m)
		cancel()
		r := Result{Name: c.name, Err: err, Took: time.Since(began)}
		if err != nil {
			failed++
			r.Hint = c.hint
		}
		report(r)
		if err != nil && i == 0 {
			break
		}
	}
	return failed
}

// run runs a loop at temperature 0, and counts the pieces of its text.
func run(ctx context.Context, cfg agentloop.Config, message string) (*agentloop.Result, int, error) {
	cfg.Temperature = new(float64)
	loop, err := agentloop.New(cfg)
	if err != nil {
		return nil, 0, err
	}
	pieces := 0
	var result *agentloop.Result
	for ev, err := range loop.Stream(ctx, nil, message) {
		if err != nil {
			return nil, pieces, err
		}
		switch ev := ev.(type) {
		case agentloop.TextDelta:
			pieces++
		case agentloop.Finished:
			result = ev.Result
		}
	}
	return result, pieces, nil
}

// says checks that an answer contains a text.
func says(ctx context.Context, m agentloop.Model, question, want string) error {
	r, _, err := run(ctx, agentloop.Config{Model: m}, question)
	return contains(r, err, want)
}

func contains(r *agentloop.Result, err error, want string) error {
	if err == nil && !strings.Contains(strings.ToLower(r.Text), want) {
		return fmt.Errorf("answered %q, want %q in it", text.Head(text.OneLine(r.Text), 80), want)
	}
	return err
}

func streams(ctx context.Context, m Models) error {
	_, pieces, err := run(ctx, agentloop.Config{Model: m.Answering}, "Count from 1 to 20 in words, separated by commas.")
	if err == nil && pieces < 3 {
		err = fmt.Errorf("the answer came in %s", text.Count(pieces, "piece"))
	}
	return err
}

// weather is a loop with a tool.
func weather(m agentloop.Model) agentloop.Config {
	type args struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	tool := agentloop.NewTool("weather", "The current weather in a city.", func(_ context.Context, in args) (map[string]string, error) {
		return map[string]string{"city": in.City, "sky": "hail"}, nil
	})
	return agentloop.Config{Model: m, System: "You are terse.", Tools: []agentloop.Tool{tool}}
}

// callsTools checks that the first step calls the tool as often as wanted, with arguments that fit.
func callsTools(ctx context.Context, m agentloop.Model, question string, want int) error {
	r, _, err := run(ctx, weather(m), question)
	if err != nil {
		return err
	}
	got := 0
	for _, c := range r.Calls {
		if c.Step == 0 && c.Error == "" {
			got++
		}
	}
	if got < want {
		return fmt.Errorf("%s in the first step, want %d", text.Count(got, "good call"), want)
	}
	return nil
}
