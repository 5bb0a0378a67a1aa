package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quartet-commerce/quartet/services/internal/mcpserver"
	"github.com/quartet-commerce/quartet/services/suite"
)

// serveMCP serves the tools of a system's stores and returns the address.
func serveMCP(t *testing.T, cfg suite.Config) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- suite.ServeMCP(ctx, cfg, "test", lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + lis.Addr().String()
}

// headers sends further headers with each request.
type headers struct {
	http.RoundTripper
	values map[string]string
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.values {
		r.Header.Set(name, value)
	}
	return h.RoundTripper.RoundTrip(r)
}

// connectMCP connects an agent to a store with a token, for a customer unless that is empty.
func connectMCP(t *testing.T, url, store, token, customer string) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	values := map[string]string{"Authorization": "Bearer " + token}
	if customer != "" {
		values[mcpserver.CustomerHeader] = customer
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url + "/mcp/" + store, HTTPClient: &http.Client{Transport: headers{transport, values}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
}

// callMCP calls a tool and returns its text, and whether that is an error.
func callMCP(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (string, bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return text.Text, result.IsError
}

// An agent reads with the token of a storefront, which may only ask: the scope of the request, not the token, opens the data services.
func TestAgentsReadAStore(t *testing.T) {
	g := newGuarded(t)
	url := serveMCP(t, g.cfg)
	for _, c := range []struct {
		token, customer string
		tools           []string
		own             string // in the shopper's orders
	}{
		{"storefront", "", []string{"get_product", "list_promotions", "search_policies", "search_products"}, ""},
		{"storefront", "ava", []string{"get_cart", "get_product", "list_orders", "list_promotions", "search_policies", "search_products"}, `"ava"`},
		{"benspage", "", []string{"get_cart", "get_product", "list_orders", "list_promotions", "search_policies", "search_products"}, `"ben"`},
	} {
		session, err := connectMCP(t, url, "demo", c.token, c.customer)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for tool, err := range session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s is not called read-only", tool.Name)
			}
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(c.tools, names); diff != "" {
			t.Errorf("%s for %q: tools (-want +got):\n%s", c.token, c.customer, diff)
		}
		for _, call := range []struct {
			tool, want string
			arguments  map[string]any
			failed     bool
		}{
			{"search_products", "79.95 EUR", map[string]any{"query": "rain jacket", "max_price": 100, "currency": "eur"}, false},
			{"search_products", "currency", map[string]any{"query": "rain jacket", "max_price": 100}, true},
			{"get_product", `"JKT-003"`, map[string]any{"product_id": "JKT-003"}, false},
			{"get_product", "not found", map[string]any{"product_id": "nope"}, true},
			{"search_policies", "within 30 days", map[string]any{"query": "how long can I return something"}, false},
			{"list_promotions", `"SAVE20"`, nil, false},
			{"list_orders", c.own, nil, c.own == ""},
			{"get_cart", c.own, nil, c.own == ""},
		} {
			text, failed := callMCP(t, session, call.tool, call.arguments)
			if failed != call.failed || !strings.Contains(text, call.want) {
				t.Errorf("%s for %q: %s: failed %v: %s", c.token, c.customer, call.tool, failed, text)
			}
			if other := map[string]string{`"ava"`: `"ben"`, `"ben"`: `"ava"`}[c.own]; call.tool == "list_orders" && other != "" && strings.Contains(text, other) {
				t.Errorf("%s for %q reads orders of %s", c.token, c.customer, other)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAgentsWithoutTheRightAreRefused(t *testing.T) {
	g := newGuarded(t)
	url := serveMCP(t, g.cfg)
	for _, c := range []struct {
		store, token, customer string
		want                   int
	}{
		{"demo", "", "", http.StatusUnauthorized},
		{"demo", "stranger", "", http.StatusUnauthorized},
		{"demo", "reporter", "", http.StatusForbidden},
		{"tea", "storefront", "", http.StatusForbidden},
		{"demo", "benspage", "ava", http.StatusForbidden},
		{"demo", "storefront", "a b", http.StatusBadRequest},
		{"demo", "storefront", "ava", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp/"+c.store, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		r.Header.Set(mcpserver.CustomerHeader, c.customer)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if reply.StatusCode != c.want {
			t.Errorf("%s with %q for %q: %s: %s", c.store, c.token, c.customer, reply.Status, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
