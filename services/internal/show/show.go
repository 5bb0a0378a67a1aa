// Package show draws a recorded turn for people: as text for a terminal, or as one HTML page. The package must not import a service.
package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

// step is one row of the time line.
type step struct {
	Name    string
	Depth   int           // 0: a stage of the turn; 1: a tool call of the stage before
	Start   time.Duration // after the turn began
	Took    time.Duration
	Timed   bool // whether Start and Took are known
	Failed  bool
	Note    string
	Details []detail
}

// detail is what opens under a step.
type detail struct{ Title, Text string }

// steps are the rows of a turn, in the order of the stages. Inside is nil if the turn was not recorded.
func steps(t *gatewayv1.Turn, inside *bundle.Inside) []step {
	reply := t.GetReply()
	began := reply.GetCreateTime().AsTime()
	all := []step{route(reply.GetRouting())}
	all[0].Details = append(all[0].Details, modelCalls(inside, "router", "")...)
	for _, r := range reply.GetResults() {
		a := r.GetAnswer()
		s := timed(began, r.GetStartTime(), r.GetDuration())
		s.Name = r.GetAssignment().GetSpecialist()
		s.Details = append(s.Details, detail{"sub-query", r.GetAssignment().GetSubQuery()})
		if by := r.GetPassedOnBy(); by != "" {
			s.Details = append(s.Details, detail{"passed on by", by})
		}
		if f := r.GetFailure(); f != nil {
			s.Failed, s.Note = true, f.GetCode()+" "+f.GetMessage()
		} else {
			s.Note = fmt.Sprintf("%s · %s · confidence %.2f", cmp.Or(a.GetModel(), "model unknown"), tokens(a.GetUsage()), a.GetConfidence())
			s.Details = append(s.Details, detail{"answer", a.GetText()}, detail{"prompt", a.GetPromptVersion()},
				detail{"ended", strings.ToLower(strings.TrimPrefix(a.GetFinishReason().String(), "FINISH_REASON_"))})
		}
		s.Details = append(s.Details, modelCalls(inside, s.Name, r.GetAssignment().GetSubQuery())...)
		all = append(all, s)
		for _, c := range a.GetToolCalls() {
			all = append(all, toolCall(began, c, inside, s.Name))
		}
	}
	if m := reply.GetMerge(); m != nil {
		s := timed(began, m.GetStartTime(), m.GetDuration())
		s.Name, s.Note = "merge", strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(reply.GetMergeMethod().String(), "MERGE_METHOD_"), "_", " "))
		if m.GetUsage() != nil {
			s.Note += " · " + cmp.Or(m.GetModel(), "model unknown") + " · " + tokens(m.GetUsage())
		}
		s.Details = append([]detail{{"prompt", m.GetPromptVersion()}}, modelCalls(inside, "merge", "")...)
		all = append(all, s)
	}
	return all
}

// modelCalls are what the models of an agent read and answered. Those of a specialist are about one of its sub-queries.
func modelCalls(inside *bundle.Inside, agent, subQuery string) (all []detail) {
	if inside == nil {
		return nil
	}
	n := 0
	for _, c := range inside.Calls {
		if c.Agent == agent && strings.Contains(c.Prompt, subQuery) {
			n++
			all = append(all, detail{fmt.Sprintf("model call %d reads", n), c.Prompt}, detail{fmt.Sprintf("model call %d answers", n), c.Answer})
		}
	}
	return all
}

func route(d *routerv1.RoutingDecision) step {
	s := step{Name: "route", Timed: true, Took: d.GetDuration().AsDuration()}
	s.Note = strings.ToLower(strings.TrimPrefix(d.GetSource().String(), "DECISION_SOURCE_"))
	if d.GetUsage() != nil {
		s.Note += " · " + cmp.Or(d.GetModel(), "model unknown") + " · " + tokens(d.GetUsage())
	}
	s.Note += fmt.Sprintf(" · certainty %.2f", d.GetCertainty())
	for _, a := range d.GetAssignments() {
		s.Details = append(s.Details, detail{a.GetSpecialist(), fmt.Sprintf("%s (confidence %.2f)", a.GetSubQuery(), a.GetConfidence())})
	}
	for _, n := range d.GetNotes() {
		s.Details = append(s.Details, detail{"note", n.GetText()})
	}
	s.Details = append(s.Details, detail{"prompt", d.GetPromptVersion()})
	return s
}

