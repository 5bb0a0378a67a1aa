// Package prompt is what the router, the specialists and the merge do alike with the prompts that the gateway sends them. It imports no
// service.
package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	// MaxText is the longest text, in characters.
	MaxText = 8000
	// maxFilled is the longest text with a store's values in it.
	maxFilled = 2 * MaxText
	maxModel  = 200
	// MaxOutputTokens is the highest bound of an answer.
	MaxOutputTokens = 32_000
)

// BuiltIn returns a built-in prompt, whose version identifies its text.
func BuiltIn(text string) *specialistv1.Prompt {
	sum := sha256.Sum256([]byte(text))
	return &specialistv1.Prompt{Version: "builtin-" + hex.EncodeToString(sum[:4]), Text: text}
}

// AboutMark stands between a sub-query and the context that the router adds, which ends with a bracket.
const AboutMark = " (about: "

// Today is the line of a prompt that names the date and its time zone: "Today is Sunday, 22 November 2026 (Europe/Berlin)."
func Today(now time.Time) string {
	return fmt.Sprintf("Today is %s (%s).", now.Format("Monday, 2 January 2006"), now.Location())
}

// tagRE matches the start of a tag, also in look-alike characters.
var tagRE = regexp.MustCompile(`[<‹＜﹤〈⟨]([^\p{L}\p{N}<>]*\p{L})`)

// Quote writes a text from outside between tags, under a line that says what it is, if there is one. The text cannot close the tags,
// because everything in it that looks like a tag is changed.
func Quote(b *strings.Builder, lead, tag, text string) {
	if lead != "" {
		b.WriteString(lead + "\n")
	}
	fmt.Fprintf(b, "<%s>\n%s\n</%s>\n", tag, tagRE.ReplaceAllString(text, "($1"), tag)
}

// Check reports what is wrong with a prompt, which may be nil.
func Check(check *fault.Checker, p *specialistv1.Prompt) {
	check.OptionalID("prompt.version", p.GetVersion())
	check.Text("prompt.text", p.GetText(), 0, maxFilled)
	check.Text("prompt.model", p.GetModel(), 0, maxModel)
	check.Range("prompt.max_output_tokens", int64(p.GetMaxOutputTokens()), 0, MaxOutputTokens)
	if p.GetText() != "" && p.GetVersion() == "" {
		check.Addf("prompt.version", "is required with a text")
	}
}

// OrBuiltIn returns what is sent, with the text and version of the built-in prompt where it has none. What is sent may be nil.
func OrBuiltIn(sent, builtIn *specialistv1.Prompt) *specialistv1.Prompt {
	if sent == nil {
		return builtIn
	}
	out := &specialistv1.Prompt{
		Version: sent.GetVersion(), Text: sent.GetText(), Model: sent.GetModel(), MaxOutputTokens: sent.GetMaxOutputTokens(),
	}
	if out.Text == "" {
		out.Text = builtIn.GetText()
	}
	if out.Version == "" {
		out.Version = builtIn.GetVersion()
	}
	return out
}

// NamedModel returns a model by its name, with its price, which is nil if it is unknown.
type NamedModel func(name string) (agentloop.Model, *agentloop.Price, error)

// Model returns the model that a prompt names, or else the agent's own. If the named one cannot be had, the log says so, and the agent's
// own answers. named may be nil.
func Model(
	ctx context.Context, p *specialistv1.Prompt, own agentloop.Model, price *agentloop.Price, named NamedModel, log *slog.Logger,
) (agentloop.Model, *agentloop.Price) {
	if p.GetModel() == "" || own == nil {
		return own, price
	}
	if named == nil {
		log.WarnContext(ctx, "no other models are set up; the own model answers", "model", p.GetModel())
		return own, price
	}
	m, cost, err := named(p.GetModel())
	if err != nil {
		log.WarnContext(ctx, "the model that the store has chosen cannot be used; the own model answers", "model", p.GetModel(), "error", err)
		return own, price
	}
	return m, cost
}
