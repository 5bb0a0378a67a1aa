// Package merge makes the text of a reply from the answers of the specialists: a single answer passes through; a model
// writes one text from several. Each sentence of the model is checked before it goes out, those without support are dropped, and
// what the model leaves out is added.
//
// The package knows nothing of turns, branches or Redis. It must not import a service.
package merge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/voice"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

// maxReserves bounds the time of a merge, in multiples of Config.Reserve, however much time the turn has left.
const maxReserves = 2

// Config says how answers are merged.
type Config struct {
	// Model writes one text from several answers. Nil: the answers are joined without a model.
	Model agentloop.Model
	// Price of the model's tokens. Nil: the cost of a merge is unknown.
	Price *agentloop.Price
	// NamedModel returns the model that Input.Prompt names. Nil: it names none.
	NamedModel prompt.NamedModel
	// Reserve is how long the model may be silent. A merge takes at most twice as long. Required.
	Reserve time.Duration
	// Logger gets the reasons for which a model's text was cut or shortened, never customer text. Required.
	Logger *slog.Logger
}

// Merger makes the texts of replies. It is safe for concurrent use.
type Merger struct{ cfg Config }

// New returns a merger.
func New(cfg Config) *Merger { return &Merger{cfg: cfg} }

// Part is one sub-query of the message and its answer.
type Part struct {
	// Query is the sub-query, in the shopper's words.
	Query string
	// Answer to it. Nil: it could not be answered.
	Answer *specialistv1.Answer
}

// Input is what a merge is made of.
type Input struct {
	// Message of the shopper.
	Message string
	// Language of the reply, a BCP 47 tag. Empty: the language of the message.
	Language string
	// Today is the line of the prompt that names the date. Empty: unknown.
	Today string
	// Voice of the store. Nil: none.
	Voice *specialistv1.Voice
	// Prompt of the model, with the name of another one. Nil: the built-in prompt and Config.Model.
	Prompt *specialistv1.Prompt
	// CurrencyCode of the store, which a price may be given in even if no answer names a currency. Empty: unknown.
	CurrencyCode string
	// Parts of the message, at least one, of which at least one is answered.
	Parts []Part
	// Streamed is the beginning of a single answer that Say has already passed on.
	Streamed string
	// Judge has the model read its text before it goes out, and decide on the claims in it.
	Judge bool
	// Due is when the text must be there. The model gets no more time than Config allows, however late this is.
	Due time.Time
	// Budget bounds what the model may use. Nil: no bound.
	Budget *Budget
	// Check returns what of a text may be shown. The texts of the answers and Streamed are checked already. Required.
	Check func(text string) string
	// Say passes text on to the shopper, which cannot be taken back. Calls come from the goroutine of Merge.
	Say func(text string)
}

// Budget is the rest of a turn's budget. A field of Spend that is zero is not bounded; below zero, nothing is left.
type Budget struct {
	Spend    wrap.Spend
	Currency string // of Spend.CostMicros
}

// Result is the text of a reply and how it was made.
type Result struct {
	Text   string
	Method gatewayv1.MergeMethod
	Model  *agentloop.Result // also when the model's text was not used; nil: no model was asked
	Claims grounding.Claims  // of the text
	Lost   grounding.Claims  // of sentences that the model wrote and that were dropped; they have no place in the text
	Began  time.Time
	Took   time.Duration
}

// Merge makes the text of a reply. Every sub-query is then answered in the text, or named in it as not answered. Several
// answers are worded as one by the model, sentence by sentence as it writes; answers that the model did not get to, or left
// out, follow as they are.
func (m *Merger) Merge(ctx context.Context, in Input) Result {
	began := time.Now()
	var known grounding.Claims
	for _, p := range in.Parts {
		known = append(known, grounding.FromProto(p.Answer.GetCheckedClaims())...)
	}
	if len(in.Parts) > 1 {
		in.Parts = supportedParts(in.Parts)
	}
	evidence, sections := newEvidence(in)
	s := &stream{evidence: evidence, judged: in.Judge}
	r := m.text(ctx, in, s, sections)
	r.Claims = s.verdict.Decide(r.Text, evidence.Check(r.Text, known))
	r.Lost, r.Began, r.Took = s.lost, began, time.Since(began)
	return r
}

