package text_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 items", 1: "1 item", 2: "2 items"} {
		if got := text.Count(n, "item"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":              "",
		"Plain words 7": "plain words 7",
		"Crème BRÛLÉE":  "creme brulee",
		"Straße":        "strasse",
		"Œuvre, Æther":  "oeuvre, aether",
		"Smørrebrød":    "smorrebrod",
		"Łódź":          "lodz",
		"don’t":         "dont",
		"don't":         "dont",
		"ＱＴ－１０":         "qt-10",
		"cafe\u0301":    "cafe",
		"привет Мир":    "привет мир",
		"東京":            "東京",
		"bad\xffbyte":   "bad\ufffdbyte",
	} {
		if got := text.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

// A text of Latin letters folds by a table, and beside another script without it.
func TestFoldIsTheSameForAllLatinLetters(t *testing.T) {
	t.Parallel()
	const other = "東"
	for r := rune(1); r < 0x250; r++ {
		s := "x" + string(r) + "y"
		if got, want := text.Fold(s)+other, text.Fold(s+other); got != want {
			t.Errorf("Fold(%q) = %q, and beside another script %q", s, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                            nil,
		"Where is my order QT-10031?": {"where", "is", "my", "order", "qt", "10031"},
		"42.5 and 1,5 mm, ok.":        {"42.5", "and", "1,5", "mm", "ok"},
		"I don't like Anna's":         {"i", "dont", "like", "anna"},
		"l'article n’est pas là":      {"l", "article", "n", "est", "pas", "la"},
		"dell'ordine":                 {"dell", "ordine"},
		"返品ok":                        {"返", "品", "ok"},
		"t-shirt":                     {"t", "shirt"},
	} {
		var got []string
		for _, w := range text.Words(in) {
			got = append(got, w.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äöü…"}, {"abc", 0, "…"}, {"abc", -1, "…"},
	} {
		if got := text.Cut(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"äö", 3, "ä"}, {"äö", 1, ""}, {"abc", -1, ""}} {
		if got := text.HeadBytes(c.in, c.limit); got != c.want {
			t.Errorf("HeadBytes(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got, want := text.OneLine(" a\n\n b\t c "), "a b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Forms of one word meet in each language that has a stemmer.
func TestStem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tag, a, b string }{
		{"en", "returns", "returned"}, {"de", "zelte", "zelten"}, {"fr", "l'hiver", "hivers"}, {"es", "zapatos", "zapato"},
		{"it", "ordini", "ordine"}, {"nl", "tenten", "tent"}, {"pt", "barracas", "barraca"},
	} {
		if a, b := text.Stem(c.tag, c.a), text.Stem(c.tag, c.b); a != b || a == "" {
			t.Errorf("%s: %q gives %q, %q gives %q", c.tag, c.a, a, c.b, b)
		}
	}
	for _, c := range []struct{ tag, word string }{{"en", "as"}, {"en", "x100s"}, {"ja", "返品"}, {"", "returns"}, {"en", "überzüge"}} {
		if got := text.Stem(c.tag, c.word); got != c.word {
			t.Errorf("%s: %q becomes %q", c.tag, c.word, got)
		}
	}
}

func TestSingular(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "Boxes": "box", "accessories": "accessory", "dress": "dress", "status": "status", "shoes": "shoe", "tent": "tent", "as": "as",
	} {
		if got := text.Singular(in); got != want {
			t.Errorf("Singular(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIsStopWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag, word string
		want      bool
	}{{"en", "the", true}, {"en", "tent", false}, {"de", "fur", true}, {"fr", "etes", true}, {"ja", "the", false}} {
		if got := text.IsStopWord(c.tag, c.word); got != c.want {
			t.Errorf("%s %q: %v", c.tag, c.word, got)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, seed := range []string{"", "Crème", "İstanbul ǅ", "don’t", "\xff\xfe", "각", "ｶﾞ", "´`'", "1,5 l'eau d'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := text.Fold(s)
		if !utf8.ValidString(folded) {
			t.Errorf("Fold(%q) = %q is not valid UTF-8", s, folded)
		}
		if again := text.Fold(folded); again != folded {
			t.Errorf("Fold(%q) = %q, and folded again %q", s, folded, again)
		}
		end := 0
		for _, w := range text.Words(s) {
			if w.Start < end || w.End <= w.Start || w.End > len(s) || w.Text == "" {
				t.Fatalf("Words(%q) has %+v after %d", s, w, end)
			}
			end = w.End
		}
		if head := text.HeadBytes(s, 3); len(head) > 3 || s[:len(head)] != head {
			t.Errorf("HeadBytes(%q, 3) = %q", s, head)
		}
		text.Language(s)
		if n := utf8.RuneCountInString(text.Cut(s, 2)); n > 3 {
			t.Errorf("Cut(%q, 2) has %d characters", s, n)
		}
		if line := text.OneLine(s); text.OneLine(line) != line {
			t.Errorf("OneLine(%q) = %q is not one line", s, line)
		}
	})
}
