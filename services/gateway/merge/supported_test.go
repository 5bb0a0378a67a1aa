package merge

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// mergedBy returns the text that comes of answers when a model writes a text.
func mergedBy(t *testing.T, text string, answers ...*specialistv1.Answer) string {
	t.Helper()
	return merging(t, text, answers...).Text
}

func merging(t *testing.T, text string, answers ...*specialistv1.Answer) Result {
	t.Helper()
	in := Input{Message: "?", Language: "en", Due: time.Now().Add(time.Minute), Check: asIs, Say: func(string) {}}
	for _, a := range answers {
		in.Parts = append(in.Parts, Part{Query: "one thing", Answer: a})
	}
	step := scripted.Step{Text: text}
	merger := New(Config{Model: scripted.New(step, step), Reserve: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	return merger.Merge(t.Context(), in)
}

// answering returns an answer with products beside it.
func answering(text string, titles ...string) *specialistv1.Answer {
	a := &specialistv1.Answer{Text: text}
	for _, title := range titles {
		a.Products = append(a.Products, &specialistv1.ProductChoice{Title: title})
	}
	return a
}

func TestWhatASpecialistInventedDoesNotReachTheMerge(t *testing.T) {
	lamp := &specialistv1.Answer{Text: "The Dune Lamp costs 49.00 EUR. It costs 310 EUR.", UnsupportedClaims: []string{"310 EUR"}}
	returns := answering("You can return it within 30 days.")
	const honest = "The Dune Lamp is 49 EUR. Return it within 30 days."
	for name, text := range map[string]string{
		"the model repeats it":    "The Dune Lamp is 49 EUR. It costs 310 EUR. Return it within 30 days.",
		"the model leaves it out": honest,
	} {
		if got := mergedBy(t, text, lamp, returns); got != honest {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := mergedBy(t, "<b>", lamp, returns); strings.Contains(got, "310") || !strings.Contains(got, "49.00") {
		t.Errorf("joined: %q", got)
	}
	invented := &specialistv1.Answer{Text: "It costs 310 EUR.", UnsupportedClaims: []string{"310 EUR"}}
	if got := mergedBy(t, "It costs 310 EUR.", invented, returns); strings.Contains(got, "310") || !strings.Contains(got, unansweredText("en", "one thing")) {
		t.Errorf("an answer that is all invented: %q", got)
	}
	named := &specialistv1.Answer{Text: "Take the Tarn 0.", UnsupportedClaims: []string{"0"}}
	if got := mergedBy(t, "Take the Tarn 0. Return it within 30 days.", named, returns); !strings.HasPrefix(got, "Take the Tarn 0.") {
		t.Errorf("a number in a name: %q", got)
	}
	if lamp.Text != "The Dune Lamp costs 49.00 EUR. It costs 310 EUR." {
		t.Error("the answer itself was changed")
	}
}

func TestABadSentenceCostsNoMoreThanItself(t *testing.T) {
	lamp := answering("The Dune Lamp costs 49.00 EUR and is 40 cm high. The Mesa Lamp costs 75.00 EUR and has a cord of 3.5 metres.", "Dune Lamp", "Mesa Lamp")
	returns := answering("You can return it within 30 days.")
	for name, c := range map[string]struct{ text, want string }{
		"what is left covers the answers": {
			"The Dune Lamp is 49 EUR and 40 cm high.\n\n- The Mesa Lamp is 75 EUR.\n- It was 99 EUR.\n- Return it within 30 days.",
			"The Dune Lamp is 49 EUR and 40 cm high.\n\n- The Mesa Lamp is 75 EUR.\n- Return it within 30 days.",
		},
		"what is left lacks something of an answer": {
			"The Dune Lamp is 49 EUR. The Mesa Lamp is 85 EUR, with a cord of 3.5 metres. Return it within 30 days.",
			"The Dune Lamp is 49 EUR. Return it within 30 days.\n\nThe Dune Lamp costs 49.00 EUR and is 40 cm high. The Mesa Lamp costs 75.00 EUR and has a cord of 3.5 metres.",
		},
		"what is left lacks whole sentences of it": {
			"The Dune Lamp is 49 EUR and 40 cm high. The Mesa Lamp is 85 EUR, with a cord of 3.5 metres. Return it within 30 days.",
			"The Dune Lamp is 49 EUR and 40 cm high. Return it within 30 days.",
		},
		"the first item of a list": {
			"The Dune Lamp is 49 EUR and 40 cm high:\n\n- It was 99 EUR.\n- The Mesa Lamp is 75 EUR.\n- Return it within 30 days.",
			"The Dune Lamp is 49 EUR and 40 cm high:\n\n- The Mesa Lamp is 75 EUR.\n- Return it within 30 days.",
		},
		"the start of a paragraph": {
			"The Dune Lamp is 49 EUR and 40 cm high.\n\nIt was 99 EUR. The Mesa Lamp is 75 EUR. Return it within 30 days.",
			"The Dune Lamp is 49 EUR and 40 cm high.\n\nThe Mesa Lamp is 75 EUR. Return it within 30 days.",
		},
	} {
		if got := mergedBy(t, c.text, lamp, returns); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
	}
}

func TestTheMergeNamesWhatItDropped(t *testing.T) {
	lamp := answering("The Dune Lamp costs 49.00 EUR and is 40 cm high. The Mesa Lamp costs 75.00 EUR.", "Dune Lamp", "Mesa Lamp")
	returns := answering("You can return it within 30 days.")
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"The Dune Lamp is 49 EUR and 40 cm high, the Mesa Lamp 75 EUR. Return it within 30 days.", ""},
		"facts of no answer": {
			"The Dune Lamp is 49 EUR and 40 cm high. It was 99 EUR, with code LUX-5. The Mesa Lamp is 75 EUR. Return it within 30 days.", "99 EUR, LUX-5",
		},
		"a price of the other product": {"The Dune Lamp is 40 cm high. The Dune Lamp costs 75 EUR. The Mesa Lamp is 75 EUR. Return it within 30 days.", "75 EUR of Dune Lamp"},
		"an opening, and what refers to it": {
			"We have it for 99 EUR! Lovely, right? The Dune Lamp is 49 EUR and 40 cm high. The Mesa Lamp is 75 EUR. Return it within 30 days.", "99 EUR, Lovely, right?",
		},
	} {
		r := merging(t, c.text, lamp, returns)
		var got []string
		for _, claim := range r.Lost {
			if claim.Subject != "" {
				claim.Text += " of " + claim.Subject
			}
			if claim.Start != 0 || claim.End != 0 || claim.Verdict == grounding.Supported {
				t.Errorf("%s: %+v", name, claim)
			}
			got = append(got, claim.Text)
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: dropped %q, want %q, of %q", name, got, c.want, r.Text)
		}
	}
}

func TestACourtesyMayBeLeftOut(t *testing.T) {
	returns := answering("You can return it within 30 days.")
	thanks := &specialistv1.Answer{Text: "You are welcome, always happy to help.", Evidence: &specialistv1.Evidence{}}
	const merged = "Return it within 30 days."
	if got := mergedBy(t, merged, thanks, returns); got != merged {
		t.Errorf("demanded back: %q", got)
	}
	found := &specialistv1.Answer{Text: "It is waterproof.", Evidence: &specialistv1.Evidence{Found: 1}, ToolCalls: []*specialistv1.ToolCall{{}}}
	if got := mergedBy(t, merged, found, returns); got != merged+"\n\nIt is waterproof." {
		t.Errorf("what a tool found is lost: %q", got)
	}
}

func TestAClaimIsStatedAsAWhole(t *testing.T) {
	for _, c := range []struct {
		sentence, claim string
		want            bool
	}{
		{"It costs 5 EUR.", "5 EUR", true}, {"It costs 15 EUR.", "5 EUR", false}, {"It costs 5.50 EUR.", "5", false},
		{"15, or 5, or so.", "5", true}, {"Für 49,00 €.", "49,00 €", true}, {"Only €49.", "€49", true}, {"Only €495.", "€49", false}, {"x", "", false},
	} {
		if got := states(c.sentence, c.claim); got != c.want {
			t.Errorf("%q states %q: %v", c.sentence, c.claim, got)
		}
	}
}

func TestOneApologyInAReply(t *testing.T) {
	late := answering("I'm sorry that your parcel is late. It comes on Friday.")
	broken := answering("I'm sorry to hear that. Send the lamp back within 30 days.")
	const want = "I'm sorry that your parcel is late. It comes on Friday."
	if got := mergedBy(t, "<b>", late, broken); got != want+"\n\nSend the lamp back within 30 days." {
		t.Errorf("joined: %q", got)
	}
	if got := mergedBy(t, want+" I'm sorry to hear that. Send the lamp back within 30 days.", late, broken); got != want+" Send the lamp back within 30 days." {
		t.Errorf("merged: %q", got)
	}
}
