package agentotel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// A traced loop is a loop over a traced model and traced tools.
func Example() {
	spans := tracetest.NewSpanRecorder()
	cfg := agentotel.Config{
		Provider: "acme", RequestModel: "big",
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
	}
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "clock"}}},
		scripted.Step{Text: "It is noon."},
	)
	clock := agentloop.NewTool("clock", "Tells the time.", func(context.Context, struct{}) (string, error) { return "12:00", nil })
	loop, err := agentloop.New(agentloop.Config{
		Model: agentotel.Model(model, cfg),
		Tools: []agentloop.Tool{agentotel.Tool(clock, cfg)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := loop.Run(context.Background(), nil, "What time is it?"); err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.Ended() {
		fmt.Println(s.Name())
	}
	// Output:
	// chat big
	// execute_tool clock
	// chat big
}
