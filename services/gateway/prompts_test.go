package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/codes"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func TestActivePromptsGoToTheirAgents(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	model := scripted.New(scripted.Step{Text: "search says a. support says b."})
	h.config.Model, h.config.StoreModels = model, []string{"large"}
	h.config.RouterPrompt = &specialistv1.Prompt{Version: "builtin-r", Text: "Split it."}
	h.router.route = func(req *routerv1.RouteRequest, stream routeStream) error {
		d := split(req.GetMessage())
		d.PromptVersion = req.GetPrompt().GetVersion()
		return stream.Send(&routerv1.RouteResponse{Decision: d})
	}
	h.start()
	h.serveGateway("other", h.redisClient())
	other := gatewayv1.NewGatewayServiceClient(h.dial("other")) // another replica
	prompts := gatewayv1.NewPromptServiceClient(h.dial("gateway"))
	version := make(map[string]string)
	for agent, v := range map[string]*gatewayv1.PromptVersion{
		"router": {Text: "Split for {{.StoreName}}."}, "search": {Model: "large", MaxOutputTokens: 400}, "merge": {Text: "Write one reply."},
	} {
		created, err := prompts.CreatePromptVersion(t.Context(), &gatewayv1.CreatePromptVersionRequest{StoreId: "demo", Agent: agent, Version: v})
		if err != nil {
			t.Fatal(err)
		}
		version[agent] = created.GetVersion().GetVersion()
		active, err := prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{
			StoreId: "demo", Agent: agent, Shares: []*gatewayv1.PromptShare{{Version: version[agent], Percent: 100}},
		})
		if err != nil || active.GetPrompt().GetOwner() != gatewayv1.PromptOwner_PROMPT_OWNER_STORE {
			t.Fatalf("active is %v, error %v", active, err)
		}
	}
	reply := h.ask("search: a | support: b")
	if got := h.router.lastRequest().GetPrompt(); got.GetText() != "Split for Store demo." || got.GetVersion() != version["router"] {
		t.Errorf("the router is told %v", got)
	}
	calls, _ := h.specialists["search"].calls()
	if got := calls[0].GetPrompt(); got.GetText() != "" || got.GetModel() != "large" || got.GetMaxOutputTokens() != 400 || got.GetVersion() != version["search"] {
		t.Errorf("search is told %v", got)
	}
	calls, _ = h.specialists["support"].calls()
	if got := calls[0].GetPrompt(); got != nil {
		t.Errorf("support is told %v, and uses its own prompt", got)
	}
	if got := model.Requests()[0].Messages[0].Text; got != "Write one reply." {
		t.Errorf("the merge's prompt is %q", got)
	}
	if reply.GetRouting().GetPromptVersion() != version["router"] || reply.GetMerge().GetPromptVersion() != version["merge"] {
		t.Errorf("the reply names the versions %q and %q, want %v", reply.GetRouting().GetPromptVersion(), reply.GetMerge().GetPromptVersion(), version)
	}

	// The other replica uses the change within a second, and both tell it by version.
	due := time.Now().Add(10 * time.Second)
	for {
		reply, err := other.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: c"})
		if err == nil && reply.GetRouting().GetPromptVersion() == version["router"] {
			break
		}
		if time.Now().After(due) {
			t.Fatalf("the other replica says %v, error %v", reply.GetRouting(), err)
		}
	}
	found, err := gatewayv1.NewTurnServiceClient(h.dial("gateway")).ListTurns(t.Context(), &gatewayv1.ListTurnsRequest{
		StoreId: "demo", Filter: &gatewayv1.TurnFilter{PromptVersion: version["merge"]},
	})
	if err != nil || len(found.GetTurns()) != 1 {
		t.Errorf("of the merge's version are %d turns, error %v; want 1", len(found.GetTurns()), err)
	}
}

