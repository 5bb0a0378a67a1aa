package hostile

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// thoughts is what no shopper may be shown.
const thoughts = "Nobody else may read this: the shopper wants an answer."

// What several modes have in common.
const (
	asUsual   = "answers as usual"
	noSign    = "nothing"
	refused   = "refuses the call, without running the tool, and tells the model what is wrong"
	callError = "`CallRecord.Error`"

	unclocked   = "without such a clock, waits until its deadline"
	fellSilent  = "fails when its clock for silence rings; " + unclocked + "; runs no tool"
	silentError = "`wrap.ErrIdle`, or `context.DeadlineExceeded`, and the text until then"
)

var splitting = []Mode{
	{Name: "split-bytes", Sends: "every byte in a write of its own", Loop: asUsual, Seen: noSign,
		wire: splitBytes},
	{Name: "split-events", Sends: "every character of text, thoughts and arguments in an event of its own", Loop: asUsual, Seen: noSign,
		edit: splitEvents},
	{Name: "split-characters", Sends: "events of text that end in the middle of a UTF-8 character", Loop: "answers; JSON leaves no way to join the halves", Seen: "U+FFFD in place of the character",
		wire: splitCharacters},
}

var thinking = []Mode{
	{Name: "think-paired", Sends: "`<think>` thoughts `</think>` before the answer", Loop: "drops the thoughts", Seen: noSign,
		edit: think("<think>" + thoughts + "</think>\n")},
	{Name: "think-close-only", Sends: "thoughts and `</think>` before the answer", Loop: "drops the thoughts; holds back the first 1 KiB of an answer for it", Seen: noSign,
		edit: think(thoughts + "</think>\n")},
	{Name: "think-unterminated", Sends: "the answer, then `<think>` and thoughts to the end", Loop: "drops the thoughts", Seen: noSign,
		edit: thinkLast},
	{Name: "think-mixed-case", Sends: "`<Think>` thoughts `</THINK>` before the answer", Loop: "drops the thoughts", Seen: noSign,
		edit: think("<Think>" + thoughts + "</THINK>\n")},
	{Name: "think-variants", Sends: "thoughts in `<thinking>`, `<thought>` and `<reasoning depth=\"3\">` before the answer", Loop: "drops the thoughts", Seen: noSign,
		edit: think("<thinking>" + thoughts + "</thinking><thought>" + thoughts + "</thought><reasoning depth=\"3\">" + thoughts + "</reasoning>")},
	{Name: "think-length", Sends: "in place of every second answer in text, thoughts cut by `length`", Loop: "asks once more, for an answer without reasoning", Seen: "one more `StepRecord`",
		once: true, edit: onText(onlyThoughts)},
	{Name: "think-length-always", Sends: "in place of every answer in text, thoughts cut by `length`", Loop: "asks without reasoning, then for plain text, then gives up", Seen: "`ErrNoAnswer`, finish reason `length`",
		edit: onText(onlyThoughts)},
	{Name: "reasoning-content", Sends: "thoughts in `delta.reasoning_content`", Loop: "drops the thoughts", Seen: noSign,
		edit: func(_ *exchange, cs []chunk) []chunk { return begin(cs, delta{ReasoningContent: thoughts}) }},
	{Name: "reasoning", Sends: "thoughts in `delta.reasoning`", Loop: "drops the thoughts", Seen: noSign,
		edit: func(_ *exchange, cs []chunk) []chunk { return begin(cs, delta{Reasoning: thoughts}) }},
}

