package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// Bounds of what models read, in tokens of the encoding o200k.
const (
	maxFixedTokens   = 350 // of a specialist's prompt
	maxResultTokens  = 350 // of a tool result, unless the model asked for more
	maxProductTokens = 700 // of one that lists products: of five, unless the model asked for more

	maxTurnTokens = 5000 // of all calls of a turn of two parts, on average
)

// tokenCounter counts tokens.
type tokenCounter struct {
	t     *testing.T
	codec tokenizer.Codec
}

func newTokenCounter(t *testing.T) tokenCounter {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return tokenCounter{t, codec}
}

func (c tokenCounter) text(s string) int {
	n, err := c.codec.Count(s)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// unescaped takes off what Go escapes in JSON: a schema reaches a provider as JSON, which is decoded there.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// request counts what a model reads in one call: messages, tools and the schema of the output.
func (c tokenCounter) request(req *agentloop.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += c.text(m.Text)
		for _, call := range m.ToolCalls {
			n += c.text(call.Name) + c.text(call.Arguments)
		}
	}
	for _, tool := range req.Tools {
		n += c.text(tool.Name) + c.text(tool.Description) + c.text(unescaped.Replace(string(tool.Parameters)))
	}
	if req.Output != nil {
		n += c.text(string(req.Output.Schema))
	}
	return n
}

// TestTokens bounds prompts and tool results in the turns of the recorded messages, and logs what all calls of a turn come to.
func TestTokens(t *testing.T) {
	if racedetector.On {
		t.Skip("one turn after another, as in TestRecordedMessages, and minutes under the race detector")
	}
	c := newTokenCounter(t)
	for _, class := range []string{"strong", "weak"} {
		t.Run(class, func(t *testing.T) {
			turns, sum := 0, 0
			for _, o := range replayed(t, class, gateway.RunAheadOff) {
				byRole, all := make(map[string]int), 0
				for _, call := range o.Calls {
					n := c.request(call.Request)
					byRole[call.Service], all = byRole[call.Service]+n, all+n
					c.checkPrompt(t, call)
					c.checkResults(t, o.ID, call.Request.Messages)
				}
				parts := len(o.Now.GetResults())
				t.Logf("%s: %d parts, %d calls, %d tokens: %v", o.ID, parts, len(o.Calls), all, byRole)
				if parts == 2 {
					turns, sum = turns+1, sum+all
				}
			}
			mean := sum / max(1, turns)
			t.Logf("%d turns of two parts: %d tokens on average", turns, mean)
			if turns == 0 || mean > maxTurnTokens {
				t.Errorf("%d turns of two parts have %d tokens on average, want at most %d", turns, mean, maxTurnTokens)
			}
		})
	}
}

// checkPrompt checks the fixed part of a specialist's prompt, which ends before the store's name.
func (c tokenCounter) checkPrompt(t *testing.T, call bundle.ModelCall) {
	fixed, _, ok := strings.Cut(call.Request.Messages[0].Text, "\nStore: ")
	if n := c.text(fixed); ok && n > maxFixedTokens {
		t.Errorf("the fixed prompt of %s has %d tokens, want at most %d", call.Service, n, maxFixedTokens)
	}
}

// checkResults checks the results of the calls that did not ask for more.
func (c tokenCounter) checkResults(t *testing.T, turn string, messages []agentloop.Message) {
	calls := make(map[string]agentloop.ToolCall)
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			calls[call.ID] = call
		}
		call := calls[m.ToolCallID]
		var asked struct {
			Limit int
			All   bool
		}
		_ = json.Unmarshal([]byte(call.Arguments), &asked) // of models: need not be JSON
		limit := maxResultTokens
		if strings.HasPrefix(m.Text, "<tool_result>\n{\"products\":") {
			limit = maxProductTokens
		}
		if n := c.text(m.Text); m.Role == agentloop.RoleTool && !asked.All && asked.Limit <= 5 && n > limit {
			t.Errorf("message %s: %s %s returned %d tokens, want at most %d:\n%s", turn, call.Name, call.Arguments, n, limit, m.Text)
		}
	}
}