func TestWhatEachAgentUsesIsListed(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.RouterPrompt = &specialistv1.Prompt{Version: "builtin-r", Text: "Split it.\nAlways."}
	h.specialists["search"].published = &specialistv1.Specialist{
		Name: "search", Purpose: "Finds.", Available: true, Prompt: &specialistv1.Prompt{Version: "builtin-s", Text: "You find."},
	}
	h.start()
	h.ask("search: a")
	prompts := gatewayv1.NewPromptServiceClient(h.dial("gateway"))
	created, err := prompts.CreatePromptVersion(t.Context(), &gatewayv1.CreatePromptVersionRequest{
		Agent: "router", Version: &gatewayv1.PromptVersion{Text: "Split it.\nNever.", Note: "Bolder."},
	})
	if err != nil {
		t.Fatal(err)
	}
	v := created.GetVersion().GetVersion()
	shares := []*gatewayv1.PromptShare{{Version: v, Percent: 30}, {Version: "builtin", Percent: 70}}
	if _, err := prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{Agent: "router", Shares: shares}); err != nil {
		t.Fatal(err)
	}
	list := func() string {
		resp, err := prompts.ListPrompts(t.Context(), &gatewayv1.ListPromptsRequest{StoreId: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, p := range resp.GetPrompts() {
			line := p.GetAgent() + " " + strings.TrimPrefix(p.GetOwner().String(), "PROMPT_OWNER_")
			for _, share := range p.GetShares() {
				line += " " + share.GetVersion()
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	const others = "merge BUILT_IN MERGE\npromotions BUILT_IN\nrecommend BUILT_IN\n"
	merge := h.service.builtIn("merge").GetVersion()
	if got, want := list(), strings.Replace(others, "MERGE", merge, 1)+"router ALL "+v+" builtin\nsearch BUILT_IN builtin-s\nsupport BUILT_IN"; got != want {
		t.Errorf("in use are\n%s\nwant\n%s", got, want)
	}
	if _, err := prompts.RollBackPrompt(t.Context(), &gatewayv1.RollBackPromptRequest{Agent: "router"}); err != nil {
		t.Fatal(err)
	}
	if got := list(); !strings.Contains(got, "router BUILT_IN builtin-r") {
		t.Errorf("after the roll-back, in use are\n%s", got)
	}
	versions, err := prompts.ListPromptVersions(t.Context(), &gatewayv1.ListPromptVersionsRequest{Agent: "router"})
	if err != nil || len(versions.GetVersions()) != 2 || versions.GetVersions()[0].GetNote() != "Bolder." || versions.GetVersions()[1].GetText() != "Split it.\nAlways." {
		t.Errorf("the versions are %v, error %v", versions, err)
	}
	diff, err := prompts.DiffPromptVersions(t.Context(), &gatewayv1.DiffPromptVersionsRequest{Agent: "router", ToVersion: v})
	if err != nil || !strings.Contains(diff.GetDiff(), "-Always.\n+Never.") {
		t.Errorf("the difference is %q, error %v", diff.GetDiff(), err)
	}
}

func TestBadPromptsAreRefused(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.StoreModels = []string{"large"}
	h.start()
	prompts := gatewayv1.NewPromptServiceClient(h.dial("gateway"))
	create := func(req *gatewayv1.CreatePromptVersionRequest) error {
		_, err := prompts.CreatePromptVersion(t.Context(), req)
		return err
	}
	for want, err := range map[string]error{
		"line 2: {{.Shop}} is not known":               create(&gatewayv1.CreatePromptVersionRequest{Agent: "search", Version: &gatewayv1.PromptVersion{Text: "a\n{{.Shop}}"}}),
		`is "nobody", must be one of: merge`:           create(&gatewayv1.CreatePromptVersionRequest{Agent: "nobody", Version: &gatewayv1.PromptVersion{Text: "a"}}),
		"must have a text, a model":                    create(&gatewayv1.CreatePromptVersionRequest{Agent: "search"}),
		`is "tiny", must be one of --store-models`:     create(&gatewayv1.CreatePromptVersionRequest{Agent: "search", Version: &gatewayv1.PromptVersion{Model: "tiny"}}),
		"must be empty where store_id is set":          create(&gatewayv1.CreatePromptVersionRequest{StoreId: "demo", Variant: "x", Agent: "search", Version: &gatewayv1.PromptVersion{Text: "a"}}),
		"version.max_output_tokens":                    create(&gatewayv1.CreatePromptVersionRequest{Agent: "search", Version: &gatewayv1.PromptVersion{MaxOutputTokens: 3}}),
		"have 90 percent, must have 100":               second(prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{Agent: "search", Shares: []*gatewayv1.PromptShare{{Version: "builtin", Percent: 90}}})),
		"is there twice":                               second(prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{Agent: "search", Shares: []*gatewayv1.PromptShare{{Version: "builtin", Percent: 50}, {Version: "builtin", Percent: 50}}})),
		`store.models[search]: is "tiny", must be one`: second(h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{StoreId: "s", Name: "S", CurrencyCode: "EUR", Models: map[string]string{"search": "tiny"}}})),
		`store.models: has the agent "serach"`:         second(h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{StoreId: "s", Name: "S", CurrencyCode: "EUR", Models: map[string]string{"serach": "small"}}})),
	} {
		wantStatus(t, err, codes.InvalidArgument, "INVALID_FIELD")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for want, err := range map[string]error{
		`"0123abcd" not found`: second(prompts.ActivatePrompt(t.Context(), &gatewayv1.ActivatePromptRequest{StoreId: "demo", Agent: "search", Shares: []*gatewayv1.PromptShare{{Version: "0123abcd", Percent: 100}}})),
		"none was activated":   second(prompts.RollBackPrompt(t.Context(), &gatewayv1.RollBackPromptRequest{StoreId: "demo", Agent: "search"})),
	} {
		wantStatus(t, err, codes.NotFound, "PROMPT_NOT_FOUND")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	wantStatus(t, create(&gatewayv1.CreatePromptVersionRequest{StoreId: "nowhere", Agent: "search", Version: &gatewayv1.PromptVersion{Text: "a"}}), codes.NotFound, "STORE_NOT_FOUND")
}

func second[T any](_ T, err error) error { return err }