var calling = []Mode{
	{Name: "ids-missing", Sends: "tool calls without ids", Loop: "makes up ids", Seen: "ids such as `call_0_0`",
		edit: onPieces(func(p *piece) { p.ID = "" })},
	{Name: "ids-duplicate", Sends: "`call_1` as the id of every tool call", Loop: "makes up ids for all but the first", Seen: "ids such as `call_0_1`",
		edit: onCalls(func(p *piece) { p.ID = "call_1" })},
	{Name: "indexes-missing", Sends: "tool calls without indexes", Loop: asUsual, Seen: noSign,
		edit: onPieces(func(p *piece) { p.Index = nil })},
	{Name: "indexes-duplicate", Sends: "0 as the index of every tool call", Loop: "tells the calls apart by their ids", Seen: noSign,
		edit: onPieces(func(p *piece) { p.Index = new(int) })},
	{Name: "indexes-out-of-order", Sends: "the tool calls from the last to the first, each with its index", Loop: "runs the calls in the order in which they came", Seen: "the order of `Result.Calls`",
		edit: lastCallFirst},
	{Name: "calls-interleaved", Sends: "a piece of each tool call in turn", Loop: asUsual, Seen: noSign,
		edit: interleave},
	{Name: "arguments-null", Sends: "`null` as the arguments of every tool call", Loop: refused, Seen: callError,
		edit: arguments(func(string) string { return "null" })},
	{Name: "arguments-array", Sends: "the arguments in an array", Loop: refused, Seen: callError,
		edit: arguments(func(s string) string { return "[" + s + "]" })},
	{Name: "arguments-string", Sends: "`\"something\"` as the arguments", Loop: refused, Seen: callError,
		edit: arguments(func(string) string { return `"something"` })},
	{Name: "arguments-number", Sends: "`42` as the arguments", Loop: refused, Seen: callError,
		edit: arguments(func(string) string { return "42" })},
	{Name: "arguments-truncated", Sends: "the first half of the arguments", Loop: refused, Seen: callError,
		edit: arguments(func(s string) string { return s[:len(s)/2] })},
	{Name: "arguments-empty", Sends: "nothing as the arguments", Loop: "takes them for `{}`; refuses the call when the schema requires more", Seen: callError,
		edit: arguments(func(string) string { return "" })},
	{Name: "arguments-double-encoded", Sends: "the arguments as a JSON string that holds JSON", Loop: "decodes them once more and runs the tool", Seen: "`CallRecord.RepairedFrom`",
		edit: arguments(strconv.Quote)},
	{Name: "arguments-trailing-garbage", Sends: "the arguments and then `}` and a code fence", Loop: refused, Seen: callError,
		edit: arguments(func(s string) string { return s + "}\n```" })},
	{Name: "arguments-gigantic", Sends: "1 MiB of space within the arguments of every tool call", Loop: "stops the call at 64 bytes for each token of `max_tokens`, here 256 KiB; refuses the tool call, without running the tool, and tells the model what is wrong", Seen: "`CallRecord.Error`, `StepRecord.FinishReason` `length`",
		edit: arguments(func(s string) string { return strings.TrimSuffix(s, "}") + strings.Repeat(" ", 1<<20) + "}" })},
	{Name: "unknown-tool", Sends: "calls of `no_such_tool`", Loop: "answers the call with the names that there are", Seen: callError,
		edit: onCalls(func(p *piece) { p.Function.Name = "no_such_tool" })},
	{Name: "text-before-tools", Sends: "text, then tool calls", Loop: "streams the text, runs the tools, and leaves the text out of the answer", Seen: "`StepRecord.Text`",
		edit: textBeforeTools},
	{Name: "same-call-again", Sends: "the first tool calls of the conversation again and again, until `tool_choice` is `none`", Loop: "runs the tool once, gives its result again, and asks for an answer at the limit of steps", Seen: "`CallRecord.Repeated`, `ErrMaxSteps` beside the answer",
		edit: sameCallAgain},
	{Name: "tools-despite-none", Sends: "the same, whatever `tool_choice` is", Loop: "ignores calls after the limit of steps, asks for plain text, then gives up", Seen: "`ErrNoAnswer`",
		edit: callAgain},
}

