package hostile

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reasoningText must never reach a shopper.
const reasoningText = "Nobody else may read this: the shopper wants an answer."

// What the loop makes of a mode, one constant for each row of docs/hostile.md.
const (
	asUsual         = "answers as usual"
	replacesRunes   = "answers, with U+FFFD for each split character"
	dropsReasoning  = "drops the reasoning"
	learnsReasoning = "drops the reasoning, unless it streams before the first such answer has ended"
	asksAgain       = "asks once more"
	noAnswer        = "asks again, then returns `ErrNoAnswer`"
	newIDs          = "replaces the ids"
	arrivalOrder    = "runs the calls in the order of arrival"
	refusesCall     = "refuses the call and tells the model why"
	refusesIfShort  = "takes the arguments for `{}`, and refuses the call if the schema requires more"
	readsCalls      = "reads the calls from the text and runs the tools"
	repairs         = "repairs the arguments (`RepairedFrom`) and runs the tool"
	stopsAnswer     = "stops the answer at 64 bytes per token, finish reason `length`"
	dropsPreamble   = "streams the text, runs the tools, and leaves the text out of the answer"
	runsOnce        = "runs the tool once, repeats its result, and returns an answer with `ErrMaxSteps`"
	estimates       = "estimates the usage (`Usage.Estimated`)"
	keepsFinish     = "returns the text with that finish reason"
	waits           = "waits as `Retry-After` says, and retries"
	retries         = "waits up to 0.5 s, and retries"
	failsInTime     = "fails at once if its deadline comes before the wait ends"
	givesUp         = "retries twice, then fails"
	fails           = "fails at once"
	idleRetry       = "retries after the idle timeout"
	idleGivesUp     = "retries twice, each time after the idle timeout, then fails with `wrap.ErrIdle`"
	failsLate       = "fails, keeps the text so far, and runs no tool"
	idleFailsLate   = "fails after the idle timeout with `wrap.ErrIdle`, keeps the text so far, and runs no tool"
	untilDeadline   = "continues until its deadline, and runs no tool"
	takesForCut     = "fails if there are tool calls; otherwise takes the text for cut, finish reason `length`"
)

var splitting = []Mode{
	{Name: "split-bytes", Sends: "each byte in its own write", Loop: asUsual,
		wire: splitBytes},
	{Name: "split-events", Sends: "each character of text, reasoning and arguments in its own event", Loop: asUsual,
		edit: splitEvents},
	{Name: "split-characters", Sends: "events of text that end in the middle of a UTF-8 character", Loop: replacesRunes,
		wire: splitCharacters},
}

var thinking = []Mode{
	{Name: "think-paired", Sends: "`<think>` reasoning `</think>` before the answer", Loop: dropsReasoning,
		edit: think("<think>" + reasoningText + "</think>\n")},
	{Name: "think-close-only", Sends: "reasoning and `</think>` before the answer", Loop: learnsReasoning,
		edit: think(reasoningText + "</think>\n")},
	{Name: "think-unterminated", Sends: "the answer, then `<think>` and reasoning to the end", Loop: dropsReasoning,
		edit: thinkLast},
	{Name: "think-mixed-case", Sends: "`<Think>` reasoning `</THINK>` before the answer", Loop: dropsReasoning,
		edit: think("<Think>" + reasoningText + "</THINK>\n")},
	{Name: "think-variants", Sends: "reasoning in `<thinking>`, `<thought>` and `<reasoning depth=\"3\">` before the answer", Loop: dropsReasoning,
		edit: think("<thinking>" + reasoningText + "</thinking><thought>" + reasoningText + "</thought><reasoning depth=\"3\">" + reasoningText + "</reasoning>")},
	{Name: "think-length", Sends: "reasoning cut by `length` instead of every second text answer", Loop: asksAgain,
		once: true, edit: onText(onlyThoughts)},
	{Name: "think-length-always", Sends: "reasoning cut by `length` instead of every text answer", Loop: noAnswer,
		edit: onText(onlyThoughts)},
	{Name: "reasoning-content", Sends: "reasoning in `delta.reasoning_content`", Loop: dropsReasoning,
		edit: func(_ *exchange, cs []chunk) []chunk { return begin(cs, delta{ReasoningContent: reasoningText}) }},
	{Name: "reasoning", Sends: "reasoning in `delta.reasoning`", Loop: dropsReasoning,
		edit: func(_ *exchange, cs []chunk) []chunk { return begin(cs, delta{Reasoning: reasoningText}) }},
}

