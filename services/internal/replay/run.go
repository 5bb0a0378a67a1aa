package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
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

// Write writes the replies of today as the lines of replies.jsonl, with what a reader needs to judge them: the text, and of each answer
// the text and the evidence.
func Write(w io.Writer, outcomes []Outcome) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, o := range outcomes {
		if o.Err != nil {
			return fmt.Errorf("message %s: %w", o.ID, o.Err)
		}
		reply := &gatewayv1.AskResponse{
			Text: o.Now.GetText(), MergeMethod: o.Now.GetMergeMethod(), CreateTime: o.Now.GetCreateTime(), Handoff: o.Now.GetHandoff(),
		}
		for _, a := range o.Now.GetSuggestedActions() {
			if a.GetHandOff() != nil {
				reply.SuggestedActions = append(reply.SuggestedActions, a)
			}
		}
		for _, r := range o.Now.GetResults() {
			r = proto.CloneOf(r)
			r.Assignment.Reason = ""
			if a := r.GetAnswer(); a != nil {
				for _, c := range a.GetToolCalls() {
					c.StartTime, c.Duration = nil, nil
				}
				r.Outcome = &gatewayv1.AssignmentResult_Answer{Answer: &specialistv1.Answer{
					Specialist: a.GetSpecialist(), Text: a.GetText(), FinishReason: a.GetFinishReason(), ToolCalls: a.GetToolCalls(),
					UnsupportedClaims: a.GetUnsupportedClaims(), Claims: a.GetClaims(), ClarifyingQuestion: a.GetClarifyingQuestion(),
					NotMine: a.GetNotMine(), Evidence: a.GetEvidence(),
				}}
			}
			reply.Results = append(reply.Results, r)
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
		if err != nil {
			return fmt.Errorf("message %s: %w", o.ID, err)
		}
		if err := enc.Encode(struct {
			N     string          `json:"n"`
			Reply json.RawMessage `json:"reply"`
		}{o.ID, raw}); err != nil {
			return err
		}
	}
	return nil
}
