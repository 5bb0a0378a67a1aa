package agentloop

import "errors"

var (
	// ErrMaxSteps says that the steps were used up. The result holds the answer that the model then made, without further
	// tools, from what was known.
	ErrMaxSteps = errors.New("agentloop: limit of steps reached")
	// ErrOutOfTime says that only Config.Reserve was left of the time. The result holds the answer that the model then made,
	// without further tools, from what was known.
	ErrOutOfTime = errors.New("agentloop: no time left for tools")
	// ErrBudget says that a budget of tokens or money was used up. When it is the run's own, Config.MaxTotalTokens or
	// Config.MaxCostMicros, the result holds the answer that the model then made, without further tools, from what was known;
	// that answer goes beyond the budget. When the model itself refused a call, with an error that wraps this one, as one with
	// a budget that several runs share does, there is no answer: nothing more was spent.
	ErrBudget = errors.New("agentloop: budget used up")
	// ErrNoAnswer says that the model ended without text or tool calls, also when it was asked once more.
	ErrNoAnswer = errors.New("agentloop: the model returned no answer")
	// ErrBadOutput says that a typed answer did not fit its schema, also after one correction.
	ErrBadOutput = errors.New("agentloop: the model's output does not fit the schema")
)