func toolCall(began time.Time, c *specialistv1.ToolCall, inside *bundle.Inside, specialist string) step {
	s := timed(began, c.GetStartTime(), c.GetDuration())
	s.Name, s.Depth, s.Note = c.GetToolName(), 1, c.GetSummary()
	result := detail{"result, its start", c.GetResultPreview()}
	if inside != nil {
		for _, r := range inside.Tools {
			if r.Specialist == specialist && r.Name == c.GetToolName() && r.Arguments == c.GetArgumentsJson() && r.Result != "" {
				result = detail{"result", indented(r.Result)}
			}
		}
	}
	s.Details = []detail{{"arguments", indented(c.GetArgumentsJson())}, result}
	if c.GetError() != "" {
		s.Failed, s.Note = true, c.GetError()
	}
	return s
}

// timed returns a step with its times, if they are known. Clocks of services differ, so no step begins before the turn.
func timed(began time.Time, start *timestamppb.Timestamp, took *durationpb.Duration) step {
	if start == nil {
		return step{}
	}
	return step{Timed: true, Start: max(0, start.AsTime().Sub(began)), Took: took.AsDuration()}
}

func tokens(u *commonv1.Usage) string {
	s := fmt.Sprintf("%s, %d tokens in, %d out", text.Count(int(u.GetModelCalls()), "call"), u.GetInputTokens(), u.GetOutputTokens())
	if u.GetCachedInputTokens() > 0 {
		s += fmt.Sprintf(" (%d cached)", u.GetCachedInputTokens())
	}
	if u.GetEstimated() {
		s += " (estimated)"
	}
	return s
}

// facts are what is said of the turn as a whole.
func facts(t *gatewayv1.Turn) []string {
	r := t.GetReply()
	all := []string{
		r.GetTurnId(), r.GetCreateTime().AsTime().Format(time.DateTime) + " UTC", duration(r.GetDuration().AsDuration()),
		tokens(r.GetUsage()), "cost " + usage.CostText(r.GetCost()), fmt.Sprintf("confidence %.2f", r.GetConfidence()),
		"thread " + r.GetThreadId(), "trace " + cmp.Or(r.GetTraceId(), "none"),
	}
	if h := r.GetHandoff(); h.GetRecommended() {
		all = append(all, "a human should look: "+h.GetReason())
	}
	if f := t.GetFeedback(); f != nil {
		rating := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(f.GetRating().String(), "RATING_"), "_", " "))
		all = append(all, strings.TrimSuffix("feedback: "+rating+", "+f.GetReason(), ", "))
	}
	return all
}

// claim is one claim of the reply's text.
type claim struct {
	Verdict, Text, Subject string
	Bad                    bool
	Sources                []string
}

// claims are those of the reply, and those that its answers and its merge lost.
func claims(r *gatewayv1.AskResponse) []claim {
	var all []claim
	for _, c := range r.GetClaims() {
		all = append(all, claimOf(c))
	}
	var dropped []*specialistv1.Claim
	for _, result := range r.GetResults() {
		dropped = append(dropped, result.GetAnswer().GetDroppedClaims()...)
	}
	for _, c := range append(dropped, r.GetMerge().GetDroppedClaims()...) {
		row := claimOf(c)
		row.Verdict = "dropped, " + row.Verdict
		all = append(all, row)
	}
	return all
}

func claimOf(c *specialistv1.Claim) claim {
	row := claim{
		Verdict: strings.ToLower(strings.TrimPrefix(c.GetVerdict().String(), "CLAIM_VERDICT_")), Text: c.GetText(), Subject: c.GetSubject(),
		Bad: c.GetVerdict() == specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED || c.GetVerdict() == specialistv1.ClaimVerdict_CLAIM_VERDICT_CONTRADICTED,
	}
	for _, s := range c.GetSources() {
		origin := s.GetToolCallId()
		if origin == "" && s.GetRule() == "" {
			origin = "the conversation"
		}
		source := strings.Join(strings.Fields(origin+" "+s.GetPointer()+" "+s.GetRule()), " ")
		if s.GetValue() != "" {
			source += " = " + s.GetValue()
		}
		row.Sources = append(row.Sources, source)
	}
	return row
}

// indented is JSON in several lines, or the text as it is if it is none.
func indented(raw string) string {
	var value any
	if json.Unmarshal([]byte(raw), &value) != nil {
		return raw
	}
	out, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return raw
	}
	return string(out)
}

func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
