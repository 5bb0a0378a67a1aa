package hostile

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// exchange is the part of a request that modes read.
type exchange struct {
	Model      string          `json:"model"`
	Stream     bool            `json:"stream"`
	Messages   []message       `json:"messages"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	modes        []Mode
	conversation [sha256.Size]byte
}

type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []piece         `json:"tool_calls"`
}

// firstCalls returns the calls of the first round of tools; nil before there was one.
func (x *exchange) firstCalls() []piece {
	for _, m := range x.Messages {
		if len(m.ToolCalls) > 0 {
			return m.ToolCalls
		}
	}
	return nil
}

// conversation returns what is the same for all requests of a conversation and different for most others: its model and its
// messages up to the user's first one.
func conversation(x *exchange) [sha256.Size]byte {
	end := 0
	for end < len(x.Messages) && x.Messages[end].Role != "user" {
		end++
	}
	opening, err := json.Marshal(x.Messages[:min(end+1, len(x.Messages))])
	if err != nil {
		opening = nil // cannot be: they were just parsed
	}
	return sha256.Sum256(append([]byte(x.Model+"\x00"), opening...))
}

// maxTurns bounds the conversations that are remembered.
const maxTurns = 4096

// turn is a mode in a conversation.
type turn struct {
	conversation [sha256.Size]byte
	mode         string
}

// turns knows whose turn it is, the mode's or the well-behaved answer's. Conversations that begin alike and run at the same
// time take turns together. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	acted map[turn]bool // the turns that were the mode's last time
}

// next takes the next turn and reports whether it is the mode's, as the first, the third and so on are.
func (t *turns) next(conversation [sha256.Size]byte, mode string) bool {
	key := turn{conversation, mode}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.acted[key] {
		delete(t.acted, key)
		return false
	}
	if t.acted == nil {
		t.acted = make(map[turn]bool)
	}
	if len(t.acted) >= maxTurns {
		clear(t.acted)
	}
	t.acted[key] = true
	return true
}
