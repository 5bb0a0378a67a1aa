package texttools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// The tags of a call, and the marks in front of calls in the formats of Llama, Mistral and Qwen3-Coder.
const (
	openTag       = "<tool_call>"
	closeTag      = "</tool_call>"
	pythonTag     = "<|python_tag|>"
	toolCallsTag  = "[TOOL_CALLS]"
	functionOpen  = "<function="
	functionClose = "</function>"
)

// allTags are the tags outside of calls. Close tags are dropped there, and so are the ends of a message, which servers with other
// stop tokens leave in the text.
var allTags = []string{openTag, closeTag, functionOpen, functionClose, pythonTag, "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>"}

const whitespace = " \t\r\n"

// maxMark limits what stands between a mark or a code fence and the JSON after it, in bytes.
const maxMark = 256

// parser separates the calls in a text from the rest, piece by piece. Where the pieces are cut changes only when it returns
// something, not what.
type parser struct {
	drop    bool            // calls are removed from the text and dropped
	typed   bool            // the answer is to be JSON
	any     bool            // calls are read in all formats, not in that of the prompt alone
	quotes  []string        // what the model read that is not its own
	offered map[string]bool // names of tools: JSON without a mark is a call only if it names one
	taken   map[string]bool // ids
	emitted int             // calls returned
	found   int             // calls, including dropped ones

	tail   string // the end of the text, which may be the start of a call
	inside mode
	body   callBody // inTags
	value  value    // inValue
	code   strings.Builder

	after bool // nothing but space and what ends calls came after a call in JSON
	fence int  // backticks that close the fence around it
	marks bool // the mark before it counts for the JSON that follows
	run   bool // the text ends in more than three backticks, and those that follow start no fence

	space   []byte // after the last word
	closed  bool   // space is final: a call came after it
	hasText bool

	text  strings.Builder // output of the current write
	calls []agentloop.ToolCallDelta
}

// mode is where in an answer the parser is.
type mode int

const (
	outside mode = iota
	inTags       // after an open tag
	inValue      // in JSON that may be a call
	inCode       // after a python tag without JSON: the rest of the answer
)

func newParser(req *agentloop.Request, any bool) *parser {
	p := &parser{typed: req.Output != nil, any: any, drop: req.NoToolCalls || len(req.Tools) == 0, offered: make(map[string]bool), taken: make(map[string]bool)}
	for _, t := range req.Tools {
		p.offered[t.Name] = true
	}
	for _, m := range req.Messages {
		if any && (m.Role == agentloop.RoleUser || m.Role == agentloop.RoleTool) {
			p.quotes = append(p.quotes, m.Text)
		}
		for _, c := range m.ToolCalls {
			p.offered[c.Name] = true
			p.taken[c.ID] = true
		}
	}
	return p
}

// write adds a piece and returns the text and the calls that are decided by now.
func (p *parser) write(piece string) (string, []agentloop.ToolCallDelta) {
	p.feed(piece)
	return p.take()
}

// end returns what was held back at the end of the text. A call that is cut there is no text: the loop refuses it and says why.
func (p *parser) end() (string, []agentloop.ToolCallDelta) {
	for p.inside == inTags {
		p.finish()
	}
	switch {
	case p.inside == inValue:
		p.endValue(false)
	case p.inside == inCode:
		code := strings.Trim(p.code.String(), whitespace)
		p.addCalls([]call{{functionName.FindString(code), code}})
	case strings.HasPrefix(p.tail, toolCallsTag) || strings.HasPrefix(p.tail, pythonTag):
		p.addCalls(refused(p.tail))
	case strings.Contains(p.tail, "{"): // the start of JSON, and perhaps a fence
	case len(p.tail) >= 5 && isPrefixOf(p.tail, append(p.tags(), toolCallsTag)...): // nothing else starts so
	default:
		p.addText(p.tail)
	}
	p.tail, p.inside = "", outside
	if p.found == 0 {
		p.text.Write(p.space)
	}
	p.space = nil
	return p.take()
}

// finish ends a tagged call that is still open when the text ends.
func (p *parser) finish() {
	body := p.body
	written, at := body.text.String(), body.firstClose
	p.inside, p.body = outside, callBody{}
	if at > 0 { // an extra quote hid the close tag
		p.addRead(written[:at-1], body.calls(written[:at-1], true))
		p.feed(written[at-1+len(body.closeTag()):])
		return
	}
	written = written[:len(written)-overlap(written, body.closeTag())]
	p.addRead(written, body.calls(written, false))
}

