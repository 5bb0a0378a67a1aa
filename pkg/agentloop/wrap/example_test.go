package wrap_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// The first model is overloaded; the second writes its reasoning into the answer. Both share a budget.
func ExampleStandard() {
	first := scripted.New(scripted.Step{Err: errors.New("overloaded")})
	second := scripted.New(scripted.Step{Text: "<think>Clouds.</think>It rains."})
	budget := wrap.NewBudget(wrap.Spend{Tokens: 50_000})

	m := wrap.Standard(first, wrap.Options{
		IdleTimeout: time.Minute,
		Budget:      budget,
		Fallbacks:   []agentloop.Model{wrap.Standard(second, wrap.Options{Budget: budget})},
	})

	loop, err := agentloop.New(agentloop.Config{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Do I need an umbrella?")
	fmt.Println(result.Text, err)
	// Output: It rains. <nil>
}

// The first attempt hangs, and the next one does not.
func ExampleIdleTimeout() {
	model := scripted.New(
		scripted.Step{Hang: true},
		scripted.Step{Text: "It rains."},
	)
	m := wrap.Retry(wrap.IdleTimeout(model, 10*time.Millisecond), wrap.RetryConfig{BaseDelay: time.Millisecond})
	loop, err := agentloop.New(agentloop.Config{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Do I need an umbrella?")
	fmt.Println(result.Text, err)
	// Output: It rains. <nil>
}

// A run is recorded and replayed, also with another question.
func ExampleReplay() {
	var exchanges []wrap.Exchange
	model := scripted.New(scripted.Step{Text: "It rains."})
	ask := func(m agentloop.Model, question string) {
		loop, err := agentloop.New(agentloop.Config{Model: m})
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := loop.Run(context.Background(), nil, question)
		fmt.Printf("%q %v\n", result.Text, err)
	}
	ask(wrap.Record(model, func(x wrap.Exchange) { exchanges = append(exchanges, x) }), "Is it raining?")
	ask(wrap.Replay(exchanges), "Is it raining?")
	ask(wrap.Replay(exchanges), "Is it snowing?")
	// Output:
	// "It rains." <nil>
	// "It rains." <nil>
	// "" agentloop: model call: wrap: replay: call 0 differs at messages[0].text: recorded "Is it raining?", got "Is it snowing?"
}

// Two runs share a budget of money that is enough for one of them.
func ExampleLimit() {
	price := &agentloop.Price{InputMicros: 150_000, OutputMicros: 600_000, Currency: "USD"} // for a million tokens
	budget := wrap.NewBudget(wrap.Spend{CostMicros: 2600})                                  // 0.0026 USD
	model := scripted.Func(func(*agentloop.Request) scripted.Step {
		return scripted.Step{Text: "Yes.", Usage: &agentloop.Usage{InputTokens: 900, OutputTokens: 100}}
	})
	loop, err := agentloop.New(agentloop.Config{Model: wrap.Limit(model, budget, price)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		result, err := loop.Run(context.Background(), nil, "Is it raining?")
		fmt.Println(result.FinishReason, errors.Is(err, agentloop.ErrBudget), budget.Used())
	}
	// Output:
	// stop false 1000 tokens, 195 micros
	// budget true 1000 tokens, 195 micros
}
