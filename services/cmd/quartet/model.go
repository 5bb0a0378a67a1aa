package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

func runModel(ctx context.Context, args []string, env environment) error {
	fs := newFlags("model", "", "Runs the offline model: an OpenAI-compatible API that follows rules instead of weights, for trials and tests.", env)
	listen := fs.String("listen", "127.0.0.1:7310", "`address` to listen on")
	insecure := insecureFlag(fs)
	latency := fs.Duration("latency", 0, "wait before the first byte of each answer")
	tokenDelay := fs.Duration("token-delay", 0, "wait between two pieces of an answer")
	level := logLevel(fs, slog.LevelInfo)
	if rest, err := parse(fs, args, env); err != nil {
		return err
	} else if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	server, err := offline.New(offline.Config{Latency: *latency, TokenDelay: *tokenDelay, Logger: newLogger(env, *level)})
	if err != nil {
		return err
	}
	lis, err := rpc.Listen(*listen, *insecure)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.out, "offline model (rules, not a language model) at http://%s/v1 · models %s, %s\n",
		lis.Addr(), offline.Model, offline.ModelFast)
	return server.Serve(ctx, lis)
}

func runVersion(_ context.Context, _ []string, env environment) error {
	_, err := fmt.Fprintln(env.out, version())
	return err
}

// version is the module's version, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
