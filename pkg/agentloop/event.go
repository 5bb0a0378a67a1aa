package agentloop

// Event is something that happened in a run: a [TextDelta], [ToolStarted], [ToolFinished], [StepFinished] or [Finished].
type Event interface{ event() }

// TextDelta is a piece of text. Text of a step that then calls tools is not part of the answer.
type TextDelta struct {
	// Step that the text belongs to, from 0.
	Step int
	// Text is the piece. Never empty.
	Text string
}

// ToolStarted says that a tool is about to run. Calls of one step start in the order in which the model made them.
type ToolStarted struct {
	// Step that made the call, from 0.
	Step int
	// Call as it is logged: see [CallRecord].
	Call ToolCall
}

// ToolFinished says that a tool has run, or was refused.
type ToolFinished struct {
	// Record is the call's row in the log.
	Record CallRecord
}

// StepFinished says that a model call and its tools are done.
type StepFinished struct {
	// Step that is done, from 0.
	Step int
	// Record of the model call.
	Record StepRecord
}

// Finished ends a run.
type Finished struct {
	// Result of the run. Never nil.
	Result *Result
}

func (TextDelta) event()    {}
func (ToolStarted) event()  {}
func (ToolFinished) event() {}
func (StepFinished) event() {}
func (Finished) event()     {}
