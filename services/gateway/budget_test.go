package gateway

import (
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func usd(micros int64) *commonv1.Cost {
	return &commonv1.Cost{AmountMicros: micros, CurrencyCode: "USD"}
}

func usageOf(n int64) *commonv1.Usage { return &commonv1.Usage{InputTokens: n, ModelCalls: 1} }

func TestSpecialistsAndMergeKeepToTheTurnsBudget(t *testing.T) {
	tests := []struct {
		name   string
		tokens int64
		used   int64 // by each of two specialists
		method gatewayv1.MergeMethod
	}{
		{"enough", 20_000, 1000, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{"just enough", 10_000, 4000, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{"used up by the specialists", 2000, 800, gatewayv1.MergeMethod_MERGE_METHOD_JOINED},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			model := scripted.New(scripted.Step{Text: goodMerge})
			h.config.Model, h.config.Budget = model, &commonv1.Budget{MaxTokens: tt.tokens, MaxCost: usd(9)} // the price is not known
			h.start()
			stock(h)
			for _, name := range []string{"search", "support"} {
				answer := h.specialists[name].answer
				h.specialists[name].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
					return answer(req, using{stream, usageOf(tt.used)})
				}
			}
			reply := h.ask(shoesAndReturns)
			if reply.GetMergeMethod() != tt.method {
				t.Errorf("method %v, %d calls left", reply.GetMergeMethod(), model.Remaining())
			}
			for _, r := range model.Requests() {
				if left := tt.tokens - 2*tt.used; r.MaxOutputTokens != int(min(left/2, agentloop.DefaultMaxOutputTokens)) {
					t.Errorf("%d tokens of answer where %d are left", r.MaxOutputTokens, left)
				}
			}
			asked, _ := h.specialists["search"].calls()
			want := &commonv1.Budget{MaxTokens: tt.tokens * 2 / 5, MaxCost: usd(4)}
			if diff := cmp.Diff(want, asked[0].GetBudget(), protocmp.Transform()); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
		})
	}
}

// using adds a usage to the answers that are sent.
type using struct {
	answerStream
	usage *commonv1.Usage
}

func (u using) Send(r *specialistv1.AnswerResponse) error {
	if a := r.GetAnswer(); a != nil {
		a.Usage = u.usage
	}
	return u.answerStream.Send(r)
}

func TestMoneyBoundsTheMergeOnlyAtAPriceInTheSameCurrency(t *testing.T) {
	price := func(currency string) *agentloop.Price {
		return &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 1_000_000, Currency: currency}
	}
	for _, tt := range []struct {
		price  *agentloop.Price
		method gatewayv1.MergeMethod
	}{
		{nil, gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{price("EUR"), gatewayv1.MergeMethod_MERGE_METHOD_MODEL},
		{price("USD"), gatewayv1.MergeMethod_MERGE_METHOD_JOINED},
	} {
		t.Run(fmt.Sprintf("%v", tt.price), func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			h.config.Model, h.config.Price = scripted.New(scripted.Step{Text: goodMerge}), tt.price
			h.config.Budget = &commonv1.Budget{MaxCost: usd(1000)}
			h.start()
			stock(h)
			if reply := h.ask(shoesAndReturns); reply.GetMergeMethod() != tt.method {
				t.Errorf("method %v", reply.GetMergeMethod())
			}
		})
	}
}
