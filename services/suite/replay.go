package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Replay runs a recorded turn with the six services in this process. Models, tools, the cart and the orders answer from the bundle; the
// services have no address of anything outside, and an embedded Redis without data. The error is that of Ask or of starting.
func Replay(ctx context.Context, p *bundle.Player) (reply *gatewayv1.AskResponse, err error) {
	defer p.Watch()()
	server, err := state.Embedded()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, err := state.Open(ctx, server.URL())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	cfg := Config{
		Redis: client, Network: rpc.NewNetwork(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Tape: p,
		Gateway:    gateway.Settings{RunAhead: gateway.RunAheadOff, StoreModels: []string{p.Start.Store.GetDayBudget().GetCheaperModel()}}, // a recorded turn may have run ahead; the reply does not depend on it
		Now:        func() time.Time { return p.Start.Began },
		NewID:      func() string { return strings.TrimPrefix(p.TurnID, "turn_") },
		NamedModel: func(name string) (*model.Traced, error) { return unreachable(p, name), nil },
		Model:      unreachable(p, Gateway), Models: make(map[string]*model.Traced),
		RulesOnly: p.Settings.RulesOnly, AlwaysAskModel: p.Settings.AlwaysAskModel,
	}
	for _, name := range Specialists() {
		cfg.Models[name] = unreachable(p, name)
	}
	if !p.Settings.NoFastModel {
		cfg.FastModel = unreachable(p, Router)
	}
	defer func() { err = errors.Join(err, cfg.Network.Close()) }()
	six, err := NewAll(cfg, nil)
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- six.Serve(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	conn, err := Dial(Gateway, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	store := proto.CloneOf(p.Start.Store)
	store.Models = nil // the prompts of the bundle name the models
	if _, err := gatewayv1.NewStoreServiceClient(conn).PutStore(ctx, &gatewayv1.PutStoreRequest{Store: store}); err != nil {
		return nil, err
	}
	prompts := gatewayv1.NewPromptServiceClient(conn)
	for agent, text := range p.Prompts {
		made, err := prompts.CreatePromptVersion(ctx, &gatewayv1.CreatePromptVersionRequest{
			StoreId: store.GetStoreId(), Agent: agent, Version: &gatewayv1.PromptVersion{Text: text},
		})
		if err != nil {
			return nil, err
		}
		if _, err := prompts.ActivatePrompt(ctx, &gatewayv1.ActivatePromptRequest{
			StoreId: store.GetStoreId(), Agent: agent,
			Shares: []*gatewayv1.PromptShare{{Version: made.GetVersion().GetVersion(), Percent: 100}},
		}); err != nil {
			return nil, err
		}
	}
	ask := proto.CloneOf(p.Start.Ask)
	ask.ThreadId, ask.RequestId = "", "" // the conversation comes from the bundle
	return gatewayv1.NewGatewayServiceClient(conn).Ask(ctx, ask)
}

// Compare replays a turn and returns its reply, and what differs from the recorded turn, first things first: the first call that was not
// recorded, then the first field of the reply, or else the first span. None: the turn is as recorded.
func Compare(ctx context.Context, p *bundle.Player) (reply *gatewayv1.AskResponse, differences []string, err error) {
	reply, failure := Replay(ctx, p)
	if all := p.Divergences(); len(all) > 0 {
		differences = append(differences, fmt.Sprintf("first divergence of %d: %s", len(all), all[0]))
	}
	switch {
	case failure != nil && p.Reply == nil:
		return nil, differences, nil
	case failure != nil:
		return nil, append(differences, fmt.Sprintf("the turn fails now: %v", failure)), nil
	case p.Reply == nil:
		return reply, append(differences, "the turn failed then: "+p.Failure), nil
	}
	var except []string
	if len(p.Prompts) > 0 {
		except = []string{"prompt_version"} // it was changed
	}
	difference, err := bundle.Difference(p.Reply, reply, except...)
	if err == nil && difference == "" {
		difference = p.SpanDifference(reply)
	}
	if difference != "" {
		differences = append(differences, "first difference: "+difference)
	}
	return reply, differences, err
}

// errUnreachable is the error of a model that is not on the tape. The summary of a thread is written with one, after the reply.
var errUnreachable = errors.New("a replay calls no model")

// unreachable is a model with the recorded price, which the tape stands before.
func unreachable(p *bundle.Player, service string) *model.Traced {
	m := &model.Traced{Model: noModel{}}
	if price, ok := p.Settings.Prices[service]; ok {
		m.Price = &price
	}
	return m
}

type noModel struct{}

// Generate implements [agentloop.Model].
func (noModel) Generate(context.Context, *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) { yield(agentloop.Chunk{}, errUnreachable) }
}
