package telemetry

// SchemaURL is the version of the semantic conventions that the GenAI names below follow. All of them are in
// development there; this file is the one place to change when they do.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// Attributes of spans and metrics, as the GenAI conventions name them.
const (
	KeyOperation         = "gen_ai.operation.name"
	KeyProvider          = "gen_ai.provider.name"
	KeyAgent             = "gen_ai.agent.name"
	KeyWorkflow          = "gen_ai.workflow.name"
	KeyConversation      = "gen_ai.conversation.id"
	KeyOutputType        = "gen_ai.output.type"
	KeyRequestModel      = "gen_ai.request.model"
	KeyResponseModel     = "gen_ai.response.model"
	KeyFinishReasons     = "gen_ai.response.finish_reasons"
	KeyInputTokens       = "gen_ai.usage.input_tokens"
	KeyOutputTokens      = "gen_ai.usage.output_tokens"
	KeyCachedInputTokens = "gen_ai.usage.cache_read.input_tokens"
	KeyReasoningTokens   = "gen_ai.usage.reasoning.output_tokens"
	KeyTokenType         = "gen_ai.token.type"
	KeyTool              = "gen_ai.tool.name"
	KeyToolCallID        = "gen_ai.tool.call.id"
	KeyErrorType         = "error.type"
)

// Attributes that hold what people and models wrote. They are set only where an operator asked for content.
const (
	KeyToolArguments = "gen_ai.tool.call.arguments"
	KeyToolResult    = "gen_ai.tool.call.result"
	// KeyEndpointMessage is what an endpoint wrote about a failed call.
	KeyEndpointMessage = "quartet.endpoint.message"
)

// Attributes of our own.
const (
	KeyService       = "quartet.service"
	KeyStore         = "quartet.store"
	KeyTurn          = "quartet.turn.id"
	KeyStage         = "quartet.stage" // of a turn: route, specialists, merge or record
	KeyConfidence    = "quartet.confidence"
	KeyCurrency      = "quartet.currency"
	KeyRequest       = "quartet.request.id"
	KeyAssignment    = "quartet.assignment.id"
	KeyPromptVersion = "quartet.prompt.version"
	// KeyPromptVersions are, on the span of a turn, the agents that asked a model with the versions of their prompts.
	KeyPromptVersions   = "quartet.prompt.versions"
	KeyRoutingSource    = "quartet.routing.source"
	KeyRoutingAgreement = "quartet.routing.agreement"
	KeyMergeMethod      = "quartet.merge.method"
	// KeyRunAheadOutcome says whether a specialist that was started early was wanted: "confirmed" or "canceled".
	KeyRunAheadOutcome = "quartet.run_ahead.outcome"
	// KeyRunAheadWasted is, on the span of a turn that ran ahead, the tokens known to have gone to what was not wanted.
	KeyRunAheadWasted = "quartet.run_ahead.wasted_tokens"
	KeyLimit          = "quartet.limit"
	KeyOutcome        = "quartet.outcome"
	KeyRecordKind     = "quartet.record.kind"
	KeyBudgetStep     = "quartet.budget.step"     // stop, cheaper_model, fewer_specialists or partial_answer
	KeyRating         = "quartet.feedback.rating" // helpful or not_helpful
	KeyClaimKind      = "quartet.claim.kind"      // number, amount, percentage, date, code, statement or action
	KeyClaimVerdict   = "quartet.claim.verdict"   // supported, contradicted, unsupported or undecided
	// KeyClaimPlace is where a claim stands in the reply: its first byte and the byte after its last.
	KeyClaimPlace = "quartet.claim.place"
)

// EventClaim is, on the span of a turn, a claim of the reply that is contradicted or unsupported.
const EventClaim = "quartet.claim"

// Values of KeyOperation. A span's name is the operation, a space, and the model, agent, workflow or tool.
const (
	OperationChat           = "chat"
	OperationInvokeAgent    = "invoke_agent"
	OperationInvokeWorkflow = "invoke_workflow"
	OperationExecuteTool    = "execute_tool"
)