var answering = []Mode{
	{Name: "choices-empty", Sends: "a chunk with empty `choices` before every other one", Loop: asUsual, Seen: noSign,
		edit: emptyChoices},
	{Name: "answer-empty", Sends: "nothing, in place of every second answer in text", Loop: "asks once more", Seen: "one more `StepRecord`",
		once: true, edit: onText(noText)},
	{Name: "answer-empty-always", Sends: "nothing, in place of every answer in text", Loop: "asks once more, then gives up", Seen: "`ErrNoAnswer`",
		edit: onText(noText)},
	{Name: "answer-gigantic", Sends: "1 MiB of text before the answer", Loop: "stops the call at 64 bytes for each token of `max_tokens`, here 256 KiB, and keeps those", Seen: "finish reason `length`",
		edit: onText(gigantic)},
	{Name: "usage-missing", Sends: "no usage, though asked for", Loop: "counts four bytes as a token", Seen: "`Usage.Estimated`",
		edit: func(_ *exchange, cs []chunk) []chunk { return setUsage(cs, nil) }},
	{Name: "usage-first", Sends: "the usage in a chunk without choices, before all others", Loop: asUsual, Seen: noSign,
		edit: usageFirst},
	{Name: "usage-everywhere", Sends: "the usage of the whole answer in every chunk", Loop: "counts it once", Seen: noSign,
		edit: func(_ *exchange, cs []chunk) []chunk { return setUsage(cs, cs[len(cs)-1].Usage) }},
	{Name: "finish-missing", Sends: "no `finish_reason`, but `[DONE]`", Loop: "takes the answer for whole", Seen: noSign,
		edit: noFinish},
	{Name: "finish-length", Sends: "two pieces of the text and `finish_reason` `length`", Loop: "keeps what there is", Seen: "finish reason `length`",
		edit: onText(short("length"))},
	{Name: "finish-content-filter", Sends: "two pieces of the text and `finish_reason` `content_filter`", Loop: "keeps what there is", Seen: "finish reason `content_filter`",
		edit: onText(short("content_filter"))},
	{Name: "finish-stop-with-tools", Sends: "`finish_reason` `stop` beside tool calls", Loop: "runs the tools", Seen: noSign,
		edit: func(_ *exchange, cs []chunk) []chunk { finish(cs, "stop"); return cs }},
}

