package texttools_test

import (
	"context"
	"fmt"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/texttools"
)

// A model that knows nothing of tools calls one.
func Example() {
	model := scripted.New(
		scripted.Step{Text: `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>`},
		scripted.Step{Text: "It rains in Oslo."},
	)
	weather := agentloop.NewTool("weather", "The weather in a city.", func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return "rain in " + in.City, nil
	})
	loop, err := agentloop.New(agentloop.Config{Model: texttools.New(model), Tools: []agentloop.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Do I need an umbrella?")
	fmt.Println(result.Text, err)
	sent := model.Requests()[1]
	fmt.Println(len(sent.Tools), "tools;", sent.Messages[2].Text)
	// Output:
	// It rains in Oslo. <nil>
	// 0 tools; <tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>
}
