package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/gateway/prompts"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
)

// agentMerge is what writes one reply from several answers, as prompts and usage name it.
const agentMerge = "merge"

const (
	maxNote         = 500
	maxShares       = 5
	minPromptTokens = 64
)

// promptServer serves PromptService.
type promptServer struct {
	gatewayv1.UnsafePromptServiceServer
	service *Service
}

var _ gatewayv1.PromptServiceServer = (*promptServer)(nil)

// ownedRequest is a request about the prompts of a store, a variant or all stores.
type ownedRequest interface {
	GetStoreId() string
	GetVariant() string
}

// agentRequest is a request about the prompt of one agent.
type agentRequest interface {
	ownedRequest
	GetAgent() string
}

func checkOwner(check *fault.Checker, req ownedRequest) prompts.Owner {
	check.OptionalID("store_id", req.GetStoreId())
	check.OptionalID("variant", req.GetVariant())
	if req.GetStoreId() != "" && req.GetVariant() != "" {
		check.Addf("variant", "must be empty where store_id is set")
	}
	return prompts.Owner{StoreID: req.GetStoreId(), Variant: req.GetVariant()}
}

func (s *promptServer) checkAgent(check *fault.Checker, req agentRequest) prompts.Owner {
	if agents := s.service.agents(); !slices.Contains(agents, req.GetAgent()) {
		check.Addf("agent", "is %q, must be one of: %s", req.GetAgent(), strings.Join(agents, ", "))
	}
	return checkOwner(check, req)
}

// agents returns the names of all agents, sorted.
func (s *Service) agents() []string {
	return slices.Sorted(slices.Values(append(s.registry.Names(), router, agentMerge)))
}

// builtIn returns the built-in prompt of an agent. Of a specialist that has not described itself it is empty.
func (s *Service) builtIn(agent string) *gatewayv1.PromptVersion {
	p := s.registry.Prompt(agent)
	switch agent {
	case router:
		p = s.cfg.RouterPrompt
	case agentMerge:
		p = merge.BuiltIn()
	}
	return &gatewayv1.PromptVersion{Version: cmp.Or(p.GetVersion(), prompts.BuiltIn), Text: p.GetText()}
}

// learn lets the specialists say what their prompts are, unless all have said it: this gateway may be new.
func (s *promptServer) learn(ctx context.Context, owner prompts.Owner) error {
	if !slices.ContainsFunc(s.service.registry.Names(), func(name string) bool { return s.service.registry.Prompt(name) == nil }) {
		return nil
	}
	id := owner.StoreID
	if id == "" {
		all, err := s.service.stores.list(ctx)
		if err != nil || len(all) == 0 {
			return err
		}
		id = all[0].GetStoreId()
	}
	ctx, cancel := s.service.withDeadline(ctx)
	defer cancel()
	s.service.registry.Describe(ctx, id)
	return nil
}

// ListPrompts implements PromptService.
func (s *promptServer) ListPrompts(ctx context.Context, req *gatewayv1.ListPromptsRequest) (*gatewayv1.ListPromptsResponse, error) {
	var check fault.Checker
	owner := checkOwner(&check, req)
	if err := check.Err(); err != nil {
		return nil, err
	}
	inUse, err := s.inUse(ctx, owner)
	if err != nil {
		return nil, err
	}
	if err := s.learn(ctx, owner); err != nil {
		return nil, err
	}
	resp := &gatewayv1.ListPromptsResponse{}
	for _, agent := range s.service.agents() {
		resp.Prompts = append(resp.Prompts, s.prompt(agent, inUse))
	}
	for _, agent := range slices.Sorted(maps.Keys(inUse)) {
		if !slices.Contains(s.service.agents(), agent) { // of a specialist that this gateway no longer has
			resp.Prompts = append(resp.Prompts, s.prompt(agent, inUse))
		}
	}
	return resp, nil
}

// inUse returns what is in use of an owner, by agent.
func (s *promptServer) inUse(ctx context.Context, owner prompts.Owner) (map[string]prompts.Active, error) {
	variant := owner.Variant
	if owner.StoreID != "" {
		store, err := s.service.stores.get(ctx, owner.StoreID)
		if err != nil {
			return nil, err
		}
		variant = store.GetPromptVariant()
	}
	return s.service.prompts.InUse(ctx, owner, variant)
}

// prompt is what an agent uses as the contract has it.
func (s *promptServer) prompt(agent string, inUse map[string]prompts.Active) *gatewayv1.Prompt {
	a, ok := inUse[agent]
	if !ok {
		p := &gatewayv1.Prompt{Agent: agent, Owner: gatewayv1.PromptOwner_PROMPT_OWNER_BUILT_IN}
		if v := s.service.builtIn(agent); v.GetText() != "" {
			p.Shares = []*gatewayv1.PromptShare{{Version: v.GetVersion(), Percent: 100}}
		}
		return p
	}
	p := &gatewayv1.Prompt{Agent: agent, Owner: a.Owner}
	for _, share := range a.Shares {
		p.Shares = append(p.Shares, &gatewayv1.PromptShare{Version: share.Version.GetVersion(), Percent: share.Percent})
	}
	return p
}

// ListPromptVersions implements PromptService.
func (s *promptServer) ListPromptVersions(
	ctx context.Context, req *gatewayv1.ListPromptVersionsRequest,
) (*gatewayv1.ListPromptVersionsResponse, error) {
	var check fault.Checker
	owner := s.checkAgent(&check, req)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := s.learn(ctx, owner); err != nil {
		return nil, err
	}
	versions, err := s.service.prompts.Versions(ctx, owner, req.GetAgent())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.ListPromptVersionsResponse{Versions: append(versions, s.service.builtIn(req.GetAgent()))}, nil
}

