package specialist

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Ask asks the specialist one question of a guest of a store, without a gateway and without a network. It is for tests and trials.
func (s *Specialist) Ask(ctx context.Context, storeID, question string) (*specialistv1.Answer, error) {
	stream := &answerStream{ctx: scope.NewContext(ctx, scope.Scope{StoreID: storeID, Audience: s.name})}
	if err := s.service.Answer(&specialistv1.AnswerRequest{AssignmentId: "1", SubQuery: question}, stream); err != nil {
		return nil, err
	}
	if stream.answer == nil {
		return nil, errors.New("specialist: the stream ended without an answer")
	}
	return stream.answer, nil
}

// answerStream keeps the answer of a stream that stays in the process.
type answerStream struct {
	grpc.ServerStream
	ctx    context.Context
	answer *specialistv1.Answer
}

func (s *answerStream) Context() context.Context { return s.ctx }

func (s *answerStream) Send(r *specialistv1.AnswerResponse) error {
	if a := r.GetAnswer(); a != nil {
		s.answer = a
	}
	return nil
}
