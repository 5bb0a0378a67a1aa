package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// loop is the baseline: a hand-written loop over go-openai that makes the calls of the turn with the suite's own prompts, tools
// and tool results. It has no services, state, checks, retries or limits.
type loop struct {
	client *goopenai.Client
	http   *http.Client
	route  goopenai.ChatCompletionRequest
	agents []agent
	merge  goopenai.ChatCompletionRequest
}

// agent is one specialist: how its conversation begins, and what its tool returns.
type agent struct {
	request goopenai.ChatCompletionRequest
	result  string
}

// newLoop makes a loop of the requests of a turn of the suite.
func newLoop(baseURL string, requests []json.RawMessage) (*loop, error) {
	config := goopenai.DefaultConfig("")
	config.BaseURL = baseURL
	l := &loop{http: &http.Client{Transport: endpoint.NewTransport()}} // Go's own would connect for almost every call
	config.HTTPClient = l.http
	l.client = goopenai.NewClientWithConfig(config)
	results := map[string]string{}
	for _, raw := range requests {
		var asked chatRequest
		var req goopenai.ChatCompletionRequest
		if err := errors.Join(json.Unmarshal(raw, &asked), json.Unmarshal(raw, &req)); err != nil {
			return nil, fmt.Errorf("read a recorded request: %w", err)
		}
		switch asked.kind() {
		case kindRoute:
			l.route = req
		case kindCall:
			l.agents = append(l.agents, agent{request: req})
		case kindWord:
			results[nameOf(req)] = asked.last().Content
		case kindMerge:
			l.merge = req
		}
	}
	for i, a := range l.agents {
		l.agents[i].result = results[nameOf(a.request)]
	}
	if len(requests) != CallsPerTurn || len(l.agents) != 2 || len(results) != 2 || l.route.Model == "" || l.merge.Model == "" {
		return nil, fmt.Errorf("the %d recorded requests are not the requests of the turn", len(requests))
	}
	return l, nil
}

// close gives up the connections that are left.
func (l *loop) close() { l.http.CloseIdleConnections() }

// nameOf tells the conversations of a turn apart.
func nameOf(req goopenai.ChatCompletionRequest) string { return req.Tools[0].Function.Name }

// turn runs the turn: it routes, has both agents answer at the same time, and merges.
func (l *loop) turn(ctx context.Context) error {
	routed, err := l.call(ctx, l.route)
	if err != nil {
		return fmt.Errorf("route: %w", err)
	}
	var decided struct {
		Assignments []struct {
			Specialist string `json:"specialist"`
			SubQuery   string `json:"sub_query"`
		} `json:"assignments"`
	}
	if err := json.Unmarshal([]byte(routed.Content), &decided); err != nil {
		return fmt.Errorf("route: %w", err)
	}
	if len(decided.Assignments) != len(l.agents) {
		return fmt.Errorf("route: %d assignments, want %d", len(decided.Assignments), len(l.agents))
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, a := range l.agents {
		group.Go(func() error { return l.answer(groupCtx, a) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	merged, err := l.call(ctx, l.merge)
	if err == nil && merged.Content == "" {
		err = errors.New("the text is empty")
	}
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return nil
}

// answer calls the model until it asks for no more tools.
func (l *loop) answer(ctx context.Context, a agent) error {
	req := a.request
	req.Messages = append([]goopenai.ChatCompletionMessage(nil), req.Messages...)
	for {
		answer, err := l.call(ctx, req)
		if err != nil {
			return fmt.Errorf("agent with %s: %w", nameOf(req), err)
		}
		if len(answer.ToolCalls) == 0 {
			return nil
		}
		req.Messages = append(req.Messages, answer)
		for _, c := range answer.ToolCalls {
			req.Messages = append(req.Messages, goopenai.ChatCompletionMessage{
				Role: goopenai.ChatMessageRoleTool, ToolCallID: c.ID, Content: a.result,
			})
		}
	}
}

// call makes one model call and returns the message that it ends in.
func (l *loop) call(ctx context.Context, req goopenai.ChatCompletionRequest) (goopenai.ChatCompletionMessage, error) {
	var out goopenai.ChatCompletionMessage
	stream, err := l.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return out, err
	}
	defer stream.Close()
	var text strings.Builder
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			out.Role, out.Content = goopenai.ChatMessageRoleAssistant, text.String()
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for _, choice := range event.Choices {
			text.WriteString(choice.Delta.Content)
			out.ToolCalls = gather(out.ToolCalls, choice.Delta.ToolCalls)
		}
	}
}

// gather adds the pieces of tool calls to those that came before.
func gather(calls, deltas []goopenai.ToolCall) []goopenai.ToolCall {
	for _, d := range deltas {
		i := 0
		if d.Index != nil {
			i = *d.Index
		}
		for len(calls) <= i {
			calls = append(calls, goopenai.ToolCall{Type: goopenai.ToolTypeFunction})
		}
		if d.ID != "" {
			calls[i].ID = d.ID
		}
		calls[i].Function.Name += d.Function.Name
		calls[i].Function.Arguments += d.Function.Arguments
	}
	return calls
}
