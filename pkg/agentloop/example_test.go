package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// The model of these examples plays a script; a real one comes from package openai.
func rainyModel() agentloop.Model {
	return scripted.New(
		scripted.Step{Text: "Let me look.", ToolCalls: []agentloop.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}}},
		scripted.Step{Text: "Yes, it rains in Oslo.", ChunkSize: 8},
	)
}

type forecastArgs struct {
	City string `json:"city" jsonschema:"name of the city"`
	Days int    `json:"days,omitempty" jsonschema:"days ahead, at most 7"`
}

type forecast struct {
	City string `json:"city"`
	Sky  string `json:"sky"`
}

func weatherTool() agentloop.Tool {
	return agentloop.NewTool("weather", "The weather in a city.", func(_ context.Context, in forecastArgs) (forecast, error) {
		if in.City != "Oslo" {
			return forecast{}, errors.New("only the weather in Oslo is known")
		}
		return forecast{City: in.City, Sky: "rain"}, nil
	})
}

func ExampleLoop_Run() {
	loop, err := agentloop.New(agentloop.Config{
		Model:  rainyModel(),
		System: "You are terse.",
		Tools:  []agentloop.Tool{weatherTool()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Is it raining in Oslo?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text)
	for _, c := range result.Calls {
		fmt.Println(c.Name, c.Arguments, c.Value)
	}
	// Output:
	// Yes, it rains in Oslo.
	// weather {"city":"Oslo"} {Oslo rain}
}

func ExampleLoop_Stream() {
	loop, err := agentloop.New(agentloop.Config{Model: rainyModel(), Tools: []agentloop.Tool{weatherTool()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range loop.Stream(context.Background(), nil, "Is it raining in Oslo?") {
		switch event := event.(type) {
		case agentloop.TextDelta:
			fmt.Printf("%q\n", event.Text)
		case agentloop.ToolStarted:
			fmt.Println("calls", event.Call.Name)
		case agentloop.ToolFinished:
			fmt.Println("reads", event.Record.Preview)
		case agentloop.Finished:
			fmt.Println(event.Result.FinishReason, err)
		}
	}
	// Output:
	// "Let me look."
	// calls weather
	// reads {"city":"Oslo","sky":"rain"}
	// "Yes, it "
	// "rains in"
	// " Oslo."
	// stop <nil>
}

// A run can be advanced a step at a time, say to look at what a model wants before the next call.
func ExampleLoop_Start() {
	loop, err := agentloop.New(agentloop.Config{Model: rainyModel(), Tools: []agentloop.Tool{weatherTool()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := loop.Start(nil, "Is it raining in Oslo?")
	for !run.Done() {
		for range run.Step(context.Background()) {
		}
		fmt.Println(len(run.Result().Steps), "steps,", len(run.Messages()), "messages")
	}
	fmt.Println(run.Result().Text, run.Err())
	// Output:
	// 1 steps, 3 messages
	// 2 steps, 4 messages
	// Yes, it rains in Oslo. <nil>
}

// The schema of a tool's arguments comes from a struct. Data of the request comes in through the closure, so that no
// model can ask for another customer's.
func ExampleNewTool() {
	customer := "c-17"
	tool := agentloop.NewTool("list_orders", "The customer's orders.",
		func(_ context.Context, in struct {
			Status string `json:"status,omitempty" jsonschema:"open or closed; leave out for all"`
		}) ([]string, error) {
			return []string{customer + "-1", customer + "-2"}, nil
		})
	fmt.Println(string(tool.Parameters))
	orders, err := tool.Run(context.Background(), agentloop.ToolCall{Name: "list_orders", Arguments: `{}`})
	fmt.Println(orders, err)
	// Output:
	// {"type":"object","properties":{"status":{"type":"string","description":"open or closed; leave out for all"}}}
	// [c-17-1 c-17-2] <nil>
}

func ExampleGenerate() {
	type assignment struct {
		Agent  string `json:"agent" jsonschema:"who should answer"`
		Reason string `json:"reason,omitempty"`
	}
	model := scripted.New(
		scripted.Step{Text: "I would ask support."},
		scripted.Step{Text: "```json\n{\"agent\": \"support\"}\n```"},
	)
	value, result, err := agentloop.Generate[assignment](context.Background(),
		agentloop.GenerateConfig{Model: model, Name: "assignment"}, nil, "Where is my parcel?")
	fmt.Println(value.Agent, err)
	fmt.Println(len(result.Steps), "model calls")
	// Output:
	// support <nil>
	// 2 model calls
}

// What was said before goes in as messages; the caller keeps them, as texts of the user and the assistant.
func ExampleLoop_Run_history() {
	model := scripted.Func(func(req *agentloop.Request) scripted.Step {
		return scripted.Step{Text: fmt.Sprintf("You said %q before.", req.Messages[0].Text)}
	})
	loop, err := agentloop.New(agentloop.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	history := []agentloop.Message{
		{Role: agentloop.RoleUser, Text: "I am in Oslo."},
		{Role: agentloop.RoleAssistant, Text: "Good."},
	}
	result, err := loop.Run(context.Background(), history, "Where am I?")
	fmt.Println(result.Text, err)
	// Output: You said "I am in Oslo." before. <nil>
}

// A run that reaches a bound has an answer all the same, made from what was known, and an error that says which bound it was.
func ExampleLoop_Run_bounds() {
	model := scripted.Func(func(req *agentloop.Request) scripted.Step {
		usage := &agentloop.Usage{InputTokens: 4000, OutputTokens: 50}
		if req.NoToolCalls {
			return scripted.Step{Text: "Rain, as far as I know.", Usage: usage}
		}
		return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "weather", Arguments: `{"city":"Oslo"}`}}, Usage: usage}
	})
	loop, err := agentloop.New(agentloop.Config{
		Model:         model,
		Tools:         []agentloop.Tool{weatherTool()},
		MaxSteps:      20,
		MaxCostMicros: 1500, // 0.0015 USD
		Price:         &agentloop.Price{InputMicros: 150_000, OutputMicros: 600_000, Currency: "USD"},
		Reserve:       5 * time.Second, // of the minute, for the answer
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := loop.Run(ctx, nil, "Is it raining in Oslo?")
	fmt.Println(result.Text, result.FinishReason, len(result.Steps), "model calls,", result.Cost.Micros, "micros")
	fmt.Println(errors.Is(err, agentloop.ErrBudget))
	// Output:
	// Rain, as far as I know. budget 4 model calls, 2520 micros
	// true
}

// The calls of one step run side by side, save those of tools that change something.
func ExampleTool_effects() {
	type line struct {
		Product string `json:"product"`
	}
	stock := agentloop.NewTool("stock", "How many there are.", func(context.Context, line) (int, error) { return 3, nil })
	reserve := agentloop.NewTool("reserve", "Puts one aside.", func(context.Context, line) (string, error) { return "done", nil })
	reserve.Effects = true
	reserve.Timeout = 5 * time.Second

	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{
			{Name: "stock", Arguments: `{"product":"p1"}`},
			{Name: "stock", Arguments: `{"product":"p2"}`},
			{Name: "reserve", Arguments: `{"product":"p1"}`}, // begins when both have ended
		}},
		scripted.Step{Text: "One p1 is yours."},
	)
	loop, err := agentloop.New(agentloop.Config{Model: model, Tools: []agentloop.Tool{stock, reserve}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Keep me a p1.")
	fmt.Println(result.Text, err)
	for _, c := range result.Calls {
		fmt.Println(c.ID, c.Name, c.Value)
	}
	// Output:
	// One p1 is yours. <nil>
	// call_0_0 stock 3
	// call_0_1 stock 3
	// call_0_2 reserve done
}