func (p *parser) take() (string, []agentloop.ToolCallDelta) {
	text, calls := p.text.String(), p.calls
	p.text.Reset()
	p.calls = nil
	return text, calls
}

// feed reads a piece.
func (p *parser) feed(in string) {
	for in != "" {
		switch p.inside {
		case outside:
			in = p.outside(in)
		case inValue:
			n, done := p.value.write(in)
			if in = in[n:]; done {
				p.inside = outside
				p.endValue(true)
			}
		case inCode:
			p.code.WriteString(in)
			in = ""
		case inTags:
			tag, rest := p.body.write(in)
			in = rest
			if tag == "" {
				return
			}
			if body := p.body; tag == body.closeTag() || strings.Trim(body.text.String(), whitespace) != "" {
				p.addRead(body.text.String(), body.calls(body.text.String(), tag == body.closeTag()))
			}
			if p.body = (callBody{function: p.body.function}); tag == p.body.closeTag() {
				p.inside = outside // otherwise the next call begins where this one should have ended
			}
		}
	}
}

// outside reads text up to the next call and returns what comes after its start.
func (p *parser) outside(in string) string {
	in = p.tail + in
	p.tail = ""
	if p.after {
		in = p.skipAfter(in)
	}
	if p.run {
		rest := strings.TrimLeft(in, "`")
		p.addText(in[:len(in)-len(rest)])
		in, p.run = rest, rest == ""
	}
	starts := "<"
	if p.any {
		starts = "<[{`"
	}
	for at := 0; ; at++ {
		n := strings.IndexAny(in[at:], starts)
		if n < 0 {
			p.addText(in)
			return ""
		}
		at += n
		switch n, start := p.opening(in[at:]); {
		case start == undecided:
			p.addText(in[:at])
			p.tail = in[at:]
			return ""
		case start == isStray || start == isCall:
			p.addText(in[:at])
			return in[at+n:]
		default:
			at += n - 1
		}
	}
}

// skipAfter skips what models write after a call in JSON: separators, a bracket too many, the end of a code fence.
func (p *parser) skipAfter(in string) string {
	for i, c := range []byte(in) {
		switch {
		case strings.IndexByte(whitespace, c) >= 0:
			p.addText(string(c))
		case strings.IndexByte(";,]}", c) >= 0:
		case c == '`' && p.fence > 0:
			p.fence--
		default:
			p.after, p.marks = false, p.marks && c == '{'
			return in[i:]
		}
	}
	return ""
}

// start is what stands at the start of a text.
type start int

const (
	isText start = iota
	undecided
	isStray
	isCall
)

