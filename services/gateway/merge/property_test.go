package merge

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// canary matches the codes of the property test: QX and four digits.
var canary = regexp.MustCompile(`QX\d{4}`)

// randomMerge is a turn with some answers of a few sentences, each with a code of its own, and a model that says what comes
// to its mind: these sentences in any order, others, invented codes, and an end of any kind.
type randomMerge struct {
	parts     []Part
	model     scripted.Step
	finished  bool // the model's text ended as it should
	sentences map[string]bool
}

func newRandomMerge(r *rand.Rand) randomMerge {
	m := randomMerge{sentences: map[string]bool{}}
	var told []string
	for i := range 2 + r.IntN(4) {
		p := Part{Query: fmt.Sprintf("question %c", 'a'+i)}
		if i > 1 && r.IntN(4) == 0 {
			m.parts = append(m.parts, p)
			continue
		}
		var text []string
		for j := range 1 + r.IntN(4) {
			s := fmt.Sprintf("Item QX%d%d%02d is %s.", i, j, r.IntN(100), strings.Repeat("good ", r.IntN(9))+"enough")
			text, m.sentences[s] = append(text, s), true
		}
		told = append(told, text...)
		p.Answer = &specialistv1.Answer{Text: strings.Join(text, []string{" ", "\n", "\n\n- "}[r.IntN(3)])}
		m.parts = append(m.parts, p)
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
		var pieces strings.Builder
		m := newRandomMerge(r)
		merger := New(Config{Model: scripted.New(m.model, m.model), Reserve: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		got := merger.Merge(t.Context(), Input{
			Message: "a few questions", Language: "en", Parts: m.parts, Due: time.Now().Add(time.Minute),
			Check: asIs, Say: func(text string) { pieces.WriteString(text) },
		})
		if pieces.String() != got.Text {
			t.Errorf("pieces %q", pieces.String())
		}
		methods[got.Method]++
		if problem := m.check(got.Text); problem != "" {
			t.Fatalf("seed %d: %s\nmodel %+v\ntext %q", seed, problem, m.model, got.Text)
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
	for _, p := range m.parts {
		if p.Answer == nil {
			if strings.Count(text, unansweredText("en", p.Query)) != 1 {
				return p.Query + " is not named once"
			}
			continue
		}
		codes, kept := canary.FindAllString(p.Answer.GetText(), -1), 0
		for _, code := range codes {
			if strings.Contains(text, code) {
				kept++
			}
		}
		if kept < len(codes) && !m.finished || 2*kept < len(codes) {
			return fmt.Sprintf("%s has %d of %d facts", p.Query, kept, len(codes))
		}
		if strings.Count(text, p.Answer.GetText()) > 1 {
			return p.Query + " is answered twice"
		}
	}
	return ""
}

func (m randomMerge) answered() []Part {
	return slices.DeleteFunc(slices.Clone(m.parts), func(p Part) bool { return p.Answer == nil })
}

func TestASentenceMayBeSaidAsOftenAsTheAnswersSayIt(t *testing.T) {
	const line = "- Fell Fox trail shoe, 89.95 EUR, 4 in stock."
	w := &stream{output: silent(), quotes: builtInQuotes, answers: "Here:\n" + line + "\n\nGoes with it:\n" + line}
	for said, want := range []bool{false, false, true} {
		if got := w.repeated(line); got != want {
			t.Errorf("said %d times before: repeated is %v", said, got)
		}
		w.output.WriteString(line)
	}
}
