package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// What --hostile takes beside names of misbehaviours.
const (
	hostileList = "list"
	hostileNone = "none"
)

// modelServer says how the offline model is served.
type modelServer struct {
	latency, tokenDelay time.Duration
	hostile             string
	logger              *slog.Logger
}

func runModel(ctx context.Context, args []string, env environment) error {
	fs := newFlags("model", "", "Runs the offline model: an OpenAI-compatible API that follows rules instead of weights, for trials and tests.", env)
	var m modelServer
	listen := fs.String("listen", "127.0.0.1:7310", "`address` to listen on")
	insecure := insecureFlag(fs)
	fs.DurationVar(&m.latency, "latency", 0, "time before the first byte of each answer")
	fs.DurationVar(&m.tokenDelay, "token-delay", 0, "time between two pieces of an answer")
	fs.StringVar(&m.hostile, "hostile", "", "comma-separated `misbehaviours`, such as split-bytes,think-paired; \"list\" prints them all; "+
		"with \"none\" it misbehaves only where the model's name asks for it: "+hostile.Alias+"+error-500-once")
	level := logLevel(fs, slog.LevelInfo)
	if rest, err := parse(fs, args, env); err != nil {
		return err
	} else if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	if m.hostile == hostileList {
		return printHostile(env.out)
	}
	m.logger = newLogger(env, *level)
	handler, models, err := m.handler()
	if err != nil {
		return err
	}
	lis, err := rpc.Listen(*listen, *insecure)
	if err != nil {
		return err
	}
	warnInsecure(m.logger, *insecure, false)
	fmt.Fprintf(env.out, "offline model (rules, not a language model) at http://%s/v1 · models %s\n", lis.Addr(), models)
	return offline.Serve(ctx, lis, handler)
}

// handler returns what answers, and says which models there are.
func (m modelServer) handler() (http.Handler, string, error) {
	models := offline.Model + ", " + offline.ModelFast
	cfg := offline.Config{Latency: m.latency, TokenDelay: m.tokenDelay, Logger: m.logger}
	if m.hostile == "" {
		server, err := offline.New(cfg)
		return server, models, err
	}
	var modes []hostile.Mode
	if m.hostile != hostileNone {
		var err error
		if modes, err = hostile.Parse(m.hostile); err != nil {
			return nil, "", usagef("--hostile: %w; --hostile list prints them all", err)
		}
	}
	cfg.TokenDelay = 0 // the misbehaving server delays the stream itself
	server, err := offline.New(cfg)
	if err != nil {
		return nil, "", err
	}
	handler, err := hostile.New(hostile.Config{Next: server, Model: offline.Model, Modes: modes, EventDelay: m.tokenDelay})
	return handler, models + ", " + hostile.Alias + " · hostile: " + m.hostile, err
}

// printHostile prints the table of misbehaviours.
func printHostile(w io.Writer) error {
	plain := strings.NewReplacer("`", "")
	for _, m := range hostile.Modes() {
		if _, err := plain.WriteString(w, fmt.Sprintf("%-28s%s\n", m.Name, m.Sends)); err != nil {
			return err
		}
	}
	return nil
}
