package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/mcptools"

	"github.com/quartet-commerce/quartet/services/suite"
)

// mcpTimeout bounds connecting to a Model Context Protocol server and listing its tools.
const mcpTimeout = 15 * time.Second

// mcpServers are Model Context Protocol servers whose tools specialists get, by role.
type mcpServers map[string][]string

func addMCPServers(fs *flag.FlagSet) mcpServers {
	servers := make(mcpServers)
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
			servers[role] = append(servers[role], address)
			return nil
		})
	return servers
}

// open connects to the servers of a role, or of all roles if it is "", and gives their tools to the services of cfg. The returned
// function ends the connections.
func (m mcpServers) open(ctx context.Context, cfg *suite.Config, role string) (closeSessions func() error, err error) {
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
	for of, addresses := range m {
		if role != "" && of != role {
			continue
		}
		for _, address := range addresses {
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, DisableStandaloneSSE: true}, nil)
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
