package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	score "github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/eval/confidence"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/replay"
	"github.com/quartet-commerce/quartet/services/suite"
)

const evalConfidenceAbout = `Sends recorded messages to the demo stores again, answers the model calls as the recorded model did, and compares the confidence
of the replies with what people said about the recorded ones. A folder has messages.jsonl, exchanges.jsonl, parts.json,
replies.jsonl and labels.jsonl. docs/evaluation.md defines each figure.`

// runEvalConfidence measures the confidence of replies.
func runEvalConfidence(ctx context.Context, args []string, env environment) error {
	fs := newFlags("eval", "confidence FOLDER...", evalConfidenceAbout, env)
	level := logLevel(fs, slog.LevelError) // recorded mistakes of a model are warnings
	asJSON := fs.Bool("json", false, "print only the figures, as one JSON object")
	train := fs.Bool("train", false, "fit new weights of the evidence, and print them with the figures of a cross-validation")
	record := fs.String("record", "", "write the replies of today to this `file`, to be judged, and measure nothing")
	folders, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return usagef("give at least one folder, such as: quartet eval confidence recordings/strong recordings/weak")
	}
	var outcomes []replay.Outcome
	for _, folder := range folders {
		recording, err := replay.Read(os.DirFS(folder))
		if err != nil {
			return usagef("%s: %w", folder, err)
		}
		more, err := replayed(ctx, recording, *level, env)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, more...)
	}
	if *record != "" {
		return writeReplies(*record, outcomes)
	}
	var replies []confidence.Reply
	failed, missed := 0, 0
	for _, o := range outcomes {
		missed += len(o.Missed)
		switch {
		case o.Err != nil:
			failed++
		case o.Label != "":
			replies = append(replies, confidence.Reply{
				Confidence: o.Now.GetConfidence(), HandedOff: o.Now.GetHandoff().GetRecommended(), Label: o.Label, Answers: features(o.Now),
			})
		}
	}
	if *train {
		return trained(replies, *asJSON, env)
	}
	report, err := confidence.Measure(replies)
	if err != nil {
		return err
	}
	report.Failed, report.Missed = failed, missed
	if *asJSON {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out)
	return nil
}

// writeReplies writes the replies of today for people to judge.
func writeReplies(file string, outcomes []replay.Outcome) error {
	var lines bytes.Buffer
	if err := replay.Write(&lines, outcomes); err != nil {
		return err
	}
	return os.WriteFile(file, lines.Bytes(), 0o644)
}

// features returns the features of the answers of a reply. A failed part has none.
func features(reply *gatewayv1.AskResponse) []score.Features {
	var all []score.Features
	for _, result := range reply.GetResults() {
		if a := result.GetAnswer(); a != nil {
			all = append(all, score.FeaturesOf(a))
		}
	}
	return all
}

// trained prints weights for judged replies, and the figures of weights that were fitted to other replies.
func trained(replies []confidence.Reply, asJSON bool, env environment) error {
	weights, err := confidence.Train(replies)
	if err != nil {
		return err
	}
	validated, err := confidence.CrossValidate(replies)
	if err != nil {
		return err
	}
	report, err := confidence.Measure(validated)
	if err != nil {
		return err
	}
	if asJSON {
		return printReportJSON(env.out, struct {
			Weights   score.Weights      `json:"weights"`
			Validated *confidence.Report `json:"validated"`
		}{weights, report})
	}
	for i, name := range score.Names {
		fmt.Fprintf(env.out, "%6.2f  %s\n", weights[i], name)
	}
	fmt.Fprintln(env.out, "\nCross-validation:")
	report.Print(env.out)
	return nil
}

// replayed sends the messages of a recording to services of its own, in this process.
func replayed(ctx context.Context, recording *replay.Recording, level slog.Level, env environment) (_ []replay.Outcome, err error) {
	m := recording.Model()
	env.get = func(string) string { return "" } // no other model answers
	l, err := openLocal(ctx, localConfig{models: &modelFlags{}, logger: newLogger(env, level), demo: true, tune: func(cfg *suite.Config) {
		if recording.HasCalls() { // else the offline model answers
			cfg.Model, cfg.FastModel = &model.Traced{Model: m}, &model.Traced{Model: m}
		}
		cfg.Now = recording.Clock()
		cfg.Gateway.RunAhead = "off" // an early branch asks what was not recorded
	}}, env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	conn, err := suite.Dial(suite.Gateway, l.cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	outcomes, err := replay.Run(ctx, gatewayv1.NewGatewayServiceClient(conn), m)
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
