package replay

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// Outcome is what became of a recorded message.
type Outcome struct {
	Turn
	// Now is the reply of today's code. Nil if Err is set.
	Now *gatewayv1.AskResponse
	// Err is why there is no reply.
	Err error
	// Calls are the model calls of the turn.
	Calls []Call
	// Missed are the calls that the recording has no answer to.
	Missed []string
}

// Run sends every recorded message to a gateway whose services call the model, one after the other, and returns what became of them.
// The gateway must have the demo stores. The error is that of ctx.
func Run(ctx context.Context, gateway gatewayv1.GatewayServiceClient, m *Model) ([]Outcome, error) {
	var all []Outcome
	for _, turn := range m.recording.Turns() {
		m.Choose(turn.ID)
		reply, err := gateway.Ask(ctx, proto.CloneOf(turn.Ask))
		if ctx.Err() != nil {
			return all, fmt.Errorf("replay: %w", ctx.Err())
		}
		all = append(all, Outcome{Turn: turn, Now: reply, Err: err, Calls: m.Calls(), Missed: m.Missed()})
	}
	return all, nil
}
