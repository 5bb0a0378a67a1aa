package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// cut returns the sentences of a text that comes in pieces of so many bytes, and what was left.
func cut(text string, size int) (out []string, s *Sentences) {
	s = &Sentences{}
	for piece := range slices.Chunk([]byte(text), size) {
		out = append(out, s.Add(string(piece))...)
	}
	return out, s
}

func TestTextIsCutIntoSentencesAndLines(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"sentences", "We have it. Do you want it? Yes! Good … fine.", []string{"We have it.", " Do you want it?", " Yes!", " Good …", " fine."}},
		{"decimals", "It costs 129.95 EUR or 1.299,00 €. Fine.", []string{"It costs 129.95 EUR or 1.299,00 €.", " Fine."}},
		{"a number before the dot", "It costs 49. The next is 49.90. We have size 42. Die gibt es seit 2026. „Größe 42.“ Gut.",
			[]string{"It costs 49.", " The next is 49.90.", " We have size 42.", " Die gibt es seit 2026.", " „Größe 42.“", " Gut."}},
		{"dates and ordinals", "Am 3. Mai, bis 3. März und am 24.12. Heiligabend im 1. Stock der 2. Artikel. Ihr 3. Paar. Am 5. Nov. Gut.",
			[]string{"Am 3. Mai, bis 3. März und am 24.12. Heiligabend im 1. Stock der 2. Artikel.", " Ihr 3. Paar.", " Am 5. Nov. Gut."}},
		{"list marks in a line", "Two: 1. Korvane Gully 2. Quillfoot 4. Yes.", []string{"Two: 1. Korvane Gully 2. Quillfoot 4.", " Yes."}},
		{"a number behind the dot", "See no. 5. Or approx. 30 EUR. Yes.", []string{"See no. 5.", " Or approx. 30 EUR.", " Yes."}},
		{"abbreviations", "Das kostet ca. 5 €, z. B. Schuhe bzw. Hosen inkl. MwSt. Dr. Klee hilft. Ja.",
			[]string{"Das kostet ca. 5 €, z. B. Schuhe bzw. Hosen inkl. MwSt.", " Dr. Klee hilft.", " Ja."}},
		{"a small letter behind the dot", "p. ej. unos zapatos. Sí.", []string{"p. ej. unos zapatos.", " Sí."}},
		{"addresses", "See https://shop.example/a.b?c=x. Or mail a.b@c.example! Bye.",
			[]string{"See https://shop.example/a.b?c=x.", " Or mail a.b@c.example!", " Bye."}},
		{"quotes and brackets", "„Gern.“ (Wirklich?) **Ja.** Gut.", []string{"„Gern.“", " (Wirklich?)", " **Ja.**", " Gut."}},
		{"lists", "We have:\n\n- A: 1.50 EUR\n- B\n1. C\n", []string{"We have:", "\n\n- A: 1.50 EUR", "\n- B", "\n1. C", "\n"}},
		{"wide stops", "あります。返品は？はい！どうぞ。」", []string{"あります。", "返品は？", "はい！", "どうぞ。」"}},
		{"dots in a row", "Well... maybe. " + strings.Repeat(".", 100) + " Yes.", []string{"Well... maybe.", " " + strings.Repeat(".", 100), " Yes."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(tt.text)} {
				got, s := cut(tt.text, size)
				if s.Rest() != "" {
					got = append(got, s.Rest())
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestRestIsCompleteIfItEndsLikeASentence(t *testing.T) {
	for rest, want := range map[string]bool{
		"It fits. ": true, "„Gern.“": true, "Why?": true, "あります。": true, "It fits": false, "It costs 49.": false, "We sell e.g.": false, "inkl.": false,
		"": false, "...": false, "1. ": false,
	} {
		s := Sentences{held: rest}
		if s.Complete() != want {
			t.Errorf("%q: complete %v", rest, !want)
		}
	}
}

func TestALongSentenceIsCutFarFromNumbers(t *testing.T) {
	words := strings.Repeat("only words here and ", 22)
	text := words + "then on 3 de septiembre de 2026 for 1 299,00 € and 42 or " + strings.Repeat("9 x ", 300) + words
	got, s := cut(text, 7)
	if s.stuck || len(got) < 2 || strings.Join(got, "")+s.Rest() != text {
		t.Fatalf("%q, stuck: %v", got, s.stuck)
	}
	for _, piece := range got {
		if strings.ContainsAny(piece[max(0, len(piece)-quietBytes):], "0123456789") {
			t.Errorf("%q is cut near a number", piece)
		}
	}
}

func TestATextWithoutAPlaceToCutIsGivenUp(t *testing.T) {
	for _, text := range []string{"x", "9 ", ".", "\n", " ", "。"[:2], "\u00a0"} {
		text = "a" + strings.Repeat(text, 8*MaxSentence/len(text))
		got, s := cut(text, 11)
		if held := len(s.Rest()); !s.stuck && held > MaxSentence+len(text[:11]) {
			t.Errorf("%.10q: %d bytes are held after %d sentences", text, held, len(got))
		}
	}
}

// Whatever comes, in whatever pieces: the sentences add up to the text, they are the same, and none ends within a number
// or a word.
func FuzzSentences(f *testing.F) {
	for _, seed := range []string{
		"It costs 129.95 EUR. On 3. Mai we go to https://a.example/b?c. Yes!\n- 1 299,00 €\n", "あり。9。9 ！", "\xff. A\x00? B",
		strings.Repeat("long sentences with 42 numbers ", 40), strings.Repeat("word ", 300), "1.\n2! 3? 4… 5.  6",
		" costs 129.95 EUR. On 3. MƕNܢ", // a piece may end within a letter
		"on 3. Mai" + strings.Repeat("b", maxLookahead) + "\xdc", "It costs 9." + strings.Repeat(" ", maxLookahead) + "and more.",
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(8))
		f.Add(seed, uint8(50))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = text[:min(len(text), 4*MaxSentence)]
		got, s := cut(text, int(size)+1)
		if strings.Join(got, "")+s.Rest() != text {
			t.Fatalf("%q + %q do not add up", got, s.Rest())
		}
		whole, _ := cut(text, len(text)+1)
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Fatalf("cut otherwise in pieces of %d (-whole +got):\n%s", size, diff)
		}
		for i, piece := range got {
			behind := strings.Join(got[i+1:], "") + s.Rest()
			last, _ := utf8.DecodeLastRuneInString(piece)
			next, _ := utf8.DecodeRuneInString(behind)
			stops := piece[len(strings.TrimRightFunc(piece, func(r rune) bool { return isStop(r) || isCloser(r) })):]
			if !strings.ContainsFunc(stops, isWide) && !unicode.IsSpace(next) && next != '，' && next != '、' {
				t.Fatalf("cut between %q and %.20q", piece, behind)
			}
			digit, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(behind, func(r rune) bool { return unicode.IsSpace(r) && r != '\n' }))
			if (unicode.IsDigit(last) || last == '.' && strings.HasSuffix(strings.TrimRight(piece, "."), "9")) && unicode.IsDigit(digit) {
				t.Fatalf("a number is cut between %q and %.20q", piece, behind)
			}
		}
	})
}

func TestWhatFollowsADroppedSentenceKeepsItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		dropped    []string
		kept, want string
	}{
		"nothing is dropped": {nil, " Fine.", " Fine."},
		"in a line":          {[]string{" No."}, " Fine.", " Fine."},
		"a line's first":     {[]string{"\n- No."}, " Fine.", "\nFine."},
		"a paragraph":        {[]string{"\n\nNo.", "\nNo."}, "\nFine.", "\n\nFine."},
		"before a paragraph": {[]string{"\nNo."}, "\n\nFine.", "\n\nFine."},
	} {
		var gap Gap
		for _, sentence := range c.dropped {
			gap.Drop(sentence)
		}
		if got := gap.Keep(c.kept); got != c.want || gap.Keep(" Fine.") != " Fine." {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
