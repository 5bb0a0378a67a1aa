package gateway

import (
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// request is what the specialist of a branch is asked.
func (b *branch) request() *specialistv1.AnswerRequest {
	return &specialistv1.AnswerRequest{
		AssignmentId: b.assignment.GetAssignmentId(), SubQuery: b.assignment.GetSubQuery(), Message: b.turn.message,
		History: b.turn.history, Reason: b.assignment.GetReason(), StoreName: b.turn.store.GetName(),
		Summary: b.turn.summary, ShownProducts: b.turn.shown,
	}
}
