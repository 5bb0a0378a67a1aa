package specialist

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

// prefaceLimit is how much text of a step, in bytes, is buffered until it is clear that the step calls no tools. Models
// often announce a lookup ("Let me check ..."). Such a preface is shorter than this and is dropped. Longer text was sent
// already, so it stays part of the answer.
const prefaceLimit = 240

// progress converts the events of a run to events of SpecialistService, and keeps the text that was sent, which is the
// answer's text. It sends whole sentences, so that a run that breaks off leaves no half sentence.
type progress struct {
	send  func(*specialistv1.AnswerResponse) error
	err   error              // of send; the run is stopped then
	quote *promptleak.Filter // drops the words of the prompt

	findings *Findings         // what a final tool leaves
	claims   *claimChecker     // drops or corrects sentences
	held     bool              // nothing is sent before release
	whole    string            // the text before the last settle
	judging  *agentloop.Result // what judging has used; nil: nothing
	notes    toolNotes         // drops sentences that are for the model
	noted    bool              // it dropped one

	capture bool // spans may hold content

	calls        int                       // of models that are known of
	pendingUsage *specialistv1.UsageUpdate // what they used; nil: it was sent

	sent      strings.Builder
	pending   strings.Builder // text of the step while it may be a preface
	flushing  bool            // the text of the step is part of the answer
	noText    bool            // what follows in the step is no text for a shopper, and is dropped
	dropped   bool            // that was so in any step
	sentences text.Sentences  // of that text
	start     int             // of that text in sent
	apologies wording.Apologies
	unsent    string // sentences that were checked and not sent yet
	separator string // goes before the next words
	resumed   bool   // the model goes on with its answer, and may repeat sentences at first
}

// text returns everything that was sent.
func (p *progress) text() string { return p.sent.String() }

// stepText returns what was sent of the text of the last step.
func (p *progress) stepText() string { return p.sent.String()[p.start:] }

// run takes a run to its end, reports what happens, and returns the run's result and error.
func (p *progress) run(ctx context.Context, run *agentloop.Conversation) (*agentloop.Result, error) {
	for !run.Done() {
		p.flushUsage()
		p.notes.add(run.Messages())
		if len(run.Result().Calls) > 0 {
			p.claims.prepare()
		}
		for ev := range run.Step(ctx) {
			p.noteUsage(run.Result().Usage)
			p.handle(ctx, ev)
			if p.err != nil {
				return nil, p.err
			}
		}
	}
	if run.Err() != nil {
		p.flushUsage()
	}
	question, passedOn := p.findings.ending()
	if passedOn != nil && p.sent.Len() == 0 {
		return run.Result(), run.Err()
	}
	p.buffer(p.quote.Rest())
	if question != nil {
		p.ask(question.GetText(), isCut(run))
	}
	p.flush()
	if question != nil || !isCut(run) || p.sentences.Complete() {
		p.flushRest()
	}
	return run.Result(), run.Err()
}

// ask adds a question to the text of the last step, unless the text has it. Of a text that broke off, the whole sentences count.
func (p *progress) ask(question string, cut bool) {
	switch {
	case strings.Contains(text.OneLine(p.text()+p.sentences.Rest()), question):
	case p.flushing:
		if !cut || p.sentences.Complete() {
			p.flushRest()
		}
		p.sentences = text.Sentences{}
		p.say("\n\n" + question)
	default:
		before := p.pending.String()
		p.pending.Reset()
		if jsonStart.MatchString(before) || templateMark.MatchString(before) {
			before = ""
		}
		if cut {
			before = wholeSentences(before)
		}
		p.buffer(withQuestion(before, question))
	}
}

// wholeSentences returns a text without a last sentence that does not end.
func wholeSentences(t string) string {
	var split text.Sentences
	whole := strings.Join(split.Add(t), "")
	if split.Complete() {
		whole += split.Rest()
	}
	return whole
}

// isCut reports whether the last text of a run broke off.
func isCut(run *agentloop.Conversation) bool {
	steps := run.Result().Steps
	switch steps[len(steps)-1].FinishReason {
	case agentloop.FinishStop, agentloop.FinishToolCalls:
		return false
	case "": // also of a model that failed to go on with an answer
		return run.Err() != nil || run.Result().FinishReason == agentloop.FinishLength
	}
	return true
}

