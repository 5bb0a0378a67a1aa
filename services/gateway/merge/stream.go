package merge

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

//go:embed prompt.md
var promptText string

var builtIn = prompt.BuiltIn(promptText)

// BuiltIn returns the built-in prompt.
func BuiltIn() *specialistv1.Prompt { return builtIn }

// builtInQuotes finds quotations of the built-in prompt.
var builtInQuotes = promptleak.New(promptText, notAnswered)

// quotesOf returns what finds quotations of a prompt, which must not be quoted.
func quotesOf(p *specialistv1.Prompt) *promptleak.Prompt {
	if p.GetText() == builtIn.GetText() {
		return builtInQuotes
	}
	return promptleak.New(p.GetText(), notAnswered)
}

// requestLine is a line of Input.message that no answer has.
var requestLine = regexp.MustCompile(`(?m)^\s*(?:## (?:Section \d|Not answered)|Language: |Today is \pL+, \d+ \pL+ \d+ \(|How the store speaks: )`)

// temperature keeps the model close to the sections.
var temperature = 0.2

const (
	// maxGrowth and maxExtra bound a merged text: the length of the answers times maxGrowth, and maxExtra bytes more.
	maxGrowth = 3
	maxExtra  = 1 << 10
	// minRepeat is the length, in bytes, from which a repeated sentence shows that the model runs in circles.
	minRepeat = 40
)

// The reasons for which a model's text is cut. None repeats what the model wrote.
var (
	errInvents  = errors.New("merge: most sentences of the model do not rest on the answers")
	errMarkup   = errors.New("merge: the model wrote markup or control characters")
	errPrompt   = errors.New("merge: the model repeats its prompt")
	errRepeats  = errors.New("merge: the model repeats itself")
	errTooLong  = errors.New("merge: the model's text is much longer than the answers")
	errEndless  = errors.New("merge: the model's sentence has no end")
	errTwoTexts = errors.New("merge: the model started a second text")
)

// mergeModel is the model of a merge, with what it is asked for.
type mergeModel struct {
	agentloop.Model
	price     *agentloop.Price
	prompt    string
	maxOutput int
}

// model returns the model that a merge asks.
func (m *Merger) model(ctx context.Context, in Input) mergeModel {
	p := prompt.OrBuiltIn(in.Prompt, builtIn)
	model, price := prompt.Model(ctx, p, m.cfg.Model, m.cfg.Price, m.cfg.NamedModel, m.cfg.Logger)
	maxOutput := int(p.GetMaxOutputTokens())
	if in.Budget != nil {
		model, maxOutput = limited(model, price, maxOutput, *in.Budget)
	}
	return mergeModel{model, price, strings.TrimSpace(p.GetText()), maxOutput}
}

// generate has the model word the answers into a stream. Sentences without support are dropped; any other fault ends the text.
// The error says why the text may be incomplete. The result is nil if the model could not be asked.
func (m *Merger) generate(ctx context.Context, in Input, model mergeModel, s *stream) (*agentloop.Result, error) {
	loop, err := agentloop.New(agentloop.Config{
		Model: wrap.IdleTimeout(model.Model, m.cfg.Reserve), System: model.prompt, Temperature: &temperature,
		MaxSteps: 2, // the second is for a model that calls a tool although there is none, and is told so
		Price:    model.price, MaxOutputTokens: model.maxOutput,
	})
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	run := loop.Start(nil, in.message())
	for !run.Done() {
		for ev := range run.Step(ctx) {
			delta, ok := ev.(agentloop.TextDelta)
			if !ok {
				continue
			}
			if err = s.add(delta); err != nil {
				break // ends the run and stops the model
			}
		}
	}
	result := counted(ctx, run, model.price)
	switch {
	case err != nil:
		return result, err
	case run.Err() != nil:
		return result, fmt.Errorf("merge: %w", run.Err())
	case result.FinishReason != agentloop.FinishStop:
		return result, fmt.Errorf("merge: the model's text ended with finish reason %q", result.FinishReason)
	}
	return result, s.take(s.sentences.Rest())
}

