// Package mcptools makes the tools of a Model Context Protocol server into tools of the loop.
//
// Connect with the protocol's SDK, list the tools once, and give them to every run:
//
//	client := mcp.NewClient(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
//	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "https://crm.example/mcp"}, nil)
//	...
//	tools, err := mcptools.List(ctx, session)
package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// List returns the tools of a session that have the names. Without names it returns those whose server says that they change
// nothing (readOnlyHint); what a server says is only as good as the server. A tool that does not say so has Effects. The session
// must live as long as the tools.
//
// The descriptions go into the prompt as they are, so name only servers that you trust. Results are data of the loop like those of
// any other tool: fenced, cut and logged.
func List(ctx context.Context, session *mcp.ClientSession, names ...string) ([]agentloop.Tool, error) {
	var tools []agentloop.Tool
	missing := slices.Clone(names)
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("mcptools: list tools: %w", err)
		}
		readOnly := t.Annotations != nil && t.Annotations.ReadOnlyHint
		if len(names) > 0 && !slices.Contains(names, t.Name) || len(names) == 0 && !readOnly {
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("mcptools: schema of %s: %w", t.Name, err)
		}
		tools = append(tools, agentloop.Tool{
			ToolSpec: agentloop.ToolSpec{Name: t.Name, Description: t.Description, Parameters: schema},
			Effects:  !readOnly,
			Run: func(ctx context.Context, call agentloop.ToolCall) (any, error) {
				return run(ctx, session, t.Name, call.Arguments)
			},
		})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("mcptools: the server has no tool %q", missing)
	}
	return tools, nil
}

// run calls a tool. The error is for the model, so it has no address of the server.
func run(ctx context.Context, session *mcp.ClientSession, name, arguments string) (any, error) {
	if arguments == "" {
		arguments = "{}"
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused):
		return nil, errors.New(refused.Message)
	case err != nil:
		slog.WarnContext(ctx, "an MCP server did not answer", "tool", name, "error", err)
		return nil, errors.New("the system behind this tool does not answer at the moment")
	}
	if result.IsError {
		return nil, errors.New(textOf(result.Content))
	}
	if result.StructuredContent != nil {
		return result.StructuredContent, nil
	}
	return textOf(result.Content), nil
}

// textOf returns the text of a result. Of anything else it says that it is there.
func textOf(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ResourceLink:
			parts = append(parts, c.Name+": "+c.URI)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
			}
		default:
			parts = append(parts, "(content that is no text was left out)")
		}
	}
	return strings.Join(parts, "\n")
}
