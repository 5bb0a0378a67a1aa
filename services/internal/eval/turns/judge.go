package turns

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

//go:embed judge.md
var judgePrompt string

// Score is what a model says of a reply.
type Score struct {
	Helpful int    `json:"helpful" jsonschema:"1 to 5"`
	Reason  string `json:"reason" jsonschema:"one sentence"`
}

// JudgeBy asks a model how helpful a reply is.
func JudgeBy(ctx context.Context, model agentloop.Model, s Scenario, reply *gatewayv1.AskResponse) (*Score, error) {
	temperature := 0.0
	question := fmt.Sprintf("Messages of the shopper:\n%s\n\nReply to the last one:\n%s", strings.Join(s.Messages, "\n"), reply.GetText())
	score, _, err := agentloop.Generate[Score](ctx, agentloop.GenerateConfig{Model: model, Name: "score", System: judgePrompt, Temperature: &temperature}, nil, question)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if score.Helpful < 1 || score.Helpful > 5 {
		return nil, fmt.Errorf("judge: helpful is %d, must be 1 to 5", score.Helpful)
	}
	return &score, nil
}