// resume prepares for the rest of an answer that was cut.
func (p *progress) resume() {
	rest := p.sentences.Rest()
	p.separator = rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsSpace))]
	if last, _ := utf8.DecodeLastRuneInString(p.text()); p.separator == "" && last < utf8.RuneSelf {
		p.separator = " "
	}
	p.sentences, p.resumed, p.noText = text.Sentences{}, true, false
}

// noteUsage notes a model call that has ended since the last call of noteUsage. Tools of its step may still run.
func (p *progress) noteUsage(u agentloop.Usage) {
	if u.ModelCalls == p.calls {
		return
	}
	p.calls = u.ModelCalls
	p.updateUsage(u)
}

// updateUsage keeps what the calls of models have used, with those of a judge, to be reported.
func (p *progress) updateUsage(u agentloop.Usage) {
	if p.judging != nil {
		u = u.Add(p.judging.Usage)
	}
	p.pendingUsage = &specialistv1.UsageUpdate{Usage: usage.Of(u)}
}

// flushUsage reports the usage of model calls before a further step, which may fail. The answer has the usage of the last call.
func (p *progress) flushUsage() {
	if p.pendingUsage != nil {
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_UsageUpdate{UsageUpdate: p.pendingUsage}})
		p.pendingUsage = nil
	}
}

// handle converts an event of the loop.
func (p *progress) handle(ctx context.Context, ev agentloop.Event) {
	switch ev := ev.(type) {
	case agentloop.TextDelta:
		p.buffer(p.quote.Write(ev.Text))
	case agentloop.ToolStarted:
		if ev.Call.Name != askShopper {
			p.dropPreface()
		}
		p.flushUsage()
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallStarted{
			ToolCallStarted: &specialistv1.ToolCallStarted{
				ToolCallId: valid(ev.Call.ID), ToolName: valid(ev.Call.Name), ArgumentsJson: valid(ev.Call.Arguments),
			}}})
	case agentloop.ToolFinished:
		if ev.Record.Refused {
			agentotel.Refused(ctx, ev.Record, agentotel.Config{CaptureContent: p.capture})
		}
		if ev.Record.Error != "" {
			p.dropPreface() // of a question that was refused; other calls have dropped it when they started
		}
		p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallFinished{
			ToolCallFinished: &specialistv1.ToolCallFinished{ToolCall: toolCall(ev.Record)}}})
	}
}

// write sends a text that is not the model's.
func (p *progress) write(t string) {
	p.pending.Reset()
	p.sentences = text.Sentences{}
	p.say(t)
}

// buffer keeps text until prefaceLimit is exceeded, and then sends its whole sentences.
func (p *progress) buffer(t string) {
	p.pending.WriteString(t)
	if p.flushing || p.pending.Len() > prefaceLimit {
		p.flush()
	}
}

// jsonStart matches the start of JSON, also in a code fence, and templateMark what chat templates put around messages and calls.
// Models write them where they should have called a tool, in a way that the endpoint does not know.
var (
	jsonStart    = regexp.MustCompile("^\\s*(?:```[a-z_]*\\s*)?[\\[\\s]*\\{\\s*\"")
	templateMark = regexp.MustCompile(`<[|｜][^<>\s]{1,40}[|｜]>`)
)

// textOf returns what of a sentence is before a mark. The mark and the rest of the step are dropped.
func (p *progress) textOf(sentence string) string {
	end := len(sentence)
	if mark := templateMark.FindStringIndex(sentence); mark != nil {
		end = mark[0]
	}
	if p.noText {
		end = 0
	}
	if end == len(sentence) {
		return sentence
	}
	p.noText, p.dropped = true, true
	return strings.TrimRightFunc(sentence[:end], unicode.IsSpace)
}

// flush sends the whole sentences of the step's text.
func (p *progress) flush() {
	if !p.flushing && jsonStart.MatchString(p.pending.String()) {
		p.noText = true
	}
	p.flushing = true
	var whole strings.Builder
	for _, sentence := range p.sentences.Add(p.pending.String()) {
		whole.WriteString(p.shown(sentence))
	}
	p.pending.Reset()
	p.say(whole.String())
	if p.sentences.Stuck() {
		p.flushRest()
	}
}

// shown returns what of a sentence is for a shopper: nothing of markup, and nothing if the model only repeats the sentence at the
// start of the rest of an answer.
func (p *progress) shown(sentence string) string {
	sentence = p.textOf(sentence)
	if p.resumed && strings.Contains(p.text(), strings.TrimSpace(sentence)) {
		return ""
	}
	p.resumed = false
	if p.notes.has(sentence, p.claims.turn.Language) {
		p.noted = true
		return ""
	}
	return p.supported(p.apologies.Once(sentence))
}