var calling = []Mode{
	{Name: "ids-missing", Sends: "tool calls without ids", Loop: newIDs,
		edit: onPieces(func(p *piece) { p.ID = "" })},
	{Name: "ids-duplicate", Sends: "`call_1` as the id of every tool call", Loop: newIDs,
		edit: onCalls(func(p *piece) { p.ID = "call_1" })},
	{Name: "indexes-missing", Sends: "tool calls without indexes", Loop: asUsual,
		edit: onPieces(func(p *piece) { p.Index = nil })},
	{Name: "indexes-duplicate", Sends: "0 as the index of every tool call", Loop: asUsual,
		edit: onPieces(func(p *piece) { p.Index = new(int) })},
	{Name: "indexes-out-of-order", Sends: "the tool calls from the last to the first, each with its index", Loop: arrivalOrder,
		edit: lastCallFirst},
	{Name: "calls-interleaved", Sends: "a piece of each tool call in turn", Loop: asUsual,
		edit: interleave},
	{Name: "arguments-null", Sends: "`null` as the arguments of every tool call", Loop: refusesCall,
		edit: arguments(func(string) string { return "null" })},
	{Name: "arguments-array", Sends: "the arguments in an array", Loop: refusesCall,
		edit: arguments(func(s string) string { return "[" + s + "]" })},
	{Name: "arguments-string", Sends: "`\"something\"` as the arguments", Loop: refusesCall,
		edit: arguments(func(string) string { return `"something"` })},
	{Name: "arguments-number", Sends: "`42` as the arguments", Loop: refusesCall,
		edit: arguments(func(string) string { return "42" })},
	{Name: "arguments-truncated", Sends: "the first half of the arguments", Loop: refusesCall,
		edit: arguments(func(s string) string { return s[:len(s)/2] })},
	{Name: "arguments-empty", Sends: "nothing as the arguments", Loop: refusesIfShort,
		edit: arguments(func(string) string { return "" })},
	{Name: "arguments-double-encoded", Sends: "the arguments as a JSON string that holds JSON", Loop: repairs,
		edit: arguments(strconv.Quote)},
	{Name: "arguments-trailing-garbage", Sends: "the arguments and then `}` and a code fence", Loop: refusesCall,
		edit: arguments(func(s string) string { return s + "}\n```" })},
	{Name: "arguments-gigantic", Sends: "1 MiB of space inside the arguments of every tool call", Loop: stopsAnswer,
		edit: arguments(func(s string) string { return strings.TrimSuffix(s, "}") + strings.Repeat(" ", 1<<20) + "}" })},
	{Name: "unknown-tool", Sends: "calls of `no_such_tool`", Loop: refusesCall,
		edit: onCalls(func(p *piece) { p.Function.Name = "no_such_tool" })},
	{Name: "text-before-tools", Sends: "text, then tool calls", Loop: dropsPreamble,
		edit: textBeforeTools},
	{Name: "calls-hermes", Sends: "tool calls as text: `<tool_call>` JSON `</tool_call>`", Loop: readsCalls,
		edit: callsAsText(eachCall("\n", func(name, arguments string) string {
			return `<tool_call>{"name": "` + name + `", "arguments": ` + arguments + `}</tool_call>`
		}))},
	{Name: "calls-llama", Sends: "tool calls as text: `<|python_tag|>` and JSON objects", Loop: readsCalls,
		edit: callsAsText(func(calls []function) string {
			return "<|python_tag|>" + eachCall("; ", func(name, arguments string) string {
				return `{"name": "` + name + `", "parameters": ` + arguments + `}`
			})(calls)
		})},
	{Name: "calls-mistral", Sends: "tool calls as text: `[TOOL_CALLS]` and a list in JSON", Loop: readsCalls,
		edit: callsAsText(func(calls []function) string {
			return "[TOOL_CALLS] [" + eachCall(", ", func(name, arguments string) string {
				return `{"name": "` + name + `", "arguments": ` + arguments + `}`
			})(calls) + "]"
		})},
	{Name: "calls-mistral-args", Sends: "tool calls as text: `[TOOL_CALLS]name[ARGS]` and the arguments", Loop: readsCalls,
		edit: callsAsText(eachCall("", func(name, arguments string) string { return "[TOOL_CALLS]" + name + "[ARGS]" + arguments }))},
	{Name: "calls-qwen-coder", Sends: "tool calls as text: `<tool_call><function=name><parameter=key>`", Loop: readsCalls,
		edit: callsAsText(eachCall("\n", qwenCoder))},
	{Name: "calls-json", Sends: "tool calls as text: JSON in a code fence", Loop: readsCalls,
		edit: callsAsText(eachCall("\n", func(name, arguments string) string {
			return "```json\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n```"
		}))},
	{Name: "same-call-again", Sends: "the first tool calls of the conversation again and again, until `tool_choice` is `none`", Loop: runsOnce,
		edit: sameCallAgain},
	{Name: "tools-despite-none", Sends: "the same, even if `tool_choice` is `none`", Loop: noAnswer,
		edit: callAgain},
}

