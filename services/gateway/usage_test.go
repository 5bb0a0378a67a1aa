package gateway

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// fails tells what was spent, unless that is nil, and fails.
func fails(spent *commonv1.Usage, err error) func(*specialistv1.AnswerRequest, answerStream) error {
	return func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		if spent == nil {
			return err
		}
		return errors.Join(err, stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_UsageUpdate{
			UsageUpdate: &specialistv1.UsageUpdate{Usage: spent}}}))
	}
}

func TestUsageOfAFailedPartIsCounted(t *testing.T) {
	bug, gone := errors.New("bug"), status.Error(codes.Unavailable, "connection reset")
	told := &commonv1.Usage{InputTokens: 50, OutputTokens: 5, ModelCalls: 1}
	answered := &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 2}
	both := &commonv1.Usage{InputTokens: 150, OutputTokens: 15, ModelCalls: 3}
	for name, tt := range map[string]struct {
		spent *commonv1.Usage
		err   error
		usage *commonv1.Usage
		known bool // the cost
	}{
		"it told nothing":                              {nil, bug, answered, false},
		"it asked no model":                            {&commonv1.Usage{}, bug, answered, true},
		"it asked a model, whose price nobody told":    {told, bug, both, false},
		"it was lost after it had told":                {told, gone, both, false},
		"it was lost before any call of a model ended": {&commonv1.Usage{}, gone, answered, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				return sayAnswer(stream, &specialistv1.Answer{Text: "One.", Usage: answered, Cost: usd(50)})
			}
			h.specialists["support"].answer = fails(tt.spent, tt.err)
			reply := h.ask("search: shoes | support: returns")
			if diff := cmp.Diff(tt.usage, reply.GetUsage(), protocmp.Transform()); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if known := reply.GetCost().GetAmountMicros() == 50; known != tt.known || !known && reply.GetCost() != nil {
				t.Errorf("cost %v", reply.GetCost())
			}
		})
	}
}

func TestUsageOfAFailedRouterIsUnknown(t *testing.T) {
	h := open(t, nil)
	for _, name := range specialistNames {
		h.specialists[name].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{Text: "One.", Usage: usageOf(1), Cost: usd(50)})
		}
	}
	if got := h.ask("search: shoes").GetCost(); got.GetAmountMicros() != 50 {
		t.Errorf("cost %v where no model was asked to route", got)
	}
	h.router.route = func(*routerv1.RouteRequest, routeStream) error { return errors.New("bug") }
	if got := h.ask("search: shoes").GetCost(); got != nil {
		t.Errorf("cost %v though nobody knows what the router spent", got)
	}
}
