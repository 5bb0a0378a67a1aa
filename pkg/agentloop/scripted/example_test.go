package scripted_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// A test of an agent plays a script, runs the agent, and looks at what the model was sent.
func Example() {
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "weather", Arguments: `{"city":"Oslo"}`}}},
		scripted.Step{Text: "It rains in Oslo."},
	)
	weather := agentloop.NewTool("weather", "The weather in a city.",
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "rain", nil
		})
	loop, err := agentloop.New(agentloop.Config{Model: model, Tools: []agentloop.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Do I need an umbrella?")
	fmt.Println(result.Text, err)
	last := model.Requests()[1].Messages
	fmt.Println("the model was told:", last[len(last)-1].Text)
	fmt.Println(model.Remaining(), "steps are left")
	// Output:
	// It rains in Oslo. <nil>
	// the model was told: <tool_result>
	// rain
	// </tool_result>
	// 0 steps are left
}

// A check fails the call on the spot, and says which one.
func ExampleStep_check() {
	model := scripted.New(scripted.Step{
		Text: "It rains.",
		Check: func(req *agentloop.Request) error {
			if len(req.Tools) == 0 {
				return fmt.Errorf("no tools beside %q", req.Messages[0].Text)
			}
			return nil
		},
	})
	loop, err := agentloop.New(agentloop.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = loop.Run(context.Background(), nil, "Do I need an umbrella?")
	fmt.Println(err)
	// Output: agentloop: model call: scripted: call 1: no tools beside "Do I need an umbrella?"
}

// A provider that falls silent half way. In a test within testing/synctest the wait takes no time.
func ExampleStep_hang() {
	model := scripted.New(scripted.Step{Text: "It ra", Hang: true})
	loop, err := agentloop.New(agentloop.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	result, err := loop.Run(ctx, nil, "Do I need an umbrella?")
	fmt.Printf("%s %q %v\n", result.FinishReason, result.Text, err)
	// Output: deadline "It ra" agentloop: model call: context deadline exceeded
}

// A function answers where the order of the calls is not known.
func ExampleFunc() {
	model := scripted.Func(func(req *agentloop.Request) scripted.Step {
		asked := req.Messages[len(req.Messages)-1].Text
		return scripted.Step{Text: strings.ToUpper(asked)}
	})
	loop, err := agentloop.New(agentloop.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "hello")
	fmt.Println(result.Text, err)
	// Output: HELLO <nil>
}
