// Package judge asks a language model which sentences of an answer its evidence does not bear out, before a shopper reads them. Code
// compares values (package grounding); a model also reads negations, comparisons and attributes in any words.
//
// It must not import a service.
package judge

import (
	"cmp"
	"context"
	_ "embed" // the prompt
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
)

//go:embed prompt.md
var system string

const (
	// OutputName names the schema of the model's answer.
	OutputName = "wrong_sentences"
	// maxTime bounds a call.
	maxTime = 10 * time.Second
	// maxOutputTokens has room for thoughts and for a reason for each sentence of a long answer.
	maxOutputTokens = 2048
	// maxWhy bounds a reason, in characters.
	maxWhy = 200
)

// askMissing asks for what a merge leaves out.
const askMissing = "Each result is an answer to a part of the shopper's message. In \"missing\", list the numbers of those, counted from 1, of which the " +
	"answer says nothing, or not what was asked; one that it says in other words, in short or worked out is not missing. Answer such as " +
	`{"wrong":[],"missing":[2]}, or {"wrong":[],"missing":[]}.` + "\n"

// temperature is that of a decision.
var temperature = 0.0

// Case is an answer with what it rests on.
type Case struct {
	// Given is what the shopper wrote, and the data of the conversation.
	Given []string
	// Results are what tools returned, or the answers that a reply is merged from.
	Results []string
	// IsMerge asks which of the results the answer leaves out, too.
	IsMerge bool
	// Answer is the text to judge.
	Answer string
}

// Verdict is what a model says of the sentences of an answer. It is immutable. Nil: nothing.
type Verdict struct {
	sentences []string   // of the answer, without the space around them
	decisions []Decision // of each
	missing   []int      // results that a merge leaves out, from 1; nil: the model has not said
}

// Decision is what a model says of one sentence. The zero value is that of a sentence that it has not read.
type Decision struct {
	IsRead bool
	// Why the sentence must not be said. Empty: it is right, if it was read.
	Why string
}

// IsRight reports whether the model has read the sentence and found nothing wrong in it.
func (d Decision) IsRight() bool { return d.IsRead && d.Why == "" }

// Claim returns a sentence at a byte of its text, which is wrong, as a claim without support, with the reason as its source.
func (d Decision) Claim(sentence string, start int) grounding.Claim {
	c := grounding.SentenceClaim(sentence, start, grounding.Statement, grounding.Unsupported)
	c.Sources = []grounding.Source{{Value: d.Why, Rule: grounding.RuleJudge}}
	return c
}

// output is a model's answer.
type output struct {
	Wrong []struct {
		Sentence int    `json:"sentence" jsonschema:"number of the sentence"`
		Why      string `json:"why" jsonschema:"at most 15 words"`
	} `json:"wrong" jsonschema:"the sentences that must not be said"`
	Missing []int `json:"missing,omitempty" jsonschema:"numbers of the results that the answer leaves out"`
}

// judgments counts the outcomes of [Ask].
var judgments = sync.OnceValue(func() metric.Int64Counter {
	return telemetry.Counter("github.com/quartet-commerce/quartet/services/internal/judge", telemetry.MetricJudgments, "{text}",
		"Texts for which a model was asked to decide on claims, by outcome.")
})

// Ask asks a model. The price of its tokens may be nil. The result is that of all calls, also beside an error; nil: none was made. The
// errors are those of [agentloop.Generate], without what the model wrote: it may be about a shopper.
func Ask(ctx context.Context, model agentloop.Model, price *agentloop.Price, c Case) (*Verdict, *agentloop.Result, error) {
	v, result, err := ask(ctx, model, price, c)
	outcome := "judged"
	if err != nil {
		outcome = "failed"
	}
	judgments().Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyOutcome, outcome)))
	return v, result, err
}

