package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	flag "github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protojson"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

const replayAbout = `Runs a turn again that --record has kept, with the services of this version. Models, tools, the cart and the orders answer as they did
then; nothing outside is called. It says whether the reply is the same, and if not, what differed first. The exit code is 1 if anything
did. Of several turns, only those that differ are shown. A turn is named by its id, which the reply and its trace have, or by its file.

  quartet up --record all --record-dir turns
  quartet replay turns/store-demo/turn_abc.jsonl
  quartet replay --redis redis://redis:6379/0 --store demo turn_abc`

// errDiffers ends a replay that is not as recorded.
var errDiffers = errors.New("the replay differs from the recorded turn")

func runReplay(ctx context.Context, args []string, env environment) error {
	flags := newFlags("replay", "TURN|FILE|FOLDER...", replayAbout, env)
	change := &replayChange{prompts: make(map[string]string)}
	flags.Func("set", "change one thing: router=classifier never asks the router's model; prompt=AGENT@FILE gives an agent (a specialist, router or merge) another prompt; prompt=AGENT@VERSION one that PromptService of the gateway at --addr has",
		change.set)
	addr, tls, token := flags.String("addr", "127.0.0.1:7300", "`target` of the gateway that has the versions of prompts"), addTLSFlags(flags, tlsUsageClient), ""
	tokenFlag(flags, &token)
	models := addModelFlags(flags)
	live := flags.Bool("live", false, "let the model of --model answer an agent with another prompt; tools stay as recorded, and all else")
	source := addTurnFlags(flags)
	timeout := flags.Duration("timeout", time.Minute, "deadline of each turn")
	rest, err := parse(flags, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef("give ids of turns, files of --record-dir, or folders with such files")
	case *live && len(change.prompts) == 0:
		return usagef("--live needs --set prompt=AGENT@FILE")
	}
	turns, err := source.open(ctx, rest)
	if err != nil {
		return err
	}
	if _, err := telemetry.Setup(ctx, telemetry.Config{ServiceName: "quartet", Sample: true}); err != nil { // spans are compared, and go nowhere
		return err
	}
	cfg := suite.Config{Peers: map[string]string{suite.Gateway: *addr}, Token: token}
	if err := tls.applyClient(&cfg, env); err != nil {
		return err
	}
	if err := change.load(ctx, turns, cfg); err != nil {
		return err
	}
	if *live {
		if err := change.open(models, env); err != nil {
			return err
		}
	} else {
		defer refuseConnections()()
	}
	differ := 0
	for _, p := range turns {
		change.apply(p)
		var out strings.Builder
		same, err := replayTurn(ctx, p, *timeout, &out)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if len(turns) == 1 {
			fmt.Fprint(env.out, out.String())
		} else if !same {
			fmt.Fprintf(env.out, "%s\n%s", p.Name, out.String())
		}
		if !same {
			differ++
		}
	}
	if len(turns) > 1 {
		fmt.Fprintf(env.out, "%d of %d turns differ\n", differ, len(turns))
	}
	if differ > 0 {
		return errDiffers
	}
	return nil
}

// replayChange is the one thing that a replay changes.
type replayChange struct {
	classifier bool
	prompts    map[string]string // texts by agent; until load, files and versions
	live       map[string]agentloop.Model
}

// set takes a value of --set.
func (c *replayChange) set(s string) error {
	agent, source, ok := strings.Cut(strings.TrimPrefix(s, "prompt="), "@")
	switch {
	case s == "router=classifier":
		c.classifier = true
	case strings.HasPrefix(s, "prompt=") && ok && agent != "" && source != "":
		c.prompts[agent] = source
	default:
		return errors.New("must be router=classifier, prompt=AGENT@FILE or prompt=AGENT@VERSION")
	}
	return nil
}

