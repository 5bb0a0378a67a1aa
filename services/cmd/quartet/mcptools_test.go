package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/pkg/agentloop"

	"github.com/quartet-commerce/quartet/services/suite"
)

// repairDesk serves a tool that reads and one that writes to those who send a token, unless it is "", and returns the address.
func repairDesk(t *testing.T, token string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	answer := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"days": 17}, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "repair_time", Description: "How long repairs take.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answer)
	mcp.AddTool(server, &mcp.Tool{Name: "book_repair", Description: "Books a repair."}, answer)
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if token != "" {
		handler = auth.RequireBearerToken(func(_ context.Context, got string, _ *http.Request) (*auth.TokenInfo, error) {
			if got != token {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
		}, nil)(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web.URL
}

func TestASpecialistGetsTheToolsOfAnMCPServer(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := quartet(t.Context(), nil, "certs", "--scope-only", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	key := filepath.Join(dir, "scope-key", "key.jwk")
	url := repairDesk(t, "")
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

// The server is the SDK's, with its own check of bearer tokens.
func TestAnMCPServerGetsItsToken(t *testing.T) {
	url, elsewhere := repairDesk(t, "desk-secret"), repairDesk(t, "")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("desk-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token string
		env   map[string]string
		says  string
	}{
		"a file":         {url + "=" + file, nil, ""},
		"a variable":     {url + "=env:DESK", map[string]string{"DESK": "desk-secret"}, ""},
		"another token":  {url + "=env:DESK", map[string]string{"DESK": "other"}, "the server refuses the token: 401"},
		"no variable":    {url + "=env:DESK", nil, "the variable DESK must hold one token"},
		"no file":        {url + "=" + file + "s", nil, "no such file"},
		"another server": {elsewhere + "s=" + file, nil, "no --mcp-server has the URL"},
		"none":           {elsewhere + "=" + file, nil, "Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := flag.NewFlagSet("", flag.ContinueOnError)
			servers := addMCPServers(fs)
			if err := fs.Parse([]string{"--mcp-server", "support=" + url, "--mcp-server", "search=" + elsewhere, "--mcp-token", c.token}); err != nil {
				t.Fatal(err)
			}
			var cfg suite.Config
			closeSessions, err := servers.open(t.Context(), &cfg, "", environment{get: func(name string) string { return c.env[name] }})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "desk-secret") {
					t.Errorf("error is %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer closeSessions()
			if result, err := cfg.Tools[suite.Support][0].Run(t.Context(), agentloop.ToolCall{Arguments: "{}"}); err != nil || !strings.Contains(fmt.Sprint(result), "17") {
				t.Errorf("the tool returns %v, %v", result, err)
			}
		})
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
