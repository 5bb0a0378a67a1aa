package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

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
	fs.TextVar(&level, "log-level", def, "lowest level of log lines on stderr: DEBUG, INFO, WARN or ERROR")
	return &level
}

// newLogger returns a logger of text lines with trace ids.
func newLogger(env environment, level slog.Level) *slog.Logger {
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(env.err, &slog.HandlerOptions{Level: level})))
}

func insecureFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("insecure", false, "allow to listen beyond the loopback interface, although calls are neither encrypted nor authenticated")
}

// defaulted is the usage of a flag with the default that its zero value stands for.
func defaulted(usage string, def any) string { return fmt.Sprintf("%s (default %v)", usage, def) }

// atLeast returns what sets a flag to a value that parse reads and that is least or more.
func atLeast[T cmp.Ordered](value *T, least T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err != nil {
			return fmt.Errorf("must be a %s", kind(least))
		}
		if v < least {
			return fmt.Errorf("must be %v or more", least)
		}
		*value = v
		return nil
	}
}

func kind(v any) string {
	if _, ok := v.(time.Duration); ok {
		return `duration, such as "30s"`
	}
	if _, ok := v.(float64); ok {
		return "number"
	}
	return "whole number"
}

func parseInt64(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// reflectionFlag adds --reflection and returns what says whether reflection is on: as given, or else where only this machine can
// connect and nobody is asked for credentials.
func reflectionFlag(fs *flag.FlagSet) func(open bool) bool {
	on := fs.Bool("reflection", false, "tell services and messages to anybody who connects, as grpcurl needs without .proto files (default: only where callers are not asked for credentials and only this machine can connect)")
	return func(open bool) bool {
		if given(fs, "reflection") {
			return *on
		}
		return open
	}
}
