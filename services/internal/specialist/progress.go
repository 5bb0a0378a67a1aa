package specialist

import (
	"context"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// holdBack is how much text of a step is kept until it is clear that the step calls no tools. Models like to announce
// what they look up ("Let me check ..."); such a preface is shorter than this and is dropped. Longer text is on its way
// to the reader already, so it stays part of the answer, whatever follows.
const holdBack = 240

// progress turns the events of a run into those of SpecialistService, and keeps the text that was sent, which is the
// answer's text.
type progress struct {
	send func(*specialistv1.AnswerResponse) error
	err  error // of send; the run is stopped then

	calls  int                 // of models that are known of
	untold *specialistv1.Spent // what they used; nil: it was told

	sent strings.Builder
	held strings.Builder
	open bool   // held has been let go for this step
	gap  string // goes before the next words
}

// text is everything that was sent.
func (p *progress) text() string { return p.sent.String() }

// follow takes a run to its end, reports what happens, and returns the run's result and error.
func (p *progress) follow(ctx context.Context, run *agentloop.Conversation) (*agentloop.Result, error) {
	for !run.Done() {
		p.tell()
		for ev := range run.Step(ctx) {
			p.spend(run.Result().Usage)
			p.report(ev)
			if p.err != nil {
				return nil, p.err
			}
		}
	}
	if run.Err() != nil {
		p.tell()
	}
	p.release()
	return run.Result(), run.Err()
}

// spend notes a model call that has ended since the last time. Tools of its step may be yet to run.
func (p *progress) spend(u agentloop.Usage) {
	if u.ModelCalls == p.calls {
		return
	}
	p.calls = u.ModelCalls
	p.untold = &specialistv1.Spent{Usage: usage(u)}
}

// tell says what the models used, before something else that may fail. What the last call used is in the answer.
func (p *progress) tell() {
	if p.untold != nil {
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Spent{Spent: p.untold}})
		p.untold = nil
	}
}

// report passes an event of the loop on.
func (p *progress) report(ev agentloop.Event) {
	switch ev := ev.(type) {
	case agentloop.TextDelta:
		p.hold(ev.Text)
	case agentloop.ToolStarted:
		p.dropPreface()
		p.tell()
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallStarted{
			ToolCallStarted: &specialistv1.ToolCallStarted{
				ToolCallId: valid(ev.Call.ID), ToolName: valid(ev.Call.Name), ArgumentsJson: valid(ev.Call.Arguments),
			}}})
	case agentloop.ToolFinished:
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallFinished{
			ToolCallFinished: &specialistv1.ToolCallFinished{ToolCall: toolCall(ev.Record)}}})
	}
}

// say sends words of our own as the answer's text.
func (p *progress) say(words string) {
	p.hold(words)
	p.release()
}

// hold keeps a piece of text, or sends it once enough has come.
func (p *progress) hold(text string) {
	p.held.WriteString(text)
	if p.open || p.held.Len() > holdBack {
		p.release()
	}
}

// release sends what is held, without white space at the start of the answer and at the end of what is held; the latter
// is kept, so that the pieces add up to a text that does not end in white space.
func (p *progress) release() {
	text := valid(p.held.String())
	p.held.Reset()
	if p.sent.Len() == 0 || p.gap != "" {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	words := strings.TrimRightFunc(text, unicode.IsSpace)
	p.held.WriteString(text[len(words):])
	if words == "" {
		return
	}
	words, p.gap = p.gap+words, ""
	p.open = true
	p.sent.WriteString(words)
	p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
		TextDelta: &specialistv1.TextDelta{Text: words}}})
}

// dropPreface forgets the text of a step that turns out to call tools, or closes it with a blank line if it was sent.
func (p *progress) dropPreface() {
	p.held.Reset()
	if p.open {
		p.open, p.gap = false, "\n\n"
	}
}

func (p *progress) emit(r *specialistv1.AnswerResponse) {
	if p.err == nil {
		p.err = p.send(r)
	}
}

// toolCall is a row of the loop's log as a message.
func toolCall(c agentloop.CallRecord) *specialistv1.ToolCall {
	return &specialistv1.ToolCall{
		ToolCallId: valid(c.ID), ToolName: valid(c.Name), ArgumentsJson: valid(c.Arguments),
		ResultPreview: valid(c.Preview), Error: valid(c.Error),
		StartTime: timestamppb.New(c.Start), Duration: durationpb.New(c.Duration), Summary: summary(c.Value),
	}
}

// valid makes what a model wrote fit for a proto string: models split characters.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Summarizer is implemented by tool results that can say what they hold in a few words, such as "4 products".
type Summarizer interface{ Summary() string }

func summary(value any) string {
	if s, ok := value.(Summarizer); ok {
		return s.Summary()
	}
	return ""
}
