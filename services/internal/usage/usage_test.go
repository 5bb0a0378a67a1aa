package usage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/usage"
)

func TestSum(t *testing.T) {
	call := &commonv1.Usage{InputTokens: 10, OutputTokens: 2, ModelCalls: 1}
	cost := func(code string) *commonv1.Cost { return &commonv1.Cost{AmountMicros: 5, CurrencyCode: code} }
	type work struct {
		used *commonv1.Usage
		cost *commonv1.Cost
	}
	for name, c := range map[string]struct {
		all   []work
		calls int32
		cost  *commonv1.Cost
	}{
		"nothing":                       {nil, 0, nil},
		"two pieces":                    {[]work{{call, cost("USD")}, {call, cost("USD")}}, 2, &commonv1.Cost{AmountMicros: 10, CurrencyCode: "USD"}},
		"one that called no model":      {[]work{{nil, nil}, {call, cost("USD")}, {&commonv1.Usage{}, nil}}, 1, cost("USD")},
		"one whose cost nobody knows":   {[]work{{call, cost("USD")}, {call, nil}}, 2, nil},
		"costs that cannot be added up": {[]work{{call, cost("USD")}, {call, cost("EUR")}}, 2, nil},
	} {
		var sum usage.Sum
		for _, w := range c.all {
			sum.Add(w.used, w.cost)
		}
		if diff := cmp.Diff(c.cost, sum.Cost(), protocmp.Transform()); diff != "" || sum.Usage().GetModelCalls() != c.calls {
			t.Errorf("%s: %v; cost (-want +got):\n%s", name, sum.Usage(), diff)
		}
	}
}
