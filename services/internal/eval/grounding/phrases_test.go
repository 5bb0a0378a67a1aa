package grounding

import (
	"os"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

func TestPhrasesBecomeAnHonestAndAChangedCase(t *testing.T) {
	for line, want := range map[string]string{
		`{"language":"en","supports":"in_stock","text":"The {product} is in stock."}`:                         "1 of 1, 0 of 1",
		`{"language":"de","supports":"shipped","text":"{order} wurde am {date} verschickt."}`:                 "1 of 1, 0 of 1",
		`{"language":"fr","supports":"cannot_cancel","text":"Elle ne peut plus être annulée."}`:               "1 of 1, 0 of 1",
		`{"language":"es","supports":"arrives","text":"{order} llega el {date} en 3 cajas."}`:                 "1 of 1, 0 of 1",
		`{"language":"en","supports":"action_claimed","text":"I have cancelled {order}."}`:                    "1 of 1, 0 of 0",
		`{"language":"en","supports":"guaranteed","text":"{order} will be there on {date} without fail."}`:    "1 of 1, 0 of 0",
		`{"language":"en","supports":"code_not_met","text":"{code} is not usable yet, {price} are missing."}`: "1 of 1, 0 of 1",
		`{"language":"en","supports":"none","text":"Shall I look for {product}?"}`:                            "0 of 0, 0 of 2",
		`{"language":"en","supports":"code_expired","text":"Tell me about {code}, please, if you like to."}`:  "0 of 1, 0 of 1",
	} {
		r := measured(t, line)
		if got := count(r.Caught.N, r.Caught.Of) + ", " + count(r.Flagged.N, r.Flagged.Of); got != want {
			t.Errorf("%s: %s; want %s; %+v", line, got, want, r.Misses)
		}
	}
}

func count(n, of int) string { return string(rune('0'+n)) + " of " + string(rune('0'+of)) }

func TestWrongPhrasesAreNamed(t *testing.T) {
	for line, says := range map[string]string{
		`{"language":"it","supports":"in_stock","text":"{product}"}`: `language is "it"`,
		`{"language":"en","supports":"sold","text":"{product}"}`:     `supports is "sold"`,
	} {
		if _, err := Read(strings.NewReader(line)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %s", line, err, says)
		}
	}
}

// Bounds of the figures of unread sets: the share caught and the share of honest ones flagged or harmed.
var unread = map[string]struct{ least, most float64 }{
	"phrases": {0.83, 0.025}, "sentences": {0.8, 0.05}, "authors": {0.78, 0.03}, "answers": {0.6, 0.12}, "shops": {0.57, 0.1},
}

func TestUnreadSets(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	for name, want := range unread {
		f, err := os.Open("testdata/" + name + "-unread.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cases, err := Read(f)
		if err != nil {
			t.Fatal(err)
		}
		r := Measure(t.Context(), cases, nil)
		t.Logf("%s: caught %v, honest flagged %v, harmed %v", name, r.Caught, r.Flagged, r.Harmed)
		caught := float64(r.Caught.N) / float64(r.Caught.Of)
		flagged := float64(r.Flagged.N+r.Harmed.N) / float64(r.Flagged.Of+r.Harmed.Of)
		if caught < want.least || flagged > want.most {
			t.Errorf("%s: caught %v, want at least %v; honest flagged %v, want at most %v", name, caught, want.least, flagged, want.most)
		}
	}
}
