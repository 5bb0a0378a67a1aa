package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request to the fake model, in bytes.
const maxBody = 1 << 20

// Behaviour is how the fake model answers from now on. The zero value answers at once.
type Behaviour struct {
	// Latency is the time from a request to the end of its answer. The stream begins at half of it.
	Latency time.Duration `json:"latency"`
	// Hold keeps the calls that would word a specialist's answer, until their callers go away.
	Hold bool `json:"hold"`
	// Record keeps the bodies of the requests.
	Record bool `json:"record"`
}

// Seen is what the fake model has seen since its behaviour was set.
type Seen struct {
	// Calls is the number of calls that it received.
	Calls int64 `json:"calls"`
	// Held is the number of calls that it holds now.
	Held int64 `json:"held"`
	// Requests are the bodies in the order of arrival, if they are recorded.
	Requests []json.RawMessage `json:"requests,omitempty"`
}

// Fake is a model with an OpenAI-compatible API and fixed answers: it splits the message of the turn, calls one tool of each
// specialist, and repeats what a tool or the specialists said. It streams all answers. It is safe for concurrent use.
//
// POST /v1/chat/completions asks it; PUT /behaviour sets a [Behaviour], and GET /seen returns what was [Seen] since.
type Fake struct {
	mux   *http.ServeMux
	calls atomic.Int64
	held  atomic.Int64

	mu        sync.Mutex
	behaviour Behaviour
	requests  []json.RawMessage
}

// NewFake returns a model that answers at once until it is told otherwise.
func NewFake() *Fake {
	f := &Fake{mux: http.NewServeMux()}
	f.mux.HandleFunc("POST /v1/chat/completions", f.chat)
	f.mux.HandleFunc("PUT /behaviour", f.set)
	f.mux.HandleFunc("GET /seen", f.seen)
	return f
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

func (f *Fake) set(w http.ResponseWriter, r *http.Request) {
	var b Behaviour
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behaviour, f.requests = b, nil
	f.calls.Store(0)
}

func (f *Fake) seen(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	s := Seen{Calls: f.calls.Load(), Held: f.held.Load(), Requests: f.requests}
	f.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s) // a caller that has gone needs no answer
}

func (f *Fake) chat(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	f.calls.Add(1)
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var req chatRequest
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	b := f.begin(raw)
	if b.Hold && req.kind() == kindWord {
		f.held.Add(1)
		<-r.Context().Done()
		f.held.Add(-1)
		return
	}
	a, err := req.answer()
	if err != nil {
		refuse(w, err)
		return
	}
	_ = a.send(w, req.Model, func(part float64) error { // an error means that the caller has gone
		return sleep(r.Context(), time.Duration(part*float64(b.Latency))-time.Since(begun))
	})
}

func refuse(w http.ResponseWriter, err error) {
	http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err.Error()), http.StatusBadRequest)
}

// begin returns how a request is to be answered.
func (f *Fake) begin(raw []byte) Behaviour {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behaviour.Record {
		f.requests = append(f.requests, raw)
	}
	return f.behaviour
}

// sleep waits for d, or returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kind is what a request asks the fake model for.
type kind int

const (
	kindRoute kind = iota // to split the message
	kindCall              // to answer a sub-query, with tools at hand
	kindWord              // to word what a tool returned
	kindMerge             // to make one text of two
)

// chatRequest has the fields of a request that the fake model reads.
type chatRequest struct {
	Model          string          `json:"model"`
	Messages       []chatMessage   `json:"messages"`
	Tools          []chatTool      `json:"tools"`
	ResponseFormat json.RawMessage `json:"response_format"`
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

// send writes the answer as a stream of events. until waits until a part of the call's time has passed: the first piece comes
// at half time, the others follow evenly, and the end comes at the end.
func (a chatAnswer) send(w http.ResponseWriter, model string, until func(part float64) error) error {
	finish := "stop"
	if a.tool != "" {
		finish = "tool_calls"
	}
	out := 1 + (len(a.text)+len(a.arguments))/4
	usage := fmt.Sprintf(`{"prompt_tokens":1000,"completion_tokens":%d,"total_tokens":%d}`, out, 1000+out)
	head := fmt.Sprintf(`{"id":"chatcmpl-1","created":1,"model":%s,"object":"chat.completion.chunk"`, quote(model))
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	deltas := a.deltas()
	for i, delta := range deltas {
		if err := until(0.5 + 0.5*float64(i)/float64(len(deltas))); err != nil {
			return err
		}
		fmt.Fprintf(w, "data: %s,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", head, delta)
		_ = flush.Flush() // until and the last write report a caller that has gone
	}
	if err := until(1); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "data: %s,\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n"+
		"data: %s,\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", head, finish, head, usage)
	return err
}

// callID is the id of every tool call. A conversation has only one.
const callID = "call_1"

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

// Remote controls a [Fake] that is served elsewhere. It is safe for concurrent use.
type Remote struct {
	url    string
	client *http.Client
}

// NewRemote returns the remote control of the fake model at a URL, such as http://127.0.0.1:4000.
func NewRemote(url string) *Remote {
	once := &http.Transport{DisableKeepAlives: true} // idle connections would count in the memory figures
	return &Remote{url: strings.TrimSuffix(url, "/"), client: &http.Client{Transport: once}}
}

// BaseURL is where the model is asked.
func (r *Remote) BaseURL() string { return r.url + "/v1" }

// Set sets how the model answers, and forgets what it has seen.
func (r *Remote) Set(ctx context.Context, b Behaviour) error {
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode behaviour: %w", err)
	}
	return r.do(ctx, http.MethodPut, "/behaviour", body, nil)
}

// Seen returns what the model has seen since its behaviour was set.
func (r *Remote) Seen(ctx context.Context) (Seen, error) {
	var s Seen
	return s, r.do(ctx, http.MethodGet, "/seen", nil, &s)
}

func (r *Remote) do(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("control the fake model: %w", err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("control the fake model: %s", resp.Status)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	return nil
}
