package router

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

//go:embed prompt.md
var promptText string

var builtIn = prompt.BuiltIn(promptText)

// BuiltIn returns the built-in prompt.
func BuiltIn() *specialistv1.Prompt { return builtIn }

// answerForm follows every prompt.
const answerForm = `
Answer with one JSON object: {"assignments": [{"specialist": "...", "sub_query": "...", "reason": "at most ten words", "confidence": 0.9}]}

Specialists:
`

// builtInQuotes finds quotations of the built-in prompt, which no decision may have.
var builtInQuotes = promptleak.New(promptText, answerForm)

const (
	// maxOutputTokens has room for classifier.MaxAssignments long sub-queries.
	maxOutputTokens = 2048
	// maxHistory and maxHistoryText bound the conversation that the model reads, in messages and in characters of each.
	maxHistory     = 6
	maxHistoryText = 1000
	// maxTitle bounds a product's title in the prompt, in characters.
	maxTitle = 100
	// maxReason bounds a model's reason, in characters.
	maxReason = 200
	// maxName bounds an unknown specialist's name in a note, in characters.
	maxName = 64
	// maxQuestion bounds a question that the shopper was asked, in characters.
	maxQuestion = 300
	// outputName names the answer's schema.
	outputName = "route"
)

// classification is a model's answer.
type classification struct {
	Assignments []proposedAssignment `json:"assignments"`
}

// proposedAssignment is one assignment of a model's answer.
type proposedAssignment struct {
	Specialist string `json:"specialist"`
	SubQuery   string `json:"sub_query"`
	Reason     string `json:"reason"`
	// Confidence is a number as models write them, see readConfidence.
	Confidence any `json:"confidence"`
}

// The model is asked for a stricter schema than its answer is checked with, because a second call costs more than a repair.
const (
	// askedSchema is a format string for a JSON array of the specialists' names.
	askedSchema = `{"type":"object","properties":{"assignments":{"type":"array",` +
		`"items":{"type":"object","properties":{` +
		`"specialist":{"type":"string","enum":%s},` +
		`"sub_query":{"type":"string"},` +
		`"reason":{"type":"string"},` +
		`"confidence":{"type":"number"}},` +
		`"required":["specialist","sub_query","reason","confidence"]}}},` +
		`"required":["assignments"]}`
	// acceptedSchema asks for what the repair cannot do without.
	acceptedSchema = `{"type":"object","properties":{"assignments":{"type":"array","minItems":1,"items":{"type":"object",` +
		`"properties":{"specialist":{"type":"string"},"sub_query":{"type":"string","minLength":1},"reason":{"type":"string"}},` +
		`"required":["specialist","sub_query"]}}},"required":["assignments"]}`
)

// outputSchema returns the schema that a model is asked for.
func outputSchema(specialists []*specialistv1.Specialist) *agentloop.OutputSchema {
	names := make([]string, len(specialists))
	for i, s := range specialists {
		names[i] = strconv.Quote(s.GetName()) // of letters, digits and '-'
	}
	return &agentloop.OutputSchema{Name: outputName, Schema: fmt.Appendf(nil, askedSchema, "["+strings.Join(names, ",")+"]")}
}

// structuredModel asks a model for a typed answer, without reasoning before it.
type structuredModel struct {
	agentloop.Model
	output *agentloop.OutputSchema
}

// Generate implements [agentloop.Model].
func (m structuredModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	asked := *req
	asked.NoReasoning, asked.Output = true, m.output
	return m.Model.Generate(ctx, &asked)
}

// ask lets the model classify the message. The result covers all calls, and is set with an error too.
func (r *routing) ask(ctx context.Context) (classification, *agentloop.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.modelTimeout(ctx))
	defer cancel()
	temperature := 0.0
	model, price := prompt.Model(ctx, r.prompt, r.cfg.Model, r.cfg.Price, r.cfg.NamedModel, r.cfg.Logger)
	answer, result, err := agentloop.Generate[classification](ctx, agentloop.GenerateConfig{
		Model: structuredModel{model, r.set.output},
		Name:  outputName, Schema: json.RawMessage(acceptedSchema), System: r.systemPrompt(), Temperature: &temperature,
		MaxOutputTokens: cmp.Or(int(r.prompt.GetMaxOutputTokens()), maxOutputTokens), Price: price,
	}, history(r.req.GetHistory()), r.req.GetMessage())
	if err != nil {
		return answer, result, fmt.Errorf("classify message: %w", err)
	}
	quotes := builtInQuotes
	if r.prompt.GetText() != promptText {
		quotes = promptleak.New(r.prompt.GetText(), answerForm)
	}
	for i := range answer.Assignments { // the repair drops what has nothing to answer
		a := &answer.Assignments[i]
		if quotes.Repeats(a.Reason) {
			a.Reason = ""
		}
		if quotes.Repeats(a.SubQuery) && !quotes.Repeats(r.req.GetMessage()) {
			a.SubQuery = ""
		}
	}
	return answer, result, nil
}

