package router

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

//go:embed prompt.md
var prompt string

// promptVersion tells the texts of the built-in prompt apart.
var promptVersion = versionOf(prompt)

func versionOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "builtin-" + hex.EncodeToString(sum[:4])
}

const (
	// maxOutputTokens is room for maxAssignments long sub-queries.
	maxOutputTokens = 2048
	// maxHistory and maxHistoryText bound what the model reads of the conversation before, in messages and characters each.
	maxHistory     = 6
	maxHistoryText = 1000
	// maxReason bounds a model's reason in characters.
	maxReason = 200
)

// errNoAssignments says that the model's answer fits the schema and holds nothing.
var errNoAssignments = errors.New("router: the model made no assignments")

// classification is a model's answer. Names are not narrowed by the schema: an unknown one costs no second call, it
// goes to the catch-all.
type classification struct {
	Assignments []classified `json:"assignments" jsonschema:"one for each request in the message, in its order"`
}

type classified struct {
	Specialist string   `json:"specialist" jsonschema:"a name from the list of specialists"`
	SubQuery   string   `json:"sub_query" jsonschema:"the request in the shopper's words"`
	Reason     string   `json:"reason,omitempty" jsonschema:"why, in at most ten words"`
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"how sure, from 0 to 1"`
}

// ask lets the model classify the message.
func (t *turn) ask(ctx context.Context) (classification, *agentloop.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience(ctx))
	defer cancel()
	temperature := 0.0
	answer, result, err := agentloop.Generate[classification](ctx, agentloop.GenerateConfig{
		Model: t.cfg.Model, Name: "route", System: systemPrompt(t.req), Temperature: &temperature,
		MaxOutputTokens: maxOutputTokens, Price: t.cfg.Price,
	}, history(t.req.GetHistory()), t.req.GetMessage())
	if err != nil {
		return answer, result, fmt.Errorf("classify message: %w", err)
	}
	if len(answer.Assignments) == 0 {
		return answer, result, errNoAssignments
	}
	return answer, result, nil
}

// patience is how long the model may take: ModelTimeout, or less so that the rules' answer meets the caller's deadline.
func (t *turn) patience(ctx context.Context) time.Duration {
	patience := t.cfg.ModelTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		patience = min(patience, left-min(100*time.Millisecond, left/4))
	}
	return patience
}

// systemPrompt is the prompt with one line for each specialist.
func systemPrompt(req *routerv1.RouteRequest) string {
	var b strings.Builder
	b.WriteString(prompt)
	for _, s := range req.GetSpecialists() {
		fmt.Fprintf(&b, "- %s: %s", s.GetName(), oneLine(s.GetPurpose()))
		for i, e := range s.GetExamples() {
			if i == 0 {
				b.WriteString(" Examples: ")
			} else {
				b.WriteString("; ")
			}
			b.WriteString(strconv.Quote(oneLine(e)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// history returns the last messages of the conversation, each cut to its start.
func history(messages []*commonv1.Message) []agentloop.Message {
	var out []agentloop.Message
	for _, m := range messages[max(0, len(messages)-maxHistory):] {
		role := agentloop.RoleUser
		if m.GetRole() == commonv1.Role_ROLE_ASSISTANT {
			role = agentloop.RoleAssistant
		}
		if text := strings.TrimSpace(m.GetText()); text != "" {
			out = append(out, agentloop.Message{Role: role, Text: cut(text, maxHistoryText)})
		}
	}
	return out
}

// cut returns at most n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// byModel turns the model's answer into the decision: every name is made a real one, every sub-query one that rests on
// the message, and what the rules are sure of and the model forgot is added.
func (t *turn) byModel(answer classification) (*routerv1.RoutingDecision, error) {
	d := &routerv1.RoutingDecision{
		Stage: routerv1.DecisionStage_DECISION_STAGE_FINAL, Source: routerv1.DecisionSource_DECISION_SOURCE_MODEL, Certainty: 1,
	}
	var drafts []draft
	for _, a := range answer.Assignments {
		dr := t.adopt(d, a)
		if !slices.ContainsFunc(drafts, func(o draft) bool { return o.specialist == dr.specialist && o.text == dr.text }) {
			drafts = append(drafts, dr)
		}
	}
	drafts = t.restore(d, drafts)
	if len(drafts) > maxAssignments {
		drafts = gather(drafts)
		d.Notes = append(d.Notes, "many requests; those for one specialist were put together")
	}
	for i := range drafts {
		d.Certainty = min(d.Certainty, drafts[i].confidence)
		if utf8.RuneCountInString(drafts[i].text) > maxMessage {
			drafts[i].text = t.req.GetMessage()
		}
	}
	return d, t.dispatch(d, drafts)
}
