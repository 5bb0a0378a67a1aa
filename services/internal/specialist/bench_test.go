package specialist_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// echoModel calls the tool once and then answers, at no cost of its own.
type echoModel struct{}

func (echoModel) Generate(_ context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		c := agentloop.Chunk{Text: "Take the Reed Lamp.", FinishReason: agentloop.FinishStop, Usage: &agentloop.Usage{InputTokens: 9, OutputTokens: 4}}
		if req.Messages[len(req.Messages)-1].Role == agentloop.RoleUser {
			c.Text, c.FinishReason = "", agentloop.FinishToolCalls
			c.ToolCalls = []agentloop.ToolCallDelta{{ID: "c1", Name: "look", Arguments: `{"what":"lamp"}`}}
		}
		yield(c, nil)
	}
}

// BenchmarkAnswer is an assignment with one tool call, over the wire, with a model that answers at once.
func BenchmarkAnswer(b *testing.B) {
	client := serve(b, lamps, echoModel{})
	ctx := signed(b, b.Context(), shopper)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := client.Answer(ctx, question)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
