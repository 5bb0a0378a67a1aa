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
	fs := newFlags("eval", "grounding FILE...", evalGroundingAbout, env)
	asJSON := fs.Bool("json", false, "print only the figures, as one JSON object")
	misses := fs.Bool("misses", false, "print each text that the checks decide wrong")
	files, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return usagef("give at least one file, such as: quartet eval grounding honest.jsonl corrupted.jsonl")
	}
	var cases []grounding.Case
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