// modelTimeout returns how long the model may take: Config.ModelTimeout, or less so that the classifier's decision meets
// the caller's deadline.
func (r *routing) modelTimeout(ctx context.Context) time.Duration {
	timeout := r.cfg.ModelTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		timeout = min(timeout, left-min(100*time.Millisecond, left/4))
	}
	return timeout
}

// maxExamples is how many examples of each specialist the prompt shows. The classifier learns from all of them.
const maxExamples = 2

// promptLine returns what the prompt says about a specialist, without a store's keywords.
func promptLine(s *specialistv1.Specialist) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s: %s", s.GetName(), text.OneLine(s.GetPurpose()))
	examples := s.GetExamples()
	for i, e := range examples[:min(len(examples), maxExamples)] {
		if i == 0 {
			b.WriteString(" Examples: ")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(strconv.Quote(text.OneLine(e)))
	}
	return b.String()
}

// systemPrompt returns the prompt for the request. Providers cache what prompts begin with, so the fixed part is first, then what
// changes with the store, the day and the thread.
func (r *routing) systemPrompt() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(r.prompt.GetText()) + "\n" + answerForm)
	b.WriteString(r.set.lines(r.req.GetKeywords()))
	who := "The shopper is not signed in."
	if r.req.GetSignedIn() {
		who = "The shopper is signed in."
	}
	if zone, err := time.LoadLocation(r.req.GetTimeZone()); err == nil {
		if day, err := time.ParseInLocation(time.DateOnly, r.req.GetDate(), zone); err == nil {
			who = prompt.Today(day) + " " + who
		}
	}
	fmt.Fprintf(&b, "\n%s\n", who)
	if summary := r.req.GetSummary(); summary != "" {
		fmt.Fprintf(&b, "Said before: %s\n", quoted(summary, maxHistoryText))
	}
	if shown := r.req.GetShownProducts(); len(shown) > 0 {
		b.WriteString("Products last shown:\n")
		for i, p := range shown {
			fmt.Fprintf(&b, "%d. %s\n", i+1, quoted(p.GetTitle(), maxTitle))
		}
	}
	if p := r.req.GetPendingQuestion(); slices.Contains(r.classifier.Specialists(), p.GetSpecialist()) {
		fmt.Fprintf(&b, "%s has just asked the shopper: %s What answers this question goes to %[1]s.\n",
			p.GetSpecialist(), quoted(p.GetQuestion().GetText(), maxQuestion))
	}
	return b.String()
}

// quoted writes a text from outside as one line between quotation marks, cut to a length in characters.
func quoted(s string, limit int) string { return strconv.Quote(text.Cut(text.OneLine(s), limit)) }

// lines returns a line of the prompt for each specialist, which includes a store's keywords.
func (s *specialistSet) lines(keywords []*routerv1.RoutingKeyword) string {
	var b strings.Builder
	for i, specialist := range s.specialists {
		b.WriteString(s.promptLines[i])
		separator := " In this store also: "
		for _, k := range keywordsOf(specialist.GetName(), keywords) {
			if k.GetWeight() > 0 {
				b.WriteString(separator + strconv.Quote(text.OneLine(k.GetTerm())))
				separator = ", "
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// history returns the last messages of the conversation, each cut to maxHistoryText.
func history(messages []*commonv1.Message) []agentloop.Message {
	var out []agentloop.Message
	for _, m := range messages[max(0, len(messages)-maxHistory):] {
		role := agentloop.RoleUser
		if m.GetRole() == commonv1.Role_ROLE_ASSISTANT {
			role = agentloop.RoleAssistant
		}
		if said := strings.TrimSpace(m.GetText()); said != "" {
			out = append(out, agentloop.Message{Role: role, Text: text.Cut(said, maxHistoryText)})
		}
	}
	return out
}