// CreatePromptVersion implements PromptService.
func (s *promptServer) CreatePromptVersion(
	ctx context.Context, req *gatewayv1.CreatePromptVersionRequest,
) (*gatewayv1.CreatePromptVersionResponse, error) {
	var check fault.Checker
	owner := s.checkAgent(&check, req)
	v := req.GetVersion()
	if strings.TrimSpace(v.GetText()) == "" && v.GetModel() == "" && v.GetMaxOutputTokens() == 0 {
		check.Addf("version", "must have a text, a model or max_output_tokens")
	}
	check.Text("version.text", v.GetText(), 0, prompt.MaxText)
	if err := prompts.CheckText(v.GetText()); err != nil {
		check.Addf("version.text", "%v", err)
	}
	s.service.checkModel(&check, "version.model", v.GetModel())
	if n := v.GetMaxOutputTokens(); n != 0 {
		check.Range("version.max_output_tokens", int64(n), minPromptTokens, prompt.MaxOutputTokens)
	}
	check.Text("version.note", v.GetNote(), 0, maxNote)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if owner.StoreID != "" {
		if _, err := s.service.stores.get(ctx, owner.StoreID); err != nil {
			return nil, err
		}
	}
	v = proto.CloneOf(v)
	v.Version, v.Creator, v.CreateTime = prompts.VersionOf(v), auth.FromContext(ctx).Name, timestamppb.New(s.service.cfg.Now())
	v, err := s.service.prompts.Create(ctx, owner, req.GetAgent(), v)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.CreatePromptVersionResponse{Version: v}, nil
}

// checkModel refuses a model that the gateway's operator has not allowed.
func (s *Service) checkModel(check *fault.Checker, field, name string) {
	switch allowed := s.cfg.StoreModels; {
	case name == "" || slices.Contains(allowed, name):
	case len(allowed) == 0:
		check.Addf(field, "is %q, but the gateway allows no other models: its operator lists them in --store-models", name)
	default:
		check.Addf(field, "is %q, must be one of --store-models: %s", name, strings.Join(allowed, ", "))
	}
}

// ActivatePrompt implements PromptService.
func (s *promptServer) ActivatePrompt(
	ctx context.Context, req *gatewayv1.ActivatePromptRequest,
) (*gatewayv1.ActivatePromptResponse, error) {
	var check fault.Checker
	owner := s.checkAgent(&check, req)
	sum, seen := int32(0), make(map[string]bool)
	if check.Count("shares", len(req.GetShares()), maxShares) {
		for i, share := range req.GetShares() {
			check.ID(fault.At("shares", i)+".version", share.GetVersion())
			check.Range(fault.At("shares", i)+".percent", int64(share.GetPercent()), 1, 100)
			if seen[share.GetVersion()] {
				check.Addf(fault.At("shares", i)+".version", "is there twice")
			}
			seen[share.GetVersion()] = true
			sum += share.GetPercent()
		}
		if len(req.GetShares()) > 0 && sum != 100 {
			check.Addf("shares", "have %d percent, must have 100", sum)
		}
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := s.service.prompts.Activate(ctx, owner, req.GetAgent(), req.GetShares()); err != nil {
		return nil, err
	}
	inUse, err := s.inUse(ctx, owner)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.ActivatePromptResponse{Prompt: s.prompt(req.GetAgent(), inUse)}, nil
}

// RollBackPrompt implements PromptService.
func (s *promptServer) RollBackPrompt(
	ctx context.Context, req *gatewayv1.RollBackPromptRequest,
) (*gatewayv1.RollBackPromptResponse, error) {
	var check fault.Checker
	owner := s.checkAgent(&check, req)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := s.service.prompts.RollBack(ctx, owner, req.GetAgent()); err != nil {
		return nil, err
	}
	inUse, err := s.inUse(ctx, owner)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.RollBackPromptResponse{Prompt: s.prompt(req.GetAgent(), inUse)}, nil
}

// DiffPromptVersions implements PromptService.
func (s *promptServer) DiffPromptVersions(
	ctx context.Context, req *gatewayv1.DiffPromptVersionsRequest,
) (*gatewayv1.DiffPromptVersionsResponse, error) {
	var check fault.Checker
	owner := s.checkAgent(&check, req)
	check.OptionalID("from_version", req.GetFromVersion())
	check.OptionalID("to_version", req.GetToVersion())
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := s.learn(ctx, owner); err != nil {
		return nil, err
	}
	from, err := s.version(ctx, owner, req.GetAgent(), req.GetFromVersion())
	if err != nil {
		return nil, err
	}
	to, err := s.version(ctx, owner, req.GetAgent(), req.GetToVersion())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.DiffPromptVersionsResponse{Diff: prompts.Diff(from, to)}, nil
}

// version returns a version with its text. A version without a text has the built-in one.
func (s *promptServer) version(ctx context.Context, owner prompts.Owner, agent, id string) (*gatewayv1.PromptVersion, error) {
	v, err := s.service.prompts.Version(ctx, owner, agent, cmp.Or(id, prompts.BuiltIn))
	if err != nil || v.GetText() != "" {
		return v, err
	}
	builtIn := s.service.builtIn(agent)
	if strings.HasPrefix(v.GetVersion(), prompts.BuiltIn) {
		return builtIn, nil
	}
	v.Text = builtIn.GetText()
	return v, nil
}

// choosePrompts decides which prompts a turn uses. They stay the same until its end.
func (s *Service) choosePrompts(ctx context.Context, t *turn) (err error) {
	owner := prompts.Owner{StoreID: t.store.GetStoreId()}
	inUse, err := s.prompts.InUse(ctx, owner, t.store.GetPromptVariant())
	if err != nil {
		return err
	}
	t.prompts = prompts.For(inUse, t.store, t.scope.ThreadID)
	return nil
}
