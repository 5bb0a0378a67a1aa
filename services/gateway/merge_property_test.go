package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// canary matches the codes of the property test: QX and four digits.
var canary = regexp.MustCompile(`QX\d{4}`)

// randomMerge is a turn with some answers of a few sentences, each with a code of its own, and a model that says what comes
// to its mind: these sentences in any order, others, invented codes, and an end of any kind.
type randomMerge struct {
	branches  []*branch
	model     scripted.Step
	finished  bool // the model's text ended as it should
	sentences map[string]bool
}

func newRandomMerge(r *rand.Rand, t *turn) randomMerge {
	m := randomMerge{sentences: map[string]bool{}}
	var told []string
	for i := range 2 + r.IntN(4) {
		b := &branch{turn: t, assignment: &routerv1.Assignment{AssignmentId: fmt.Sprint(i), SubQuery: fmt.Sprintf("question %c", 'a'+i)}}
		if i > 1 && r.IntN(4) == 0 {
			b.err = errors.New("down")
			m.branches = append(m.branches, b)
			continue
		}
		var text []string
		for j := range 1 + r.IntN(4) {
			s := fmt.Sprintf("Item QX%d%d%02d is %s.", i, j, r.IntN(100), strings.Repeat("good ", r.IntN(9))+"enough")
			text, m.sentences[s] = append(text, s), true
		}
		told = append(told, text...)
		b.answer = &specialistv1.Answer{Text: strings.Join(text, []string{" ", "\n", "\n\n- "}[r.IntN(3)])}
		m.branches = append(m.branches, b)
	}
	r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	told = told[:r.IntN(len(told)+1)]
	for range r.IntN(3) {
		extra := []string{"Gladly!", "Item QX9999 is new.", "And so on, as they say.", "Call 555 1234 now!", "<b>Now</b>."}[r.IntN(5)]
		told = append(told, extra)
		r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	}
	m.model = scripted.Step{Text: strings.Join(told, []string{" ", "\n", "\n\n"}[r.IntN(3)]), ChunkSize: r.IntN(20)}
	switch r.IntN(6) {
	case 0:
		m.model.Err = errors.New("down")
	case 1:
		m.model.FinishReason = agentloop.FinishLength
	case 2:
		m.model.Text = m.model.Text[:r.IntN(len(m.model.Text)+1)]
		m.model.Err = errors.New("down")
	default:
		m.finished = true
	}
	return m
}

// Whatever the answers and whatever the model says, each sub-query is answered in the text or named as not answered,
// nothing is said that no answer says, and the pieces add up.
func TestEverySubQueryIsAnsweredOrNamedWhateverTheModelSays(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	methods := map[gatewayv1.MergeMethod]int{}
	for range 400 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var pieces strings.Builder
		ev := newEvents(ctx, func(e *gatewayv1.AskStreamResponse) error {
			pieces.WriteString(e.GetTextDelta().GetText())
			return nil
		})
		turn := &turn{message: "a few questions", scope: scope.Scope{Locale: "en"}, store: &gatewayv1.Store{}, events: ev}
		m := newRandomMerge(r, turn)
		merger, err := newMerger(scripted.New(m.model, m.model), nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		s := &Service{merger: merger, cfg: Config{Logger: slog.New(slog.DiscardHandler)}.withDefaults()}
		got := s.merge(ctx, turn, m.branches)
		if err := ev.close(); err != nil || pieces.String() != got.text {
			t.Errorf("pieces %q, %v", pieces.String(), err)
		}
		cancel()
		methods[got.method]++
		if problem := m.check(got.text); problem != "" {
			t.Fatalf("seed %d: %s\nmodel %+v\ntext %q", seed, problem, m.model, got.text)
		}
	}
	if len(methods) != 3 {
		t.Errorf("only these methods came up: %v", methods)
	}
}

// check returns what is wrong with a reply.
func (m randomMerge) check(text string) string {
	answers := join(m.answered())
	for _, code := range canary.FindAllString(text, -1) {
		if !strings.Contains(answers, code) {
			return "invented " + code
		}
	}
	if strings.Contains(text, "555") || strings.Contains(text, "<b>") {
		return "an invention went through"
	}
	for _, b := range m.branches {
		if b.err != nil {
			if strings.Count(text, sayUnanswered("en", b.assignment.GetSubQuery())) != 1 {
				return b.assignment.GetSubQuery() + " is not named once"
			}
			continue
		}
		codes, kept := canary.FindAllString(b.answer.GetText(), -1), 0
		for _, code := range codes {
			if strings.Contains(text, code) {
				kept++
			}
		}
		if kept < len(codes) && !m.finished || 2*kept < len(codes) {
			return fmt.Sprintf("%s has %d of %d facts", b.assignment.GetSubQuery(), kept, len(codes))
		}
		if strings.Count(text, b.answer.GetText()) > 1 {
			return b.assignment.GetSubQuery() + " is answered twice"
		}
	}
	return ""
}

func (m randomMerge) answered() []*branch {
	var out []*branch
	for _, b := range m.branches {
		if b.err == nil {
			out = append(out, b)
		}
	}
	return out
}

func TestASentenceMayBeSaidAsOftenAsTheAnswersSayIt(t *testing.T) {
	const line = "- Fell Fox trail shoe, 89.95 EUR, 4 in stock."
	w := &wording{spoken: &spoken{}, sections: "Here:\n" + line + "\n\nGoes with it:\n" + line}
	for said, want := range []bool{false, false, true} {
		if got := w.repeated(line); got != want {
			t.Errorf("said %d times before: repeated is %v", said, got)
		}
		w.spoken.text.WriteString(line)
	}
}
