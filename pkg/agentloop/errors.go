package agentloop

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrMaxSteps reports that the run used up Config.MaxSteps. The result holds the answer that the model then gave, without
	// further tools, from what was known.
	ErrMaxSteps = errors.New("agentloop: limit of steps reached")
	// ErrOutOfTime reports that only Config.Reserve was left of the time. The result holds the answer that the model then
	// gave, without further tools, from what was known.
	ErrOutOfTime = errors.New("agentloop: no time left for tools")
	// ErrBudget reports that a budget of tokens or money is used up. If the budget is the run's own (Config.MaxTotalTokens or
	// Config.MaxCostMicros), the result holds the answer that the model then gave from what was known; that answer exceeds the
	// budget. If the model refused a call with an error that wraps ErrBudget, as a model with a shared budget does, there is no
	// answer: nothing more was spent.
	ErrBudget = errors.New("agentloop: budget used up")
	// ErrNoAnswer reports that the model ended without text or tool calls, even when it was asked again.
	ErrNoAnswer = errors.New("agentloop: the model returned no answer")
	// ErrBadOutput reports that a typed answer does not fit its schema, even after one correction.
	ErrBadOutput = errors.New("agentloop: the model's output does not fit the schema")
)

// errStopped ends a run whose consumer broke out of the sequence.
var errStopped = fmt.Errorf("agentloop: consumer stopped: %w", context.Canceled)

// limitReason returns the finish reason of a run that ended with an answer because of a limit.
func limitReason(limit error) FinishReason {
	switch {
	case errors.Is(limit, ErrMaxSteps):
		return FinishMaxSteps
	case errors.Is(limit, ErrBudget):
		return FinishBudget
	}
	return FinishDeadline
}

// failureReason returns the finish reason of a run that ended with err. If ctx is done, that is the reason, whatever err
// says.
func failureReason(ctx context.Context, err error) FinishReason {
	switch cause := ctx.Err(); {
	case errors.Is(err, errStopped):
		return FinishCanceled
	case errors.Is(cause, context.DeadlineExceeded):
		return FinishDeadline
	case cause != nil:
		return FinishCanceled
	case errors.Is(err, ErrBudget):
		return FinishBudget
	}
	return FinishError
}
