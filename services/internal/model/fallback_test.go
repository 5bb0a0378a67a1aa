package model_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

// A fallback that answers would hide that the key of the first model is refused.
func TestTheLogSaysWhyTheFallbackIsAsked(t *testing.T) {
	for _, c := range []struct {
		first scripted.Step
		text  string
		logs  int
	}{
		{scripted.Step{Text: "I am first."}, "I am first.", 0},
		{scripted.Step{Err: errors.New("the key is refused")}, "I am second.", 1},
	} {
		var log bytes.Buffer
		m := model.WithFallback(&model.Traced{Model: scripted.New(c.first)}, &model.Traced{Model: scripted.New(scripted.Step{Text: "I am second."})},
			slog.New(slog.NewTextHandler(&log, nil)))
		loop, err := agentloop.New(agentloop.Config{Model: m.Model})
		if err != nil {
			t.Fatal(err)
		}
		result, err := loop.Run(t.Context(), nil, "who are you?")
		if err != nil || result.Text != c.text || strings.Count(log.String(), `level=WARN`) != c.logs || strings.Count(log.String(), "the key is refused") != c.logs {
			t.Errorf("%q, %v, log:\n%s", result.Text, err, &log)
		}
	}
}
