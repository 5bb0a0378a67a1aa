package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/eval/grounding"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

const evalGroundingAbout = `Puts honest and corrupted texts to the checks of claims, and counts what reaches the shopper. A file is JSON Lines; "-" is
stdin. A line is an answer with the tool results that it rests on, or a merge with its sections:
{"id":"a1","kind":"price","language":"en","message":"tents?","payloads":[{"tool":"search_catalog","result":{...}}],
"text":"...","verdict":"honest"}, or "verdict":"corrupted" and "wrong":"the wrong part of the text";
{"id":"m1","kind":"sum","language":"en","message":"...","sections":[{"query":"...","text":"...","titles":["..."]},...],
"honest":"..."}, or "merged":"..." and "wrong". docs/evaluation.md defines each figure. With --judge-model, a model judges each text, as
for stores with judge_claims; --record keeps its verdicts, and --verdicts measures with them again.`

// runEvalGrounding measures the checks of claims.
func runEvalGrounding(ctx context.Context, args []string, env environment) error {
	fs := newFlags("eval", "grounding [FILE...]", evalGroundingAbout, env)
	asJSON := fs.Bool("json", false, "print only the figures, as one JSON object")
	misses := fs.Bool("misses", false, "print each text that the checks decide wrong")
	generate := fs.Int("generate", 0, "measure this `number` of true replies from invented stores too, and each with one fact changed")
	seed := fs.Uint64("seed", 1, "`seed` of the generated replies; equal seeds give equal replies")
	unseen := fs.Bool("unseen", false, "generate from stores and words that the checks were not written with")
	models := addModelFlags(fs)
	judge := fs.String("judge-model", "", "`name` of a model that judges each text, such as gpt-4.1 or NAME@URL (default none)")
	parallel := fs.Int("parallel", 4, "`number` of texts that it judges at once")
	record := fs.String("record", "", "write its verdicts to this `file`")
	verdicts := fs.String("verdicts", "", "take the verdicts from this `file`, which --record has written")
	files, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	switch {
	case *parallel < 1:
		return usagef("--parallel is %d, must be at least 1", *parallel)
	case *judge != "" && *verdicts != "", *record != "" && *judge == "":
		return usagef("give --judge-model, with or without --record, or --verdicts")
	case *generate < 0:
		return usagef("--generate is %d, must not be negative", *generate)
	case len(files) == 0 && *generate == 0:
		return usagef("give at least one file, such as: quartet eval grounding honest.jsonl corrupted.jsonl; or --generate 440")
	}
	source := grounding.Seen
	if *unseen {
		source = grounding.Unseen
	}
	cases, err := grounding.Generate(*generate, *seed, source)
	if err != nil {
		return err
	}
	for _, file := range files {
		err := reading(file, env, func(in io.Reader) error {
			read, err := grounding.Read(in)
			cases = append(cases, read...)
			return err
		})
		if err != nil {
			return usagef("%s: %w", file, err)
		}
	}
	var outputs grounding.Outputs
	switch {
	case *judge != "":
		m, err := models.open(model.Config{Name: *judge}, "", env)
		if err != nil {
			return err
		}
		if outputs, err = judged(ctx, cases, m.Model, *parallel, *record, env); err != nil {
			return err
		}
	case *verdicts != "":
		if outputs, err = verdictsOf(cases, *verdicts, env); err != nil {
			return err
		}
	}
	report := grounding.Measure(ctx, cases, outputs)
	if !*misses {
		report.Misses = nil
	}
	if *asJSON {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out)
	return nil
}

// judged has a model judge cases, shows how far it is, and keeps the verdicts in a file; "": it does not. Cases that it could not judge
// are said to be so.
func judged(ctx context.Context, cases []grounding.Case, model agentloop.Model, parallel int, record string, env environment) (grounding.Outputs, error) {
	if err := grounding.CheckIDs(cases); err != nil {
		return nil, usagef("%w", err)
	}
	outputs, err := grounding.Judge(ctx, cases, model, parallel, func(done int) {
		if done%50 == 0 && done < len(cases) {
			fmt.Fprintf(env.err, "%d of %d texts\n", done, len(cases))
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(outputs) == 0 && err != nil:
		return nil, fmt.Errorf("no text was judged: %w", err)
	case err != nil:
		fmt.Fprintf(env.err, "not judged:\n%v\n", err)
	}
	if record == "" {
		return outputs, nil
	}
	f, err := os.Create(record)
	if err != nil {
		return nil, err
	}
	return outputs, errors.Join(outputs.Write(f), f.Close())
}

// verdictsOf reads verdicts on cases from a file.
func verdictsOf(cases []grounding.Case, file string, env environment) (outputs grounding.Outputs, err error) {
	if err := grounding.CheckIDs(cases); err != nil {
		return nil, usagef("%w", err)
	}
	err = reading(file, env, func(in io.Reader) (err error) {
		outputs, err = grounding.ReadOutputs(in)
		return err
	})
	isJudged := func(c grounding.Case) bool { return outputs[c.ID] != "" }
	switch {
	case err != nil:
		return nil, usagef("%s: %w", file, err)
	case !slices.ContainsFunc(cases, isJudged):
		return nil, usagef("%s has no verdict on any of these texts", file)
	}
	return outputs, nil
}