// text makes the text of a reply. A model's goes through the stream.
func (m *Merger) text(ctx context.Context, in Input, s *stream, sections []*grounding.Section) Result {
	if len(in.Parts) == 1 {
		return m.passThrough(ctx, in)
	}
	var answered, failed []Part
	for _, p := range in.Parts {
		if p.Answer != nil {
			answered = append(answered, p)
		} else {
			failed = append(failed, p)
		}
	}
	r := Result{Method: gatewayv1.MergeMethod_MERGE_METHOD_JOINED}
	out := &output{check: in.Check, say: in.Say}
	missing := texts(answered)
	if m.cfg.Model != nil && len(answered) > 1 {
		s.output, s.answers, s.quotes = out, join(answered), quotesOf(prompt.OrBuiltIn(in.Prompt, builtIn))
		r.Model, missing = m.word(ctx, in, s, answered, sections)
		switch {
		case out.Len() == 0:
		case len(missing) == 0:
			r.Method = gatewayv1.MergeMethod_MERGE_METHOD_MODEL
		default:
			r.Method = gatewayv1.MergeMethod_MERGE_METHOD_MODEL_AND_JOINED
		}
	}
	for _, text := range missing {
		out.paragraph(strings.TrimSpace(text))
	}
	for _, p := range failed {
		out.paragraph(unansweredText(in.Language, p.Query))
	}
	for _, p := range answered {
		if q := p.Answer.GetClarifyingQuestion().GetText(); q != "" && !asks(out.String(), q) {
			out.paragraph(q)
			if r.Method == gatewayv1.MergeMethod_MERGE_METHOD_MODEL {
				r.Method = gatewayv1.MergeMethod_MERGE_METHOD_MODEL_AND_JOINED
			}
		}
	}
	r.Text = out.String()
	return r
}

// passThrough takes the text of the only answer, which Say may already have passed on. If a specialist's pieces do not add
// up to its answer, the pieces are the text: they cannot be taken back.
func (m *Merger) passThrough(ctx context.Context, in Input) Result {
	text := in.Parts[0].Answer.GetText()
	if !strings.HasPrefix(text, in.Streamed) {
		m.cfg.Logger.WarnContext(ctx, "the pieces of an answer do not add up to the answer", "specialist", in.Parts[0].Answer.GetSpecialist())
		text = in.Streamed
	}
	in.Say(text[len(in.Streamed):])
	return Result{Method: gatewayv1.MergeMethod_MERGE_METHOD_PASS_THROUGH, Text: text}
}

// supportedParts returns the parts without the sentences that have an unsupported claim: what a specialist invented is no evidence
// for the reply. An answer of which nothing is left is no answer. Bare numbers do not count: they are often part of a name, or a
// difference that a model is right about.
func supportedParts(parts []Part) []Part {
	out := slices.Clone(parts)
	for i, p := range out {
		claims := slices.DeleteFunc(slices.Clone(p.Answer.GetUnsupportedClaims()), func(claim string) bool {
			return !strings.ContainsFunc(claim, func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) || r == '%' })
		})
		if len(claims) == 0 {
			continue
		}
		var kept strings.Builder
		for _, sentence := range text.SplitSentences(p.Answer.GetText()) {
			if !slices.ContainsFunc(claims, func(claim string) bool { return states(sentence, claim) }) {
				kept.WriteString(sentence)
			}
		}
		if strings.TrimSpace(kept.String()) == "" {
			out[i].Answer = nil
			continue
		}
		out[i].Answer = proto.CloneOf(p.Answer)
		out[i].Answer.Text = kept.String()
	}
	return out
}

// states reports whether a sentence has a claim as a whole: "5 EUR" is not stated by "15 EUR", nor "5" by "5.50".
func states(sentence, claim string) bool {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(sentence[from:], claim)
		if i < 0 || claim == "" {
			return false
		}
		start, end := from+i, from+i+len(claim)
		before, after := strings.TrimRight(sentence[:start], ".,"), strings.TrimLeft(sentence[end:], ".,")
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		first, _ := utf8.DecodeRuneInString(claim)
		final, _ := utf8.DecodeLastRuneInString(claim)
		if !(isWord(last) && isWord(first)) && !(isWord(next) && isWord(final)) {
			return true
		}
		from = start + 1
	}
}

// word has the model word the answers, and returns which of them the text then lacks: whole, or the sentences that it lacks.
func (m *Merger) word(ctx context.Context, in Input, s *stream, answered []Part, sections []*grounding.Section) (*agentloop.Result, []string) {
	due := time.Now().Add(maxReserves * m.cfg.Reserve)
	if in.Due.Before(due) {
		due = in.Due
	}
	ctx, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	var reading sync.WaitGroup // of the evidence, while the model writes
	defer reading.Wait()
	grounding.ReadAhead(&reading, s.evidence.Prepare)
	model := m.model(ctx, in)
	result, err := m.generate(ctx, in, model, s)
	if s.judged {
		judging, cut := m.judge(ctx, in, model, s)
		result, err = judge.Add(result, judging), cmp.Or(err, cut)
	}
	sc, _ := scope.FromContext(ctx)
	if err != nil {
		m.cfg.Logger.WarnContext(ctx, "merge cut short", "store", sc.StoreID, "turn", sc.TurnID, "passed_on_bytes", s.output.Len(), "error", err)
	}
	if s.output.Len() == 0 {
		return result, texts(answered)
	}
	if s.dropped > 0 {
		m.cfg.Logger.WarnContext(ctx, "merge lost sentences that no answer supports", "store", sc.StoreID, "turn", sc.TurnID, "sentences", s.dropped)
	}
	var missing []string
	c := newCoverage(answered, sections)
	for _, i := range c.missing(s.output.String(), &s.merged, err == nil) {
		switch {
		case err != nil:
			missing = append(missing, answered[i].Answer.GetText())
		case s.dropped > 0 || !s.verdict.HasSaid(i):
			missing = append(missing, c.unsaid(i, &s.merged, s.evidence))
		}
	}
	return result, missing
}

