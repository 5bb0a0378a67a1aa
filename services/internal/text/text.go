// Package text is the one place for what services do with words of natural language: folding and splitting into words,
// sentences, stemming, stop words, telling the language, and shortening for prompts, logs and errors. All functions are safe for
// concurrent use. The package imports no other package of this repository.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold makes texts comparable without case, accents, ligatures, width and apostrophes: "Crème Brûlée" becomes
// "creme brulee", "Straße" becomes "strasse", "don’t" becomes "dont". White space and other punctuation stay. The result
// is valid UTF-8, and folding it again changes nothing.
func Fold(s string) string {
	if isFolded(s) {
		return s
	}
	if folded, ok := foldLatin(s); ok {
		return folded
	}
	return fold(s)
}

// latin has the folded letters from U+00C0 to U+017F, which are those of most words that are not ASCII.
var latin = func() (out [0x180 - 0xc0]string) {
	for i := range out {
		out[i] = fold(string(rune(0xc0 + i)))
	}
	return out
}()

// foldLatin folds a text of ASCII and Latin letters, 17 times as fast as fold. ok is false if it has other characters.
func foldLatin(s string) (folded string, ok bool) {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r == '\'' || r == '`':
		case 'A' <= r && r <= 'Z':
			out = append(out, byte(r)+'a'-'A')
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r < 0xc0 || r >= 0x180:
			return "", false
		default:
			out = append(out, latin[r-0xc0]...)
		}
	}
	return string(out), true
}

// fold folds any text.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "´", "'")) {
		r = unicode.ToLower(r)
		switch r {
		case '\'', '’', 'ʼ', '`':
			continue
		}
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		if plain, ok := unaccented[r]; ok {
			b.WriteString(plain)
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// unaccented are lower-case letters that Unicode does not decompose.
var unaccented = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i",
}

// isFolded reports whether s holds only lower-case ASCII letters, digits, spaces and a few marks that folding keeps.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' || c == '\'' || c == '`' {
			return false
		}
	}
	return true
}

// Count is a number of things in English, such as "1 item" or "3 items".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Word is a word of a text.
type Word struct {
	// Text is the word, folded.
	Text string
	// Start and End delimit the word in the text that it was read from, in bytes.
	Start, End int
}

// bytesPerWord is about how many bytes of a text have one word.
const bytesPerWord = 6

// Words splits a text into words, which are runs of letters and digits, and folds them. A decimal number is one word
// ("42.5"), and so is a contraction ("don't"); an elided article is a word of its own ("l'article"); a possessive 's is
// dropped. In scripts without spaces between words, each character is a word.
func Words(s string) []Word {
	out := make([]Word, 0, len(s)/bytesPerWord+1) // grown by doubling, they were 18 % of what grounding's BenchmarkCheck allocates
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !IsLetter(r) && !IsDigit(r) && !IsUnspaced(r) {
			i += size
			continue
		}
		end := i + size
		if !IsUnspaced(r) {
			end = wordEnd(s, i)
		}
		folded := Fold(s[i:end])
		if n := end - i; n > 2 && (s[end-1] == 's' || s[end-1] == 'S') && (strings.HasSuffix(s[i:end-1], "'") || strings.HasSuffix(s[i:end-1], "’")) {
			folded = strings.TrimSuffix(folded, "s")
		}
		if folded != "" {
			out = append(out, Word{Text: folded, Start: i, End: end})
		}
		i = end
	}
	return out
}

// wordEnd returns the end of the word that starts at i.
func wordEnd(s string, i int) int {
	start := i
	var last rune
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if IsLetter(r) || IsDigit(r) {
			last = r
			i += size
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		decimal := (r == '.' || r == ',') && IsDigit(last) && IsDigit(next)
		contraction := (r == '\'' || r == '’') && IsLetter(next) && !(i-start <= maxElided && elided[strings.ToLower(s[start:i])])
		if !decimal && !contraction {
			break
		}
		last = r
		i += size
	}
	return i
}

// maxElided is more than any of elided has, in bytes.
const maxElided = 8

// elided are the words of French and Italian that lose their vowel before another.
var elided = set("l d j qu n s c m t jusqu lorsqu puisqu un dell nell all sull dall quest")

// IsLetter reports whether r belongs to a word of a script that puts spaces between words: a letter, or a mark on one.
func IsLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && !IsUnspaced(r)
}

// IsDigit reports whether r is a decimal digit of any script.
func IsDigit(r rune) bool { return '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.IsDigit(r) }

// IsUnspaced reports whether r belongs to a script that puts no spaces between words, such as Chinese, Japanese or Thai.
func IsUnspaced(r rune) bool {
	return r >= 0x0e00 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) || r == 'ー')
}

// Cut shortens a text to at most limit characters. A text that was cut ends in an ellipsis, which does not count. A limit
// of zero or less leaves nothing but the ellipsis. Invalid UTF-8 stays as it is; every bad byte counts as a character.
func Cut(s string, limit int) string {
	head := Head(s, limit)
	if len(head) == len(s) {
		return s
	}
	return head + "…"
}

// Head returns the first limit characters of a text, or all of it if it has fewer.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit <= 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

// HeadBytes returns the longest part of the beginning of a text that has at most limit bytes and ends between characters.
func HeadBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// OneLine replaces each run of white space by one space, and removes it at both ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func set(words string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}
