package agentloop

import "time"

// Result is what a run came to.
type Result struct {
	// Text is the answer. Empty only beside an error.
	Text string
	// FinishReason says why the run ended.
	FinishReason FinishReason
	// Steps are the model calls, in order.
	Steps []StepRecord
	// Calls is the log of all tool calls, in the order in which the model made them, with what each tool returned.
	Calls []CallRecord
	// Usage is the sum over all model calls.
	Usage Usage
	// Cost is the price of Usage. Nil: unknown, never free.
	Cost *Cost
	// Model is the model that answered, as it names itself. Empty if it never did.
	Model string
	// Duration of the whole run.
	Duration time.Duration
}

// Payload returns what the tool call with this id returned, as the tool returned it, and whether there was one.
func (r *Result) Payload(callID string) (any, bool) {
	for _, c := range r.Calls {
		if c.ID == callID && c.Error == "" {
			return c.Value, true
		}
	}
	return nil, false
}

// StepRecord is one model call.
type StepRecord struct {
	// Text that the model wrote, beside its calls if it made any.
	Text string
	// FinishReason as the model gave it, or length where the loop cut the answer.
	FinishReason FinishReason
	// ToolCalls is the number of tools that the model asked for.
	ToolCalls int
	// Usage of this call.
	Usage Usage
	// Duration of the model call, tools not counted.
	Duration time.Duration
}

// CallRecord is one row of the call log.
type CallRecord struct {
	// ToolCall with the id that the loop used. The arguments are those that the tool got; if it got none because they did not
	// fit, those that the model wrote.
	ToolCall
	// RepairedFrom is what the model wrote when it was almost a JSON object, and Arguments were repaired from it. Empty:
	// nothing was repaired. Repaired is only what can be read in one way: a code fence around the object, the object written as
	// a JSON string, a comma before a closing bracket, True, False and None, strings in single quotes without other quotes in
	// them, \' and raw control characters in strings, names as keys without quotes, comments, and Unicode space. The arguments
	// are checked against the schema afterwards, like any others.
	RepairedFrom string
	// Step that made it, from 0.
	Step int
	// Value that the tool returned, whole. Nil when the call failed.
	Value any
	// Preview is the start of what the model read, without the fence around it, at most 500 bytes.
	Preview string
	// Cut is true when the model read only a part of the value, for its size.
	Cut bool
	// Error is what went wrong, as the model read it. Empty when the call succeeded.
	Error string
	// Repeated is true when an earlier identical call's result was given again and the tool not run.
	Repeated bool
	// Start is when the call began.
	Start time.Time
	// Duration of the call.
	Duration time.Duration
}

// Price is what a model's tokens cost, in millionths of a currency unit (micros) for each million tokens: 150,000
// stands for 0.15 USD a million tokens.
type Price struct {
	// InputMicros for a million input tokens.
	InputMicros int64
	// CachedInputMicros for a million cached input tokens. Zero: as InputMicros.
	CachedInputMicros int64
	// OutputMicros for a million output tokens.
	OutputMicros int64
	// Currency is an ISO 4217 code.
	Currency string
}

// Cost is an amount of money in millionths of a currency unit.
type Cost struct {
	// Micros of the currency.
	Micros int64
	// Currency is an ISO 4217 code.
	Currency string
}

// Of returns the cost of a usage, rounded up to the micro; nil when the price is nil.
func (p *Price) Of(u Usage) *Cost {
	if p == nil {
		return nil
	}
	cached := p.CachedInputMicros
	if cached == 0 {
		cached = p.InputMicros
	}
	const million = 1_000_000
	fromCache := min(u.CachedInputTokens, u.InputTokens) // providers have been seen to report more
	total := (u.InputTokens-fromCache)*p.InputMicros + fromCache*cached + u.OutputTokens*p.OutputMicros
	return &Cost{Micros: (total + million - 1) / million, Currency: p.Currency}
}
