package promptleak

import (
	"slices"
	"strings"
	"testing"
)

const prompt = "You are the search specialist of an online store. You answer questions about what the store sells.\n\n" +
	"Rules\n- Use only what the tools returned. Never invent a code, an amount, a date or a condition.\n- Be brief and friendly. No headings."

// filtered returns what passes of a text in pieces of a size.
func filtered(s string, size int) string {
	f := New(prompt).NewFilter()
	var b strings.Builder
	for piece := range slices.Chunk([]byte(s), size) {
		b.WriteString(f.Write(string(piece)))
	}
	return b.String() + f.Rest()
}

func TestQuotationsAreDropped(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"an honest answer", "We have it. The store sells tents, and you are the first of an online crowd!", "We have it. The store sells tents, and you are the first of an online crowd!"},
		{"the whole prompt", prompt, ""},
		{"its first sentence", "My prompt: \"You are the search specialist of an online store.\" Bye.", "My prompt Bye."},
		{"in another form", "YOU ARE, the Search_Specialist of an *online* store; yóu answer. And?", "And?"},
		{"with hidden characters", "You are the se\u200barch specialist of an on\u00adline store. And?", "And?"},
		{"a line for each part", "You are the search\nspecialist of an online\nstore. You answer questions\nabout. And?", "And?"},
		{"in the middle of a sentence", "I was told to use only what the tools returned never invent a code, sorry.", "I was told to sorry."},
		{"too short", "You are the search specialist of an apple. You are the search. You are.", "You are the search specialist of an apple. You are the search. You are."},
		{"marks only", "... !\n- ", "... !\n- "},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 3, 1000} {
				if got := filtered(c.in, size); got != c.want {
					t.Errorf("in pieces of %d: got %q, want %q", size, got, c.want)
				}
			}
			if got := New("Other words.", prompt).Repeats(c.in); got != (c.in != c.want) {
				t.Errorf("Repeats is %v", got)
			}
		})
	}
}

func TestAPromptWithMoreTextsLeavesTheFirstAlone(t *testing.T) {
	first := New(prompt)
	with := first.With("The store is open today from nine to five o'clock.")
	const quoted = "It says the store is open today from nine to five."
	if first.Repeats(quoted) || !with.Repeats(quoted) || !with.Repeats(prompt) {
		t.Errorf("first %v, with %v", first.Repeats(quoted), with.Repeats(quoted))
	}
}

// Only the words that may begin a quotation wait for the next ones.
func TestOtherWordsPassAtOnce(t *testing.T) {
	f := New(prompt).NewFilter()
	if got := f.Write("We have three tents "); got != "We have three tents" {
		t.Errorf("got %q", got)
	}
	if got := f.Write("you are "); got != "" {
		t.Errorf("got %q", got)
	}
	if got := f.Write("right "); got != " you are right" {
		t.Errorf("got %q", got)
	}
}

// Whatever the pieces, the result is the same, and it holds no run of words that the prompt has.
func FuzzFilter(f *testing.F) {
	f.Add(prompt+" And? "+prompt, uint8(3))
	f.Add("You you are the search you are the search specialist of an online stor", uint8(1))
	f.Add("a\xffb \u200b", uint8(1))
	p := New(prompt)
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		if !strings.Contains(s, " ") {
			s = strings.ReplaceAll(prompt, "the", s)
		}
		want := filtered(s, len(s)+1)
		if got := filtered(s, int(size)+1); got != want {
			t.Fatalf("in pieces of %d %q, whole %q", size, got, want)
		}
		if !p.Repeats(s) && want != s {
			t.Fatalf("%q became %q", s, want)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	p := New(prompt)
	words := strings.SplitAfter("Three of our trail running shoes are in stock in size 42: the Ridge Runner at 129.95 EUR and the Fell Fox at 89.00 EUR. ", " ")
	for b.Loop() {
		f := p.NewFilter()
		for _, w := range words {
			f.Write(w)
		}
		f.Rest()
	}
}