// load reads the texts of prompts, from files or from a gateway.
func (c *replayChange) load(ctx context.Context, turns []*bundle.Player, gateway suite.Config) error {
	asked := make(map[string]bool)
	for _, p := range turns {
		for _, call := range p.Inside().Calls {
			asked[call.Agent] = true
		}
	}
	for agent, source := range c.prompts {
		if !asked[agent] {
			return usagef("--set prompt=%s: the turns asked no model as %q, only as %s", agent, agent, strings.Join(slices.Sorted(maps.Keys(asked)), ", "))
		}
		text, err := os.ReadFile(source)
		if errors.Is(err, fs.ErrNotExist) && fault.ValidID(source) {
			text, err = promptVersion(ctx, turns[0].Start.Store.GetStoreId(), agent, source, gateway)
		}
		if err != nil {
			return err
		}
		c.prompts[agent] = string(text)
	}
	return nil
}

// promptVersion asks a gateway for the text of a prompt of a store, or of all stores.
func promptVersion(ctx context.Context, store, agent, version string, gateway suite.Config) ([]byte, error) {
	conn, err := suite.Dial(suite.Gateway, gateway)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, owner := range []string{store, ""} {
		list, err := gatewayv1.NewPromptServiceClient(conn).ListPromptVersions(ctx, &gatewayv1.ListPromptVersionsRequest{StoreId: owner, Agent: agent})
		if err != nil {
			return nil, fmt.Errorf("there is no file %s, and the gateway does not say what version it is: %w", version, err)
		}
		for _, v := range list.GetVersions() {
			if v.GetVersion() == version {
				return []byte(v.GetText()), nil
			}
		}
	}
	return nil, usagef("there is no file and no version %s of the prompt of %s", version, agent)
}

// open opens the models for agents with another prompt.
func (c *replayChange) open(models *modelFlags, env environment) error {
	var cfg suite.Config
	if err := models.models(&cfg, env); err != nil {
		return err
	}
	c.live = make(map[string]agentloop.Model)
	for agent := range c.prompts {
		m := cfg.Model
		if agent == suite.Router {
			m = cfg.FastModel
		} else if own := cfg.Models[agent]; own != nil {
			m = own
		}
		c.live[agent] = m.Model
	}
	return nil
}

// apply changes a turn that is about to be replayed.
func (c *replayChange) apply(p *bundle.Player) {
	if c.classifier {
		p.Settings.RulesOnly, p.Settings.AlwaysAskModel = true, false
	}
	p.Prompts, p.Live = c.prompts, c.live
}

// errNoNetwork is the error of connections while turns are replayed.
var errNoNetwork = errors.New("a replay connects to nothing outside")

// refuseConnections makes lookups of names, and HTTP requests by the default transport, fail until restore is called. A replay gives its
// services no address; this stops what would go by one of its own.
func refuseConnections() (restore func()) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errNoNetwork }
	resolver, transport := net.DefaultResolver, http.DefaultTransport
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: refuse}
	http.DefaultTransport = &http.Transport{DialContext: refuse}
	return func() { net.DefaultResolver, http.DefaultTransport = resolver, transport }
}

const captureAbout = `Writes a recorded turn as one case: a file in plaintext, for a folder of cases that 'quartet replay FOLDER' or replaytest.Run checks.
A case holds what the shopper wrote; see docs/replay.md before you commit one.

  quartet capture turn_abc > cases/boots.json
  quartet capture turn_abc --shrink '! grep -q "in stock"' > cases/stock.json`

func runCapture(ctx context.Context, args []string, env environment) error {
	fs := newFlags("capture", "TURN|FILE", captureAbout, env)
	source := addTurnFlags(fs)
	check := fs.String("shrink", "", "leave out what the turn does not need for this shell `command` to fail; it reads the reply as JSON")
	limit := fs.Duration("timeout", 5*time.Minute, "how long --shrink may take; it writes the smallest turn until then")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give the id of one turn, or its file")
	}
	turns, err := source.open(ctx, rest)
	switch {
	case err != nil:
		return err
	case len(turns) != 1:
		return usagef("%s has %d turns; give one", rest[0], len(turns))
	}
	if *check == "" {
		return turns[0].Write(env.out)
	}
	if _, err := telemetry.Setup(ctx, telemetry.Config{ServiceName: "quartet", Sample: true}); err != nil {
		return err
	}
	defer refuseConnections()()
	limited, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	shrunk, err := bundle.Shrink(limited, turns[0], func(p *bundle.Player) (bool, error) {
		reply, _ := suite.Replay(ctx, p) // a turn that fails has no reply to check
		return reply != nil && checkFails(ctx, *check, reply), ctx.Err()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.err, "%d of %d parts left out in %d replays\n", shrunk.Removed, shrunk.Parts, shrunk.Replays)
	return shrunk.Player.Write(env.out)
}

