package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

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
	var replies []confidence.Reply
	failed, missed := 0, 0
	for _, o := range outcomes {
		missed += len(o.Missed)
		switch {
		case o.Err != nil:
			failed++
		case o.Label != "":
			replies = append(replies, confidence.Reply{
				Confidence: o.Now.GetConfidence(), HandedOff: o.Now.GetHandoff().GetRecommended(), Label: o.Label,
			})
		}
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

// replayed sends the messages of a recording to services of its own, in this process.
func replayed(ctx context.Context, recording *replay.Recording, level slog.Level, env environment) (_ []replay.Outcome, err error) {
	m := recording.Model()
	env.get = func(string) string { return "" } // no other model answers
	l, err := openLocal(ctx, localConfig{models: &modelFlags{}, logger: newLogger(env, level), demo: true, tune: func(cfg *suite.Config) {
		cfg.Model, cfg.FastModel, cfg.Now = &model.Traced{Model: m}, &model.Traced{Model: m}, recording.Clock()
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