// judge has the model read the sentences that a stream holds back, passes on those that may stand in the reply, and returns what that
// used; nil: nothing. If the model cannot be asked, code decides. The error says why the text is cut.
func (m *Merger) judge(ctx context.Context, in Input, model mergeModel, s *stream) (*agentloop.Result, error) {
	if len(s.held) == 0 {
		return nil, nil
	}
	c := judge.Case{Given: []string{in.Message}, Answer: strings.Join(s.held, ""), IsMerge: true}
	for _, p := range in.Parts {
		if p.Answer != nil {
			c.Results = append(c.Results, p.Answer.GetText())
		}
	}
	verdict, result, err := judge.Ask(ctx, model.Model, model.price, c)
	if err != nil {
		sc, _ := scope.FromContext(ctx)
		m.cfg.Logger.WarnContext(ctx, "no model has judged the merge; code decides on its claims", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
	}
	s.verdict = verdict
	decisions := verdict.Of(c.Answer)
	for _, sentence := range s.held {
		var d judge.Decision
		if strings.TrimSpace(sentence) != "" && len(decisions) > 0 {
			d, decisions = decisions[0], decisions[1:]
		}
		if err := s.pass(sentence, d); err != nil {
			return result, err
		}
	}
	return result, nil
}

// limited returns a model held to a budget, and how many tokens each of its answers may have: at most half of the budget, so that the
// other half pays for the input, and at most maxOutput if that is not zero. Money is bounded only if the price of the model is known in
// the budget's currency.
func limited(model agentloop.Model, price *agentloop.Price, maxOutput int, b Budget) (agentloop.Model, int) {
	rest, output := b.Spend, int64(cmp.Or(maxOutput, agentloop.DefaultMaxOutputTokens))
	if rest.Tokens > 0 {
		output = min(output, rest.Tokens/2)
	}
	if price == nil || price.Currency != b.Currency {
		rest.CostMicros = 0
	}
	if rest.CostMicros > 0 && price.OutputMicros > 0 {
		output = min(output, int64(float64(rest.CostMicros)/2*1e6/float64(price.OutputMicros)))
	}
	return wrap.Limit(model, wrap.NewBudget(rest), price), int(max(output, 1))
}

// counted returns the result of a run that has ended. If a call was given up before the model answered, the usage includes an
// estimate of its input: the provider may charge for it.
func counted(ctx context.Context, run *agentloop.Conversation, price *agentloop.Price) *agentloop.Result {
	result := run.Result()
	if last := result.Steps[len(result.Steps)-1].Usage; last.InputTokens > 0 || ctx.Err() == nil && !errors.Is(run.Err(), wrap.ErrIdle) {
		return result
	}
	sent := 0
	for _, message := range run.Messages() {
		sent += len(message.Text)
	}
	r := *result
	r.Usage = r.Usage.Add(usage.OfInput(sent))
	r.Cost = price.Of(r.Usage)
	return &r
}

// stream checks a model's text on its way to the output, sentence by sentence.
type stream struct {
	output    *output
	evidence  *grounding.MergeEvidence
	quotes    *promptleak.Prompt
	answers   string // the texts of all answers
	merged    mergedText
	said      grounding.Text // the facts of what went out
	sentences text.Sentences
	judged    bool             // sentences are held until a model has read them
	held      []string         // in order
	heldBytes int              // of them
	verdict   *judge.Verdict   // of the model; nil: it was not asked, or could not be
	step      int              // of the run that the text is from
	passed    int              // sentences that went out
	dropped   int              // sentences that no answer supports
	lost      grounding.Claims // of these
	gap       text.Gap         // of the sentences that were dropped
}

// add takes a piece of the model's text and passes on the sentences that it completes.
func (s *stream) add(delta agentloop.TextDelta) error {
	if delta.Step != s.step { // the model gave no text and was asked again
		if s.output.Len() > 0 {
			return errTwoTexts
		}
		s.step, s.sentences, s.dropped, s.lost, s.gap, s.held, s.heldBytes = delta.Step, text.Sentences{}, 0, nil, "", nil, 0
	}
	for _, sentence := range s.sentences.Add(delta.Text) {
		if err := s.take(sentence); err != nil {
			return err
		}
	}
	if s.sentences.Stuck() {
		return errEndless
	}
	return nil
}

// take passes a sentence on, or holds it until a model has read it.
func (s *stream) take(sentence string) error {
	if !s.judged {
		return s.pass(sentence, judge.Decision{})
	}
	s.held, s.heldBytes = append(s.held, sentence), s.heldBytes+len(sentence)
	if s.heldBytes > s.longest() {
		return errTooLong
	}
	return nil
}

// longest bounds the text, in bytes.
func (s *stream) longest() int { return maxGrowth*len(s.answers) + maxExtra }

// rejected returns what keeps a sentence out of the reply, as a model has decided, or else code does.
func (s *stream) rejected(d judge.Decision, sentence string, read grounding.Text) grounding.Claims {
	switch {
	case !d.IsRead:
		return s.evidence.Rejected(read, s.said)
	case !d.IsRight():
		return grounding.Claims{d.Claim(sentence, 0)}
	}
	return s.evidence.RejectedLiterally(read)
}

// pass passes a sentence on if it may stand in the reply, and drops it if the evidence does not support it.
func (s *stream) pass(sentence string, d judge.Decision) error {
	first := s.output.Len() == 0
	sentence = strings.TrimRightFunc(sentence, unicode.IsSpace)
	if first {
		sentence = strings.TrimLeftFunc(sentence, unicode.IsSpace)
	}
	line := sentence
	if first {
		line = "\n" + sentence // so that it is read as the start of a line
	}
	switch {
	case sentence == "":
		return nil
	case !isText(sentence, s.answers):
		return errMarkup
	case s.output.Len()+len(sentence) > s.longest():
		return errTooLong
	case (s.quotes.Repeats(sentence) || requestLine.MatchString(line)) && !strings.Contains(s.answers, strings.TrimSpace(sentence)):
		return errPrompt
	case len(sentence) >= minRepeat && s.repeated(strings.TrimSpace(sentence)):
		return errRepeats
	}
	read := s.evidence.Read(line)
	rejected := s.rejected(d, sentence, read)
	if len(rejected) == 0 && first && s.dropped > 0 && len(read.Facts) == 0 { // refers to an opening that was dropped
		rejected = grounding.Claims{grounding.SentenceClaim(sentence, 0, grounding.Statement, grounding.Undecided)}
	}
	if len(rejected) > 0 {
		s.lost = append(s.lost, rejected.WithoutPlaces()...)
		s.dropped++
		if s.dropped > 1 && s.dropped > s.passed {
			return errInvents
		}
		s.gap.Drop(sentence)
		return nil
	}
	if kept := s.gap.Keep(sentence); !first {
		sentence = kept
	}
	s.passed++
	s.said.Facts = append(s.said.Facts, read.Facts...)
	s.output.add(sentence)
	s.merged.add(sentence, read)
	s.merged.facts.AddFacts(s.evidence.Meant(read)...)
	return nil
}

// repeated reports whether the text already has a sentence as often as the answers have it: two answers may say the same.
func (s *stream) repeated(sentence string) bool {
	said := strings.Count(s.output.String(), sentence)
	return said > 0 && said >= strings.Count(s.answers, sentence)
}

// isText reports whether a sentence is free of broken characters, control characters, tags, template marks and JSON, unless the
// answers have them too.
func isText(sentence, answers string) bool {
	for i, r := range sentence {
		switch {
		case r == utf8.RuneError && !strings.ContainsRune(answers, r), unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r':
			return false
		case r == '<' && !strings.Contains(answers, "<"):
			if next, _ := utf8.DecodeRuneInString(sentence[i+1:]); unicode.IsLetter(next) || strings.ContainsRune("/|!", next) {
				return false
			}
		case r == '{' && strings.HasPrefix(sentence[i+1:], `"`) && !strings.Contains(answers, `{"`):
			return false
		}
	}
	return true
}
