package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

type searchArgs struct {
	Query string `json:"query"`
}

const searchResult = `{"products":[{"product_id":"p-1","title":"Ridge runner","price":"129.95 EUR"}]}`

// benchServer answers at once: with a tool call first, with text once there is a result.
func benchServer(b *testing.B) *httptest.Server {
	const (
		call   = `data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"search","arguments":"{\"query\":\"trail running shoes\"}"}}]}}]}` + "\n\n" + `data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
		answer = `data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"One of them is "}}]}` + "\n\n" + `data: {"model":"m","choices":[{"index":0,"delta":{"content":"in stock."}}]}` + "\n\n" + `data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		end    = `data: {"model":"m","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}` + "\n\ndata: [DONE]\n\n"
	)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			_, _ = io.WriteString(w, answer+end)
			return
		}
		_, _ = io.WriteString(w, call+end)
	}))
	b.Cleanup(srv.Close)
	return srv
}

// BenchmarkTurn is one turn of two model calls and one tool call, against a server that answers at once: through the loop,
// and as a program would write it by hand over go-openai, without bounds, checks, a log or a fence. The server's own work is
// part of both.
func BenchmarkTurn(b *testing.B) {
	b.Run("loop", func(b *testing.B) {
		model, err := openai.New(openai.Config{BaseURL: benchServer(b).URL, Model: "m"})
		if err != nil {
			b.Fatal(err)
		}
		tool := agentloop.NewTool("search", "Searches the catalog.", func(context.Context, searchArgs) (json.RawMessage, error) {
			return json.RawMessage(searchResult), nil
		})
		loop, err := agentloop.New(agentloop.Config{Model: model, System: "Be brief.", Tools: []agentloop.Tool{tool}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			result, err := loop.Run(b.Context(), nil, "Trail running shoes?")
			if err != nil || result.Text != "One of them is in stock." || len(result.Calls) != 1 {
				b.Fatalf("%+v, error %v", result, err)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		cfg := goopenai.DefaultConfig("")
		cfg.BaseURL = benchServer(b).URL
		client := goopenai.NewClientWithConfig(cfg)
		b.ReportAllocs()
		for b.Loop() {
			if text, err := byHand(b.Context(), client); err != nil || text != "One of them is in stock." {
				b.Fatalf("%q, error %v", text, err)
			}
		}
	})
}

// byHand is the loop that people write.
func byHand(ctx context.Context, client *goopenai.Client) (string, error) {
	req := goopenai.ChatCompletionRequest{
		Model: "m",
		Messages: []goopenai.ChatCompletionMessage{
			{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Trail running shoes?"},
		},
		Tools: []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: "search", Description: "Searches the catalog.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`),
		}}},
		StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
	}
	for {
		answer, err := receive(ctx, client, req)
		if err != nil || len(answer.ToolCalls) == 0 {
			return answer.Content, err
		}
		req.Messages = append(req.Messages, answer)
		for _, c := range answer.ToolCalls {
			var args searchArgs
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				return "", fmt.Errorf("arguments: %w", err)
			}
			req.Messages = append(req.Messages, goopenai.ChatCompletionMessage{Role: "tool", ToolCallID: c.ID, Content: searchResult})
		}
	}
}

// receive puts a streamed answer together.
func receive(ctx context.Context, client *goopenai.Client, req goopenai.ChatCompletionRequest) (goopenai.ChatCompletionMessage, error) {
	answer := goopenai.ChatCompletionMessage{Role: "assistant"}
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return answer, err
	}
	defer stream.Close()
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		for _, ch := range r.Choices {
			answer.Content += ch.Delta.Content
			for _, c := range ch.Delta.ToolCalls {
				if *c.Index == len(answer.ToolCalls) {
					answer.ToolCalls = append(answer.ToolCalls, goopenai.ToolCall{ID: c.ID, Type: goopenai.ToolTypeFunction})
				}
				last := &answer.ToolCalls[*c.Index].Function
				last.Name += c.Function.Name
				last.Arguments += c.Function.Arguments
			}
		}
	}
}
