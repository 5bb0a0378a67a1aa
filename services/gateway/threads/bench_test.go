package threads

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// BenchmarkTurn is the state of one turn with two answers in a thread of ten messages: begin, journal and record, in a Redis within the
// process.
func BenchmarkTurn(b *testing.B) {
	for name, sealer := range map[string]*seal.Sealer{"plaintext": nil, "sealed": servicetest.Sealer(b)} {
		b.Run(name, func(b *testing.B) {
			client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(b).Addr(), ContextTimeoutEnabled: true})
			defer client.Close()
			s := New(Config{Redis: client, Sealer: sealer, TTL: time.Hour, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)})
			answer := &specialistv1.Answer{Text: strings.Repeat("A text of an answer. ", 100)}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				turn := turnOf(fmt.Sprint("r", i), "t1", fmt.Sprint(i))
				l, err := s.Begin(ctx, turn, time.Now())
				if err != nil {
					b.Fatal(err)
				}
				l.Journal.KeepDecision(&routerv1.RoutingDecision{Model: "m"})
				l.Journal.KeepAnswer("a1", answer)
				l.Journal.KeepAnswer("a2", answer)
				reply := &gatewayv1.AskResponse{Text: answer.Text, ThreadId: "t1", TurnId: l.Scope.TurnID, Results: []*gatewayv1.AssignmentResult{
					{Outcome: &gatewayv1.AssignmentResult_Answer{Answer: answer}}, {Outcome: &gatewayv1.AssignmentResult_Answer{Answer: answer}},
				}}
				if err := l.Record(ctx, "a question", reply, time.Now()); err != nil {
					b.Fatal(err)
				}
				l.Close(ctx, true)
				cancel()
			}
		})
	}
}
