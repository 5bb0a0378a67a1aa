package gateway

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func TestAMergeThatHangsIsCutAndTheRestJoined(t *testing.T) {
	slowly := scripted.Step{Text: goodMerge, ChunkSize: 1, ChunkDelay: time.Second}
	tests := []struct {
		name        string
		step        scripted.Step
		limit, want time.Duration // of the turn
		text        string
	}{
		{"nothing ever comes", scripted.Step{Hang: true}, time.Minute, DefaultMergeReserve, joined},
		{"nothing comes before the deadline", scripted.Step{Hang: true}, 4 * time.Second, 3700 * time.Millisecond, joined},
		{"silence after the first sentence", scripted.Step{Text: goodShoes + " You may", Hang: true}, time.Minute, DefaultMergeReserve, goodStart},
		{"a start after a long while", scripted.Step{Text: goodMerge, Delay: DefaultMergeReserve - time.Second}, time.Minute,
			DefaultMergeReserve - time.Second, goodMerge},
		{"word by word, too slowly", slowly, time.Minute, 2 * DefaultMergeReserve, joined},
		{"word by word, beyond the deadline", slowly, 10 * time.Second, 9700 * time.Millisecond, joined},
		{"late with the second sentence", scripted.Step{Text: goodMerge, ChunkSize: 75, ChunkDelay: DefaultMergeReserve - time.Millisecond,
			Hang: true}, time.Minute, 2 * DefaultMergeReserve, goodStart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.config.Model = scripted.New(tt.step)
				h.config.Price = &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 1_000_000, Currency: "EUR"}
				h.start()
				stock(h)
				reply, took, err := h.askWithin(tt.limit, shoesAndReturns)
				if err != nil || reply.GetText() != tt.text || took.Round(100*time.Millisecond) != tt.want {
					t.Errorf("after %v, want %v: %v\ntext %q\nwant %q", took, tt.want, err, reply.GetText(), tt.text)
				}
				if u := reply.GetUsage(); tt.text != goodMerge && (!u.GetEstimated() || u.GetInputTokens() < 200 || u.GetModelCalls() != 1) {
					t.Errorf("usage %v", u)
				}
				if u, c := reply.GetUsage(), reply.GetCost(); c.GetAmountMicros() != u.GetInputTokens()+u.GetOutputTokens() {
					t.Errorf("cost %v of %v", c, u)
				}
				if _, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()}); err != nil {
					t.Errorf("no time was left to record the turn: %v", err)
				}
			})
		})
	}
}

func TestSentencesGoOutWhileTheModelWrites(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.config.Model = scripted.New(scripted.Step{Text: goodMerge, ChunkSize: 10, ChunkDelay: time.Second})
		h.start()
		stock(h)
		begun := time.Now()
		stream, err := h.client.AskStream(t.Context(), &gatewayv1.AskStreamRequest{
			Ask: &gatewayv1.AskRequest{StoreId: "demo", Message: shoesAndReturns}})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]time.Duration{goodShoes: 6 * time.Second, " " + goodReturns: 11 * time.Second}
		for {
			ev, err := stream.Recv()
			if err != nil {
				break
			}
			if text := ev.GetTextDelta().GetText(); text != "" {
				if took := time.Since(begun).Round(time.Second); took != want[text] {
					t.Errorf("%q after %v, want %v", text, took, want[text])
				}
				delete(want, text)
			}
		}
		if len(want) > 0 {
			t.Errorf("never came: %v", want)
		}
	})
}

// watched is a model that says when a call has ended.
type watched struct {
	agentloop.Model
	ended chan time.Time
}

func (w watched) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		w.Model.Generate(ctx, req)(yield)
		w.ended <- time.Now()
	}
}

func TestACallerThatLeavesStopsTheMerge(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		ended := make(chan time.Time, 1)
		h.config.Model = watched{scripted.New(scripted.Step{Text: goodMerge, ChunkSize: 75, ChunkDelay: 5 * time.Second, Hang: true}), ended}
		h.start()
		stock(h)
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := h.client.AskStream(ctx, &gatewayv1.AskStreamRequest{
			Ask: &gatewayv1.AskRequest{StoreId: "demo", Message: shoesAndReturns}})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for text == "" {
			ev, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			text = ev.GetTextDelta().GetText()
		}
		cancel()
		left := time.Now()
		_, err = stream.Recv()
		wantStatus(t, err, codes.Canceled, "")
		synctest.Wait()
		if text != goodShoes || len(ended) != 1 || (<-ended).After(left) {
			t.Errorf("after %q the model went on", text)
		}
	})
}