// Metrics. Durations are in seconds.
const (
	MetricModelDuration = "gen_ai.client.operation.duration"
	MetricModelTokens   = "gen_ai.client.token.usage"
	// MetricRoutingDecisions counts final routing decisions by KeyRoutingSource and KeyRoutingAgreement.
	MetricRoutingDecisions = "quartet.routing.decisions"
	// MetricRunAheadBranches counts specialists that were started before the routing was final by KeyRunAheadOutcome.
	MetricRunAheadBranches = "quartet.run_ahead.branches"
	// MetricRunAheadWasted counts the tokens known to have been spent on those that were canceled.
	MetricRunAheadWasted = "quartet.run_ahead.wasted_tokens"
	// MetricRunAheadActive is 1 while turns run ahead and 0 while they rest because too much was wasted.
	MetricRunAheadActive = "quartet.run_ahead.active"
	// MetricTurnDuration is the time of turns by KeyStore, KeyOutcome (answered, degraded or failed) and, of those that failed,
	// KeyErrorType. Replies to repeated requests are not in it.
	MetricTurnDuration = "quartet.turn.duration"
	// MetricTurnFirstText is the time until the first text of a streamed reply by KeyStore.
	MetricTurnFirstText = "quartet.turn.first_text"
	// MetricTurnTokens counts the tokens of turns by KeyStore and KeyTokenType.
	MetricTurnTokens = "quartet.turn.tokens"
	// MetricTurnCost is the cost of turns by KeyStore and KeyCurrency, in units of the currency. Turns of unknown cost are not in it.
	MetricTurnCost = "quartet.turn.cost"
	// MetricStageDuration is the time of stages of turns by KeyStage.
	MetricStageDuration = "quartet.stage.duration"
	// MetricAssignments counts parts of messages by KeyAgent and KeyOutcome: answered, or the code of the failure.
	MetricAssignments = "quartet.assignments"
	// MetricHandoffs counts turns that recommend a human by KeyStore.
	MetricHandoffs = "quartet.handoffs"
	// MetricBudgetSteps counts turns that save because a budget of the day runs out, by KeyStore and KeyBudgetStep.
	MetricBudgetSteps = "quartet.budget.steps"
	// MetricWebhooks counts attempts to tell a store of a turn by KeyOutcome: "delivered", "failed" or "dropped".
	MetricWebhooks = "quartet.webhooks"
	// MetricTurnsInFlight is the number of turns that are being worked on.
	MetricTurnsInFlight = "quartet.turns.in_flight"
	// MetricTurnsRefused counts turns that a limit kept out, by KeyLimit: process or store.
	MetricTurnsRefused = "quartet.turns.refused"
	// MetricTurnsUnrecorded counts turns with a reply that could not be recorded.
	MetricTurnsUnrecorded = "quartet.turns.unrecorded"
	// MetricRecordsSkipped counts reads of stored records that cannot be decoded, by KeyRecordKind.
	MetricRecordsSkipped = "quartet.records.skipped"
	// MetricClaims counts the claims of replies by KeyClaimKind and KeyClaimVerdict.
	MetricClaims = "quartet.claims"
	// MetricClaimsDropped counts the claims for which texts lost sentences by KeyAgent, whose text it was, and KeyClaimKind.
	MetricClaimsDropped = "quartet.claims.dropped"
	// MetricJudgments counts texts for which a model was asked to decide on claims by KeyOutcome: judged, or failed.
	MetricJudgments = "quartet.judgments"
	// MetricFeedback counts feedback on turns by KeyRating.
	MetricFeedback = "quartet.feedback"
	// MetricRefusals counts calls that were refused because of who made them, by KeyErrorType, the reason of their status.
	MetricRefusals = "quartet.calls.refused"
	// MetricSummaries counts summaries of threads by KeyOutcome: written, failed or dropped.
	MetricSummaries = "quartet.summaries"
)
