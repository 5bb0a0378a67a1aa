package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// How often the work under way is shown: on a terminal in a line that is drawn again, elsewhere in lines of their own.
const (
	redrawEvery = 250 * time.Millisecond
	tellEvery   = 5 * time.Second
)

// live shows what a turn waits for.
type live struct {
	p       *printer
	working map[string]work // by assignment
	begun   time.Time
	routed  bool
	drawn   bool // there is a line to erase
}

// work is what one specialist does.
type work struct {
	who, what string
	since     time.Time
}

func newLive(p *printer) *live {
	return &live{p: p, working: make(map[string]work), begun: time.Now()}
}

// every is how often show wants to be called.
func (l *live) every() time.Duration {
	if l.p.width > 0 {
		return redrawEvery
	}
	return tellEvery
}

// event notes what an event says of the work under way, and makes room for what it prints.
func (l *live) event(ev *gatewayv1.AskStreamResponse) {
	if l.drawn {
		fmt.Fprint(l.p.out, "\r\x1b[K")
		l.drawn = false
	}
	switch ev := ev.GetEvent().(type) {
	case *gatewayv1.AskStreamResponse_Routed:
		l.routed = true
	case *gatewayv1.AskStreamResponse_AgentStarted:
		a := ev.AgentStarted.GetAssignment()
		l.working[a.GetAssignmentId()] = work{a.GetSpecialist(), "model", time.Now()}
	case *gatewayv1.AskStreamResponse_ToolCallStarted:
		l.working[ev.ToolCallStarted.GetAssignmentId()] = work{ev.ToolCallStarted.GetSpecialist(), ev.ToolCallStarted.GetToolCall().GetToolName(), time.Now()}
	case *gatewayv1.AskStreamResponse_ToolCallFinished:
		l.working[ev.ToolCallFinished.GetAssignmentId()] = work{ev.ToolCallFinished.GetSpecialist(), "model", time.Now()}
	case *gatewayv1.AskStreamResponse_AgentFinished:
		delete(l.working, ev.AgentFinished.GetResult().GetAssignment().GetAssignmentId())
	}
}

// show draws the work under way, unless the reply is being written.
func (l *live) show() {
	if l.p.talking {
		return
	}
	line := l.text()
	if l.p.width == 0 {
		fmt.Fprintln(l.p.out, "waiting for "+line)
		return
	}
	if runes := []rune(line); len(runes) >= l.p.width {
		line = string(runes[:l.p.width-1])
	}
	fmt.Fprint(l.p.out, "\r\x1b[K"+l.p.style(dim, line))
	l.drawn = true
}

func (l *live) text() string {
	if len(l.working) == 0 {
		stage := "the route"
		if l.routed {
			stage = "the reply"
		}
		return stage + " " + seconds(l.begun)
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(l.working)) {
		w := l.working[id]
		parts = append(parts, fmt.Sprintf("%s: %s %s", w.who, w.what, seconds(w.since)))
	}
	return strings.Join(parts, " · ")
}

func seconds(since time.Time) string { return fmt.Sprintf("%.0f s", time.Since(since).Seconds()) }
