package main

import (
	"context"
	"fmt"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/modelcheck"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const checkAbout = `Tries what Quartet needs of a model: tools, JSON, streaming, usage, limits, a long prompt, languages. Says what does not
work, and what to do. It makes some 15 small calls and one of 9,000 tokens. The offline model follows rules for shops, so it fails some.

  quartet check model --model-url http://127.0.0.1:8000/v1 --model my-model`

// runCheck checks a model.
func runCheck(ctx context.Context, args []string, env environment) error {
	fs := newFlags("check", "model", checkAbout, env)
	models := addModelFlags(fs)
	timeout := fs.Duration("timeout", time.Minute, "deadline of each check")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1 || rest[0] != "model":
		return usagef("say what to check: quartet check model")
	case !models.real(env):
		return usagef("give a model: --model NAME, and --model-url URL unless it is its provider's own")
	}
	name, fast := models.names()
	var m modelcheck.Models
	answering, err := models.open(model.Config{Name: name}, "", env)
	if err != nil {
		return err
	}
	classifying, err := models.open(model.Config{Name: fast, NoReasoning: !models.fastReasoning}, "", env)
	if err != nil {
		return err
	}
	m.Answering, m.Fast = answering, classifying
	failed := modelcheck.Run(ctx, m, *timeout, func(r modelcheck.Result) {
		if r.Err == nil {
			fmt.Fprintf(env.out, "ok    %-34s %6s\n", r.Name, milliseconds(r.Took))
			return
		}
		fmt.Fprintf(env.out, "FAIL  %-34s %6s  %v\n      %s\n", r.Name, milliseconds(r.Took), r.Err, r.Hint)
	})
	if failed > 0 {
		return fmt.Errorf("%s failed", text.Count(failed, "check"))
	}
	return nil
}
