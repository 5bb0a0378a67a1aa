package gateway

import (
	"context"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// request is what the specialist of a branch is asked. It may read the turn's cart, or wait until another branch has.
func (s *Service) request(ctx context.Context, b *branch) *specialistv1.AnswerRequest {
	return &specialistv1.AnswerRequest{
		AssignmentId: b.assignment.GetAssignmentId(), SubQuery: b.assignment.GetSubQuery(), Message: b.turn.message,
		History: b.turn.history, Reason: b.assignment.GetReason(), StoreName: b.turn.store.GetName(),
		Summary: b.turn.summary, ShownProducts: b.turn.shown, Cart: s.cartFor(ctx, b),
		Budget: b.turn.ledger.share(b.assignment.GetAssignmentId()),
	}
}
