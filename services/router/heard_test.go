package router

import (
	"context"
	"iter"
	"log/slog"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// watched calls pause between the two pieces of its answer.
type watched struct {
	answer string
	pause  func()
}

func (m watched) Generate(context.Context, *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		half := len(m.answer) / 2
		if !yield(agentloop.Chunk{Text: m.answer[:half]}, nil) {
			return
		}
		m.pause()
		yield(agentloop.Chunk{Text: m.answer[half:], FinishReason: agentloop.FinishStop}, nil)
	}
}

func TestWhatAnAnswerIsComparedWithIsMadeWhileItComes(t *testing.T) {
	var turn *turn
	s, err := New(Config{Model: watched{oneTent, func() {
		if turn.heard == nil {
			t.Error("it was not made with the first piece")
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	turn = s.newTurn(request(unsureMessage), s.lexicons.offer(specialists()))
	if _, _, err := turn.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const oneTent = `{"assignments":[{"specialist":"search","sub_query":"was there a roof terrace?","reason":"","confidence":1}]}`

// slowLog logs once there is nothing left to wait for.
type slowLog struct {
	slog.Handler
	until chan struct{}
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(ctx context.Context, _ slog.Record) error {
	select {
	case <-l.until:
	case <-ctx.Done():
	}
	return nil
}

func TestADecisionIsSentBeforeItIsLogged(t *testing.T) {
	received := make(chan struct{})
	client, stop := serve(t, Config{Logger: slog.New(slowLog{slog.DiscardHandler, received})})
	defer stop()
	stream, err := client.Route(t.Context(), request(sureMessage))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil || resp.GetDecision().GetStage() != final {
		t.Fatal(resp, err)
	}
	close(received)
	if got, err := stream.Recv(); err == nil {
		t.Errorf("got %v after the final decision", got)
	}
}
