package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// parse parses flags that may stand before, between and after the arguments, and returns the arguments. A flag that is
// not given is taken from the environment: --model-url from QUARTET_MODEL_URL.
func parse(fs *flag.FlagSet, args []string, env environment) ([]string, error) {
	fs.SetOutput(env.err)
	var fromEnv error
	fs.VisitAll(func(f *flag.Flag) {
		name := "QUARTET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := env.get(name); v != "" {
			if err := fs.Set(f.Name, v); err != nil {
				fromEnv = errors.Join(fromEnv, fmt.Errorf("%s=%q: %w", name, v, err))
			}
		}
	})
	if fromEnv != nil {
		return nil, usageError{fromEnv}
	}
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usageError{err}
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// given reports whether a flag was set, by the command line or the environment.
func given(fs *flag.FlagSet, name string) bool {
	found := false
	fs.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// newFlags returns a flag set whose help names the command and its arguments.
func newFlags(name, args, about string, env environment) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintf(env.err, "Usage: quartet %s [flags] %s\n\n%s\n\n", name, args, about)
		fs.PrintDefaults()
	}
	return fs
}

// logLevel adds --log-level and returns where the level will be.
func logLevel(fs *flag.FlagSet, def slog.Level) *slog.Level {
	level := def
	fs.TextVar(&level, "log-level", def, "least level of log lines on stderr: DEBUG, INFO, WARN or ERROR")
	return &level
}

// newLogger returns a logger of text lines with trace ids.
func newLogger(env environment, level slog.Level) *slog.Logger {
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(env.err, &slog.HandlerOptions{Level: level})))
}
