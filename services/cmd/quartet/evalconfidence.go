package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/eval/confidence"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/suite"
)

const evalConfidenceAbout = `Sends recorded messages to the demo stores again, answers the model calls as the recorded model did, and compares the confidence
of the replies with what people said about the recorded ones. A folder has messages.jsonl, replies.jsonl and labels.jsonl, and the
calls of the model in exchanges.jsonl and parts.json. Without these two, the replies in replies.jsonl are measured as they are.
docs/evaluation.md defines each figure.`

// runEvalConfidence measures the confidence of replies.
func runEvalConfidence(ctx context.Context, args []string, env environment) error {
	fs := newFlags("eval", "confidence FOLDER...", evalConfidenceAbout, env)
	level := logLevel(fs, slog.LevelError) // recorded mistakes of a model are warnings
	asJSON := fs.Bool("json", false, "print only the figures, as one JSON object")
	train := fs.Bool("train", false, "fit new weights of the evidence, and print them with the figures of replies that they were not fitted to")
	hold := fs.String("hold", "", "with --train: fit nothing to the replies of this `store`, and report them apart")
	record := fs.String("record", "", "send the messages of one folder, write the replies to this `file`, to be judged, and measure nothing")
	folders, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return usagef("give at least one folder, such as: quartet eval confidence recordings/strong recordings/weak")
	}
	var replies, held []confidence.Reply
	failed, missed := 0, 0
	for _, folder := range folders {
		recording, err := bundle.ReadRecording(os.DirFS(folder))
		if err != nil {
			return usagef("%s: %w", folder, err)
		}
		var outcomes []bundle.Outcome
		if recording.HasCalls() || *record != "" {
			outcomes, err = replayed(ctx, recording, *level, env)
			if err != nil {
				return err
			}
		} else {
			for _, turn := range recording.Turns {
				outcomes = append(outcomes, bundle.Outcome{RecordedTurn: turn, Now: turn.Reply})
			}
		}
		if *record != "" {
			return writeReplies(*record, outcomes)
		}
		for _, o := range outcomes {
			missed += len(o.Missed)
			switch reply := confidence.Judged(filepath.Base(folder), o.Label, o.Now); {
			case o.Err != nil || o.Now == nil:
				failed++
			case o.Label == "":
			case *train && o.Ask.GetStoreId() == *hold:
				held = append(held, reply)
			default:
				replies = append(replies, reply)
			}
		}
	}
	if *train {
		report, err := confidence.Study(replies, held)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printReportJSON(env.out, report)
		}
		report.Print(env.out)
		return nil
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
func writeReplies(file string, outcomes []bundle.Outcome) error {
	var lines bytes.Buffer
	if err := bundle.WriteReplies(&lines, outcomes); err != nil {
		return err
	}
	return os.WriteFile(file, lines.Bytes(), 0o644)
}

// replayed sends the messages of a recording to services of its own, in this process.
func replayed(ctx context.Context, recording *bundle.Recording, level slog.Level, env environment) (_ []bundle.Outcome, err error) {
	m := &bundle.RecordedModel{}
	env.get = func(string) string { return "" } // no other model answers
	l, err := openLocal(ctx, localConfig{models: &modelFlags{}, logger: newLogger(env, level), demo: true, tune: func(cfg *suite.Config) {
		if recording.HasCalls() { // else the offline model answers
			cfg.Model, cfg.FastModel, cfg.RulesOnly = &model.Traced{Model: m}, &model.Traced{Model: m}, false
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
	outcomes, err := recording.Run(ctx, gatewayv1.NewGatewayServiceClient(conn), m)
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
