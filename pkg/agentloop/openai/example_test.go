package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

func Example() {
	endpoint := httptest.NewServer(stream( // stands for a real one
		`data: {"choices":[{"index":0,"delta":{"content":"Good morning."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	defer endpoint.Close()

	model, err := openai.New(openai.Config{BaseURL: endpoint.URL + "/v1", Model: "some-model"})
	if err != nil {
		fmt.Println(err)
		return
	}
	loop, err := agentloop.New(agentloop.Config{Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(context.Background(), nil, "Hello")
	fmt.Println(result.Text, err)
	// Output: Good morning. <nil>
}

// A wrapper that tries again finds all that it needs in the error.
func ExampleModel_statusError() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		http.Error(w, `{"error":{"message":"too many requests"}}`, http.StatusTooManyRequests)
	}))
	defer server.Close()

	model, err := openai.New(openai.Config{BaseURL: server.URL, Model: "some-model"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range model.Generate(context.Background(), ask("Hello")) {
		var status *endpoint.StatusError
		if errors.As(err, &status) {
			fmt.Println(status.StatusCode, status.RetryAfter, status.Message)
		}
	}
	// Output: 429 2s too many requests
}
