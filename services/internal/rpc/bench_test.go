package rpc

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

// BenchmarkCalls measures one hop over an in-memory connection, with the scope of a turn and nothing exported: one after the
// other, and, in microseconds, the median of those that come to a process that did nothing for 25 ms.
func BenchmarkCalls(b *testing.B) {
	const idle = 25 * time.Millisecond
	exportNothing(b)
	h := newFixture()
	h.start(b, &fake{answer: func(s grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error {
		return s.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{TextDelta: &specialistv1.TextDelta{Text: "yes"}}})
	}})
	conn := h.conn(b)
	ctx := scopetest.Context(b.Context(), b, scope.Scope{
		StoreID: "demo", ThreadID: "th_1", TurnID: "tu_1", CartID: "c_1", Audience: "fake", Expiry: time.Now().Add(24 * time.Hour),
	})
	for name, call := range map[string]func(context.Context, *grpc.ClientConn) error{"unary": describe, "stream": answer} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = call(ctx, conn)
			}
		})
		b.Run(name+" from idle", func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				time.Sleep(idle)
				begun := time.Now()
				_ = call(ctx, conn)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "us/call")
		})
	}
}
