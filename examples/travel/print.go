package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// printer prints a conversation as it happens.
type printer struct{ out io.Writer }

func (p printer) question(n int, s scenario) {
	limit := ""
	if s.maxSteps > 0 {
		limit = fmt.Sprintf(" (MaxSteps: %d)", s.maxSteps)
	}
	fmt.Fprintf(p.out, "\n%d. %s%s\n   > %s\n", n, s.title, limit, s.message)
}

// event prints tool calls. The calls of one step run concurrently, so results may come in another order.
func (p printer) event(event agentloop.Event) {
	switch event := event.(type) {
	case agentloop.ToolStarted:
		fmt.Fprintf(p.out, "     calls %s %s\n", event.Call.Name, event.Call.Arguments)
	case agentloop.ToolFinished:
		r := event.Record
		verb, what := "gave ", r.Preview
		if r.Error != "" {
			verb, what = "fails", strings.TrimPrefix(r.Error, r.Name+": ")
		}
		fmt.Fprintf(p.out, "     %s %s %s (%s)\n", verb, r.Name, shorten(what), rounded(r.Duration))
	}
}

func (p printer) answer(r *agentloop.Result) {
	text := strings.ReplaceAll(r.Text, "\n\n", "\n")
	fmt.Fprintf(p.out, "   < %s\n", strings.ReplaceAll(text, "\n", "\n     "))
	fmt.Fprintf(p.out, "     [steps: %d, finish reason: %s, tokens: %d in, %d out, time: %s]\n",
		len(r.Steps), r.FinishReason, r.Usage.InputTokens, r.Usage.OutputTokens, rounded(r.Duration))
}

// shorten cuts a text to fit on a line.
func shorten(s string) string {
	const most = 90
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func rounded(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