func ask(ctx context.Context, model agentloop.Model, price *agentloop.Price, c Case) (*Verdict, *agentloop.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	sentences := Sentences(c.Answer)
	question := c.question(sentences)
	out, result, err := agentloop.Generate[output](ctx, agentloop.GenerateConfig{
		Model: model, Name: OutputName, System: strings.TrimSpace(system), Temperature: &temperature, MaxOutputTokens: maxOutputTokens, Price: price,
	}, nil, question)
	if result != nil && ctx.Err() != nil && result.Usage.InputTokens == 0 { // a provider may charge for what it has read
		result.Usage = result.Usage.Add(usage.OfInput(len(system) + len(question)))
		result.Cost = price.Of(result.Usage)
	}
	if errors.Is(err, agentloop.ErrBadOutput) {
		err = agentloop.ErrBadOutput
	}
	if err != nil {
		return nil, result, fmt.Errorf("judge: %w", err)
	}
	v := &Verdict{decisions: make([]Decision, len(sentences)), missing: out.Missing}
	for i, s := range sentences {
		v.sentences, v.decisions[i].IsRead = append(v.sentences, strings.TrimSpace(s)), true
	}
	for _, w := range out.Wrong {
		if w.Sentence < 1 || w.Sentence > len(sentences) {
			return nil, result, fmt.Errorf("judge: %w: sentence %d of %d", agentloop.ErrBadOutput, w.Sentence, len(sentences))
		}
		v.decisions[w.Sentence-1].Why = text.Cut(cmp.Or(strings.ToValidUTF8(text.OneLine(w.Why), "\uFFFD"), "no reason"), maxWhy)
	}
	return v, result, nil
}

// HasSaid reports whether the model has found the content of a result, counted from 0, in a merge. It is false if the model was not asked.
func (v *Verdict) HasSaid(result int) bool {
	return v != nil && v.missing != nil && !slices.Contains(v.missing, result+1)
}

// Add returns the result of a run with what judging its answer used. One of them may be nil, or both.
func Add(run, judging *agentloop.Result) *agentloop.Result {
	if run == nil || judging == nil {
		return cmp.Or(run, judging)
	}
	sum := *run
	sum.Steps, sum.Usage, sum.Cost = slices.Concat(run.Steps, judging.Steps), run.Usage.Add(judging.Usage), nil
	if run.Cost != nil && judging.Cost != nil {
		sum.Cost = &agentloop.Cost{Micros: run.Cost.Micros + judging.Cost.Micros, Currency: run.Cost.Currency}
	}
	return &sum
}

// question is what the model reads.
func (c Case) question(sentences []string) string {
	var b strings.Builder
	for _, s := range c.Given {
		if strings.TrimSpace(s) != "" {
			prompt.Quote(&b, "", "given", s)
		}
	}
	for _, r := range c.Results {
		prompt.Quote(&b, "", "result", r)
	}
	if c.IsMerge {
		b.WriteString(askMissing)
	}
	var answer strings.Builder
	for i, s := range sentences {
		fmt.Fprintf(&answer, "%d: %s\n", i+1, strings.TrimSpace(s))
	}
	prompt.Quote(&b, "", "answer", strings.TrimSpace(answer.String()))
	return b.String()
}

// Sentences returns the sentences of a text that are judged, with the space before them.
func Sentences(s string) []string {
	return slices.DeleteFunc(text.SplitSentences(s), func(sentence string) bool { return strings.TrimSpace(sentence) == "" })
}

// Of returns what the model says of the sentences of a text: of the answer, or of what is left of it. Of several that are equal, one that is
// right speaks for all.
func (v *Verdict) Of(s string) []Decision {
	sentences := Sentences(s)
	out := make([]Decision, len(sentences))
	if v == nil {
		return out
	}
	for i, sentence := range sentences {
		sentences[i] = strings.TrimSpace(sentence)
	}
	if slices.Equal(sentences, v.sentences) {
		return slices.Clone(v.decisions)
	}
	for i, sentence := range sentences {
		for k, judged := range v.sentences {
			if judged == sentence && !out[i].IsRight() {
				out[i] = v.decisions[k]
			}
		}
	}
	return out
}

// Decide returns the claims of a text, most of whose sentences the model has read, as the model decides them: those of a sentence that is
// right are supported, and a wrong sentence is a claim without support. Code alone decides on literal claims: it reads them letter by
// letter, and no text can talk it into anything. A nil verdict changes nothing.
func (v *Verdict) Decide(s string, claims grounding.Claims) grounding.Claims {
	if v == nil {
		return claims
	}
	var out grounding.Claims
	start, next, decisions := 0, 0, v.Of(s)
	for i, sentence := range Sentences(s) {
		start += strings.Index(s[start:], sentence)
		end := start + len(sentence)
		if decisions[i].Why != "" {
			out = append(out, decisions[i].Claim(sentence, start))
		}
		for ; next < len(claims) && claims[next].Start < end; next++ {
			c := claims[next]
			if decisions[i].IsRight() && c.Verdict != grounding.Supported && !c.Kind.IsLiteral() {
				c.Verdict, c.Sources = grounding.Supported, []grounding.Source{{Rule: grounding.RuleJudge}}
			}
			out = append(out, c)
		}
		start = end
	}
	return append(out, claims[next:]...)
}