// opening reads the start of a text, which is '<', '[', '{' or '`', and returns how long it is. If a call starts there, the
// parser is in it.
func (p *parser) opening(in string) (int, start) {
	switch in[0] {
	case '<':
		for _, tag := range p.tags() {
			switch {
			case strings.HasPrefix(tag, in) && tag != in:
				return 0, undecided // no tag is the start of another
			case !strings.HasPrefix(in, tag):
			case tag == openTag || tag == functionOpen:
				p.inside, p.body = inTags, callBody{function: tag == functionOpen}
				return len(tag), isCall
			case tag == pythonTag:
				return p.marked(in, len(tag))
			default:
				return len(tag), isStray
			}
		}
	case '[':
		if strings.HasPrefix(in, toolCallsTag) {
			return p.marked(in, len(toolCallsTag))
		}
		if strings.HasPrefix(toolCallsTag, in) {
			return 0, undecided
		}
		return p.json(in, 0)
	case '{':
		return p.json(in, 0)
	case '`':
		n := len(in) - len(strings.TrimLeft(in, "`"))
		at := n
		if n == 3 { // the name of a language
			at += len(in[n:]) - len(strings.TrimLeft(in[n:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
		}
		at += len(in[at:]) - len(strings.TrimLeft(in[at:], whitespace))
		switch {
		case n > 3:
			p.run = n == len(in)
			return n, isText
		case at > maxMark:
			return n, isText
		case at == len(in):
			return 0, undecided
		case in[at] == '{' || in[at] == '[':
			length, s := p.json(in, at)
			if s == isCall {
				p.value.fence = n
			}
			if s == isText {
				return n, isText
			}
			return length, s
		}
		return n, isText
	}
	return 1, isText
}

// json reads the start of a JSON object, or of a list of objects, at a position of in. Only if it may be a call, it is one yet.
func (p *parser) json(in string, at int) (int, start) {
	rest := strings.TrimLeft(in[at:min(len(in), at+maxMark)], whitespace+"[")
	if strings.HasPrefix(rest, "{") {
		rest = strings.TrimLeft(rest[1:], whitespace)
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			p.inside, p.value = inValue, value{mark: in[:at], marked: p.marks}
			p.marks = false
			return at, isCall
		}
	}
	if rest == "" && len(in)-at < maxMark {
		return 0, undecided
	}
	return max(at, 1), isText
}

// functionName matches the name at the start of a call in Mistral's newer format, or of code.
var functionName = regexp.MustCompile(`^[A-Za-z0-9_-]+`)

// marked reads what follows a mark of n bytes: JSON, or a name and its arguments in JSON.
func (p *parser) marked(in string, n int) (int, start) {
	rest := strings.TrimLeft(in[n:], whitespace+";")
	at, brace := len(in)-len(rest), strings.IndexByte(rest, '{')
	switch {
	case strings.HasPrefix(rest, "["):
	case brace == 0 || brace > 0 && in[:n] == toolCallsTag:
		at += brace
	case len(in) < maxMark && (rest == "" || in[:n] == toolCallsTag):
		return 0, undecided
	default:
		at = maxMark
	}
	if at >= maxMark {
		p.inside = inCode
		return n, isCall
	}
	p.inside, p.value = inValue, value{marked: true, mark: in[:at], name: functionName.FindString(in[len(in)-len(rest) : at])}
	return at, isCall
}

// isPrefixOf reports whether a text is the start of one of the tags.
func isPrefixOf(text string, tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, text) })
}

// tags returns the tags that count outside of calls.
func (p *parser) tags() []string {
	if p.any {
		return allTags[:len(allTags):len(allTags)]
	}
	return allTags[:2:2]
}

