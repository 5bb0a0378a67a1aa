// Command travel is a complete program around agentloop: four tools, and a conversation of nine messages that shows what the
// loop does with them. Read converse below, then tools.go.
//
//	go run ./examples/travel
//	OPENAI_API_KEY=... go run ./examples/travel --model gpt-4.1-mini
//
// Without a key and a URL a script answers in place of a model; the loop and the tools are the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// scenario is one message of the conversation and what it shows.
type scenario struct {
	title    string
	message  string
	maxSteps int // model calls that may ask for tools; zero: the loop's default
}

// scenarios are asked in order, each with the conversation before it.
var scenarios = []scenario{
	{title: "No tool needed", message: "Hello!"},
	{title: "General advice, still no tool", message: "What should I pack for a weekend away?"},
	{title: "One tool: weather", message: "What is the weather in Lisbon?"},
	{title: "One tool: money", message: "How many dollars are 120 euros?"},
	{title: "One tool: trains", message: "Which trains go from Lisbon to Porto?"},
	{title: "Two tools, and a place named earlier", message: "What will the weather be there tomorrow, and how much is 80 dollars in pounds?"},
	{title: "All three tools", message: "Which trains go from Porto to Lisbon, what will the weather be there tomorrow, and how many euros are 5000 yen?"},
	{title: "More steps than allowed", message: "How much is the cheapest train from Lisbon to Porto in dollars?", maxSteps: 1},
	{title: "A tool that fails", message: "Please find me a hotel room in Porto."},
}

const system = `You are a travel assistant. Today is %s.
Use the tools for weather, money, trains and rooms, and never guess what they would say.
Say plainly what you could not find out.

Advice you may give without a tool:
- Packing for a weekend away: one bag that you can carry up the stairs, layers in place of a thick coat, and a charger.
- Before a train journey: be on the platform ten minutes early, and have something to eat with you.`

// answerTime limits the answer to one message.
const answerTime = 2 * time.Minute

// converse sends the model one message after another and prints what happens.
func converse(ctx context.Context, model agentloop.Model, today time.Time, p printer) error {
	var history []agentloop.Message
	for i, s := range scenarios {
		p.question(i+1, s)
		loop, err := agentloop.New(agentloop.Config{
			Model:    model,
			System:   fmt.Sprintf(system, today.Format("Monday, 2 January 2006")),
			Tools:    travelTools(today),
			MaxSteps: s.maxSteps,
		})
		if err != nil {
			return err
		}
		c, err := answer(ctx, loop.Start(history, s.message), p)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		p.answer(c.Result())
		history = c.Messages()[1:] // without the system prompt, which the loop adds
	}
	return nil
}

// answer advances a conversation until it is done. If you need neither events nor messages, call [agentloop.Loop.Run] instead.
func answer(ctx context.Context, c *agentloop.Conversation, p printer) (*agentloop.Conversation, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for !c.Done() {
		for event := range c.Step(ctx) {
			p.event(event)
		}
	}
	if err := c.Err(); !errors.Is(err, agentloop.ErrMaxSteps) { // at the limit of steps there is an answer
		return c, err
	}
	return c, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "travel:", err)
		os.Exit(1)
	}
}

// start reads the flags and runs the conversation with the model they name.
func start(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	cfg, err := parse(args, getenv, out)
	if err != nil {
		return err
	}
	if cfg.BaseURL == "" && cfg.APIKey == "" {
		fmt.Fprintln(out, "No --url and no OPENAI_API_KEY: a script answers in place of a model. The loop and the tools are real.")
		today := time.Now()
		return converse(ctx, scripted.New(script(today)...), today, printer{out})
	}
	model, err := openai.New(cfg)
	if err != nil {
		return err
	}
	return converse(ctx, model, time.Now(), printer{out})
}

// parse reads the flags. The key comes only from the environment, because command lines show in the process list.
func parse(args []string, getenv func(string) string, out io.Writer) (openai.Config, error) {
	cfg := openai.Config{APIKey: getenv("OPENAI_API_KEY")}
	fs := flag.NewFlagSet("travel", flag.ContinueOnError)
	fs.StringVar(&cfg.BaseURL, "url", getenv("OPENAI_BASE_URL"), "`URL` of an endpoint that speaks Chat Completions, up to /v1 (env OPENAI_BASE_URL)")
	fs.StringVar(&cfg.Model, "model", "", "`name` of the model")
	fs.SetOutput(io.Discard) // main prints errors once
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, "usage: travel [--url URL] [--model NAME]; the key is read from OPENAI_API_KEY")
		fs.SetOutput(out)
		fs.PrintDefaults()
		return cfg, err
	case err != nil:
		return cfg, err
	case fs.NArg() > 0:
		return cfg, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case cfg.Model == "" && (cfg.BaseURL != "" || cfg.APIKey != ""):
		return cfg, errors.New("--model is missing: name one that the endpoint has")
	}
	return cfg, nil
}
