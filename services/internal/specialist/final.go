package specialist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// The tools that all specialists have. A successful call of one ends the run.
const (
	askShopper = "ask_shopper"
	notMine    = "not_mine"
)

// Bounds of a clarifying question, in characters.
const (
	maxQuestion     = 300
	maxQuickReply   = 60
	maxQuickReplies = 4
)

type askArgs struct {
	Question     string   `json:"question"`
	QuickReplies []string `json:"quick_replies,omitempty"`
}

type notMineArgs struct {
	Specialist string `json:"specialist,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// finalTools are the tools with which a specialist ends its work without an answer: it asks the shopper, or passes the assignment on
// to a colleague if there is one. The prompt is what no question may quote.
func finalTools(t *Turn, prompt *promptleak.Prompt) []agentloop.Tool {
	ask := agentloop.NewTool(askShopper, `Asks one short question if something is missing, not "I do not know".`,
		func(_ context.Context, in askArgs) (string, error) { return "asked", t.ask(in, prompt) })
	ask.Final, ask.Effects = true, true // calls of one step run in their order, so the first one counts
	if len(t.colleagues) == 0 {
		return []agentloop.Tool{ask}
	}
	pass := agentloop.NewTool(notMine, "For another specialist.",
		func(_ context.Context, in notMineArgs) (string, error) {
			t.passOn(&specialistv1.NotMine{Specialist: in.Specialist, Reason: text.Cut(text.OneLine(valid(in.Reason)), maxReason)})
			return "passed on", nil
		})
	pass.Final, pass.Effects = true, true
	names, _ := json.Marshal(t.colleagues) // strings always are JSON
	pass.Parameters = fmt.Appendf(nil, `{"type":"object","properties":{"specialist":{"type":"string","enum":%s},`+
		`"reason":{"type":"string"}}}`, names)
	return []agentloop.Tool{ask, pass}
}

// ask sets the clarifying question of the answer. The first one of a run counts. Unusable quick replies are left out.
func (f *Findings) ask(in askArgs, prompt *promptleak.Prompt) error {
	question := text.OneLine(valid(in.Question))
	switch {
	case question == "":
		return errors.New("question: is empty")
	case utf8.RuneCountInString(question) > maxQuestion:
		return fmt.Errorf("question: is longer than %d characters", maxQuestion)
	case prompt.Repeats(question):
		return errors.New("question: repeats your instructions")
	}
	q := &specialistv1.ClarifyingQuestion{Text: question}
	seen := map[string]bool{"": true}
	for _, reply := range in.QuickReplies {
		reply = text.OneLine(valid(reply))
		folded := text.Fold(reply)
		if seen[folded] || utf8.RuneCountInString(reply) > maxQuickReply || prompt.Repeats(reply) {
			continue
		}
		seen[folded] = true
		if q.QuickReplies = append(q.QuickReplies, reply); len(q.QuickReplies) == maxQuickReplies {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.question == nil {
		f.question = q
	}
	return nil
}

// passOn says that the assignment is for a colleague. The first call of a run counts.
func (f *Findings) passOn(n *specialistv1.NotMine) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notMine == nil {
		f.notMine = n
	}
}

// ending returns what ended the run, if a final tool did: at most one of the two is set.
func (f *Findings) ending() (*specialistv1.ClarifyingQuestion, *specialistv1.NotMine) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notMine != nil {
		return nil, f.notMine
	}
	return f.question, nil
}

// plainQuestion returns the question at the end of an answer that has nothing else: no tool was called, and nothing is claimed. A
// model that asks in its text means the same as one that calls ask_shopper. Nil: there is none.
func plainQuestion(a *specialistv1.Answer) *specialistv1.ClarifyingQuestion {
	if len(a.GetToolCalls()) > 0 || a.GetClaims() > 0 || a.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_STOP {
		return nil
	}
	var split text.Sentences
	sentences := split.Add(strings.TrimSpace(a.GetText()))
	last := text.OneLine(split.Rest())
	if last == "" && len(sentences) > 0 {
		last = text.OneLine(sentences[len(sentences)-1])
	}
	if !strings.ContainsAny(last, questionMarks) || utf8.RuneCountInString(last) > maxQuestion {
		return nil
	}
	return &specialistv1.ClarifyingQuestion{Text: last}
}

// questionMarks are those of the languages of Latin, Chinese and Arabic script.
const questionMarks = "?？؟"

// withQuestion returns the text of an answer that asks a question. Of a text that asks something itself and was not sent yet, only
// the question is left, so that the shopper is asked once.
func withQuestion(before, question string) string {
	before = strings.TrimSpace(before)
	switch {
	case strings.Contains(text.OneLine(before), question):
		return before
	case before == "" || strings.ContainsAny(before, questionMarks):
		return question
	case strings.Contains(before, "\n"):
		return before + "\n\n" + question
	}
	return before + " " + question
}

// sortedColleagues returns the names of other specialists, each once, in an order that makes the tools of all turns the same.
func sortedColleagues(names []string, own string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == own })
	slices.Sort(names)
	return slices.Compact(names)
}
