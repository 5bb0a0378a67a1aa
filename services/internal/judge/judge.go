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
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/text"
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

// temperature is that of a decision.
var temperature = 0.0

// Case is an answer with what it rests on.
type Case struct {
	// Given is what the shopper wrote, and the data of the conversation.
	Given []string
	// Results are what tools returned, or the answers that a reply is merged from.
	Results []string
	// Answer is the text to judge.
	Answer string
}

// Verdict is what a model says of the sentences of an answer. It is immutable.
type Verdict struct {
	why map[string]string // by sentence, without the space around it; "": it is right
}

// output is a model's answer.
type output struct {
	Wrong []struct {
		Sentence int    `json:"sentence" jsonschema:"number of the sentence"`
		Why      string `json:"why" jsonschema:"at most 15 words"`
	} `json:"wrong" jsonschema:"the sentences that must not be said"`
}

// Ask asks a model. The price of its tokens may be nil. The result is that of all calls, also beside an error; nil: none was made. The
// errors are those of [agentloop.Generate], without what the model wrote: it may be about a shopper.
func Ask(ctx context.Context, model agentloop.Model, price *agentloop.Price, c Case) (*Verdict, *agentloop.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	sentences := Sentences(c.Answer)
	out, result, err := agentloop.Generate[output](ctx, agentloop.GenerateConfig{
		Model: model, Name: OutputName, System: strings.TrimSpace(system), Temperature: &temperature, MaxOutputTokens: maxOutputTokens, Price: price,
	}, nil, c.question(sentences))
	if errors.Is(err, agentloop.ErrBadOutput) {
		err = agentloop.ErrBadOutput
	}
	if err != nil {
		return nil, result, fmt.Errorf("judge: %w", err)
	}
	v := &Verdict{why: make(map[string]string, len(sentences))}
	for _, s := range sentences {
		v.why[strings.TrimSpace(s)] = ""
	}
	for _, w := range out.Wrong {
		if w.Sentence < 1 || w.Sentence > len(sentences) {
			return nil, result, fmt.Errorf("judge: %w: sentence %d of %d", agentloop.ErrBadOutput, w.Sentence, len(sentences))
		}
		v.why[strings.TrimSpace(sentences[w.Sentence-1])] = text.Cut(cmp.Or(strings.ToValidUTF8(text.OneLine(w.Why), "\uFFFD"), "no reason"), maxWhy)
	}
	return v, result, nil
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
	var answer strings.Builder
	for i, s := range sentences {
		fmt.Fprintf(&answer, "%d: %s\n", i+1, strings.TrimSpace(s))
	}
	prompt.Quote(&b, "", "answer", strings.TrimSpace(answer.String()))
	return b.String()
}

// Sentences returns the sentences of a text that are judged, with the space before them.
func Sentences(s string) []string {
	var split text.Sentences
	all := append(split.Add(s), split.Rest())
	out := all[:0]
	for _, sentence := range all {
		if strings.TrimSpace(sentence) != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// IsRight reports whether the model has read a sentence and found nothing wrong in it.
func (v *Verdict) IsRight(sentence string) bool {
	if v == nil {
		return false
	}
	why, isRead := v.why[strings.TrimSpace(sentence)]
	return isRead && why == ""
}

// IsWrong reports whether the model has found something wrong in a sentence.
func (v *Verdict) IsWrong(sentence string) bool {
	return v != nil && v.why[strings.TrimSpace(sentence)] != ""
}

// Decide returns the claims of a text, most of whose sentences the model has read, as the model decides them: those of a sentence that is
// right are supported, and a wrong sentence is a claim without support, unless code has found what it contradicts. Code alone decides on
// codes, ids, addresses and actions: it reads them to the letter, and no text can talk it into anything. A nil verdict changes nothing.
func (v *Verdict) Decide(s string, claims grounding.Claims) grounding.Claims {
	if v == nil {
		return claims
	}
	var out grounding.Claims
	start, next := 0, 0
	for _, sentence := range Sentences(s) {
		start += strings.Index(s[start:], sentence)
		end, first, isContradicted := start+len(sentence), len(out), false
		for ; next < len(claims) && claims[next].Start < end; next++ {
			c := claims[next]
			if v.IsRight(sentence) && c.Verdict != grounding.Supported && IsModels(c.Kind) {
				c.Verdict, c.Sources = grounding.Supported, []grounding.Source{{Rule: grounding.RuleJudge}}
			}
			isContradicted = isContradicted || c.Verdict == grounding.Contradicted
			out = append(out, c)
		}
		if said := strings.TrimSpace(sentence); v.IsWrong(said) && !isContradicted {
			at := start + strings.Index(sentence, said)
			out = slices.Insert(out, first, grounding.Claim{
				Start: at, End: at + len(said), Text: said, Kind: grounding.Statement, Verdict: grounding.Unsupported,
				Sources: []grounding.Source{{Value: v.why[said], Rule: grounding.RuleJudge}},
			})
		}
		start = end
	}
	return append(out, claims[next:]...)
}

// IsModels reports whether the model decides on claims of a kind.
func IsModels(k grounding.Kind) bool { return k != grounding.Code && k != grounding.Action }
