package merge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// longSentence is the length, in bytes, from which a sentence is let go in parts.
	longSentence = 512
	// maxSentence is the most that is held of a text that shows no place to cut it.
	maxSentence = 8 * longSentence
	// quietBytes must be free of digits on either side of a cut within a sentence, so that what belongs to a number, such as
	// a month or a currency, stays with it.
	quietBytes = 32
	// maxLookahead bounds what is read beyond the end of a sentence, in bytes, to see whether it is one.
	maxLookahead = 64
)

// sentences cuts a text that comes in pieces into sentences, lines and, where those are long, parts of them. The same text
// is cut in the same places however it comes. What it returns adds up to the text; each piece begins with the space before
// it. No number is cut. The zero value is ready.
type sentences struct {
	held   string
	at     int // where to read on
	window int // how much is read before a long sentence is cut; zero: longSentence
	stuck  bool
}

// add takes in a piece and returns the sentences that are complete.
func (s *sentences) add(t string) []string {
	s.held += t
	var out []string
	for !s.stuck {
		end := s.end()
		if end == 0 {
			break
		}
		out = append(out, s.held[:end])
		s.held, s.at, s.window = s.held[end:], 0, 0
	}
	return out
}

// rest returns what is left when the text has ended.
func (s *sentences) rest() string { return s.held }

// end returns where the first sentence ends, or 0 as long as it is not known. A text that has no end for too long is stuck.
func (s *sentences) end() int {
	if s.window == 0 {
		s.window = longSentence
	}
	for s.at < len(s.held) {
		if s.at >= s.window {
			if end := softEnd(s.held[:s.window]); end > 0 {
				return end
			}
			if s.window += longSentence; s.window > maxSentence {
				s.stuck = true
				return 0
			}
		}
		if !utf8.FullRuneInString(s.held[s.at:]) {
			return 0
		}
		end, next := endAt(s.held, s.at)
		if end > 0 {
			return end
		}
		if next == s.at {
			return 0 // it depends on what comes
		}
		s.at = next
	}
	return 0
}

// endAt reports whether a sentence ends at the character at i: where, or 0 and from where to read on, which is i if that
// depends on what is not there yet.
func endAt(t string, i int) (end, next int) {
	r, n := utf8.DecodeRuneInString(t[i:])
	if r == '\n' {
		if strings.TrimSpace(t[:i]) != "" {
			return i, 0
		}
		return 0, i + n
	}
	if !isStop(r) {
		return 0, i + n
	}
	end = i + n
	for end < len(t) && end < i+maxLookahead {
		c, m := utf8.DecodeRuneInString(t[end:])
		if !isStop(c) && !isCloser(c) {
			break
		}
		end += m
	}
	switch {
	case end >= i+maxLookahead:
		return 0, end // a row of dots
	case end == len(t) || !utf8.FullRuneInString(t[end:]):
		return 0, i
	case isWide(r):
		return end, 0
	}
	if c, _ := utf8.DecodeRuneInString(t[end:]); !unicode.IsSpace(c) {
		return 0, end
	}
	if r != '.' {
		return end, 0
	}
	return endAtDot(t, i, end)
}

// endAtDot tells the dot of a sentence at i from that of a number or an abbreviation, by what is before it and behind.
func endAtDot(t string, i, end int) (int, int) {
	behind := t[end:]
	c := strings.IndexFunc(behind, func(r rune) bool { return !unicode.IsSpace(r) || r == '\n' })
	switch {
	case c < 0 && len(behind) >= maxLookahead:
		return end, 0
	case c < 0 || !utf8.FullRuneInString(behind[c:]):
		return 0, i
	case behind[c] == '\n':
		return end, 0
	}
	first, _ := utf8.DecodeRuneInString(behind[c:])
	if unicode.IsLower(first) || text.IsDigit(first) {
		return 0, end
	}
	before := t[:i]
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	last, _ := utf8.DecodeLastRuneInString(before)
	if text.IsDigit(last) || isAbbreviation(strings.TrimLeft(word, "(«“„\"*\u00a0\u202f")) {
		return 0, end
	}
	return end, 0
}

// abbreviations that a capital letter may follow, in lower case.
var abbreviations = strings.Fields("dr mr mrs ms prof st nr no núm num art abs bzw ca inkl exkl zzgl ggf evtl usw etc vgl approx " +
	"incl excl vs tel str sr sra dto dña ud uds aprox pág mme mlle m env réf bd av jan feb mar apr jun jul aug sep sept oct okt nov dec dez")

// isAbbreviation reports whether a word before a dot is one: it is known, or a single letter, or has a dot inside.
func isAbbreviation(word string) bool {
	word = strings.ToLower(word)
	first, n := utf8.DecodeRuneInString(word)
	return n > 0 && n == len(word) && text.IsLetter(first) || strings.Contains(word, ".") && len(word) <= 6 || slices.Contains(abbreviations, word)
}

// softEnd returns the last place between two words with no number near, or 0 if there is none.
func softEnd(t string) int {
	for end := len(t) - quietBytes; end > quietBytes; end-- {
		r, _ := utf8.DecodeRuneInString(t[end:])
		if !unicode.IsSpace(r) && r != '，' && r != '、' || strings.TrimSpace(t[:end]) == "" {
			continue
		}
		if near := t[end-quietBytes : end+quietBytes]; strings.IndexFunc(near, text.IsDigit) < 0 {
			return end
		}
	}
	return 0
}

func isStop(r rune) bool { return strings.ContainsRune(".!?…", r) || isWide(r) }

// isWide reports whether a character ends a sentence without a space behind it.
func isWide(r rune) bool { return strings.ContainsRune("。！？｡", r) }

func isCloser(r rune) bool { return strings.ContainsRune(")]}\"'“”’»›*_`）」』】", r) }
