// Command quartet is all of Quartet in one program: the six services apart or together, and the tools to ask them, to load and
// measure them, and to replace a model in trials. It has only flags and wiring.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // time zones of stores, also where the system has none

	flag "github.com/spf13/pflag"
)

// Exit codes, as shells and Kubernetes expect them.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	env := environment{get: os.Getenv, in: os.Stdin, out: os.Stdout, err: os.Stderr}
	code := run(ctx, os.Args[1:], env)
	stop()
	os.Exit(code)
}

// environment is the part of the process that commands use. Tests replace it.
type environment struct {
	get func(string) string
	in  io.Reader
	out io.Writer
	err io.Writer
}

// command is one verb.
type command struct {
	name  string
	args  string
	short string
	run   func(ctx context.Context, args []string, env environment) error
}

func commands() []command {
	return []command{
		{"ask", "MESSAGE", "ask one message and show how the services answer it", runAsk},
		{"chat", "", "talk to a store in the terminal", runChat},
		{"call", "list|describe NAME|METHOD [JSON]", "call a method of a running service, with JSON in and out", runCall},
		{"show", "TURN|FILE|-", "show when each stage of a recorded turn ran, and each claim with its evidence", runShow},
		{"replay", "TURN|FILE|FOLDER...", "run recorded turns again without models and data, and compare", runReplay},
		{"capture", "TURN|FILE", "write a recorded turn as a test case", runCapture},
		{"up", "", "run all six services in this process", runUp},
		{"serve", "ROLE", "run one service", runServe},
		{"certs", "", "make certificates for the services", runCerts},
		{"token", "", "make a token for a caller", runToken},
		{"init", "SHOP", "write the files of a small store, to be changed and loaded", runInit},
		{"load", "FILE|FOLDER...", "load a store's data from JSON Lines, CSV or a product feed", runLoad},
		{"customer", "export|erase CUSTOMER", "give out or remove what all services keep of a customer", runCustomer},
		{"eval", "routing|search|turns ...", "measure the router, the search, or whole conversations", runEval},
		{"check", "model", "try what Quartet needs of a model, and say which flags to set", runCheck},
		{"state-keys", "FILE", "add a key to the file of keys that encrypt what is kept in Redis", runStateKeys},
		{"webhook-secret", "STORE", "print the secret with which a store verifies its webhooks", runWebhookSecret},
		{"bench", "turn | load", "measure what a turn costs beside the models' own time, or how a suite bears a rate of turns", runBench},
		{"model", "", "run the offline model, an OpenAI-compatible API that follows rules", runModel},
		{"scope", "", "print a signed scope, to call a service as the gateway does in a turn", runScope},
		{"completion", "bash|zsh|fish", "print a script that completes commands and flags", runCompletion},
		{"version", "", "print the version", runVersion},
	}
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run runs the command that args name and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		printUsage(env.out)
		if len(args) == 0 {
			return exitUsage
		}
		return 0
	}
	if args[0] == "--version" {
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:], env)
		var usage usageError
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, &usage):
			fmt.Fprintf(env.err, "quartet %s: %v\nRun 'quartet %s --help' for its flags.\n", c.name, err, c.name)
			return exitUsage
		}
		fmt.Fprintf(env.err, "quartet %s: %v\n", c.name, err)
		return exitFailure
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	hint := ""
	if near := nearest(names, args[0]); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	fmt.Fprintf(env.err, "quartet: unknown command %q%s\nRun 'quartet help' for the commands.\n", args[0], hint)
	return exitUsage
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "Quartet answers a shopper's message with four specialists behind one gateway.\n\nUsage: quartet COMMAND [flags] [arguments]\n'quartet COMMAND --help' tells its arguments and flags.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-14s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nEvery flag can also be set by an environment variable: --redis by QUARTET_REDIS, --model-url by QUARTET_MODEL_URL.\n")
}

func runVersion(_ context.Context, _ []string, env environment) error {
	_, err := fmt.Fprintln(env.out, version())
	return err
}

// release is the version that the linker set: images are built without the history of the repository.
var release string

// version is the release, the module's version, or the commit that it was built from.
func version() string {
	if release != "" {
		return release
	}
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
