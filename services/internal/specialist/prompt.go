package specialist

import (
	"cmp"
	_ "embed" // the rules
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/voice"
)

// rules are the rules for all specialists. They follow the specialist's own prompt.
//
//go:embed rules.md
var rules string

// The lines before the parts of a system prompt that come from outside.
const (
	messageLead = "The whole message; you answer one part of it:"
	aroundLead  = "Around your part " + yourPart + ":"
	yourPart    = "[...]"
	lackLead    = "This came to you because the store lacks something. Say so in a few words:"
	summaryLead = "What was said in the conversation before. Facts may be out of date, so look them up again:"
	pendingLead = "You had asked the shopper a question, which they may be answering now. What they wanted, and your question:"
	shownLead   = "Products that were last shown, so that \"the second one\" is number 2. Look a product up by its product_id before you " +
		"say more of it:"
)

// fixedPrompt is the beginning of system prompts with a text: the same bytes in every turn of every shopper.
func fixedPrompt(text string) string {
	return strings.TrimSpace(text) + "\n\n" + strings.TrimSpace(rules) + "\n"
}

// quotesOf returns what finds quotations of a prompt, which no answer may have.
func quotesOf(text string) *promptleak.Prompt {
	return promptleak.New(fixedPrompt(text), languageLine(""), messageLead, aroundLead, lackLead, summaryLead, shownLead, pendingLead)
}

// system returns the system prompt of a turn. Providers cache what the prompts of consecutive calls begin with, so the fixed prompt
// is first, then what changes with the store, the day, the thread and the message, in this order. Text from outside stands between
// tags.
func (s *Server) system(turn *Turn, req *specialistv1.AnswerRequest) string {
	var b strings.Builder
	b.WriteString(fixedPrompt(turn.prompt.GetText()))
	fmt.Fprintf(&b, "\nStore: %s\n", cmp.Or(req.GetStoreName(), turn.Scope.StoreID))
	b.WriteString(voice.Lines(req.GetVoice(), turn.Language) + voice.GreetingLine(req.GetVoice(), turn.Language))
	for _, tool := range slices.Sorted(maps.Keys(turn.disabled)) {
		fmt.Fprintf(&b, "There is no %s in this store. %s\n", tool, turn.disabled[tool])
	}
	b.WriteString(dayAndLanguage(turn))
	if text := req.GetSummary(); text != "" {
		prompt.Quote(&b, summaryLead, "summary", text)
	}
	if shown := req.GetShownProducts(); len(shown) > 0 {
		prompt.Quote(&b, shownLead, "shown_products", numbered(shown))
	}
	if p := req.GetPendingQuestion(); p.GetQuestion().GetText() != "" {
		prompt.Quote(&b, pendingLead, "asked", strings.TrimSpace(p.GetSubQuery()+"\n"+p.GetQuestion().GetText()))
	}
	if m := req.GetMessage(); m != "" && m != req.GetSubQuery() {
		said, _, _ := strings.Cut(req.GetSubQuery(), prompt.AboutMark)
		// The mark stands for whole words only: after the slashes of a link it would be one.
		if before, after, found := strings.Cut(m, said); said != "" && found && (before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\n")) {
			prompt.Quote(&b, aroundLead, "message", before+yourPart+after)
		} else {
			prompt.Quote(&b, messageLead, "message", m)
		}
	}
	if r := req.GetUnavailableReason(); r != "" {
		prompt.Quote(&b, lackLead, "unavailable", r)
	}
	return b.String()
}

// dayAndLanguage are the lines of a prompt that change with the day and the message.
func dayAndLanguage(turn *Turn) string {
	return prompt.Today(turn.Now) + "\n" + languageLine(turn.Language) + "\n"
}

// languageLine names the language of the answer, a BCP 47 tag or "".
func languageLine(tag string) string {
	if tag == "" {
		return "Answer in the language of the shopper's message."
	}
	base, _ := language.Make(tag).Base()
	return fmt.Sprintf("Answer in %s (%s).", display.English.Languages().Name(base), tag)
}

// languageOf returns the language of the answer: the locale of the scope, or else that of the message. Empty: unknown.
func languageOf(locale string, req *specialistv1.AnswerRequest) string {
	return cmp.Or(locale, text.Language(cmp.Or(req.GetMessage(), req.GetSubQuery())))
}

// shownProduct is a product that was shown earlier in the conversation.
type shownProduct struct {
	ProductID string `json:"product_id"`
	Title     string `json:"title"`
	Price     string `json:"price,omitempty"`
}

// numbered lists products by number. Each is JSON, so that a title stays on its line and within its quotes.
func numbered(products []*specialistv1.ProductChoice) string {
	lines := make([]string, len(products))
	for i, p := range products {
		line, _ := json.Marshal(shownProduct{p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice())}) // strings always are JSON
		lines[i] = fmt.Sprintf("%d. %s", i+1, line)
	}
	return strings.Join(lines, "\n")
}

// history converts the conversation for the loop.
func history(req *specialistv1.AnswerRequest) []agentloop.Message {
	history := make([]agentloop.Message, 0, len(req.GetHistory()))
	for _, m := range req.GetHistory() {
		role := agentloop.RoleUser
		if m.GetRole() == commonv1.Role_ROLE_ASSISTANT {
			role = agentloop.RoleAssistant
		}
		history = append(history, agentloop.Message{Role: role, Text: m.GetText()})
	}
	return history
}
