package router

import (
	"context"
	"iter"
	"testing"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// instant is a model that splits a message of two parts at once, as the classifier does.
type instant struct{ answer string }

func (m instant) Generate(context.Context, *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		_ = yield(agentloop.Chunk{Text: m.answer}, nil) && yield(agentloop.Chunk{FinishReason: agentloop.FinishStop}, nil)
	}
}

// BenchmarkDecide routes a message of two parts: by the classifier, by a model that agrees with them, and what of that comes after
// the model's answer, which a shopper waits for.
func BenchmarkDecide(b *testing.B) {
	const (
		message = "Do you have TR-SHOE-005 in size 42, and what is your return policy?"
		decided = `{"assignments":[{"specialist":"search","sub_query":"Do you have TR-SHOE-005 in size 42","reason":"a product",` +
			`"confidence":0.95},{"specialist":"support","sub_query":"what is your return policy?","reason":"a rule","confidence":0.95}]}`
	)
	s, err := New(Config{Model: instant{decided}, AlwaysAskModel: true})
	if err != nil {
		b.Fatal(err)
	}
	set, _ := s.specialists.build(specialists())
	req := &routerv1.RouteRequest{Message: message}
	b.Run("classifier", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			newRouting(s.cfg, req, set)
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := newRouting(s.cfg, req, set)
			if d, err := r.decide(b.Context(), func(*routerv1.RoutingDecision) error { return nil }); err != nil || len(d.GetAssignments()) != 2 {
				b.Fatal(d, err)
			}
		}
	})
	b.Run("after the model", func(b *testing.B) {
		r := newRouting(s.cfg, req, set)
		answer, _, err := r.ask(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if d, err := r.byModel(answer, 1); err != nil || len(d.GetAssignments()) != 2 {
				b.Fatal(d, err)
			}
		}
	})
}
