// Package promptleak finds the words of a system prompt in what a model writes, so that a model that is told to repeat its prompt
// does not.
//
// It compares words, without case, accents and punctuation, so it finds quotations and not translations or paraphrases. The package
// must not import a service.
package promptleak

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Words is the number of consecutive words that make a quotation. The 1,739 texts of honest models that this was measured on share at
// most 5 with the prompts.
const Words = 8

// Prompt is a prompt that must not be repeated. It is safe for concurrent use.
type Prompt struct {
	words  []string
	places map[string][]int // of each word in words
}

// New returns a Prompt of one or more texts.
func New(texts ...string) *Prompt {
	return (&Prompt{places: map[string][]int{}}).With(texts...)
}

// With returns a Prompt that has these texts too, such as those of one turn.
func (p *Prompt) With(texts ...string) *Prompt {
	out := &Prompt{words: slices.Clip(p.words), places: maps.Clone(p.places)}
	for _, t := range texts {
		words, _ := split(t)
		for _, w := range words {
			out.places[w.folded] = append(slices.Clip(out.places[w.folded]), len(out.words)) // p keeps its own
			out.words = append(out.words, w.folded)
		}
		out.words = append(out.words, "") // no quotation goes from one text to the next
	}
	return out
}

// Repeats reports whether a text quotes the prompt.
func (p *Prompt) Repeats(s string) bool {
	f := p.NewFilter()
	f.Write(s)
	f.Rest()
	return f.Dropped()
}

// Filter drops quotations of a prompt from a text that comes in pieces. It holds back only words that may begin a quotation.
type Filter struct {
	prompt  *Prompt
	partial string // marks, and a word that may go on in the next piece
	held    []word // that the prompt has in this order
	ends    []int  // where in the prompt the held words may end
	quoting bool   // there are Words held words or more, and they are dropped
	dropped bool
	said    bool // something was passed on
}

// word is a word with the marks and spaces before it.
type word struct{ folded, text string }

// NewFilter returns a Filter for one text.
func (p *Prompt) NewFilter() *Filter { return &Filter{prompt: p} }

// Dropped reports whether anything was dropped.
func (f *Filter) Dropped() bool { return f.dropped }

// Write takes in a piece and returns what may be passed on.
func (f *Filter) Write(piece string) string {
	f.partial += piece
	whole := wholeRunes(f.partial)
	words, rest := split(f.partial[:whole])
	if rest == "" && len(words) > 0 { // the last word may go on
		rest, words = words[len(words)-1].text, words[:len(words)-1]
	}
	f.partial = rest + f.partial[whole:]
	var out strings.Builder
	for _, w := range words {
		out.WriteString(f.next(w))
	}
	return out.String()
}

// wholeRunes returns the length of a text without the beginning of a character that the next piece may end.
func wholeRunes(s string) int {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return i
			}
			break
		}
	}
	return len(s)
}

// Rest returns what may be passed on of a text that has ended.
func (f *Filter) Rest() string {
	words, marks := split(f.partial)
	var out strings.Builder
	for _, w := range words {
		out.WriteString(f.next(w))
	}
	if !f.quoting {
		out.WriteString(f.take(len(f.held)) + marks)
	}
	*f = Filter{prompt: f.prompt, dropped: f.dropped}
	return out.String()
}

// next takes in a word and returns what is certain now.
func (f *Filter) next(w word) string {
	if ends := f.follow(f.ends, w.folded); len(ends) > 0 {
		f.held, f.ends = append(f.held, w), ends
		if len(f.held) >= Words {
			f.quoting, f.dropped = true, true
		}
		return ""
	}
	if f.quoting {
		f.held, f.quoting = nil, false
		w.text = strings.TrimLeftFunc(w.text, func(r rune) bool { return !isWordRune(r) })
		if f.said {
			w.text = " " + w.text
		}
	}
	// The longest end of the held words that the prompt has before w stays.
	for start := 1; start < len(f.held); start++ {
		if ends := f.match(f.held[start:], w); len(ends) > 0 {
			out := f.take(start)
			f.held, f.ends = append(f.held, w), ends
			return out
		}
	}
	out := f.take(len(f.held))
	if f.ends = f.prompt.places[w.folded]; len(f.ends) > 0 {
		f.held = append(f.held, w)
		return out
	}
	f.said = true
	return out + w.text
}

// take removes the first held words and returns their text.
func (f *Filter) take(n int) string {
	var out strings.Builder
	for _, w := range f.held[:n] {
		out.WriteString(w.text)
		f.said = true
	}
	f.held = append([]word(nil), f.held[n:]...)
	return out.String()
}

// match returns where in the prompt some words and then w end.
func (f *Filter) match(words []word, w word) []int {
	ends := f.prompt.places[words[0].folded]
	for _, next := range words[1:] {
		ends = f.follow(ends, next.folded)
	}
	return f.follow(ends, w.folded)
}

// follow returns where a word follows the places.
func (f *Filter) follow(places []int, folded string) []int {
	var out []int
	for _, at := range places {
		if f.prompt.words[at+1] == folded {
			out = append(out, at+1)
		}
	}
	return out
}

// split returns the words of a text, each with what stands before it, and what stands behind the last one.
func split(s string) (words []word, rest string) {
	start, letters, inWord := 0, 0, false
	for i, r := range s {
		switch is := isWordRune(r); {
		case is && !inWord:
			letters, inWord = i, true
		case !is && inWord:
			words = append(words, word{fold(s[letters:i]), s[start:i]})
			start, inWord = i, false
		}
	}
	if inWord {
		return append(words, word{fold(s[letters:]), s[start:]}), ""
	}
	return words, s[start:]
}

// isWordRune reports whether a character belongs to a word: a letter, a digit, a mark on one, or what nobody sees between them.
func isWordRune(r rune) bool {
	return text.IsLetter(r) || text.IsDigit(r) || unicode.Is(unicode.Mn, r) || r != '\n' && agentloop.Invisible(r)
}

// fold returns the letters and digits of a word as they are compared.
func fold(s string) string {
	return text.Fold(strings.Map(func(r rune) rune {
		if agentloop.Invisible(r) || !text.IsLetter(r) && !text.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s))
}
