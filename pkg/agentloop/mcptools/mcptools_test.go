package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/mcptools"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

type stockArgs struct {
	Item string `json:"item" jsonschema:"name of the item"`
}

type stockResult struct {
	Pieces int `json:"pieces"`
}

// connect serves a warehouse over the protocol, in memory, and returns a session with it.
func connect(ctx context.Context) (session *mcp.ClientSession, stop func(), err error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "warehouse", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "count_stock", Description: "Counts an item.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in stockArgs) (*mcp.CallToolResult, stockResult, error) {
			if in.Item == "unknown" {
				return nil, stockResult{}, errors.New("there is no such item")
			}
			return nil, stockResult{Pieces: len(in.Item)}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "Says two things.", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "one"}, &mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "order_more", Description: "Orders more of an item."},
		func(context.Context, *mcp.CallToolRequest, stockArgs) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	serverEnd, clientEnd := mcp.NewInMemoryTransports()
	serverSession, err := server.Connect(ctx, serverEnd, nil)
	if err != nil {
		return nil, nil, err
	}
	session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, clientEnd, nil)
	return session, func() { _ = session.Close(); _ = serverSession.Wait() }, err
}

func Example() {
	ctx := context.Background()
	session, stop, err := connect(ctx) // a real program connects over HTTP: see the package comment
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	tools, err := mcptools.List(ctx, session)
	if err != nil {
		fmt.Println(err)
		return
	}
	loop, err := agentloop.New(agentloop.Config{Tools: tools, Model: scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "count_stock", Arguments: `{"item":"lamp"}`}}},
		scripted.Step{Text: "There are 4 lamps."},
	)})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loop.Run(ctx, nil, "How many lamps are there?")
	fmt.Println(result.Text, result.Calls[0].Preview, err)
	// Output: There are 4 lamps. {"pieces":4} <nil>
}

func TestToolsKeepWhatTheServerSays(t *testing.T) {
	session, stop, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	tools, err := mcptools.List(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]agentloop.Tool)
	for _, tool := range tools {
		byName[tool.Name] = tool
	}
	if len(tools) != 2 || byName["count_stock"].Effects || !strings.Contains(string(byName["count_stock"].Parameters), "name of the item") {
		t.Errorf("tools %v", tools)
	}
	for _, c := range []struct{ tool, arguments, want, wantErr string }{
		{"count_stock", `{"item":"unknown"}`, "", "there is no such item"},
		{"note", "", "one\n(content that is no text was left out)", ""},
	} {
		got, err := byName[c.tool].Run(t.Context(), agentloop.ToolCall{Arguments: c.arguments})
		if c.wantErr != "" && (err == nil || err.Error() != c.wantErr) || c.wantErr == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %v, %v", c.tool, got, err)
		}
	}
	named, err := mcptools.List(t.Context(), session, "order_more")
	if err != nil || len(named) != 1 || !named[0].Effects {
		t.Errorf("named: %v, %v", named, err)
	}
	if _, err := mcptools.List(t.Context(), session, "count_stock", "sell"); err == nil || !strings.Contains(err.Error(), "sell") {
		t.Errorf("error %v", err)
	}
}

// A server that is gone is an error that the model can tell, without the server's address, and an ended context stays one.
func TestAServerThatIsGone(t *testing.T) {
	session, stop, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tools, err := mcptools.List(t.Context(), session, "count_stock")
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tools[0].Run(canceled, agentloop.ToolCall{Arguments: `{"item":"lamp"}`}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	stop()
	if _, err := tools[0].Run(t.Context(), agentloop.ToolCall{Arguments: `{"item":"lamp"}`}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v", err)
	}
}
