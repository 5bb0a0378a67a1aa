package gateway

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

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

// equipped is a request with what the turn sets aside for it at the last moment: the cart, which it may have to wait for,
// and a share of the budget. The request itself is not changed, since it says whether two branches do the same work.
func (s *Service) equipped(
	ctx context.Context, b *branch, specialist string, req *specialistv1.AnswerRequest,
) *specialistv1.AnswerRequest {
	if ctx.Err() != nil {
		return req // nobody will be asked
	}
	budget := b.turn.ledger.share(b, req.GetAssignmentId())
	cart := s.cartFor(ctx, b.turn, specialist)
	if cart == nil && budget == nil {
		return req
	}
	full := &specialistv1.AnswerRequest{Cart: cart, Budget: budget}
	to := full.ProtoReflect()
	req.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.Set(field, value) // shares what is large: nobody changes it
		return true
	})
	return full
}
