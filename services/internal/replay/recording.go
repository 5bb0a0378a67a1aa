// Package replay answers the model calls of a turn as a language model once did, so that a turn can be run again without that model:
// for tests, and to measure what code makes of a model's answers.
//
// A recording is a folder with messages.jsonl, exchanges.jsonl, parts.json, replies.jsonl and, optionally, labels.jsonl. Prompts and
// tools change between the recording and the replay, so an exchange is found by its role, the first message of the user and the number
// of answers before it. Every recorded message begins a thread.
//
// The package must not import a service.
package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Role is the part of a turn that a model is called for.
type Role string

// The roles of model calls.
const (
	Router     Role = "router"
	Search     Role = "search"
	Recommend  Role = "recommend"
	Promotions Role = "promotions"
	Support    Role = "support"
	Merge      Role = "merge"
)

// roleOfTool tells a specialist by a tool that only this specialist has, or search by one that recommend has too.
var roleOfTool = map[string]Role{
	"search_catalog": Search, "similar_products": Recommend, "list_active_promotions": Promotions, "search_policies": Support,
}

// Turn is one recorded message.
type Turn struct {
	// ID of the message in the recording.
	ID string
	// Ask is the request that the gateway got. It has no thread_id and no request_id.
	Ask *gatewayv1.AskRequest
	// Reply is what the gateway answered at the time of the recording.
	Reply *gatewayv1.AskResponse
	// Label says how a careful shop judges Reply: "good", "flawed" or "bad". Empty: not labelled.
	Label string
	// Why explains Label.
	Why string
}

// Recording is the recorded turns of one model. It is safe for concurrent use.
type Recording struct {
	turns     []Turn
	exchanges map[string][]exchange // by the turn's id
}

// exchange is one call of a model and its answer.
type exchange struct {
	role      Role
	answers   int             // of the model, in the request
	question  map[string]bool // the words of the first message of the user
	text      string
	toolCalls []agentloop.ToolCall
}

// lenient ignores fields of a line that are not the message's.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

// Clock returns a clock that starts when the recording began and runs on from there. Services and the demo stores of a replay need it:
// the recorded texts name dates of that day. It is the real clock if no reply says when it was made.
func (r *Recording) Clock() func() time.Time {
	var began time.Time
	for _, turn := range r.turns {
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

// Turns returns the recorded messages, in order.
func (r *Recording) Turns() []Turn { return r.turns }

// Read reads a recording from a folder.
func Read(folder fs.FS) (*Recording, error) {
	r := &Recording{exchanges: make(map[string][]exchange)}
	replies, err := byID(folder, "replies.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	labels, err := byID(folder, "labels.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = eachLine(folder, "messages.jsonl", func(line []byte) error {
		turn := Turn{Ask: &gatewayv1.AskRequest{}}
		if err := errors.Join(json.Unmarshal(line, &struct{ N *string }{&turn.ID}), lenient.Unmarshal(line, turn.Ask)); err != nil {
			return err
		}
		if raw := replies[turn.ID]; raw != nil {
			var reply struct{ Reply json.RawMessage }
			turn.Reply = &gatewayv1.AskResponse{}
			if err := errors.Join(json.Unmarshal(raw, &reply), lenient.Unmarshal(reply.Reply, turn.Reply)); err != nil {
				return fmt.Errorf("the reply to %s: %w", turn.ID, err)
			}
		}
		if raw := labels[turn.ID]; raw != nil {
			var label struct{ Verdict, Why string }
			if err := json.Unmarshal(raw, &label); err != nil {
				return fmt.Errorf("the label of %s: %w", turn.ID, err)
			}
			turn.Label, turn.Why = label.Verdict, label.Why
		}
		r.turns = append(r.turns, turn)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.readExchanges(folder); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return r, nil
		}
		return r, err
	}
	return r, r.addRouting()
}

// addRouting adds what the router would have got from the model for messages that were routed without asking it: the recorded
// decision. Today's router may ask where that of the recording did not.
func (r *Recording) addRouting() error {
	for _, turn := range r.turns {
		assignments := turn.Reply.GetRouting().GetAssignments()
		asked := slices.ContainsFunc(r.exchanges[turn.ID], func(e exchange) bool { return e.role == Router })
		if asked || len(assignments) == 0 {
			continue
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
			return fmt.Errorf("the routing of %s: %w", turn.ID, err)
		}
		r.exchanges[turn.ID] = append(r.exchanges[turn.ID], exchange{role: Router, question: words(turn.Ask.GetMessage()), text: string(text)})
	}
	return nil
}

// HasCalls reports whether the recording has calls of a model. A folder with neither exchanges.jsonl nor parts.json has messages only.
func (r *Recording) HasCalls() bool { return len(r.exchanges) > 0 }

// request is a recorded request. What many requests have in common is in parts.json, by reference.
type request struct {
	Messages []struct {
		Role    string
		Content string
	}
	Tools          string
	ResponseFormat string `json:"response_format"`
}

func (r *Recording) readExchanges(folder fs.FS) error {
	parts, err := readParts(folder)
	if err != nil {
		return err
	}
	return eachLine(folder, "exchanges.jsonl", func(line []byte) error {
		var rec struct {
			N          string
			Request    request
			Completion struct {
				Content   json.RawMessage
				ToolCalls []struct {
					Name      string
					Arguments json.RawMessage
				} `json:"tool_calls"`
			}
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			return err
		}
		e := exchange{role: Merge, text: plain(rec.Completion.Content)}
		switch {
		case rec.Request.ResponseFormat != "":
			e.role = Router
		case rec.Request.Tools != "":
			e.role = parts[rec.Request.Tools]
		}
		if e.role == "" {
			return fmt.Errorf("no specialist has the tools %q", rec.Request.Tools)
		}
		for _, m := range rec.Request.Messages {
			switch m.Role {
			case "user":
				if e.question == nil {
					e.question = words(m.Content)
				}
			case "assistant":
				e.answers++
			}
		}
		for _, c := range rec.Completion.ToolCalls {
			e.toolCalls = append(e.toolCalls, agentloop.ToolCall{Name: c.Name, Arguments: plain(c.Arguments)})
		}
		r.exchanges[rec.N] = append(r.exchanges[rec.N], e)
		return nil
	})
}

// readParts returns whose tools a reference stands for.
func readParts(folder fs.FS) (map[string]Role, error) {
	raw, err := fs.ReadFile(folder, "parts.json")
	if err != nil {
		return nil, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("parts.json: %w", err)
	}
	roles := make(map[string]Role)
	for ref, part := range parts {
		var tools []struct{ Function struct{ Name string } }
		if json.Unmarshal(part, &tools) != nil {
			continue // a prompt or a format
		}
		for _, tool := range tools {
			if role, ok := roleOfTool[tool.Function.Name]; ok {
				roles[ref] = role
			}
		}
	}
	return roles, nil
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

// byID returns the lines of a file by their field n.
func byID(folder fs.FS, name string) (map[string][]byte, error) {
	lines := make(map[string][]byte)
	return lines, eachLine(folder, name, func(line []byte) error {
		var rec struct{ N string }
		err := json.Unmarshal(line, &rec)
		lines[rec.N] = append([]byte(nil), line...)
		return err
	})
}

// eachLine calls fn with each line of a file. Errors name the line.
func eachLine(folder fs.FS, name string, fn func(line []byte) error) error {
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if err := fn(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return lines.Err()
}
