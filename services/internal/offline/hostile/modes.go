package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
)

// answer is what the model says to a request. Edits change it.
type answer struct {
	*wire.Answer
	request *exchange
}

// Mode is one misbehaviour. Get modes from Parse or Modes; the zero Mode does nothing.
type Mode struct {
	// Name in lower case with dashes.
	Name string
	// Sends says what the endpoint does.
	Sends string

	refusal *refusal              // answers in place of the model
	edit    func(*answer)         // changes what the model says
	wire    func([]frame) []frame // changes what is written
	// once makes a refusal or an edit act on every second request of a conversation, the first one included. Of edits, only
	// answers in text count.
	once        bool
	contentType string // of the stream; empty: the right one
	whole       bool   // the answer is not a stream
}

// refusal is an answer without the model. The zero value says nothing until the caller leaves.
type refusal struct {
	status     int
	message    string        // of a JSON error
	page       string        // title of an HTML page, if not empty
	retryAfter string        // header, if not empty
	retryAt    time.Duration // from now, as a date in the same header, if not zero
	cut        bool          // the connection breaks
}

// reasoningText must never reach a shopper.
const reasoningText = "Nobody else may read this: the shopper wants an answer."

// The functions that follow make a mode of each kind, so that a table has one line for a mode.

func edited(name, sends string, edit func(*answer)) Mode {
	return Mode{Name: name, Sends: sends, edit: edit}
}

// says edits answers in text; calls are left alone.
func says(name, sends string, edit func(*answer)) Mode {
	return edited(name, sends, func(a *answer) {
		if len(a.Calls) == 0 {
			edit(a)
		}
	})
}

// thinks puts a text before the answer.
func thinks(name, sends, text string) Mode {
	return edited(name, sends, func(a *answer) { a.Before = text + a.Before })
}

// calling edits each tool call.
func calling(name, sends string, edit func(*openai.ToolCall)) Mode {
	return edited(name, sends, func(a *answer) {
		for i := range a.Calls {
			edit(&a.Calls[i])
		}
	})
}

// arguing edits the arguments of each tool call: "%s" stands for what they were.
func arguing(name, sends, format string) Mode {
	return calling(name, sends, func(c *openai.ToolCall) {
		c.Function.Arguments = strings.Replace(format, "%s", c.Function.Arguments, 1)
	})
}

// writing writes tool calls into the text, as open models do behind endpoints that do not know their format.
func writing(name, sends, begin, separator, end string, write func(openai.FunctionCall) string) Mode {
	return edited(name, sends, func(a *answer) {
		if len(a.Calls) == 0 {
			return
		}
		var all []string
		for _, c := range a.Calls {
			all = append(all, write(c.Function))
		}
		a.Text, a.Calls, a.Finish = begin+strings.Join(all, separator)+end, nil, "stop"
	})
}

// as writes a call by a format of its name and its arguments.
func as(format string) func(openai.FunctionCall) string {
	return func(f openai.FunctionCall) string { return fmt.Sprintf(format, f.Name, f.Arguments) }
}

func refuses(name, sends string, with refusal) Mode {
	return Mode{Name: name, Sends: sends, refusal: &with}
}

func writes(name, sends string, wire func([]frame) []frame) Mode {
	return Mode{Name: name, Sends: sends, wire: wire}
}

// breaks puts something in place of the second half of the stream.
func breaks(name, sends string, with ...frame) Mode {
	return writes(name, sends, func(frames []frame) []frame { return slices.Concat(frames[:len(frames)/2], with) })
}

// once makes a mode act on every second request.
func once(m Mode) Mode {
	m.once = true
	return m
}