// overlap returns how many bytes at the end of text may be the start of a tag.
func overlap(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// addText adds to the text. Space waits for a word, because beside a call it is not part of the text.
func (p *parser) addText(text string) {
	word := strings.TrimLeft(text, whitespace)
	if !p.closed {
		p.space = append(p.space, text[:len(text)-len(word)]...)
	}
	if word == "" {
		return
	}
	end := strings.TrimRight(word, whitespace)
	p.text.Write(p.space)
	p.text.WriteString(end)
	p.space, p.closed, p.hasText = append(p.space[:0], word[len(end):]...), false, true
}

// endValue decides whether JSON is text or calls. JSON that names an offered tool is never text. Neither are, unless the answer is
// typed, calls of other tools and half an object at the end of an answer.
func (p *parser) endValue(complete bool) {
	v := p.value
	p.value = value{}
	written := v.text.String()
	var calls []call
	switch {
	case v.name != "":
		calls = []call{{v.name, written}}
		written = v.mark + written // "{}" alone is no quotation
	case v.marked:
		calls = parseCalls(written)
	case complete && p.names(written):
		calls = parseCalls(written)
		if !slices.ContainsFunc(calls, func(c call) bool { return p.offered[c.name] }) {
			calls = refused(written)
		}
	case p.names(written) || !complete && !p.typed:
		calls = refused(written)
	case complete && !p.typed && len(p.offered) > 0 && isCallShaped(written):
		calls = parseCalls(written) // of a tool that there is not, which the loop refuses
	default:
		p.addText(v.mark + written)
		return
	}
	p.addRead(written, calls)
	p.after, p.fence, p.marks = true, v.fence, v.marked
}

// addRead adds calls, and refuses them if the model only repeats what a user or a tool wrote.
func (p *parser) addRead(written string, calls []call) {
	text := strings.Trim(written, whitespace)
	if text != "" && slices.ContainsFunc(p.quotes, func(q string) bool { return strings.Contains(q, text) }) {
		calls = refused(text)
	}
	p.addCalls(calls)
}

// names reports whether JSON names an offered tool.
func (p *parser) names(written string) bool {
	for _, m := range nameIn.FindAllStringSubmatch(written, -1) {
		if p.offered[m[1]] {
			return true
		}
	}
	return false
}

// isCallShaped reports whether all of some JSON is a call, or a list of calls: a name and an object of arguments.
func isCallShaped(written string) bool {
	return !slices.ContainsFunc(parseCalls(written), func(c call) bool {
		_, ok := repair.Object(c.arguments)
		return c.name == "" || !ok
	})
}

// addCalls adds calls.
func (p *parser) addCalls(calls []call) {
	for _, c := range calls {
		p.found++
		if !p.hasText {
			p.space = nil
		}
		p.closed = !p.hasText || len(p.space) > 0
		if !p.drop {
			index := p.emitted
			if p.any {
				index = -1 // native calls of the answer have indexes
			}
			p.calls = append(p.calls, agentloop.ToolCallDelta{Index: index, ID: p.id(), Name: c.name, Arguments: c.arguments})
			p.emitted++
		}
	}
}

// id returns a new id.
func (p *parser) id() string {
	for n := len(p.taken); ; n++ {
		if id := fmt.Sprintf("call_%d", n); !p.taken[id] {
			p.taken[id] = true
			return id
		}
	}
}

// call is a call as it was read.
type call struct{ name, arguments string }

// nameIn finds the name of the tool in a call.
var nameIn = regexp.MustCompile(`["'](?:name|tool_name|function)["']\s*:\s*["']([^"'\\]{1,64})["']`)

// refused returns a call with the text as its arguments, in a form that the loop neither takes for a JSON object nor repairs to
// one.
func refused(body string) []call {
	var name string
	if m := nameIn.FindStringSubmatch(body); m != nil {
		name = m[1]
	}
	if _, ok := repair.Object(body); ok {
		list, _ := json.Marshal([]string{body}) // never fails for strings
		body = string(list)
	}
	return []call{{name, body}}
}

// parseCalls reads the text of one or several calls.
func parseCalls(body string) []call {
	body = strings.Trim(body, whitespace)
	if strings.HasPrefix(body, functionOpen) {
		return functionCalls(body)
	}
	if m := keyedCall.FindStringSubmatch(body); m != nil {
		return []call{{m[1], pairs(keyed, m[2])}}
	}
	if strings.HasPrefix(body, "[") {
		body = `{"tool_calls":` + body + `}`
	}
	object, ok := repair.Object(body)
	if !ok {
		return refused(body)
	}
	var list struct {
		Calls []json.RawMessage `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte(object), &list); err != nil || len(list.Calls) == 0 {
		return []call{parseCall(object, body)}
	}
	calls := make([]call, len(list.Calls))
	for i, c := range list.Calls {
		calls[i] = parseCall(string(c), string(c))
	}
	return calls
}

// parseCall reads an object that was written as a call.
func parseCall(object, written string) call {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &fields) // a list or a value has no fields
	var function map[string]json.RawMessage
	if json.Unmarshal(fields["function"], &function) == nil && function != nil {
		fields = function // as in OpenAI's API
	}
	raw, given := fields["arguments"]
	if !given {
		raw, given = fields["parameters"]
	}
	var name string
	for _, key := range []string{"name", "tool_name", "function"} {
		if name == "" {
			_ = json.Unmarshal(fields[key], &name) // a name that is no text is none
		}
	}
	if name == "" || !given && len(fields) > 1 {
		return refused(written)[0]
	}
	var text string
	if !given || json.Unmarshal(raw, &text) == nil { // JSON within a string, or null
		return call{name, text}
	}
	return call{name, string(raw)}
}

// The formats of Qwen3-Coder, <function=name><parameter=key>value</parameter></function>, and of GLM, name, then
// <arg_key>key</arg_key><arg_value>value</arg_value>.
var (
	function  = regexp.MustCompile(`(?s)<function=([^<>\n]*)>(.*?)(?:</function>|$)`)
	parameter = regexp.MustCompile(`(?s)<parameter=([^<>\n]+)>\n?(.*?)\n?</parameter>`)
	keyedCall = regexp.MustCompile(`(?s)^([A-Za-z0-9_-]+)\s*(<arg_key>.*</arg_value>)\s*$`)
	keyed     = regexp.MustCompile(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// functionCalls reads the calls in a text that starts with an open tag. Llama writes JSON for the parameters.
func functionCalls(body string) []call {
	var calls []call
	for _, m := range function.FindAllStringSubmatch(body, -1) {
		name, inner := strings.Trim(m[1], whitespace+`"'`), strings.Trim(m[2], whitespace)
		switch whole := strings.HasSuffix(m[0], functionClose); {
		case strings.HasPrefix(inner, "{") || inner == "" && whole:
			calls = append(calls, call{name, inner})
		case whole && strings.HasSuffix(inner, "</parameter>"):
			calls = append(calls, call{name, pairs(parameter, inner)})
		default:
			calls = append(calls, call{name, m[0]})
		}
	}
	if calls == nil {
		return refused(body)
	}
	return calls
}

// pairs returns the keys and values in a text as JSON. The values are text; the loop makes them what the schema wants.
func pairs(pair *regexp.Regexp, body string) string {
	arguments := make(map[string]string)
	for _, m := range pair.FindAllStringSubmatch(body, -1) {
		arguments[strings.Trim(m[1], whitespace)] = m[2]
	}
	raw, _ := json.Marshal(arguments) // never fails for strings
	return string(raw)
}

// value is JSON that may be a call.
type value struct {
	text   strings.Builder
	depth  int  // of lists and objects
	quote  byte // that closes the current string, or 0
	escape bool

	mark   string // what stands before it, and is text if it is
	fence  int    // backticks in the mark
	marked bool   // a call even if it names no tool
	name   string // of the tool, if it stands before the JSON
}

// write adds a piece up to the end of the JSON, and returns its length and whether the end has come.
func (v *value) write(in string) (n int, done bool) {
	for n < len(in) && !done {
		c := in[n]
		n++
		switch {
		case v.escape:
			v.escape = false
		case v.quote != 0 && c == '\\':
			v.escape = true
		case v.quote != 0:
			if c == v.quote {
				v.quote = 0
			}
		case c == '"' || c == '\'':
			v.quote = c
		case c == '{' || c == '[':
			v.depth++
		case c == '}' || c == ']':
			v.depth--
			done = v.depth <= 0
		}
	}
	v.text.WriteString(in[:n])
	return n, done
}

// callBody collects the text between tags.
type callBody struct {
	function   bool // the tags of Qwen3-Coder, without those around them
	text       strings.Builder
	scanned    int  // bytes of text
	first      byte // that is no space; quotes count only if JSON starts so
	inString   bool
	escaped    bool
	firstClose int // position of the first close tag inside a string, plus 1
}

func (b *callBody) openTag() string {
	if b.function {
		return functionOpen
	}
	return openTag
}

func (b *callBody) closeTag() string {
	if b.function {
		return functionClose
	}
	return closeTag
}

// calls reads the calls in the text between the tags. JSON shows itself whether it is complete.
func (b *callBody) calls(text string, closed bool) []call {
	switch {
	case b.function && closed:
		return functionCalls(functionOpen + text + functionClose)
	case b.function:
		return functionCalls(functionOpen + text)
	case !closed && keyedCall.MatchString(strings.Trim(text, whitespace)):
		return refused(text) // more arguments may have been to come
	}
	return parseCalls(text)
}

// write adds a piece. If a tag ends the call, it returns the tag and the rest of the piece; text is then what comes before the
// tag. A tag inside a JSON string is part of the string.
func (b *callBody) write(piece string) (tag, rest string) {
	b.text.WriteString(piece)
	text := b.text.String()
	for b.scanned < len(text) {
		c := text[b.scanned]
		if c == '<' {
			ahead := text[b.scanned:]
			closes, opens := strings.HasPrefix(ahead, b.closeTag()), strings.HasPrefix(ahead, b.openTag())
			switch {
			case closes && b.inString && b.firstClose == 0:
				b.firstClose = b.scanned + 1
			case closes && !b.inString:
				return b.cut(text, b.closeTag())
			case opens && !b.inString:
				return b.cut(text, b.openTag())
			case isPrefixOf(ahead, b.closeTag(), b.openTag()):
				return "", "" // undecided until more comes
			}
		}
		if b.first == 0 && strings.IndexByte(whitespace, c) < 0 {
			b.first = c
		}
		switch {
		case b.escaped:
			b.escaped = false
		case b.inString && c == '\\':
			b.escaped = true
		case c == '"' && !b.function && strings.IndexByte("{[\"'`", b.first) >= 0:
			b.inString = !b.inString
		}
		b.scanned++
	}
	return "", ""
}

// cut ends the text before the tag at the scanned position.
func (b *callBody) cut(text, tag string) (string, string) {
	at := b.scanned
	b.text.Reset()
	b.text.WriteString(text[:at])
	return tag, text[at+len(tag):]
}
