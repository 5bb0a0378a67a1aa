package gateway

import (
	"context"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// maxPerson is the longest name of a person, in characters.
const maxPerson = 100

// agentServer serves AgentService.
type agentServer struct {
	gatewayv1.UnsafeAgentServiceServer
	threads *threads.Store
}

var _ gatewayv1.AgentServiceServer = (*agentServer)(nil)

// PostAgentMessage implements AgentService.
func (s *agentServer) PostAgentMessage(ctx context.Context, req *gatewayv1.PostAgentMessageRequest) (*gatewayv1.PostAgentMessageResponse, error) {
	person, text := output.Visible(req.GetPerson()), output.Visible(req.GetText())
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	check.ID("thread_id", req.GetThreadId())
	check.Text("person", person, 1, maxPerson)
	check.Text("text", text, 1, maxMessage)
	check.OptionalID("request_id", req.GetRequestId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	m := &commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: text, Person: person}
	if err := s.threads.Post(ctx, req.GetStoreId(), req.GetThreadId(), req.GetRequestId(), m, req.GetMuteAssistant()); err != nil {
		return nil, err
	}
	return &gatewayv1.PostAgentMessageResponse{}, nil
}

// MuteAssistant implements AgentService.
func (s *agentServer) MuteAssistant(ctx context.Context, req *gatewayv1.MuteAssistantRequest) (*gatewayv1.MuteAssistantResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	check.ID("thread_id", req.GetThreadId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := s.threads.Mute(ctx, req.GetStoreId(), req.GetThreadId(), req.GetMuted()); err != nil {
		return nil, err
	}
	return &gatewayv1.MuteAssistantResponse{}, nil
}

// muted reports whether a person answers in the thread of a turn.
func (t *turn) muted() bool { return t.lease.Thread != nil && t.lease.Thread.Muted }

// keepForPerson is the rest of a turn whose assistant is muted: the message is recorded, and nobody is asked.
func (s *Service) keepForPerson(ctx context.Context, t *turn) (*gatewayv1.AskResponse, error) {
	reply := &gatewayv1.AskResponse{
		Muted: true, Handoff: &gatewayv1.Handoff{Recommended: true, Reason: "the assistant is muted in this conversation"},
	}
	s.complete(ctx, t, reply)
	return s.recordAlone(ctx, t, reply)
}
