package agentloop_test

import (
	"context"
	"errors"
	"fmt"

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
	// {"type":"object","properties":{"status":{"type":"string","description":"open or closed; leave out for all"}},"additionalProperties":false}
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