// supported returns what the claim rules leave of a sentence.
func (p *progress) supported(sentence string) string {
	if sentence == "" {
		return ""
	}
	before := p.text() + p.unsent
	allowed, stop := p.claims.sentence(before, sentence)
	if allowed == "" {
		p.dropped = true
	}
	p.noText = p.noText || stop
	p.unsent += allowed
	return allowed
}

// flushRest sends the start of a sentence that does not go on.
func (p *progress) flushRest() {
	rest := p.shown(strings.TrimRightFunc(p.sentences.Rest(), unicode.IsSpace))
	p.sentences = text.Sentences{}
	p.say(rest)
}

// say sends words, without white space at the start of the answer.
func (p *progress) say(words string) {
	p.unsent = ""
	words = valid(words)
	if p.sent.Len() == 0 {
		p.separator = ""
	}
	if p.sent.Len() == 0 || p.separator != "" {
		words = strings.TrimLeftFunc(words, unicode.IsSpace)
	}
	if words == "" {
		return
	}
	words, p.separator = p.separator+words, ""
	p.sent.WriteString(words)
	if !p.held {
		p.emitText(words)
	}
}

func (p *progress) emitText(words string) {
	p.emit(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
		TextDelta: &specialistv1.TextDelta{Text: words}}})
}

// settle leaves of the text, which is held, what the rules for its claims allow, up to where the model is to go on.
func (p *progress) settle() {
	p.whole = p.text()
	claims := p.claims.check(p.whole).Rejected()
	var kept strings.Builder
	var gap text.Gap
	start, step := 0, 0
	for _, sentence := range text.SplitSentences(p.whole) {
		if start <= p.start {
			step = kept.Len()
		}
		end := start + len(sentence)
		allowed, stop := sentence, false
		if !p.claims.isQuestion(sentence) {
			rejected := slices.DeleteFunc(slices.Clone(claims), func(c grounding.Claim) bool { return c.Start < start || c.Start >= end })
			allowed, stop = p.claims.carryOut(start, sentence, rejected)
		}
		switch {
		case allowed != "":
			if allowed = gap.Keep(allowed); kept.Len() == 0 {
				allowed = strings.TrimLeftFunc(allowed, unicode.IsSpace)
			}
			kept.WriteString(allowed)
		case sentence != "":
			p.dropped = true
			gap.Drop(sentence)
		}
		if start = end; stop {
			break
		}
	}
	p.setText(kept.String(), step)
}

// setText replaces the text, which is held. The last step's begins at a byte of it.
func (p *progress) setText(t string, step int) {
	p.sent.Reset()
	p.sent.WriteString(t)
	if p.start = min(step, len(t)); p.start == len(t) && t != "" {
		p.separator = "\n\n"
	}
}

// release sends the text that was held.
func (p *progress) release() {
	if p.held = false; p.sent.Len() > 0 {
		p.emitText(p.text())
	}
}

// dropPreface drops the pending text of a step that calls tools. Text that was sent already is closed with a blank line.
func (p *progress) dropPreface() {
	if rest := p.quote.Rest(); p.flushing {
		p.buffer(rest)
		p.flushRest()
		p.flushing, p.noText, p.separator, p.start = false, false, "\n\n", p.sent.Len()
	}
	p.pending.Reset()
}

func (p *progress) emit(r *specialistv1.AnswerResponse) {
	if p.err == nil {
		p.err = p.send(r)
	}
}

// toolCall converts a record of the loop.
func toolCall(c agentloop.CallRecord) *specialistv1.ToolCall {
	return &specialistv1.ToolCall{
		ToolCallId: valid(c.ID), ToolName: valid(c.Name), ArgumentsJson: valid(c.Arguments),
		ResultPreview: valid(c.Preview), Error: valid(c.Error),
		StartTime: timestamppb.New(c.Start), Duration: durationpb.New(c.Duration), Summary: summary(c.Value),
	}
}

// valid replaces invalid UTF-8, which proto strings refuse and models produce.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Summarizer is implemented by tool results that can say what they hold in a few words, such as "4 products".
type Summarizer interface{ Summary() string }

func summary(value any) string {
	if s, ok := value.(Summarizer); ok {
		return s.Summary()
	}
	return ""
}