var answering = []Mode{
	{Name: "choices-empty", Sends: "a chunk with empty `choices` before every other one", Loop: asUsual,
		edit: emptyChoices},
	{Name: "answer-empty", Sends: "nothing instead of every second text answer", Loop: asksAgain,
		once: true, edit: onText(noText)},
	{Name: "answer-empty-always", Sends: "nothing instead of every text answer", Loop: noAnswer,
		edit: onText(noText)},
	{Name: "answer-gigantic", Sends: "1 MiB of text before the answer", Loop: stopsAnswer,
		edit: onText(gigantic)},
	{Name: "usage-missing", Sends: "no usage, although asked for", Loop: estimates,
		edit: func(_ *exchange, cs []chunk) []chunk { return setUsage(cs, nil) }},
	{Name: "usage-first", Sends: "the usage in a chunk without choices, before all others", Loop: asUsual,
		edit: usageFirst},
	{Name: "usage-everywhere", Sends: "the usage of the whole answer in every chunk", Loop: asUsual,
		edit: func(_ *exchange, cs []chunk) []chunk { return setUsage(cs, cs[len(cs)-1].Usage) }},
	{Name: "finish-missing", Sends: "no `finish_reason`, but `[DONE]`", Loop: asUsual,
		edit: noFinish},
	{Name: "finish-length", Sends: "two pieces of the text and `finish_reason` `length`", Loop: keepsFinish,
		edit: onText(short("length"))},
	{Name: "finish-content-filter", Sends: "two pieces of the text and `finish_reason` `content_filter`", Loop: keepsFinish,
		edit: onText(short("content_filter"))},
	{Name: "obey", Sends: "what the texts in the request order: calls of any tool, links, the system prompt", Loop: asUsual,
		edit: obey},
	{Name: "finish-stop-with-tools", Sends: "`finish_reason` `stop` beside tool calls", Loop: asUsual,
		edit: func(_ *exchange, cs []chunk) []chunk { finish(cs, "stop"); return cs }},
}

