package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// parse parses flags that may stand before, between and after the arguments, and returns the arguments. A flag that is
// not given is taken from the environment: --model-url from QUARTET_MODEL_URL. --help prints the help to stdout.
func parse(fs *flag.FlagSet, args []string, env environment) ([]string, error) {
	var fromEnv error
	fs.VisitAll(func(f *flag.Flag) {
		name := "QUARTET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := env.get(name); v != "" {
			if err := fs.Set(f.Name, v); err != nil {
				if invalid := (*flag.InvalidValueError)(nil); errors.As(err, &invalid) {
					err = invalid.Unwrap()
				}
				fromEnv = errors.Join(fromEnv, fmt.Errorf("%s=%q: %w", name, v, err))
			}
		}
	})
	if fromEnv != nil {
		return nil, usageError{fromEnv}
	}
	fs.SetOutput(env.out)
	err := fs.Parse(withTwoDashes(args))
	unknown := (*flag.NotExistError)(nil)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case errors.As(err, &unknown):
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if near := nearest(names, unknown.GetSpecifiedName()); near != "" {
			return nil, usagef("there is no flag --%s; did you mean --%s?", unknown.GetSpecifiedName(), near)
		}
		return nil, usagef("there is no flag --%s", unknown.GetSpecifiedName())
	case err != nil:
		return nil, usageError{err}
	}
	return fs.Args(), nil
}

// withTwoDashes returns arguments with two dashes before flags that have one: -addr is --addr. No flag has a name of one letter.
func withTwoDashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && 'a' <= a[1] && a[1] <= 'z' {
			out[i] = "-" + a
		}
	}
	return out
}

// nearest returns the one of some names that is most like another, or "" if none is.
func nearest(names []string, name string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be changed, added or left out to make one name of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
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
	fs.Usage = func() { printHelp(env.out, fs, args, about, cmp.Or(terminalWidth(env), helpWidth)) }
	return fs
}

// reflow breaks the paragraphs of a text at width. Lines that are indented or have columns stay as they are.
func reflow(text string, width int) string {
	var out strings.Builder
	w := &wrapper{out: &out, width: width}
	inParagraph := false
	for line := range strings.SplitSeq(text, "\n") {
		prose := line != "" && !strings.HasPrefix(line, " ") && !strings.Contains(line, "  ")
		switch {
		case prose && inParagraph:
			_, _ = io.WriteString(w, " "+line) // a strings.Builder takes everything
		case prose:
			_, _ = io.WriteString(w, line)
		default:
			if inParagraph {
				_, _ = io.WriteString(w, "\n")
			}
			_ = w.Close()
			out.WriteString(line + "\n")
			w.column = 0
		}
		inParagraph = prose
	}
	_ = w.Close()
	return strings.TrimSuffix(out.String(), "\n")
}

// helpWidth is the width of the help where the output is no terminal.
const helpWidth = 120

// printHelp prints the help of a command, with the flags that concern one service under its name.
func printHelp(w io.Writer, fs *flag.FlagSet, args, about string, width int) {
	fmt.Fprintf(w, "%s\n\n%s\n", strings.TrimSpace("Usage: quartet "+fs.Name()+" [flags] "+args), reflow(about, width))
	groups := map[string]*flag.FlagSet{}
	fs.VisitAll(func(f *flag.Flag) {
		role, usage, found := strings.Cut(f.Usage, ": ")
		if !found || !slices.Contains(suite.Roles(), role) {
			role, usage = "", f.Usage
		}
		if groups[role] == nil {
			groups[role] = flag.NewFlagSet(role, flag.ContinueOnError)
		}
		grouped := *f
		grouped.Usage = usage
		groups[role].AddFlag(&grouped)
	})
	for _, role := range append([]string{""}, suite.Roles()...) {
		if group := groups[role]; group != nil {
			title := "Flags"
			if role != "" {
				title += " of the " + role
			}
			fmt.Fprintf(w, "\n%s:\n%s", title, group.FlagUsagesWrapped(width))
		}
	}
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