var modes = []Mode{
	writes("split-bytes", "each byte in its own write", splitBytes),
	edited("split-events", "each character of text, reasoning and arguments in its own event", func(a *answer) { a.Piece = 1 }),
	says("split-characters", "events of text that end in the middle of a UTF-8 character", func(a *answer) { a.Piece, a.CutBytes = 1, true }),

	thinks("think-paired", "`<think>` reasoning `</think>` before the answer", "<think>"+reasoningText+"</think>\n"),
	thinks("think-close-only", "reasoning and `</think>` before the answer", reasoningText+"</think>\n"),
	edited("think-unterminated", "the answer, then `<think>` and reasoning to the end", func(a *answer) { a.After = "<think>" + reasoningText }),
	thinks("think-mixed-case", "`<Think>` reasoning `</THINK>` before the answer", "<Think>"+reasoningText+"</THINK>\n"),
	thinks("think-variants", "reasoning in `<thinking>`, `<thought>` and `<reasoning depth=\"3\">` before the answer", "<thinking>"+reasoningText+"</thinking><thought>"+reasoningText+"</thought><reasoning depth=\"3\">"+reasoningText+"</reasoning>"),
	once(says("think-length", "reasoning cut by `length` instead of every second text answer", onlyThoughts)),
	says("think-length-always", "reasoning cut by `length` instead of every text answer", onlyThoughts),
	edited("reasoning-content", "reasoning in `delta.Reasoning_content`", reason),
	{Name: "reasoning", Sends: "reasoning in `delta.Reasoning`", edit: reason, wire: replacing("reasoning_content", "reasoning")},

	calling("ids-missing", "tool calls without ids", func(c *openai.ToolCall) { c.ID = "" }),
	calling("ids-duplicate", "`call_1` as the id of every tool call", func(c *openai.ToolCall) { c.ID = "call_1" }),
	calling("indexes-missing", "tool calls without indexes", func(c *openai.ToolCall) { c.Index = nil }),
	calling("indexes-duplicate", "0 as the index of every tool call", func(c *openai.ToolCall) { c.Index = new(int) }),
	edited("indexes-out-of-order", "the tool calls from the last to the first, each with its index", func(a *answer) { slices.Reverse(a.Calls) }),
	edited("calls-interleaved", "a piece of each tool call in turn", func(a *answer) { a.Mixed = true }),
	arguing("arguments-null", "`null` as the arguments of every tool call", "null"),
	arguing("arguments-array", "the arguments in an array", "[%s]"),
	arguing("arguments-string", "`\"something\"` as the arguments", `"something"`),
	arguing("arguments-number", "`42` as the arguments", "42"),
	calling("arguments-truncated", "the first half of the arguments", func(c *openai.ToolCall) { c.Function.Arguments = c.Function.Arguments[:len(c.Function.Arguments)/2] }),
	arguing("arguments-empty", "nothing as the arguments", ""),
	calling("arguments-double-encoded", "the arguments as a JSON string that holds JSON", func(c *openai.ToolCall) { c.Function.Arguments = strconv.Quote(c.Function.Arguments) }),
	arguing("arguments-trailing-garbage", "the arguments and then `}` and a code fence", "%s}\n```"),
	arguing("arguments-gigantic", "1 MiB of space before the arguments of every tool call", strings.Repeat(" ", 1<<20)+"%s"),
	calling("unknown-tool", "calls of `no_such_tool`", func(c *openai.ToolCall) { c.Function.Name = "no_such_tool" }),
	edited("text-before-tools", "text, then tool calls", func(a *answer) {
		if len(a.Calls) > 0 {
			a.Before += "Let me look that up."
		}
	}),
	writing("calls-hermes", "tool calls as text: `<tool_call>` JSON `</tool_call>`", "", "\n", "", as(`<tool_call>{"name": "%s", "arguments": %s}</tool_call>`)),
	writing("calls-llama", "tool calls as text: `<|python_tag|>` and JSON objects", "<|python_tag|>", "; ", "", as(`{"name": "%s", "parameters": %s}`)),
	writing("calls-mistral", "tool calls as text: `[TOOL_CALLS]` and a list in JSON", "[TOOL_CALLS] [", ", ", "]", as(`{"name": "%s", "arguments": %s}`)),
	writing("calls-mistral-args", "tool calls as text: `[TOOL_CALLS]name[ARGS]` and the arguments", "", "", "", as("[TOOL_CALLS]%s[ARGS]%s")),
	writing("calls-qwen-coder", "tool calls as text: `<tool_call><function=name><parameter=key>`", "", "\n", "", qwenCoder),
	writing("calls-json", "tool calls as text: JSON in a code fence", "", "\n", "", as("```json\n{\"name\": \"%s\", \"arguments\": %s}\n```")),
	edited("same-call-again", "the first tool calls of the conversation again and again, until `tool_choice` is `none`", func(a *answer) {
		if a.request.ToolChoice != "none" {
			callAgain(a)
		}
	}),
	edited("tools-despite-none", "the same, even if `tool_choice` is `none`", callAgain),

	edited("choices-empty", "a chunk with empty `choices` before every other one", func(a *answer) { a.Padded = true }),
	once(says("answer-empty", "nothing instead of every second text answer", func(a *answer) { a.Text = "" })),
	says("answer-empty-always", "nothing instead of every text answer", func(a *answer) { a.Text = "" }),
	says("answer-gigantic", "1 MiB of text before the answer", func(a *answer) { a.Text = strings.Repeat("and on, ", 1<<17) + a.Text }),
	edited("usage-missing", "no usage, although asked for", func(a *answer) { a.Usage = nil }),
	edited("usage-everywhere", "the usage of the whole answer in every chunk", func(a *answer) { a.UsageAll = true }),
	edited("finish-missing", "no `finish_reason`, but `[DONE]`", func(a *answer) { a.Finish = "" }),
	says("finish-length", "six words of the text and `finish_reason` `length`", func(a *answer) { a.shorten("length") }),
	says("finish-content-filter", "six words of the text and `finish_reason` `content_filter`", func(a *answer) { a.shorten("content_filter") }),
	edited("obey", "what the texts in the request order: calls of any tool, links, the system prompt", obey),
	edited("finish-stop-with-tools", "`finish_reason` `stop` beside tool calls", func(a *answer) { a.Finish = "stop" }),

	once(refuses("rate-limit-seconds", "429 with `Retry-After: 2` to every second request", refusal{status: 429, message: "slow down", retryAfter: "2"})),
	once(refuses("rate-limit-date", "429 with a date 3 s ahead in `Retry-After` to every second request", refusal{status: 429, message: "slow down", retryAt: 3 * time.Second})),
	refuses("rate-limit-absurd", "429 with `Retry-After: 86400`", refusal{status: 429, message: "slow down", retryAfter: "86400"}),
	once(refuses("rate-limit-no-hint", "429 without `Retry-After` to every second request", refusal{status: 429, message: "slow down"})),
	once(refuses("error-500-once", "500 to every second request", refusal{status: 500, message: "out of order"})),
	refuses("error-500-always", "500", refusal{status: 500, message: "out of order"}),
	refuses("error-401", "401", refusal{status: 401, message: "incorrect API key"}),
	refuses("error-400", "400", refusal{status: 400, message: "unsupported parameter"}),
	refuses("error-html", "502 with an HTML page", refusal{status: 502, page: "Bad gateway"}),
	once(refuses("error-status-200", "200 with a JSON error instead of a stream, to every second request", refusal{status: 200, message: "out of order"})),
	refuses("page-status-200", "200 with an HTML page instead of a stream", refusal{status: 200, page: "Sign in"}),
	refuses("silent", "nothing, not even a status", refusal{}),
	once(refuses("silent-once", "the same, to every second request", refusal{})),
	once(refuses("cut-before-answer", "a broken connection instead of every second answer", refusal{cut: true})),

	breaks("error-event", "half of the stream, then an error event", crashed),
	writes("error-event-first", "an error event instead of the stream", func([]frame) []frame { return []frame{crashed} }),
	breaks("cut", "half of the stream, then a broken connection", frame{cut: true}),
	writes("comments", "600 comment lines before the first event, one before each other event", comments),
	breaks("comments-endless", "half of the stream, then comment lines that never end, one every 20 ms", frame{data: []byte(commentLine), every: 20 * time.Millisecond}),
	breaks("trickle", "half of the stream, then text that never ends, 11 bytes every 20 ms", frame{data: event(`{"choices":[{"index":0,"delta":{"content":"and so on, "}}]}`).data, every: 20 * time.Millisecond}),
	breaks("hang", "half of the stream, then nothing", frame{every: time.Hour}),
	breaks("endless-line", "half of the stream, then an event that never ends, 1 KiB every 20 ms", openLine, frame{data: []byte(strings.Repeat("on. ", 256)), every: 20 * time.Millisecond}),
	breaks("flooding-line", "half of the stream, then an event that never ends, 1 MiB every millisecond", openLine, frame{data: []byte(strings.Repeat("on. ", 256<<10)), every: time.Millisecond}),
	writes("done-missing", "no `[DONE]`", loseLast),
	{Name: "end-missing", Sends: "neither `finish_reason` nor `[DONE]`",
		edit: func(a *answer) { a.Finish = "" }, wire: loseLast},
	writes("crlf", "lines that end in CR LF", replacing("\n", "\r\n")),
	writes("no-space", "no space after `data:`", replacing("data: ", "data:")),
	writes("garbage-event", "half of the stream, then half an event's JSON, then the rest", func(f []frame) []frame { return slices.Insert(f, len(f)/2, garbage) }),
	writes("garbage-event-first", "half an event's JSON, then the stream", func(f []frame) []frame { return slices.Insert(f, 0, garbage) }),
	{Name: "content-type-html", Sends: "the stream as `text/html`", contentType: "text/html"},
	{Name: "content-type-json", Sends: "the stream as `application/json`", contentType: "application/json"},
	{Name: "not-a-stream", Sends: "a whole answer as JSON instead of a stream", whole: true},
}