var refusing = []Mode{
	{Name: "rate-limit-seconds", Sends: "429 with `Retry-After: 2` to every second request", Loop: waits,
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down", retryAfter("2"))},
	{Name: "rate-limit-date", Sends: "429 with a date 3 s ahead in `Retry-After` to every second request", Loop: waits,
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down", retryAt(3*time.Second))},
	{Name: "rate-limit-absurd", Sends: "429 with `Retry-After: 86400`", Loop: failsInTime,
		refuse: refusal(http.StatusTooManyRequests, "slow down", retryAfter("86400"))},
	{Name: "rate-limit-no-hint", Sends: "429 without `Retry-After` to every second request", Loop: retries,
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down")},
	{Name: "error-500-once", Sends: "500 to every second request", Loop: retries,
		once: true, refuse: refusal(http.StatusInternalServerError, "out of order")},
	{Name: "error-500-always", Sends: "500", Loop: givesUp,
		refuse: refusal(http.StatusInternalServerError, "out of order")},
	{Name: "error-401", Sends: "401", Loop: fails,
		refuse: refusal(http.StatusUnauthorized, "incorrect API key")},
	{Name: "error-400", Sends: "400", Loop: fails,
		refuse: refusal(http.StatusBadRequest, "unsupported parameter")},
	{Name: "error-html", Sends: "502 with an HTML page", Loop: givesUp,
		refuse: page(http.StatusBadGateway, "Bad gateway")},
	{Name: "error-status-200", Sends: "200 with a JSON error instead of a stream, to every second request", Loop: retries,
		once: true, refuse: refusal(http.StatusOK, "out of order")},
	{Name: "page-status-200", Sends: "200 with an HTML page instead of a stream", Loop: givesUp,
		refuse: page(http.StatusOK, "Sign in")},
	{Name: "silent", Sends: "nothing, not even a status", Loop: idleGivesUp,
		refuse: silence},
	{Name: "silent-once", Sends: "the same, to every second request", Loop: idleRetry,
		once: true, refuse: silence},
	{Name: "cut-before-answer", Sends: "a broken connection instead of every second answer", Loop: retries,
		once: true, refuse: hangUp},
}

var breaking = []Mode{
	{Name: "error-event", Sends: "half of the stream, then an error event", Loop: failsLate,
		wire: insteadOfRest(crashed)},
	{Name: "error-event-first", Sends: "an error event instead of the stream", Loop: givesUp,
		wire: insteadOfAll(crashed)},
	{Name: "cut", Sends: "half of the stream, then a broken connection", Loop: failsLate,
		wire: insteadOfRest(frame{then: cut})},
	{Name: "comments", Sends: "600 comment lines before the first event, one before each other event", Loop: asUsual,
		wire: comments},
	{Name: "comments-endless", Sends: "half of the stream, then comment lines that never end, one every 20 ms", Loop: idleFailsLate,
		wire: insteadOfRest(frame{data: []byte(commentLine), every: 20 * time.Millisecond})},
	{Name: "trickle", Sends: "half of the stream, then text that never ends, 11 bytes every 20 ms", Loop: untilDeadline,
		wire: insteadOfRest(frame{data: event(`{"choices":[{"index":0,"delta":{"content":"and so on, "}}]}`).data, every: 20 * time.Millisecond})},
	{Name: "hang", Sends: "half of the stream, then nothing", Loop: idleFailsLate,
		wire: insteadOfRest(frame{then: hang})},
	{Name: "endless-line", Sends: "half of the stream, then an event that never ends, 1 KiB every 20 ms", Loop: idleFailsLate,
		wire: insteadOfRest(frame{data: []byte(`data: {"choices":[{"index":0,"delta":{"content":"`)},
			frame{data: []byte(strings.Repeat("on. ", 256)), every: 20 * time.Millisecond})},
	{Name: "flooding-line", Sends: "half of the stream, then an event that never ends, 1 MiB every millisecond", Loop: failsLate,
		wire: insteadOfRest(frame{data: []byte(`data: {"choices":[{"index":0,"delta":{"content":"`)},
			frame{data: []byte(strings.Repeat("on. ", 256<<10)), every: time.Millisecond})},
	{Name: "done-missing", Sends: "no `[DONE]`", Loop: asUsual,
		wire: loseLast},
	{Name: "end-missing", Sends: "neither `finish_reason` nor `[DONE]`", Loop: takesForCut,
		edit: noFinish, wire: loseLast},
	{Name: "crlf", Sends: "lines that end in CR LF", Loop: asUsual,
		wire: eachFrame(crlf)},
	{Name: "no-space", Sends: "no space after `data:`", Loop: asUsual,
		wire: eachFrame(noSpace)},
	{Name: "garbage-event", Sends: "half of the stream, then half an event's JSON, then the rest", Loop: failsLate,
		wire: garbageHalfway},
	{Name: "garbage-event-first", Sends: "half an event's JSON, then the stream", Loop: givesUp,
		wire: garbageFirst},
	{Name: "content-type-html", Sends: "the stream as `text/html`", Loop: asUsual,
		contentType: "text/html"},
	{Name: "content-type-json", Sends: "the stream as `application/json`", Loop: asUsual,
		contentType: "application/json"},
	{Name: "not-a-stream", Sends: "a whole answer as JSON instead of a stream", Loop: asUsual,
		whole: true},
}
