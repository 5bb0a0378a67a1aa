package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

//go:embed merge.md
var mergePrompt string

// mergeTemperature keeps the model close to the sections.
var mergeTemperature = 0.2

// merged is the text of a reply and what it took to make it of the answers.
type merged struct {
	text   string
	method gatewayv1.MergeMethod
	merge  *agentloop.Result // of the model, also when its text was not taken; nil: it was not asked
}

// merger asks a model to word one reply from several answers. A nil merger never does.
type merger struct {
	loop *agentloop.Loop
}

func newMerger(m agentloop.Model, price *agentloop.Price) (*merger, error) {
	if m == nil {
		return nil, nil
	}
	loop, err := agentloop.New(agentloop.Config{
		Model: m, System: strings.TrimSpace(mergePrompt), Temperature: &mergeTemperature,
		MaxSteps: 2, // an answer, and another one if that was empty
		Price:    price,
	})
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return &merger{loop: loop}, nil
}

// merge makes the reply's text. At least one branch is answered. A single answer passes through; several are worded as
// one by the model or, when it fails, is late or loses a section, joined by code. What nobody answered is named by code.
//
// The model's text is held until it is known to be whole, and then passed on in one piece, so that the pieces that a
// reader of events gets always add up to the reply.
func (s *Service) merge(ctx context.Context, t *turn, branches []*branch) merged {
	if len(branches) == 1 {
		return s.passThrough(ctx, t, branches[0])
	}
	var sections []*branch
	var unanswered []string
	for _, b := range branches {
		if b.err == nil {
			sections = append(sections, b)
		} else {
			unanswered = append(unanswered, b.assignment.GetSubQuery())
		}
	}
	m := merged{method: gatewayv1.MergeMethod_MERGE_METHOD_JOINED, text: join(sections)}
	if s.merger != nil && len(sections) > 1 {
		ctx, cancel := context.WithDeadline(ctx, replyDue(ctx))
		defer cancel()
		result, err := s.merger.loop.Run(ctx, nil, mergeMessage(t, sections, unanswered))
		m.merge = result
		if err == nil {
			err = whole(result, sections)
		}
		if err == nil {
			m.text, m.method = strings.TrimSpace(result.Text), gatewayv1.MergeMethod_MERGE_METHOD_MODEL
		} else {
			s.cfg.Logger.WarnContext(ctx, "answers joined by code", "store", t.scope.StoreID, "turn", t.scope.TurnID, "error", err)
		}
	}
	for _, q := range unanswered {
		m.text += "\n\n" + sayUnanswered(t.language(), q)
	}
	t.events.text(m.text)
	return m
}

// passThrough takes the text of the only answer, which readers of events have seen coming. A specialist whose pieces do
// not add up to its answer is taken at its pieces: they can not be taken back.
func (s *Service) passThrough(ctx context.Context, t *turn, b *branch) merged {
	m := merged{method: gatewayv1.MergeMethod_MERGE_METHOD_PASS_THROUGH, text: b.answer.GetText()}
	streamed := b.streamed.String()
	if !strings.HasPrefix(m.text, streamed) {
		s.cfg.Logger.WarnContext(ctx, "the pieces of an answer do not add up to it", "specialist", b.assignment.GetSpecialist())
		m.text = streamed
	}
	t.events.text(m.text[len(streamed):])
	return m
}

// join puts the sections one below the other.
func join(sections []*branch) string {
	texts := make([]string, len(sections))
	for i, b := range sections {
		texts[i] = strings.TrimSpace(b.answer.GetText())
	}
	return strings.Join(texts, "\n\n")
}

// mergeMessage is what the model is given.
func mergeMessage(t *turn, sections []*branch, unanswered []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The shopper's message:\n<message>\n%s\n</message>\n\n", strings.ReplaceAll(t.message, "</message>", ""))
	if tag := t.languageTag(); tag != "" {
		fmt.Fprintf(&b, "Language: %s\n", tag)
	} else {
		b.WriteString("Language: that of the message\n")
	}
	for i, s := range sections {
		fmt.Fprintf(&b, "\n## Section %d: %s\n%s\n", i+1, oneLine(s.assignment.GetSubQuery()), noHeadings(s.answer.GetText()))
	}
	if len(unanswered) > 0 {
		b.WriteString("\n## Not answered\n")
		for _, q := range unanswered {
			fmt.Fprintf(&b, "- %s\n", oneLine(q))
		}
	}
	return b.String()
}

// whole returns an error unless the model finished a text that has every section in it.
func whole(result *agentloop.Result, sections []*branch) error {
	if result.FinishReason != agentloop.FinishStop {
		return fmt.Errorf("merge: the model's text ended for %q", result.FinishReason)
	}
	if strings.TrimSpace(result.Text) == "" {
		return errors.New("merge: the model's text is empty")
	}
	for _, b := range sections {
		if !covers(result.Text, b.answer) {
			return fmt.Errorf("merge: the model dropped the section of assignment %s", b.assignment.GetAssignmentId())
		}
	}
	return nil
}

// noHeadings keeps an answer from looking like several sections.
func noHeadings(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "#") {
			lines[i] = strings.TrimLeft(l, "# \t")
		}
	}
	return strings.Join(lines, "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
