package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// maxMergeTime bounds a merge, in reserves for it, however much time the turn has left.
const maxMergeTime = 2

// merged is the text of a reply and what it took to make it of the answers.
type merged struct {
	text   string
	method gatewayv1.MergeMethod
	merge  *agentloop.Result // of the model, also when its text was not taken; nil: it was not asked
}

// spoken is the reply's text as far as it is made. What was said was sent to those who read events, and stays said.
type spoken struct {
	events *events
	text   strings.Builder
}

func (s *spoken) say(text string) {
	s.text.WriteString(text)
	s.events.text(text)
}

func (s *spoken) paragraph(text string) {
	if s.text.Len() > 0 {
		text = "\n\n" + text
	}
	s.say(text)
}

// merge makes the reply's text. At least one branch is answered. A single answer passes through. Several are worded as one
// by the model, sentence by sentence as it writes; what it did not get to, or left out, is added by code, and so is what
// nobody answered. Every sub-query is then answered in the text or named as not answered.
func (s *Service) merge(ctx context.Context, t *turn, branches []*branch) merged {
	if len(branches) == 1 {
		return s.passThrough(ctx, t, branches[0])
	}
	var sections, unanswered []*branch
	for _, b := range branches {
		if b.err == nil {
			sections = append(sections, b)
		} else {
			unanswered = append(unanswered, b)
		}
	}
	m := merged{method: gatewayv1.MergeMethod_MERGE_METHOD_JOINED}
	text := &spoken{events: t.events}
	missing := sections
	if s.merger != nil && len(sections) > 1 {
		m.merge, missing = s.word(ctx, t, text, branches, sections)
		switch {
		case text.text.Len() == 0:
		case len(missing) == 0:
			m.method = gatewayv1.MergeMethod_MERGE_METHOD_MODEL
		default:
			m.method = gatewayv1.MergeMethod_MERGE_METHOD_MODEL_AND_JOINED
		}
	}
	for _, b := range missing {
		text.paragraph(strings.TrimSpace(b.answer.GetText()))
	}
	for _, b := range unanswered {
		text.paragraph(sayUnanswered(t.language(), b.assignment.GetSubQuery()))
	}
	m.text = text.text.String()
	return m
}

// word has the model word the sections into the text, and returns which of them the text then lacks.
func (s *Service) word(
	ctx context.Context, t *turn, text *spoken, branches, sections []*branch,
) (*agentloop.Result, []*branch) {
	ctx, cancel := context.WithDeadline(ctx, s.mergeDue(ctx))
	defer cancel()
	checks := newChecks(t, branches, sections)
	defer checks.wait()
	w := &wording{spoken: text, grounds: checks.grounds, sections: join(sections)}
	result, err := s.merger.word(ctx, mergeMessage(t, branches), w)
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "merge cut short", "store", t.scope.StoreID, "turn", t.scope.TurnID,
			"passed_on_bytes", text.text.Len(), "error", err)
	}
	if text.text.Len() == 0 {
		return result, sections
	}
	var missing []*branch
	for _, i := range checks.coverage().missing(text.text.String(), &w.merging, err == nil) {
		missing = append(missing, sections[i])
	}
	return result, missing
}

// mergeDue is when the model must be done.
func (s *Service) mergeDue(ctx context.Context) time.Time {
	due, limit := replyDue(ctx), time.Now().Add(maxMergeTime*s.cfg.MergeReserve)
	if limit.Before(due) {
		return limit
	}
	return due
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
func mergeMessage(t *turn, branches []*branch) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The shopper's message:\n<message>\n%s\n</message>\n\n", disarm(t.message))
	if tag := t.languageTag(); tag != "" {
		fmt.Fprintf(&b, "Language: %s\n", tag)
	} else {
		b.WriteString("Language: that of the message\n")
	}
	n, unanswered := 0, ""
	for _, s := range branches {
		query := oneLine(disarm(s.assignment.GetSubQuery()))
		if s.err != nil {
			unanswered += "- " + query + "\n"
			continue
		}
		n++
		fmt.Fprintf(&b, "\n## Section %d: %s\n%s\n", n, query, disarm(noHeadings(s.answer.GetText())))
	}
	if unanswered != "" {
		b.WriteString("\n## Not answered\n" + unanswered)
	}
	return b.String()
}

// disarm takes out what a person would not see, and the angle brackets that make a tag, so that nothing can end the
// message or pass for a mark of the conversation.
func disarm(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '＜' || r == '‹' || r == '〈' || r == '﹤':
			return '<'
		case r != '\n' && r != '\t' && unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, text)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		bracket := byte('<')
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t\n/|!?"))
		if grounding.IsLetter(next) || next == '<' || strings.HasPrefix(after, "|") {
			bracket = '('
		}
		b.WriteByte(bracket)
		text = after
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