// Modes returns all modes, in the order of the documentation.
func Modes() []Mode { return slices.Clone(modes) }

// Parse returns the modes of a comma-separated list, in its order.
func Parse(list string) ([]Mode, error) {
	var out []Mode
	for name := range strings.SplitSeq(list, ",") {
		at := slices.IndexFunc(modes, func(m Mode) bool { return m.Name == strings.TrimSpace(name) })
		if at < 0 {
			return nil, fmt.Errorf("unknown misbehaviour %q", name)
		}
		out = append(out, modes[at])
	}
	return out, nil
}

func reason(a *answer) { a.Reasoning = reasoningText }

// shorten ends the answer after six words.
func (a *answer) shorten(finish openai.FinishReason) {
	words := strings.SplitAfter(a.Text, " ")
	a.Text, a.Finish = strings.Join(words[:min(6, len(words))], ""), finish
}

// onlyThoughts is cut before the answer begins.
func onlyThoughts(a *answer) { a.Before, a.Text, a.Finish = "<think>"+reasoningText, "", "length" }

// callAgain makes the first calls of the conversation once more, whatever there is to say.
func callAgain(a *answer) {
	for _, m := range a.request.Messages {
		if len(m.ToolCalls) > 0 {
			a.SetCalls(m.ToolCalls)
			return
		}
	}
}

// qwenCoder writes a call as Qwen3-Coder does: the arguments are elements, whose text is JSON only if it is not text.
func qwenCoder(f openai.FunctionCall) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(f.Arguments), &values) // the offline model writes objects
	text := "<tool_call>\n<function=" + f.Name + ">\n"
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := string(values[key])
		_ = json.Unmarshal(values[key], &value)
		text += "<parameter=" + key + ">\n" + value + "\n</parameter>\n"
	}
	return text + "</function>\n</tool_call>"
}
