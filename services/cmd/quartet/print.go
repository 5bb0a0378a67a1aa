package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// nameWidth is the column of the service's name.
const nameWidth = 11

// printer draws the events of a turn: with colour on a terminal, plain when piped.
type printer struct {
	out     io.Writer
	width   int // 0: plain
	talking bool
	reply   *wrapper // of the reply's text
}

func newPrinter(out io.Writer, width int) *printer {
	return &printer{out: out, width: width, reply: &wrapper{out: out, width: width}}
}

// Styles of a terminal.
const (
	bold = "1"
	dim  = "2"
	cyan = "36"
	red  = "31"
)

func (p *printer) style(code, text string) string {
	if p.width == 0 || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) banner(text string) { fmt.Fprintf(p.out, "%s\n\n", p.style(dim, text)) }

// line prints one row: who, what, and a note after it.
func (p *printer) line(who, what, note string) {
	fmt.Fprintf(p.out, "%s%s", p.style(cyan, who), strings.Repeat(" ", max(1, nameWidth-utf8.RuneCountInString(who))))
	pad := max(2, 68-utf8.RuneCountInString(what))
	if note == "" {
		pad = 0
	}
	fmt.Fprintf(p.out, "%s%s%s\n", what, strings.Repeat(" ", pad), p.style(dim, note))
}

func (p *printer) event(ev *gatewayv1.AskStreamResponse) {
	switch ev := ev.GetEvent().(type) {
	case *gatewayv1.AskStreamResponse_Routed:
		p.routed(ev.Routed.GetDecision())
	case *gatewayv1.AskStreamResponse_ToolCallFinished:
		p.toolCall(ev.ToolCallFinished)
	case *gatewayv1.AskStreamResponse_AgentFinished:
		r := ev.AgentFinished.GetResult()
		if f := r.GetFailure(); f != nil {
			p.line(r.GetAssignment().GetSpecialist(), p.style(red, "failed: "+f.GetCode()), f.GetMessage())
		}
		if claims := r.GetAnswer().GetUnsupportedClaims(); len(claims) > 0 {
			p.line(r.GetAssignment().GetSpecialist(), p.style(red, "not supported: "+strings.Join(claims, ", ")), "of "+text.Count(int(r.GetAnswer().GetClaims()), "claim"))
		}
	case *gatewayv1.AskStreamResponse_TextDelta:
		if !p.talking {
			p.talking = true
			fmt.Fprintln(p.out)
		}
		fmt.Fprint(p.reply, ev.TextDelta.GetText())
	case *gatewayv1.AskStreamResponse_Answer:
		p.answer(ev.Answer)
	}
}

func (p *printer) routed(d *routerv1.RoutingDecision) {
	for i, a := range d.GetAssignments() {
		who, note := "", ""
		if i == 0 {
			who, note = "route", sourceWords(d)
		}
		what := fmt.Sprintf("%-*s %q", nameWidth-1, a.GetSpecialist(), a.GetSubQuery())
		if from := a.GetRemappedFrom(); from != "" {
			what += " (for " + from + ")"
		}
		p.line(who, what, note)
	}
	for _, n := range d.GetNotes() {
		p.line("", p.style(dim, n.GetText()), "")
	}
}

// sourceWords says what made the decision, and how long it took.
func sourceWords(d *routerv1.RoutingDecision) string {
	switch d.GetSource() {
	case routerv1.DecisionSource_DECISION_SOURCE_RULES:
		return "classifier, certain"
	case routerv1.DecisionSource_DECISION_SOURCE_EXAMPLES:
		return "examples, " + milliseconds(d.GetDuration().AsDuration())
	case routerv1.DecisionSource_DECISION_SOURCE_MODEL:
		return "model " + d.GetModel() + ", " + milliseconds(d.GetDuration().AsDuration())
	}
	return "classifier, as a fallback"
}

func (p *printer) toolCall(ev *gatewayv1.AgentToolCallFinished) {
	c := ev.GetToolCall()
	note := c.GetSummary()
	if c.GetError() != "" {
		note = p.style(red, "refused: "+c.GetError())
	}
	note = strings.TrimSpace(fmt.Sprintf("%-13s %6s", note, milliseconds(c.GetDuration().AsDuration())))
	p.line(ev.GetSpecialist(), c.GetToolName()+"("+arguments(c)+")", note)
}

// arguments renders JSON arguments as name=value, in the order of their names.
func arguments(c *specialistv1.ToolCall) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(c.GetArgumentsJson()), &fields) != nil {
		return c.GetArgumentsJson()
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + "=" + string(fields[name])
	}
	return strings.Join(names, ", ")
}

// answer prints what the stream of text has not said yet, and the totals.
func (p *printer) answer(a *gatewayv1.AskResponse) {
	if !p.talking {
		fmt.Fprintf(p.reply, "\n%s", a.GetText())
	}
	_ = p.reply.Close() // of a terminal
	fmt.Fprintf(p.out, "\n\n%s\n", p.style(dim, totals(a)))
}

func totals(a *gatewayv1.AskResponse) string {
	specialists := make(map[string]bool)
	for _, r := range a.GetResults() {
		specialists[r.GetAssignment().GetSpecialist()] = true
	}
	u := a.GetUsage()
	tokens := fmt.Sprintf("%d tokens in, %d out", u.GetInputTokens(), u.GetOutputTokens())
	if u.GetEstimated() {
		tokens += " (estimated)"
	}
	parts := []string{
		text.Count(len(specialists), "specialist"), text.Count(int(u.GetModelCalls()), "model call"), tokens, "cost " + usage.CostText(a.GetCost()),
		milliseconds(a.GetDuration().AsDuration()), "thread " + a.GetThreadId(),
	}
	if id := a.GetRequestId(); id != "" {
		parts = append(parts, "request "+id)
	}
	parts = append(parts, "trace "+a.GetTraceId())
	if h := a.GetHandoff(); h.GetRecommended() {
		parts = append(parts, "a human should look: "+h.GetReason())
	}
	return strings.Join(parts, " · ")
}

func milliseconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// printReportJSON prints a report as one JSON object, for other programs.
func printReportJSON(w io.Writer, report any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// detailLines words one detail of a status for a person.
func detailLines(detail any) []string {
	switch d := detail.(type) {
	case *errdetails.BadRequest:
		var lines []string
		for _, v := range d.GetFieldViolations() {
			lines = append(lines, v.GetField()+": "+v.GetDescription())
		}
		return lines
	case *errdetails.ErrorInfo:
		lines := []string{"reason " + d.GetReason()}
		for _, k := range slices.Sorted(maps.Keys(d.GetMetadata())) {
			lines = append(lines, k+"="+d.GetMetadata()[k])
		}
		return lines
	case *errdetails.RetryInfo:
		return []string{fmt.Sprintf("try again in %v", d.GetRetryDelay().AsDuration())}
	case *errdetails.ResourceInfo:
		return []string{d.GetResourceType() + " " + d.GetResourceName()}
	}
	return nil
}
