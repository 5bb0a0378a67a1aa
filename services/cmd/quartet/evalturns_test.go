package main

import (
	"context"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/eval/turns"
)

// helloGateway answers everything with the same text.
type helloGateway struct {
	gatewayv1.GatewayServiceClient
}

func (helloGateway) Ask(context.Context, *gatewayv1.AskRequest, ...grpc.CallOption) (*gatewayv1.AskResponse, error) {
	return &gatewayv1.AskResponse{Text: "Hello."}, nil
}

// A judge that breaks its form once costs one score, not the evaluation.
func TestAJudgeThatFailsEndsNothing(t *testing.T) {
	judge := scripted.New(scripted.Step{Text: `{"helpful": 64, "reason": "great"}`}, scripted.Step{Text: `{"helpful": 4, "reason": "short"}`})
	e := turnsEval{gateway: helloGateway{}, judge: judge, timeout: time.Minute, parallel: 1, env: environment{err: io.Discard}}
	runs, err := e.run(t.Context(), []turns.Scenario{{ID: "a", Messages: []string{"hi"}}, {ID: "b", Messages: []string{"hi"}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if runs[0].Unscored == nil || runs[0].Score != nil || runs[1].Unscored != nil || runs[1].Score.Helpful != 4 {
		t.Errorf("runs %+v", runs)
	}
}
