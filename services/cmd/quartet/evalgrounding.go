package main

import (
	"context"
	"io"

	"github.com/quartet-commerce/quartet/services/internal/eval/grounding"
)

const evalGroundingAbout = `Puts honest and corrupted texts to the checks of claims, and counts what reaches the shopper. A file is JSON Lines; "-" is
stdin. A line is an answer with the tool results that it rests on, or a merge with its sections:
{"id":"a1","kind":"price","language":"en","message":"tents?","payloads":[{"tool":"search_catalog","result":{...}}],
"text":"...","verdict":"honest"}, or "verdict":"corrupted" and "wrong":"the wrong part of the text";
{"id":"m1","kind":"sum","language":"en","message":"...","sections":[{"query":"...","text":"...","titles":["..."]},...],
"honest":"..."}, or "merged":"..." and "wrong". docs/evaluation.md defines each figure.`

// runEvalGrounding measures the checks of claims.
func runEvalGrounding(ctx context.Context, args []string, env environment) error {
	fs := newFlags("eval", "grounding [FILE...]", evalGroundingAbout, env)
	asJSON := fs.Bool("json", false, "print only the figures, as one JSON object")
	misses := fs.Bool("misses", false, "print each text that the checks decide wrong")
	generate := fs.Int("generate", 0, "measure this `number` of true replies from invented stores too, and each with one fact changed")
	seed := fs.Uint64("seed", 1, "`seed` of the generated replies; equal seeds give equal replies")
	unseen := fs.Bool("unseen", false, "generate from stores and words that the checks were not written with")
	files, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	switch {
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
	report := grounding.Measure(ctx, cases)
	if !*misses {
		report.Misses = nil
	}
	if *asJSON {
		return printReportJSON(env.out, report)
	}
	report.Print(env.out)
	return nil
}
