package agentloop_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

type cityArgs struct {
	City string `json:"city" jsonschema:"name of the city"`
}

func Example_program() {
	model, err := openai.New(openai.Config{APIKey: os.Getenv("OPENAI_API_KEY"), Model: "gpt-4.1-mini"})
	if err != nil {
		log.Fatal(err)
	}
	weather := agentloop.NewTool("weather", "The current weather in a city.",
		func(ctx context.Context, in cityArgs) (map[string]string, error) {
			return map[string]string{"city": in.City, "sky": "rain"}, nil
		})
	loop, err := agentloop.New(agentloop.Config{
		Model:  wrap.Standard(model, wrap.Options{IdleTimeout: 45 * time.Second}),
		System: "You are terse.",
		Tools:  []agentloop.Tool{weather},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := loop.Run(context.Background(), nil, "Do I need an umbrella in Oslo?")
	fmt.Println(result.Text, err)
}
