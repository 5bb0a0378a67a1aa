package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// kind is what a request asks the fake model for.
type kind int

const (
	kindRoute kind = iota // to split the message
	kindCall              // to answer a sub-query, with tools at hand
	kindWord              // to word what a tool returned
	kindMerge             // to make one text of two
)

// chatRequest is the body of a request, as far as it is read.
type chatRequest struct {
	Model          string          `json:"model"`
	Messages       []chatMessage   `json:"messages"`
	Tools          []chatTool      `json:"tools"`
	ResponseFormat json.RawMessage `json:"response_format"`
	Stream         bool            `json:"stream"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatTool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// last returns the last message.
func (r *chatRequest) last() chatMessage {
	if len(r.Messages) == 0 {
		return chatMessage{}
	}
	return r.Messages[len(r.Messages)-1]
}

func (r *chatRequest) kind() kind {
	switch {
	case len(r.Tools) > 0 && r.last().Role == "tool":
		return kindWord
	case len(r.Tools) > 0:
		return kindCall
	case len(r.ResponseFormat) > 0:
		return kindRoute
	}
	return kindMerge
}

// decision is how the message is split: as the router's rules split it.
const decision = `{"assignments":[` +
	`{"specialist":"search","sub_query":"` + searchPart + `","reason":"looks for a product","confidence":0.95},` +
	`{"specialist":"support","sub_query":"` + policyPart + `","reason":"asks for a rule of the store","confidence":0.95}]}`

// toolCalls are the tools that the fake model calls where they are offered, with their arguments.
var toolCalls = map[string]string{
	"search_catalog":  `{"query":"` + productID + `","options":{"size":"42"}}`,
	"search_policies": `{"query":"return policy"}`,
}

// chatAnswer is an answer: a text or one tool call.
type chatAnswer struct {
	text            string
	tool, arguments string
}

// answer returns the answer to a request.
func (r *chatRequest) answer() (chatAnswer, error) {
	switch r.kind() {
	case kindRoute:
		return chatAnswer{text: decision}, nil
	case kindCall:
		for _, t := range r.Tools {
			if arguments, ok := toolCalls[t.Function.Name]; ok {
				return chatAnswer{tool: t.Function.Name, arguments: arguments}, nil
			}
		}
		return chatAnswer{}, errors.New("none of the tools is known")
	case kindWord:
		text, err := words(r.last().Content)
		return chatAnswer{text: text}, err
	}
	return chatAnswer{text: sections(r.last().Content)}, nil
}

// shownRunes is how much of a passage is quoted.
const shownRunes = 160

// words says in a sentence or two what a tool returned, so that every name and number in it is one of the tool's.
func words(content string) (string, error) {
	from, to := strings.IndexByte(content, '{'), strings.LastIndexByte(content, '}')
	var result struct {
		Products []struct {
			Title string `json:"title"`
			Price string `json:"price"`
		} `json:"products"`
		Passages []struct {
			Text string `json:"text"`
		} `json:"passages"`
	}
	if from < 0 || to < from {
		return "", errors.New("the tool's result is no object")
	}
	if err := json.Unmarshal([]byte(content[from:to+1]), &result); err != nil {
		return "", fmt.Errorf("the tool's result is not what was expected: %w", err)
	}
	switch {
	case len(result.Products) > 0:
		p := result.Products[0]
		return fmt.Sprintf("Yes, we have the %s in size 42. It is %s, and it is in stock, so it can be sent to you at once. "+
			"If you would rather have another colour, or another size of it, just say so.", p.Title, p.Price), nil
	case len(result.Passages) > 0:
		said := []rune(result.Passages[0].Text)
		return strings.TrimSpace(string(said[:min(len(said), shownRunes)])), nil
	}
	return "", errors.New("the tool found nothing")
}

// sections repeats the numbered sections of a request to merge, without their headings.
func sections(request string) string {
	_, numbered, _ := strings.Cut(request, "\n#")
	var kept []string
	for line := range strings.Lines("#" + numbered) {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// pieceBytes is how much of an answer goes into one event of a stream: about four tokens.
const pieceBytes = 16

// send writes the answer as a stream of events, or whole, as the request wants it. It waits for each event until its
// part of the call's time has passed: the first piece comes at half time, the others follow evenly, and the end comes at
// the end.
func (a chatAnswer) send(w http.ResponseWriter, req *chatRequest, until func(part float64) error) error {
	finish := "stop"
	if a.tool != "" {
		finish = "tool_calls"
	}
	out := 1 + (len(a.text)+len(a.arguments))/4
	usage := fmt.Sprintf(`{"prompt_tokens":1000,"completion_tokens":%d,"total_tokens":%d}`, out, 1000+out)
	head := fmt.Sprintf(`{"id":"chatcmpl-1","created":1,"model":%s`, quote(req.Model))
	if !req.Stream {
		if err := until(1); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprintf(w, `%s,"object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":%s}`,
			head, a.whole(), finish, usage)
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	head += `,"object":"chat.completion.chunk"`
	flush := http.NewResponseController(w)
	deltas := a.deltas()
	for i, delta := range deltas {
		if err := until(0.5 + 0.5*float64(i)/float64(len(deltas))); err != nil {
			return err
		}
		fmt.Fprintf(w, "data: %s,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", head, delta)
		_ = flush.Flush() // a caller that has gone shows in the end
	}
	if err := until(1); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "data: %s,\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n"+
		"data: %s,\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", head, finish, head, usage)
	return err
}

// callID is the id of every tool call: there is one in a conversation.
const callID = "call_1"

// whole is the answer as a message.
func (a chatAnswer) whole() string {
	if a.tool == "" {
		return `{"role":"assistant","content":` + quote(a.text) + `}`
	}
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + callID + `","type":"function","function":{"name":` +
		quote(a.tool) + `,"arguments":` + quote(a.arguments) + `}}]}`
}

// deltas are the pieces of the answer as it streams.
func (a chatAnswer) deltas() []string {
	if a.tool == "" {
		out := []string{`{"role":"assistant","content":""}`}
		for _, p := range pieces(a.text) {
			out = append(out, `{"content":`+quote(p)+`}`)
		}
		return out
	}
	out := []string{`{"role":"assistant","tool_calls":[{"index":0,"id":"` + callID + `","type":"function","function":{"name":` +
		quote(a.tool) + `,"arguments":""}}]}`}
	for _, p := range pieces(a.arguments) {
		out = append(out, `{"tool_calls":[{"index":0,"function":{"arguments":`+quote(p)+`}}]}`)
	}
	return out
}

// pieces cuts a text into pieces of about pieceBytes, never within a character.
func pieces(text string) []string {
	var out []string
	for chunk := range slices.Chunk([]rune(text), pieceBytes) {
		out = append(out, string(chunk))
	}
	return out
}

// quote is JSON of a text.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""` // no string fails
	}
	return string(b)
}
