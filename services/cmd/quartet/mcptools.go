package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	flag "github.com/spf13/pflag"
	"golang.org/x/oauth2"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/mcptools"

	"github.com/quartet-commerce/quartet/services/internal/reload"
	"github.com/quartet-commerce/quartet/services/suite"
)

// mcpTimeout bounds connecting to a Model Context Protocol server and listing its tools.
const mcpTimeout = 15 * time.Second

// mcpServers are Model Context Protocol servers whose tools specialists get. Nil: none.
type mcpServers struct {
	byRole map[string][]string // URLs
	tokens map[string]string   // by URL: a file, or a variable after envPrefix
}

// envPrefix begins the name of a variable that has a token.
const envPrefix = "env:"

func addMCPServers(fs *flag.FlagSet) *mcpServers {
	m := &mcpServers{byRole: make(map[string][]string), tokens: make(map[string]string)}
	fs.Func("mcp-server", "specialists: Model Context Protocol server as `ROLE=URL`, such as support=https://crm.example/mcp, whose read-only tools that specialist gets in every store; "+
		"its descriptions become part of the prompt, so name only servers that you trust; may be repeated (default none)",
		func(s string) error {
			role, address, ok := strings.Cut(s, "=")
			u, err := url.Parse(address)
			if !ok || err != nil || !slices.Contains(suite.Specialists(), role) || u.Host == "" {
				return fmt.Errorf("must be ROLE=URL, with a role of %s", strings.Join(suite.Specialists(), ", "))
			}
			if u.Scheme != "https" && (u.Scheme != "http" || !onLoopback(u.Host)) {
				return errors.New("must be an https URL, or http on loopback")
			}
			m.byRole[role] = append(m.byRole[role], address)
			return nil
		})
	fs.Func("mcp-token", "specialists: bearer token for the --mcp-server at a URL, as `URL=FILE`, which is read again when it changes, or URL=env:VARIABLE; may be repeated (default none)",
		func(s string) error {
			at := strings.LastIndexByte(s, '=') // a URL may have one too
			if at < 0 || !strings.Contains(s[:at], "://") || s[at+1:] == "" || s[at+1:] == envPrefix {
				return errors.New("must be URL=FILE or URL=env:VARIABLE")
			}
			m.tokens[s[:at]] = s[at+1:]
			return nil
		})
	return m
}

// mcpToken sends a bearer token to a server.
type mcpToken struct{ get func() string }

// TokenSource implements auth.OAuthHandler.
func (t mcpToken) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: t.get()}), nil
}

// Authorize implements auth.OAuthHandler. It gets no other token than the one that the server has refused.
func (mcpToken) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	return errors.Join(fmt.Errorf("the server refuses the token: %s", resp.Status), resp.Body.Close())
}

// token returns what sends the token of a URL, or nil if it has none.
func (m *mcpServers) token(address string, env environment, log *slog.Logger) (auth.OAuthHandler, error) {
	from, ok := m.tokens[address]
	if !ok {
		return nil, nil
	}
	parse := func(content []byte) (string, error) {
		token := strings.TrimSpace(string(content))
		if token == "" || strings.ContainsFunc(token, unicode.IsSpace) {
			return "", errors.New("must hold one token")
		}
		return token, nil
	}
	if variable, ok := strings.CutPrefix(from, envPrefix); ok {
		token, err := parse([]byte(env.get(variable)))
		if err != nil {
			return nil, usagef("--mcp-token %s: the variable %s %w", address, variable, err)
		}
		return mcpToken{func() string { return token }}, nil
	}
	file, err := reload.Open(from, parse, log)
	if err != nil {
		return nil, fmt.Errorf("--mcp-token: %w", err)
	}
	return mcpToken{file.Get}, nil
}

// open connects to the servers of a role, or of all roles if it is "", and gives their tools to the services of cfg. The returned
// function ends the connections.
func (m *mcpServers) open(ctx context.Context, cfg *suite.Config, role string, env environment) (closeSessions func() error, err error) {
	if m == nil {
		return func() error { return nil }, nil
	}
	for address := range m.tokens {
		if !slices.ContainsFunc(slices.Collect(maps.Values(m.byRole)), func(of []string) bool { return slices.Contains(of, address) }) {
			return nil, usagef("--mcp-token: no --mcp-server has the URL %s", address)
		}
	}
	var sessions []*mcp.ClientSession
	closeSessions = func() error {
		var errs []error
		for _, s := range sessions {
			errs = append(errs, s.Close())
		}
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(ctx, mcpTimeout)
	defer cancel()
	cfg.Tools = make(map[string][]agentloop.Tool)
	client := mcp.NewClient(&mcp.Implementation{Name: "quartet", Version: version()}, nil)
	for of, addresses := range m.byRole {
		if role != "" && of != role {
			continue
		}
		for _, address := range addresses {
			token, err := m.token(address, env, cfg.Logger)
			if err != nil {
				return nil, errors.Join(err, closeSessions())
			}
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, DisableStandaloneSSE: true, OAuthHandler: token}, nil)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("--mcp-server %s: %w", address, err), closeSessions())
			}
			sessions = append(sessions, session)
			tools, err := mcptools.List(ctx, session)
			if err == nil && len(tools) == 0 {
				err = errors.New("has no tool that it calls read-only")
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("--mcp-server %s: %w", address, err), closeSessions())
			}
			cfg.Tools[of] = append(cfg.Tools[of], tools...)
		}
	}
	return closeSessions, nil
}
