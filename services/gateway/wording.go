package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

//go:embed merge.md
var mergePrompt string

// mergeTemperature keeps the model close to the sections.
var mergeTemperature = 0.2

const (
	// mergeGrowth and mergeSlack bound a merged text: so many times the sections, and so many bytes more.
	mergeGrowth = 3
	mergeSlack  = 1 << 10
	// minRepeat is the length, in bytes, from which a sentence that comes twice shows that the model runs in circles.
	minRepeat = 40
	// bytesPerToken is the rule of thumb by which the loop estimates usage.
	bytesPerToken = 4
)

// Why a model's text was not taken further. None of them repeats what the model wrote.
var (
	errUngrounded = errors.New("merge: the model wrote a number, code, date or address that stands in no answer")
	errMarkup     = errors.New("merge: the model wrote marks or characters that are no text")
	errRepeats    = errors.New("merge: the model repeats itself")
	errTooLong    = errors.New("merge: the model's text is much longer than the answers")
	errEndless    = errors.New("merge: the model's text shows no end of a sentence")
	errTwoTexts   = errors.New("merge: the model began anew")
)

// merger asks a model to word one reply from several answers. A nil merger never does.
type merger struct {
	loop  *agentloop.Loop
	price *agentloop.Price
}

// newMerger returns the merger of a model, which is given up when it says nothing for so long.
func newMerger(m agentloop.Model, price *agentloop.Price, silence time.Duration) (*merger, error) {
	if m == nil {
		return nil, nil
	}
	loop, err := agentloop.New(agentloop.Config{
		Model: wrap.IdleTimeout(m, silence), System: strings.TrimSpace(mergePrompt), Temperature: &mergeTemperature,
		MaxSteps: 2, // there are no tools; a model that calls one all the same is told so
		Price:    price,
	})
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return &merger{loop: loop, price: price}, nil
}

// word has the model word the answers and passes each sentence on once it is checked. It stops at the first that does not
// hold. The error says why the text may not be whole; the result is never nil.
func (m *merger) word(ctx context.Context, message string, w *wording) (*agentloop.Result, error) {
	run := m.loop.Start(nil, message)
	var err error
	for !run.Done() {
		for ev := range run.Step(ctx) {
			delta, ok := ev.(agentloop.TextDelta)
			if !ok {
				continue
			}
			if err = w.add(delta); err != nil {
				break // which ends the run, stops the model, and counts what it had used
			}
		}
	}
	result := m.counted(ctx, run)
	switch {
	case err != nil:
		return result, err
	case run.Err() != nil:
		return result, fmt.Errorf("merge: %w", run.Err())
	case result.FinishReason != agentloop.FinishStop:
		return result, fmt.Errorf("merge: the model's text ended for %q", result.FinishReason)
	}
	return result, w.pass(w.sentences.rest())
}

// counted returns the result of a run that has ended. A call that was given up before anything came of it counts with an
// estimate of what was sent: the provider may well have begun.
func (m *merger) counted(ctx context.Context, run *agentloop.Conversation) *agentloop.Result {
	result := run.Result()
	if last := result.Steps[len(result.Steps)-1].Usage; last.InputTokens > 0 || ctx.Err() == nil && !errors.Is(run.Err(), wrap.ErrIdle) {
		return result
	}
	sent := 0
	for _, message := range run.Messages() {
		sent += len(message.Text)
	}
	r := *result
	r.Usage = r.Usage.Add(agentloop.Usage{InputTokens: int64(sent+bytesPerToken-1) / bytesPerToken, Estimated: true})
	r.Cost = m.price.Of(r.Usage)
	return &r
}

// wording is a model's text on its way to the reply.
type wording struct {
	spoken    *spoken
	grounds   func() *grounds
	sections  string // all answers' texts
	merging   merging
	sentences sentences
	step      int // of the run, whose text is being taken
}

// add takes in a piece of the model's text, and passes on what sentences it completes.
func (w *wording) add(delta agentloop.TextDelta) error {
	if delta.Step != w.step { // the model came to nothing and was asked again
		if w.spoken.text.Len() > 0 {
			return errTwoTexts
		}
		w.step, w.sentences = delta.Step, sentences{}
	}
	for _, sentence := range w.sentences.add(delta.Text) {
		if err := w.pass(sentence); err != nil {
			return err
		}
	}
	if w.sentences.stuck {
		return errEndless
	}
	return nil
}

// pass passes a sentence on if it may stand in the reply.
func (w *wording) pass(sentence string) error {
	first := w.spoken.text.Len() == 0
	sentence = strings.TrimRightFunc(sentence, unicode.IsSpace)
	if first {
		sentence = strings.TrimLeftFunc(sentence, unicode.IsSpace)
	}
	line := sentence
	if first {
		line = "\n" + sentence // it begins one
	}
	switch {
	case sentence == "":
		return nil
	case !isText(sentence, w.sections):
		return errMarkup
	case w.spoken.text.Len()+len(sentence) > mergeGrowth*len(w.sections)+mergeSlack:
		return errTooLong
	case len(sentence) >= minRepeat && w.repeated(strings.TrimSpace(sentence)):
		return errRepeats
	}
	g := w.grounds()
	said := g.read(line)
	if !g.hold(said) {
		return errUngrounded
	}
	w.spoken.say(sentence)
	w.merging.add(sentence, said)
	return nil
}

// repeated reports whether a sentence was said before, and as often as the answers have it, since two of them may say the same.
func (w *wording) repeated(sentence string) bool {
	said := strings.Count(w.spoken.text.String(), sentence)
	return said > 0 && said >= strings.Count(w.sections, sentence)
}

// isText reports whether a sentence is free of what is no text for a shopper: broken characters, control characters, tags,
// marks of templates, JSON. What the answers have too is theirs.
func isText(sentence, sections string) bool {
	for i, r := range sentence {
		switch {
		case r == utf8.RuneError && !strings.ContainsRune(sections, r), unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r':
			return false
		case r == '<' && !strings.Contains(sections, "<"):
			if next, _ := utf8.DecodeRuneInString(sentence[i+1:]); unicode.IsLetter(next) || strings.ContainsRune("/|!", next) {
				return false
			}
		case r == '{' && strings.HasPrefix(sentence[i+1:], `"`) && !strings.Contains(sections, `{"`):
			return false
		}
	}
	return true
}
