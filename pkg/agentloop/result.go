package agentloop

import "time"

// Event is something that happened in a run: a [TextDelta], [ToolStarted], [ToolFinished], [StepFinished] or [Finished].
type Event interface{ event() }

// TextDelta is a piece of text. The text of a step that then calls tools is part of the answer only if a final tool ends the run.
type TextDelta struct {
	// Step that the text belongs to, from 0.
	Step int
	// Text is the piece. Never empty.
	Text string
}

// ToolStarted reports that a tool is about to run. The calls of one step start in the order in which the model made them.
type ToolStarted struct {
	// Step that made the call, from 0.
	Step int
	// Call as it is logged: see [CallRecord].
	Call ToolCall
}

// ToolFinished reports that a tool has run, or was refused.
type ToolFinished struct {
	// Record is the call's row in the log.
	Record CallRecord
}

// StepFinished reports that a model call and its tools are done.
type StepFinished struct {
	// Step that is done, from 0.
	Step int
	// Record of the model call.
	Record StepRecord
}

// Finished is the last event of a run.
type Finished struct {
	// Result of the run. Never nil.
	Result *Result
}

func (TextDelta) event()    {}
func (ToolStarted) event()  {}
func (ToolFinished) event() {}
func (StepFinished) event() {}
func (Finished) event()     {}

// Result is the outcome of a run.
type Result struct {
	// Text is the answer. Empty only beside an error, or if a final tool ended the run.
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
	// Model is the name that the provider gave for the model that answered. Empty: none was given.
	Model string
	// Duration of the whole run.
	Duration time.Duration
}

// Payload returns the value that the tool call with this id returned, and whether there is one.
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
	// Text that the model wrote, also beside calls.
	Text string
	// FinishReason as the model gave it, or FinishLength if the loop stopped the answer.
	FinishReason FinishReason
	// ToolCalls is the number of tool calls that the model asked for.
	ToolCalls int
	// Usage of this call.
	Usage Usage
	// Duration of the model call, without the tools.
	Duration time.Duration
}

// CallRecord is one row of the call log.
type CallRecord struct {
	// ToolCall with the id that the loop used. Arguments are those that the tool got or, if the call was refused, those that the
	// model wrote.
	ToolCall
	// RepairedFrom is what the model wrote if Arguments were repaired from it. Empty: nothing was repaired. Repairs have only
	// one possible meaning. Of the text: a code fence around the object, the object as a JSON string, a comma before a closing
	// bracket, True, False and None, simple strings in single quotes, \' and raw control characters in strings, keys without
	// quotes, comments, and Unicode space. Of the values: numbers, booleans, lists and objects as text, a number or boolean for
	// text, one element for a list and the other way round, the case and the separators of an enumerated value, a name that
	// differs from one property's in these or in one letter more or less, and "", "null" and "none" for an optional property.
	// Repaired arguments are checked against the schema like any others.
	RepairedFrom string
	// Step that made the call, from 0.
	Step int
	// Value that the tool returned, complete. Nil if the call failed.
	Value any
	// Preview is the start of what the model read, without the fence, at most 500 bytes.
	Preview string
	// Cut is true if the value was too large and the model read only a part of it.
	Cut bool
	// Error is what went wrong, as the model read it. Empty if the call succeeded.
	Error string
	// Repeated is true if the call got the result of an earlier identical call and the tool did not run.
	Repeated bool
	// Refused is true if the call failed before the tool ran: the tool is unknown, the arguments are bad, or the run ended.
	Refused bool
	// Start is when the call started.
	Start time.Time
	// Duration of the call.
	Duration time.Duration
}

// Price is the price of a model's tokens, in millionths of a currency unit (micros) per million tokens: 150,000 is 0.15 USD
// per million tokens.
type Price struct {
	// InputMicros per million input tokens.
	InputMicros int64
	// CachedInputMicros per million cached input tokens. Zero: InputMicros.
	CachedInputMicros int64
	// OutputMicros per million output tokens.
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

// Of returns the cost of a usage, rounded up to the micro; nil if the price is nil or the usage is unpriced.
func (p *Price) Of(u Usage) *Cost {
	if p == nil || u.Unpriced {
		return nil
	}
	cached := p.CachedInputMicros
	if cached == 0 {
		cached = p.InputMicros
	}
	const million = 1_000_000
	fromCache := min(u.CachedInputTokens, u.InputTokens) // some providers report more
	total := (u.InputTokens-fromCache)*p.InputMicros + fromCache*cached + u.OutputTokens*p.OutputMicros
	return &Cost{Micros: (total + million - 1) / million, Currency: p.Currency}
}