// checkFails reports whether a shell command that reads a reply fails.
func checkFails(ctx context.Context, command string, reply *gatewayv1.AskResponse) bool {
	raw, err := protojson.MarshalOptions{UseProtoNames: true, Multiline: true}.Marshal(reply)
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin = bytes.NewReader(raw)
	return cmd.Run() != nil
}

// turnFlags say where recorded turns are read from.
type turnFlags struct{ dir, redis, store, keys string }

func addTurnFlags(fs *flag.FlagSet) *turnFlags {
	f := &turnFlags{}
	fs.StringVar(&f.dir, "record-dir", "", "`folder` that the services keep turns in, for ids of turns (default: they are in Redis)")
	fs.StringVar(&f.redis, "redis", "redis://127.0.0.1:6379/0", "`URL` of the Redis that the services keep turns in, for ids of turns")
	fs.StringVar(&f.store, "store", "demo", "`id` of the store, for ids of turns")
	fs.StringVar(&f.keys, "state-keys", "", "`file` of the keys with which the services encrypted the turns")
	return f
}

// open reads the turns that are named by their ids, files and folders.
func (f *turnFlags) open(ctx context.Context, names []string) (turns []*bundle.Player, err error) {
	var sealer *seal.Sealer
	if f.keys != "" {
		if sealer, err = seal.New(seal.Config{File: f.keys}); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && fault.ValidID(name) {
			p, err := f.openTurn(ctx, name, sealer)
			if err != nil {
				return nil, fmt.Errorf("%s is no file, and as a turn it cannot be read: %w", name, err)
			}
			turns = append(turns, p)
			continue
		}
		files, err := bundle.Files(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			p, err := bundle.OpenFile(file, sealer)
			if err != nil {
				return nil, err
			}
			turns = append(turns, p)
		}
	}
	if len(turns) == 0 {
		return nil, usagef("there are no recorded turns in %s", strings.Join(names, ", "))
	}
	return turns, nil
}

// openTurn reads a turn by its id.
func (f *turnFlags) openTurn(ctx context.Context, id string, sealer *seal.Sealer) (_ *bundle.Player, err error) {
	var client redis.UniversalClient
	if f.dir == "" {
		state.LogTo(slog.New(slog.DiscardHandler)) // the error says what the client's own lines would
		if client, err = state.Open(ctx, f.redis); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
	}
	storage, err := recordStorage(f.dir, client, bundle.DefaultTTL, nil)
	if err != nil {
		return nil, err
	}
	return bundle.Open(ctx, storage, bundle.Turn{Store: f.store, ID: id}, sealer)
}

// replayTurn replays one turn, writes what came of it, and reports whether it is as recorded.
func replayTurn(ctx context.Context, p *bundle.Player, timeout time.Duration, out io.Writer) (same bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, differences, err := suite.Compare(ctx, p)
	for _, d := range differences {
		fmt.Fprintln(out, d)
	}
	switch {
	case err != nil || len(differences) > 0:
	case reply == nil:
		fmt.Fprintf(out, "the turn fails as recorded: %s\n", p.Failure)
	default:
		fmt.Fprintf(out, "the same reply and spans as recorded (%s, configuration %s):\n%s\n", p.Start.Began.Format(time.RFC3339), p.Config, reply.GetText())
	}
	return err == nil && len(differences) == 0, err
}
