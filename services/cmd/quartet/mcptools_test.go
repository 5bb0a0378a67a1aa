package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// repairDesk serves a tool that reads and one that writes, and returns the address.
func repairDesk(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	answer := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"days": 17}, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "repair_time", Description: "How long repairs take.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answer)
	mcp.AddTool(server, &mcp.Tool{Name: "book_repair", Description: "Books a repair."}, answer)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

func TestASpecialistGetsTheToolsOfAnMCPServer(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := quartet(t.Context(), nil, "certs", "--scope-only", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	key := filepath.Join(dir, "scope-key", "key.jwk")
	url := repairDesk(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	at := up(t, ctx, stop, "--scope-key", key, "--mcp-server", "support="+url)
	for role, want := range map[string]bool{"support": true, "promotions": false} {
		_, token, _ := quartet(ctx, nil, "scope", "--key", key, "--store", "demo", "--audience", role)
		code, out, stderr := quartet(ctx, nil, "call", "--role", role, "--addr", at[role], "--header", "quartet-scope: "+strings.TrimSpace(token), "SpecialistService/Describe")
		if code != 0 || strings.Contains(out, `"repair_time"`) != want || strings.Contains(out, "book_repair") {
			t.Errorf("%s: code %d, %s\n%s", role, code, stderr, out)
		}
	}
}

func TestMistakesInMCPServers(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		code  int
		says  string
	}{
		"no role":       {"https://crm.example/mcp", exitUsage, "must be ROLE=URL"},
		"no specialist": {"gateway=https://crm.example/mcp", exitUsage, "search, recommend, promotions, support"},
		"plaintext":     {"support=http://crm.example/mcp", exitUsage, "must be an https URL"},
		"nobody there":  {"support=http://127.0.0.1:1/mcp", exitFailure, "--mcp-server http://127.0.0.1:1/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, stderr := quartet(t.Context(), nil, "up", "--port", "0", "--demo=false", "--mcp-server", c.value); code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}