// newEvidence returns what the merged text may rest on, and the answered parts as sections, in order.
func newEvidence(in Input) (*grounding.MergeEvidence, []*grounding.Section) {
	e := &grounding.MergeEvidence{Language: in.base(), ProductIDs: map[string]string{}}
	var sections []*grounding.Section
	for _, p := range in.Parts {
		e.AddShopper(p.Query)
		if p.Answer != nil {
			for _, product := range p.Answer.GetProducts() {
				e.ProductIDs[product.GetTitle()] = product.GetProductId()
			}
			sections = append(sections, e.AddAnswer(p.Answer.GetText(), titles(p.Answer)))
		}
	}
	e.AddShopper(in.Message)
	if in.CurrencyCode != "" {
		e.AddCurrency(in.CurrencyCode)
	}
	return e, sections
}

// titles returns the titles of an answer's products.
func titles(a *specialistv1.Answer) []string {
	var out []string
	for _, p := range a.GetProducts() {
		out = append(out, p.GetTitle())
	}
	return out
}

// output is the text of a reply, which is passed on as it is made.
type output struct {
	strings.Builder
	check     func(string) string
	say       func(string)
	apologies wording.Apologies
}

func (o *output) add(t string) {
	var once strings.Builder
	gap := "" // before a sentence that was left out, if it began a line
	for _, sentence := range text.SplitSentences(t) {
		said := o.apologies.Once(sentence)
		bare := strings.TrimLeftFunc(sentence, unicode.IsSpace)
		if space := sentence[:len(sentence)-len(bare)]; said == "" && strings.Contains(space, "\n") {
			gap = space
		} else if said != "" && gap != "" {
			said, gap = gap+strings.TrimLeftFunc(said, unicode.IsSpace), ""
		}
		once.WriteString(said)
	}
	t = o.check(once.String())
	o.WriteString(t)
	o.say(t)
}

func (o *output) paragraph(text string) {
	if o.Len() > 0 {
		text = "\n\n" + text
	}
	o.add(text)
}

// base is the language of the reply without region or script; English if it is unknown.
func (in Input) base() string {
	base, _ := language.Make(in.Language).Base()
	return base.String()
}

// join puts answers one below the other.
func join(parts []Part) string { return strings.Join(texts(parts), "\n\n") }

// texts returns the texts of answered parts.
func texts(parts []Part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = strings.TrimSpace(p.Answer.GetText())
	}
	return out
}

// notAnswered is the line before what could not be answered.
const notAnswered = "## Not answered (do not mention it: the shopper is told after your text)"

// message is what the model is given: the sub-queries, which are all of the shopper's message, with their answers.
func (in Input) message() string {
	var b strings.Builder
	if in.Language != "" {
		fmt.Fprintf(&b, "Language: %s\n", in.Language)
	} else {
		b.WriteString("Language: the language of the questions\n")
	}
	if in.Today != "" {
		b.WriteString(in.Today + "\n")
	}
	b.WriteString(voice.Lines(in.Voice, in.Language))
	n, failed := 0, ""
	for _, p := range in.Parts {
		query := text.OneLine(disarm(p.Query))
		if p.Answer == nil {
			failed += "- " + query + "\n"
			continue
		}
		n++
		fmt.Fprintf(&b, "\n## Section %d: %s\n%s\n", n, query, disarm(noHeadings(p.Answer.GetText())))
	}
	if failed != "" {
		b.WriteString("\n" + notAnswered + "\n" + failed)
	}
	return b.String()
}

// disarm removes characters that a person would not see, and the angle brackets of tags, so that no text can end the
// message or pass for a mark of the conversation.
func disarm(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '＜' || r == '‹' || r == '〈' || r == '﹤':
			return '<'
		case agentloop.Invisible(r) && r != '\u200c' && r != '\u200d': // these two shape words in some scripts
			return -1
		}
		return r
	}, s)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		bracket := byte('<')
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t\n/|!?"))
		if text.IsLetter(next) || next == '<' || strings.HasPrefix(after, "|") {
			bracket = '('
		}
		b.WriteByte(bracket)
		s = after
	}
}

// noHeadings keeps an answer from looking like several sections.
func noHeadings(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		start := strings.TrimLeftFunc(l, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
		if strings.HasPrefix(start, "#") || strings.HasPrefix(start, "＃") {
			lines[i] = strings.TrimLeftFunc(start, func(r rune) bool {
				return r == '#' || r == '＃' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
			})
		}
	}
	return strings.Join(lines, "\n")
}

// unansweredText tells the shopper which part of the message was not answered.
func unansweredText(tag, query string) string {
	return fmt.Sprintf(wording.In(tag).Unanswered, text.OneLine(query))
}
