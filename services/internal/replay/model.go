package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// ErrNotRecorded is the error of a call for which the recording has no answer.
var ErrNotRecorded = errors.New("replay: not recorded")

// minOverlap is the share of common words from which two sub-queries count as the same. Splitting a message anew moves a few words.
const minOverlap = 0.2

// sameMessage is the share of common words from which a question is the whole message.
const sameMessage = 0.9

// pieceSize is the length of the pieces in which texts are sent, in characters.
const pieceSize = 12

// Model answers the calls of one recorded turn after the other. It is safe for concurrent use, but a call is always for the turn that
// was chosen last.
type Model struct {
	recording *Recording

	mu     sync.Mutex
	turn   string
	calls  []Call
	missed []string
}

// Call is a call that the model got.
type Call struct {
	Role    Role
	Request *agentloop.Request
}

// Model returns a model that answers as recorded. It answers nothing before Choose was called.
func (r *Recording) Model() *Model { return &Model{recording: r} }

// Choose sets the turn whose calls follow, and forgets the calls of the turn before.
func (m *Model) Choose(turnID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn, m.calls, m.missed = turnID, nil, nil
}

// Calls returns the calls of the chosen turn so far.
func (m *Model) Calls() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Call(nil), m.calls...)
}

// Missed returns which calls of the chosen turn the recording has no answer to.
func (m *Model) Missed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.missed...)
}

// Generate implements [agentloop.Model].
func (m *Model) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return scripted.Func(m.answer).Generate(ctx, req)
}

// answer returns the recorded answer that fits a request best.
func (m *Model) answer(req *agentloop.Request) scripted.Step {
	role, question, answers := describe(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, Call{role, req})
	usable := offered(m.recording.exchanges[m.turn], req.Tools)
	best := best(usable, role, words(question), minOverlap, answers, req.NoToolCalls)
	if best == nil { // the sub-query may be in another language than the message, which was the recorded question
		best = bestOfMessage(usable, role, req, answers)
	}
	if best == nil {
		missed := fmt.Sprintf("turn %s, %s, after %d answers: %q", m.turn, role, answers, text.Cut(question, 200))
		m.missed = append(m.missed, missed)
		return scripted.Step{Err: fmt.Errorf("%w: %s", ErrNotRecorded, missed)}
	}
	return scripted.Step{Text: best.text, ToolCalls: best.toolCalls, ChunkSize: pieceSize}
}

// describe returns whom a request is for, the first message of the user, and how many answers the model has given.
func describe(req *agentloop.Request) (role Role, question string, answers int) {
	role = Merge
	if req.Output != nil {
		role = Router
	}
	for _, tool := range req.Tools {
		if r, ok := roleOfTool[tool.Name]; ok && (r != Search || role == Merge) { // recommend searches too
			role = r
		}
	}
	for _, m := range req.Messages {
		switch m.Role {
		case agentloop.RoleUser:
			question = cmp.Or(question, m.Text)
		case agentloop.RoleAssistant:
			answers++
		}
	}
	return role, question, answers
}

// offered leaves out the exchanges that call only tools which the request does not offer, because they have gone since the recording.
// Those after them, in the same conversation, count one answer less.
func offered(all []exchange, tools []agentloop.ToolSpec) []exchange {
	gone := func(e exchange) bool {
		return len(e.toolCalls) > 0 && !slices.ContainsFunc(e.toolCalls, func(c agentloop.ToolCall) bool {
			return slices.ContainsFunc(tools, func(t agentloop.ToolSpec) bool { return t.Name == c.Name })
		})
	}
	var out []exchange
	for _, e := range all {
		if gone(e) {
			continue
		}
		kept := e
		for _, before := range all {
			if before.role == e.role && before.answers < e.answers && gone(before) && maps.Equal(before.question, e.question) {
				kept.answers--
			}
		}
		out = append(out, kept)
	}
	return out
}

// bestOfMessage returns the exchange whose question was the whole message that the system prompt has, or nil.
func bestOfMessage(all []exchange, role Role, req *agentloop.Request, answers int) *exchange {
	if len(req.Messages) == 0 || role == Merge {
		return nil
	}
	_, rest, _ := strings.Cut(req.Messages[0].Text, "<message>")
	message, _, found := strings.Cut(rest, "</message>")
	if !found {
		return nil
	}
	return best(all, role, words(message), sameMessage, answers, req.NoToolCalls)
}

// best returns the exchange of a role whose question has the most words in common with a question, after so many answers or, if there
// is none, after the most answers below that, if at least that share of words is common. With textOnly, it calls no tools. Nil: there is none.
func best(all []exchange, role Role, question map[string]bool, least float64, answers int, textOnly bool) *exchange {
	var found *exchange
	var overlap float64
	for i, e := range all {
		o := jaccard(e.question, question)
		switch {
		case e.role != role || e.answers > answers && !textOnly || textOnly && len(e.toolCalls) > 0:
		case role != Merge && o < least:
		case found == nil, o > overlap, o == overlap && e.answers > found.answers:
			found, overlap = &all[i], o
		}
	}
	return found
}

// words returns the words of a text in lower case.
func words(s string) map[string]bool {
	all := make(map[string]bool)
	for _, w := range text.Words(s) {
		all[strings.ToLower(w.Text)] = true
	}
	return all
}

// jaccard is the share of words that two sets have in common.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}
