package modelcheck

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// able is a model that does all that is asked of it.
type able struct{ t *testing.T }

func (m able) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	step := scripted.Step{Text: "Ready.", Usage: &agentloop.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1}}
	last := req.Messages[len(req.Messages)-1]
	city := func(name string) agentloop.ToolCall {
		return agentloop.ToolCall{ID: name, Name: "weather", Arguments: `{"city":"` + name + `"}`}
	}
	switch {
	case last.Role == agentloop.RoleTool:
		step.Text = "There is hail."
	case strings.Contains(last.Text, "Lima"):
		step.Text, step.ToolCalls = "", []agentloop.ToolCall{city("Oslo"), city("Lima")}
	case strings.Contains(last.Text, "Oslo"):
		step.Text, step.ToolCalls = "", []agentloop.ToolCall{city("Oslo")}
	case req.Output != nil || strings.Contains(last.Text, "exactly three"):
		step.Text = `{"colours": ["red", "green", "blue"]}`
	case strings.Contains(last.Text, "to 200"):
		step.Text, step.FinishReason = "one, two", agentloop.FinishLength
	case strings.Contains(last.Text, "to 20 "):
		step.Text, step.ChunkSize = "one, two, three", 2
	case strings.Contains(last.Text, marker):
		step.Text = marker
	case strings.Contains(last.Text, "Himmel"):
		step.Text = "Der Himmel ist blau, weil die Luft das blaue Licht stärker streut als das rote."
	case strings.Contains(last.Text, "cielo"):
		step.Text = "El cielo es azul porque el aire dispersa la luz azul más que la roja."
	}
	return scripted.New(step).Generate(ctx, req)
}

func TestAModelThatDoesEverythingPasses(t *testing.T) {
	n := 0
	failed := Run(t.Context(), Models{Answering: able{t}, Fast: able{t}}, time.Minute, func(r Result) {
		n++
		if r.Err != nil || r.Hint != "" {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	})
	if failed != 0 || n != len(checks) || n != 12 {
		t.Errorf("%d of %d failed", failed, n)
	}
}

// unable is a model that says one thing to all, reasons, counts nothing and runs into its limit.
type unable struct{}

func (unable) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	finish := agentloop.FinishLength
	if req.MaxOutputTokens == 16 {
		finish = agentloop.FinishStop
	}
	step := scripted.Step{Text: "I think so.", FinishReason: finish}
	if strings.Contains(req.Messages[len(req.Messages)-1].Text, "17 times") {
		step.Usage = &agentloop.Usage{OutputTokens: 50, ReasoningTokens: 40, ModelCalls: 1}
	}
	return scripted.New(step).Generate(ctx, req)
}

func TestEachCheckCanFail(t *testing.T) {
	var passed []string
	Run(t.Context(), Models{Answering: unable{}, Fast: unable{}}, time.Minute, func(r Result) {
		if r.Err == nil {
			passed = append(passed, r.Name)
		} else if r.Hint == "" {
			t.Errorf("%s fails without a hint", r.Name)
		}
	})
	if len(passed) != 1 || passed[0] != "answers" {
		t.Errorf("passed: %q", passed)
	}
}

func TestAnEndpointThatIsDownIsAskedOnce(t *testing.T) {
	down := scripted.New(scripted.Step{Err: errors.New("refused")})
	n := 0
	if failed := Run(t.Context(), Models{Answering: down, Fast: down}, time.Minute, func(Result) { n++ }); failed != 1 || n != 1 {
		t.Errorf("%d of %d failed", failed, n)
	}
}
