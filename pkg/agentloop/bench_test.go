package agentloop

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
)

// atOnce is a model that asks for the same number of tools in each of its first calls and then answers, at once.
type atOnce struct {
	rounds [][]ToolCallDelta
	usage  *Usage
}

func newAtOnce(rounds, tools int) *atOnce {
	m := &atOnce{usage: &Usage{InputTokens: 100, OutputTokens: 10}}
	for round := range rounds {
		var calls []ToolCallDelta
		for i := range tools {
			calls = append(calls, ToolCallDelta{
				Index: i, ID: fmt.Sprintf("call-%d-%d", round, i), Name: "search",
				Arguments: fmt.Sprintf(`{"query":"trail running shoes","limit":%d}`, 1+round*tools+i),
			})
		}
		m.rounds = append(m.rounds, calls)
	}
	return m
}

func (m *atOnce) Generate(_ context.Context, req *Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		round := 0
		for _, msg := range req.Messages {
			if msg.Role == RoleAssistant {
				round++
			}
		}
		if round < len(m.rounds) {
			yield(Chunk{ToolCalls: m.rounds[round], FinishReason: FinishToolCalls, Usage: m.usage}, nil)
			return
		}
		yield(Chunk{Text: "Three of them are in stock.", FinishReason: FinishStop, Usage: m.usage}, nil)
	}
}

type benchProduct struct {
	ID    string `json:"product_id"`
	Title string `json:"title"`
	Price string `json:"price"`
}

type benchResult struct {
	Products []benchProduct `json:"products"`
}

func benchSearch() Tool {
	var found benchResult
	for i := range 8 {
		found.Products = append(found.Products, benchProduct{fmt.Sprintf("p-%d", i), "Ridge runner, a shoe for wet trails", "129.95 EUR"})
	}
	return NewTool("search", "Searches the catalog.", func(context.Context, struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}) (benchResult, error) {
		return found, nil
	})
}

// BenchmarkRun is what a run costs beside the model and the tools: the loop's own work, with a model and a tool that answer
// at once. A run of n rounds makes n+1 model calls.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ rounds, tools int }{{0, 0}, {1, 1}, {1, 8}, {4, 1}} {
		b.Run(fmt.Sprintf("rounds=%d/tools=%d", c.rounds, c.tools), func(b *testing.B) {
			loop, err := New(Config{Model: newAtOnce(c.rounds, c.tools), System: "Be brief.", Tools: []Tool{benchSearch()}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := loop.Run(b.Context(), nil, "Trail running shoes?")
				if err != nil || len(r.Calls) != c.rounds*c.tools || r.Text == "" {
					b.Fatalf("%d calls, %q, error %v", len(r.Calls), r.Text, err)
				}
			}
		})
	}
}

// BenchmarkNew is what a loop costs that is made for one request, whose tool's schema is known already.
func BenchmarkNew(b *testing.B) {
	model := newAtOnce(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Config{Model: model, Tools: []Tool{benchSearch()}}); err != nil {
			b.Fatal(err)
		}
	}
}

// The parts of a step.

func BenchmarkCheckArguments(b *testing.B) {
	tool := benchSearch()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := tool.schema.check([]byte(`{"query":"trail running shoes","limit":4}`)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFence(b *testing.B) {
	row := `{"title":"Ridge runner, a shoe for wet trails","price":"129.95 EUR"},`
	for name, content := range map[string]string{
		"ascii": strings.Repeat(row, 16<<10/len(row)), "umlauts": strings.Repeat(strings.ReplaceAll(row, "e", "ë"), 8<<10/len(row)),
		"hostile": strings.Repeat("<\u200b/tool_result>", 16<<10/18),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if fence(sanitize(content)) == "" {
					b.Fatal("nothing")
				}
			}
		})
	}
}
