// Command workshops is a fifth specialist in a program of its own. It imports one package of Quartet, and the gateway learns
// from it what it is for. Read workshops.go first; docs/extend.md runs it.
//
// Without a key and a URL, a rule answers in place of a model.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/specialist"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("workshops", flag.ExitOnError)
	cfg := specialist.Config{TelemetryEndpoint: os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")}
	flags.StringVar(&cfg.Listen, "listen", "127.0.0.1:7311", "address to listen on")
	flags.StringVar(&cfg.ScopeKeys, "scope-keys", "", "file of public keys, as 'quartet certs' makes it")
	flags.StringVar(&cfg.TLSFolder, "tls", "", "folder with tls.crt, tls.key and ca.crt (default: plaintext)")
	url := flags.String("model-url", os.Getenv("OPENAI_BASE_URL"), "URL of the model's API")
	name := flags.String("model", "gpt-4.1", "name of the model")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg.Model = rule
	if key := os.Getenv("OPENAI_API_KEY"); cmp.Or(key, *url) != "" {
		var err error
		if cfg.Model, err = specialist.OpenModel(specialist.ModelConfig{URL: *url, Key: key, Name: *name}); err != nil {
			return err
		}
	}
	s, err := specialist.New(definition, cfg)
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

// rule looks workshops up by the words of the question, and lists what the tool returned.
var rule agentloop.Model = scripted.Func(func(req *agentloop.Request) scripted.Step {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != agentloop.RoleTool {
		topic, _ := json.Marshal(findArgs{Topic: strings.Trim(last.Text, "?!. ")})
		return scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "find_workshops", Arguments: string(topic)}}}
	}
	var found findResult
	text := last.Text[strings.Index(last.Text, "{")+1:]
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&found); err != nil || len(found.Workshops) == 0 {
		return scripted.Step{Text: "I found no such workshop."}
	}
	var answer strings.Builder
	for _, w := range found.Workshops {
		fmt.Fprintf(&answer, "%s is on %s, costs %s and has %d free seats. ", w.Title, w.Date, w.Fee, w.FreeSeats)
	}
	return scripted.Step{Text: answer.String() + "Seats are booked at the counter."}
})
