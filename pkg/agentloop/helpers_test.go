package agentloop_test

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet keeps the stacks of tools that panic on purpose out of the output.
var quiet = slog.New(slog.DiscardHandler)

func mustNew(t testing.TB, cfg agentloop.Config) *agentloop.Loop {
	t.Helper()
	loop, err := agentloop.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return loop
}

// paired checks what no provider forgives, before every call of a model: each call must be answered exactly once, right
// after the message that made it, and nothing else may be an answer.
func paired(t testing.TB, m agentloop.Model) agentloop.Model { return pairedModel{m, t} }

type pairedModel struct {
	agentloop.Model
	t testing.TB
}

func (m pairedModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	checkPairing(m.t, req.Messages)
	return m.Model.Generate(ctx, req)
}

func checkPairing(t testing.TB, messages []agentloop.Message) {
	t.Helper()
	var open []string
	seen := make(map[string]bool)
	for i, msg := range messages {
		if msg.Role == agentloop.RoleTool {
			at := slices.Index(open, msg.ToolCallID)
			if at < 0 {
				t.Errorf("message %d answers %q, which is not open", i, msg.ToolCallID)
				continue
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before the answers to %q", i, open)
		}
		open = nil
		for _, c := range msg.ToolCalls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("message %d: id %q is empty or taken", i, c.ID)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("no answers to %q", open)
	}
}