var refusing = []Mode{
	{Name: "rate-limit-seconds", Sends: "429 with `Retry-After: 2` to every second request", Loop: "waits 2 s and asks again", Seen: "time",
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down", retryAfter("2"))},
	{Name: "rate-limit-date", Sends: "429 with a date 3 s ahead in `Retry-After` to every second request", Loop: "waits until then and asks again", Seen: "time",
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down", retryAt(3*time.Second))},
	{Name: "rate-limit-absurd", Sends: "429 with `Retry-After: 86400`", Loop: "fails at once when its deadline comes before that", Seen: "`StatusError` 429 with `RetryAfter`",
		refuse: refusal(http.StatusTooManyRequests, "slow down", retryAfter("86400"))},
	{Name: "rate-limit-no-hint", Sends: "429 without `Retry-After` to every second request", Loop: "waits up to 0.5 s and asks again", Seen: "time",
		once: true, refuse: refusal(http.StatusTooManyRequests, "slow down")},
	{Name: "error-500-once", Sends: "500 to every second request", Loop: "waits up to 0.5 s and asks again", Seen: "time",
		once: true, refuse: refusal(http.StatusInternalServerError, "out of order")},
	{Name: "error-500-always", Sends: "500", Loop: "asks three times, then fails", Seen: "`StatusError` 500",
		refuse: refusal(http.StatusInternalServerError, "out of order")},
	{Name: "error-401", Sends: "401", Loop: "fails at once", Seen: "`StatusError` 401",
		refuse: refusal(http.StatusUnauthorized, "incorrect API key")},
	{Name: "error-400", Sends: "400", Loop: "fails at once", Seen: "`StatusError` 400",
		refuse: refusal(http.StatusBadRequest, "unsupported parameter")},
	{Name: "error-html", Sends: "502 with a page of HTML", Loop: "asks three times, then fails", Seen: "`StatusError` 502",
		refuse: page(http.StatusBadGateway, "Bad gateway")},
	{Name: "error-status-200", Sends: "200 with an error as JSON in place of a stream, to every second request", Loop: "waits up to 0.5 s and asks again", Seen: "time",
		once: true, refuse: refusal(http.StatusOK, "out of order")},
	{Name: "page-status-200", Sends: "200 with a page of HTML in place of a stream", Loop: "asks three times, then fails", Seen: "`endpoint.ResponseError`",
		refuse: page(http.StatusOK, "Sign in")},
	{Name: "silent", Sends: "nothing, not even a status", Loop: "asks three times, each time until its clock for silence rings, then fails; " + unclocked, Seen: "`wrap.ErrIdle`, or `context.DeadlineExceeded`",
		refuse: silence},
	{Name: "silent-once", Sends: "the same, to every second request", Loop: "asks again when its clock for silence rings; " + unclocked, Seen: "time, or `context.DeadlineExceeded`",
		once: true, refuse: silence},
	{Name: "cut-before-answer", Sends: "a broken connection in place of every second answer", Loop: "waits up to 0.5 s and asks again", Seen: "time",
		once: true, refuse: hangUp},
}

var breaking = []Mode{
	{Name: "error-event", Sends: "half of the stream, then an error event", Loop: "fails, and keeps the text until then; runs no tool", Seen: "`StatusError` 500",
		wire: insteadOfRest(crashed)},
	{Name: "error-event-first", Sends: "an error event in place of the stream", Loop: "asks three times, then fails", Seen: "`StatusError` 500",
		wire: insteadOfAll(crashed)},
	{Name: "cut", Sends: "half of the stream, then a broken connection", Loop: "fails, and keeps the text until then; runs no tool", Seen: "`io.ErrUnexpectedEOF`",
		wire: insteadOfRest(frame{then: cut})},
	{Name: "comments", Sends: "600 comment lines before the first event, one before each other", Loop: asUsual, Seen: noSign,
		wire: comments},
	{Name: "comments-endless", Sends: "half of the stream, then comment lines that never end, one each 20 ms", Loop: fellSilent, Seen: silentError,
		wire: insteadOfRest(frame{data: []byte(commentLine), every: 20 * time.Millisecond})},
	{Name: "trickle", Sends: "half of the stream, then text that never ends, 11 bytes each 20 ms", Loop: "goes on until its deadline; runs no tool", Seen: "`context.DeadlineExceeded`, the text until then",
		wire: insteadOfRest(frame{data: event(`{"choices":[{"index":0,"delta":{"content":"and so on, "}}]}`).data, every: 20 * time.Millisecond})},
	{Name: "hang", Sends: "half of the stream, then nothing", Loop: fellSilent, Seen: silentError,
		wire: insteadOfRest(frame{then: hang})},
	{Name: "endless-line", Sends: "half of the stream, then an event that never ends, 1 KiB each 20 ms", Loop: fellSilent, Seen: silentError,
		wire: insteadOfRest(frame{data: []byte(`data: {"choices":[{"index":0,"delta":{"content":"`)},
			frame{data: []byte(strings.Repeat("on. ", 256)), every: 20 * time.Millisecond})},
	{Name: "flooding-line", Sends: "half of the stream, then an event that never ends, 1 MiB each millisecond", Loop: "fails after 32 MiB; runs no tool", Seen: "`bufio.ErrTooLong`",
		wire: insteadOfRest(frame{data: []byte(`data: {"choices":[{"index":0,"delta":{"content":"`)},
			frame{data: []byte(strings.Repeat("on. ", 256<<10)), every: time.Millisecond})},
	{Name: "done-missing", Sends: "no `[DONE]`", Loop: asUsual, Seen: noSign,
		wire: loseLast},
	{Name: "end-missing", Sends: "neither `finish_reason` nor `[DONE]`", Loop: "fails after tool calls, which may lack a piece, without running the tool; takes a text for cut", Seen: "`io.ErrUnexpectedEOF`, or finish reason `length`",
		edit: noFinish, wire: loseLast},
	{Name: "crlf", Sends: "lines that end in CR LF", Loop: asUsual, Seen: noSign,
		wire: eachFrame(crlf)},
	{Name: "no-space", Sends: "no space after `data:`", Loop: asUsual, Seen: noSign,
		wire: eachFrame(noSpace)},
	{Name: "garbage-event", Sends: "half of the stream, then half of an event's JSON, then the rest", Loop: "fails, and keeps the text until then; runs no tool", Seen: "`endpoint.ResponseError`",
		wire: garbageHalfway},
	{Name: "garbage-event-first", Sends: "half of an event's JSON, then the stream", Loop: "asks three times, then fails", Seen: "`endpoint.ResponseError`",
		wire: garbageFirst},
	{Name: "content-type-html", Sends: "the stream as `text/html`", Loop: asUsual, Seen: noSign,
		contentType: "text/html"},
	{Name: "content-type-json", Sends: "the stream as `application/json`", Loop: asUsual, Seen: noSign,
		contentType: "application/json"},
	{Name: "not-a-stream", Sends: "a whole answer as JSON in place of a stream", Loop: asUsual, Seen: noSign,
		whole: true},
}
