package scripted_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// A script answers the calls of a loop one after the other.
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
	// Output:
	// It rains in Oslo. <nil>
	// the model was told: <tool_result name="weather" id="call_0_0">
	// rain
	// </tool_result>
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
