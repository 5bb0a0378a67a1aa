package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// gatewayService and routerService are services in the lines of model calls: the merge, and the classification.
const (
	gatewayService = "gateway"
	routerService  = "router"
)

// serviceOfTool tells a specialist by a tool that only this specialist has, or search by one that recommend has too.
var serviceOfTool = map[string]string{
	"search_catalog": "search", "similar_products": "recommend", "list_active_promotions": "promotions", "search_policies": "support",
}

// Recording is messages to the demo stores and what a language model answered in their turns. Of tools, it has what the model read. Prompts
// and tools have changed since, so a model call is answered by the recorded one for the same question, after as many answers. It is safe
// for concurrent use. Every message begins a thread.
type Recording struct {
	Turns []*RecordedTurn
}

// RecordedTurn is one message of a Recording.
type RecordedTurn struct {
	// ID of the message in the recording.
	ID string
	// Ask is the request that the gateway got. It has no thread_id and no request_id.
	Ask *gatewayv1.AskRequest
	// Reply is what the gateway answered at the time of the recording.
	Reply *gatewayv1.AskResponse
	// Label says how a careful shop judges Reply: "good", "flawed" or "bad". Empty: not labelled. Why explains it.
	Label, Why string

	lines []line // model calls
}

// ReadRecording reads a recording from a folder with messages.jsonl and, as far as there are any, replies.jsonl, labels.jsonl, exchanges.jsonl
// and parts.json.
func ReadRecording(folder fs.FS) (*Recording, error) {
	r, byID := &Recording{}, make(map[string]*RecordedTurn)
	err := eachLine(folder, "messages.jsonl", func(id string, raw []byte) error {
		turn := &RecordedTurn{ID: id, Ask: &gatewayv1.AskRequest{}}
		r.Turns, byID[id] = append(r.Turns, turn), turn
		return decode(raw, turn.Ask)
	})
	if err != nil {
		return nil, err
	}
	of := func(name string, fn func(turn *RecordedTurn, raw []byte) error) error {
		err := eachLine(folder, name, func(id string, raw []byte) error {
			if byID[id] == nil {
				return nil
			}
			return fn(byID[id], raw)
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err = errors.Join(
		of("replies.jsonl", func(turn *RecordedTurn, raw []byte) error {
			var l struct{ Reply json.RawMessage }
			turn.Reply = &gatewayv1.AskResponse{}
			return errors.Join(json.Unmarshal(raw, &l), decode(l.Reply, turn.Reply))
		}),
		of("labels.jsonl", func(turn *RecordedTurn, raw []byte) error {
			var l struct{ Verdict, Why string }
			err := json.Unmarshal(raw, &l)
			turn.Label, turn.Why = l.Verdict, l.Why
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	services, err := readParts(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	err = of("exchanges.jsonl", func(turn *RecordedTurn, raw []byte) error { return turn.addExchange(raw, services) })
	if err != nil {
		return nil, err
	}
	for _, turn := range r.Turns {
		if err := turn.addRouting(); err != nil {
			return nil, fmt.Errorf("the routing of %s: %w", turn.ID, err)
		}
	}
	return r, nil
}

// addExchange adds a line of exchanges.jsonl: a request as chat completions have it, without its prompt, and the answer.
func (t *RecordedTurn) addExchange(raw []byte, services map[string]string) error {
	var rec struct {
		Request struct {
			Messages       []struct{ Role, Content string }
			Tools          string
			ResponseFormat string `json:"response_format"`
		}
		Completion struct {
			Content   json.RawMessage
			ToolCalls []struct {
				Name      string
				Arguments json.RawMessage
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return err
	}
	service := gatewayService
	switch {
	case rec.Request.ResponseFormat != "":
		service = routerService
	case rec.Request.Tools != "":
		service = services[rec.Request.Tools]
	}
	if service == "" {
		return fmt.Errorf("no specialist has the tools %q", rec.Request.Tools)
	}
	var messages []agentloop.Message
	for _, m := range rec.Request.Messages {
		messages = append(messages, agentloop.Message{Role: agentloop.Role(m.Role), Text: m.Content})
	}
	step := scripted.Step{Text: plain(rec.Completion.Content)}
	for _, c := range rec.Completion.ToolCalls {
		step.ToolCalls = append(step.ToolCalls, agentloop.ToolCall{Name: c.Name, Arguments: plain(c.Arguments)})
	}
	return t.add(service, messages, step)
}

// pieceSize is the length of the pieces in which texts are sent, in characters.
const pieceSize = 12

// add adds a model call.
func (t *RecordedTurn) add(service string, messages []agentloop.Message, answer scripted.Step) error {
	x := &wrap.Exchange{Request: agentloop.Request{Messages: messages}}
	answer.ChunkSize = pieceSize
	for chunk, err := range scripted.New(answer).Generate(context.Background(), &x.Request) {
		if err != nil {
			return err
		}
		x.Chunks = append(x.Chunks, chunk)
	}
	t.lines = append(t.lines, line{Service: service, Exchange: x})
	return nil
}

// addRouting adds what the router would have got from the model for a message that was routed without asking it: the recorded decision.
// Today's router may ask where that of the recording did not.
func (t *RecordedTurn) addRouting() error {
	assignments := t.Reply.GetRouting().GetAssignments()
	asked := slices.ContainsFunc(t.lines, func(l line) bool { return l.Service == routerService })
	if asked || len(assignments) == 0 {
		return nil
	}
	type part struct {
		Specialist string  `json:"specialist"`
		SubQuery   string  `json:"sub_query"`
		Reason     string  `json:"reason"`
		Confidence float64 `json:"confidence"`
	}
	var answer struct {
		Assignments []part `json:"assignments"`
	}
	for _, a := range assignments {
		answer.Assignments = append(answer.Assignments, part{a.GetSpecialist(), a.GetSubQuery(), a.GetReason(), a.GetConfidence()})
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return t.add(routerService, []agentloop.Message{{Role: agentloop.RoleUser, Text: t.Ask.GetMessage()}}, scripted.Step{Text: string(text)})
}

// readParts returns whose tools a reference stands for.
func readParts(folder fs.FS) (map[string]string, error) {
	raw, err := fs.ReadFile(folder, "parts.json")
	if err != nil {
		return nil, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("parts.json: %w", err)
	}
	services := make(map[string]string)
	for ref, part := range parts {
		var tools []struct{ Function struct{ Name string } }
		if json.Unmarshal(part, &tools) != nil {
			continue // a prompt or a format
		}
		for _, tool := range tools {
			if service, ok := serviceOfTool[tool.Function.Name]; ok {
				services[ref] = service
			}
		}
	}
	return services, nil
}

// plain returns the text of a JSON string, "" for null, and other JSON as it is.
func plain(raw json.RawMessage) string {
	var text *string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	if text == nil {
		return ""
	}
	return *text
}

// eachLine calls fn with each value of a file of JSON, and its field n. Errors name the number of the value.
func eachLine(folder fs.FS, name string, fn func(id string, raw []byte) error) error {
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	values := json.NewDecoder(f)
	for n := 1; values.More(); n++ {
		var raw json.RawMessage
		var id struct{ N string }
		if err = values.Decode(&raw); err != nil { // it does not go on behind a syntax error
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err = json.Unmarshal(raw, &id); err == nil {
			err = fn(id.N, raw)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return nil
}

// HasCalls reports whether the recording has calls of a model, and not only messages and replies.
func (r *Recording) HasCalls() bool {
	return slices.ContainsFunc(r.Turns, func(t *RecordedTurn) bool { return len(t.lines) > 0 })
}

// Clock returns a clock that starts when the recording began and runs on from there. Services and the demo stores of a replay need it:
// the recorded texts name dates of that day. It is the real clock if no reply says when it was made.
func (r *Recording) Clock() func() time.Time {
	var began time.Time
	for _, turn := range r.Turns {
		if made := turn.Reply.GetCreateTime(); made != nil && (began.IsZero() || made.AsTime().Before(began)) {
			began = made.AsTime()
		}
	}
	if began.IsZero() {
		return time.Now
	}
	started := time.Now()
	return func() time.Time { return began.Add(time.Since(started)) }
}

// RecordedModel answers the calls of one turn of a recording after the other. It is safe for concurrent use, but a call is always for the
// turn that was chosen last.
type RecordedModel struct {
	mu     sync.Mutex
	turn   *RecordedTurn
	calls  []ModelCall
	missed []string
}

// ModelCall is a call that a RecordedModel got.
type ModelCall struct {
	// Service that the call is of, as far as its tools and output tell; "gateway" for a merge.
	Service string
	Request *agentloop.Request
}

// Choose sets the turn whose calls follow, and forgets the calls of the turn before.
func (m *RecordedModel) Choose(turn *RecordedTurn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn, m.calls, m.missed = turn, nil, nil
}

// Calls returns the calls of the chosen turn so far, and which of them the recording has no answer to.
func (m *RecordedModel) Calls() (all []ModelCall, missed []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls), slices.Clone(m.missed)
}

// Generate implements [agentloop.Model].
func (m *RecordedModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	service := serviceOf(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, ModelCall{service, req})
	at := looseMatch(m.turn.lines, service, req)
	if at < 0 {
		missed := fmt.Sprintf("turn %s, %s, after %d answers: %q", m.turn.ID, service, answers(req.Messages), text.Cut(question(req.Messages), 200))
		m.missed = append(m.missed, missed)
		return failing(fmt.Errorf("%w: %s", ErrNotRecorded, missed))
	}
	return wrap.Replay([]wrap.Exchange{{Request: *req, Chunks: m.turn.lines[at].Exchange.Chunks}}).Generate(ctx, req)
}

// serviceOf tells what service a request is of.
func serviceOf(req *agentloop.Request) string {
	service := gatewayService
	if req.Output != nil {
		service = routerService
	}
	for _, tool := range req.Tools {
		if s, ok := serviceOfTool[tool.Name]; ok && (s != "search" || service == gatewayService) { // recommend searches too
			service = s
		}
	}
	return service
}

// Outcome is what became of a recorded message.
type Outcome struct {
	*RecordedTurn
	// Now is the reply of today's code. Nil if Err is set.
	Now *gatewayv1.AskResponse
	// Err is why there is no reply.
	Err error
	// Calls are the model calls of the turn.
	Calls []ModelCall
	// Missed are the calls that the recording has no answer to.
	Missed []string
}

// Run sends every recorded message to a gateway whose services call the model, one after the other, and returns what became of them.
// The gateway must have the demo stores. The error is that of ctx.
func (r *Recording) Run(ctx context.Context, gateway gatewayv1.GatewayServiceClient, m *RecordedModel) (all []Outcome, err error) {
	for _, turn := range r.Turns {
		m.Choose(turn)
		o := Outcome{RecordedTurn: turn}
		o.Now, o.Err = gateway.Ask(ctx, proto.CloneOf(turn.Ask))
		if ctx.Err() != nil {
			return all, fmt.Errorf("replay: %w", ctx.Err())
		}
		o.Calls, o.Missed = m.Calls()
		all = append(all, o)
	}
	return all, nil
}

// WriteReplies writes the replies of today as the lines of replies.jsonl, with what a reader needs to judge them: the text, and of each answer
// the text and the evidence.
func WriteReplies(w io.Writer, outcomes []Outcome) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, o := range outcomes {
		if o.Err != nil {
			return fmt.Errorf("message %s: %w", o.ID, o.Err)
		}
		reply := &gatewayv1.AskResponse{
			Text: o.Now.GetText(), MergeMethod: o.Now.GetMergeMethod(), CreateTime: o.Now.GetCreateTime(), Handoff: o.Now.GetHandoff(),
		}
		for _, a := range o.Now.GetSuggestedActions() {
			if a.GetHandOff() != nil {
				reply.SuggestedActions = append(reply.SuggestedActions, a)
			}
		}
		for _, r := range o.Now.GetResults() {
			r = proto.CloneOf(r)
			r.Assignment.Reason = ""
			if a := r.GetAnswer(); a != nil {
				for _, c := range a.GetToolCalls() {
					c.StartTime, c.Duration = nil, nil
				}
				r.Outcome = &gatewayv1.AssignmentResult_Answer{Answer: &specialistv1.Answer{
					Specialist: a.GetSpecialist(), Text: a.GetText(), FinishReason: a.GetFinishReason(), ToolCalls: a.GetToolCalls(),
					UnsupportedClaims: a.GetUnsupportedClaims(), Claims: a.GetClaims(), ClarifyingQuestion: a.GetClarifyingQuestion(),
					NotMine: a.GetNotMine(), Evidence: a.GetEvidence(),
				}}
			}
			reply.Results = append(reply.Results, r)
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
		if err != nil {
			return fmt.Errorf("message %s: %w", o.ID, err)
		}
		if err := enc.Encode(struct {
			N     string          `json:"n"`
			Reply json.RawMessage `json:"reply"`
		}{o.ID, raw}); err != nil {
			return err
		}
	}
	return nil
}
