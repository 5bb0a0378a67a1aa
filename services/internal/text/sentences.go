package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// longSentence is the length, in bytes, from which a sentence is passed on in parts.
	longSentence = 512
	// MaxSentence is the largest size, in bytes, that is held of a text that cannot be cut.
	MaxSentence = 8 * longSentence
	// quietBytes is the number of bytes on either side of a cut within a sentence that must be free of digits, so that a number
	// keeps its month, currency or unit.
	quietBytes = 32
	// maxLookahead bounds the bytes that are read beyond a stop to find out whether it ends a sentence.
	maxLookahead = 64
)

// Sentences is a sentence buffer: it cuts a text that comes in pieces into sentences, lines and, if these are long, parts of them.
// Where it cuts does not depend on the pieces. Its results add up to the text; each begins with the space before it. No number is
// cut. The zero value is ready.
type Sentences struct {
	held   string
	at     int // where to continue reading
	window int // the size at which a long sentence is cut; zero: longSentence
	stuck  bool
}

// Add takes in a piece and returns the sentences that are complete.
func (s *Sentences) Add(t string) []string {
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

// Rest returns the rest of a text that has ended.
func (s *Sentences) Rest() string { return s.held }

// SplitSentences cuts a whole text as Sentences does. The last one may be empty.
func SplitSentences(t string) []string {
	var s Sentences
	return append(s.Add(t), s.Rest())
}

// Gap keeps the line breaks before sentences that are dropped, so that what follows does not join the line before them. The zero value has
// none.
type Gap string

// Drop takes in a sentence that is dropped.
func (g *Gap) Drop(sentence string) {
	if space := spaceBefore(sentence); strings.Count(space, "\n") > strings.Count(string(*g), "\n") {
		*g = Gap(space)
	}
}

// Keep returns a sentence with the line breaks of those that were dropped before it, if they had more.
func (g *Gap) Keep(sentence string) string {
	if space := spaceBefore(sentence); strings.Count(space, "\n") < strings.Count(string(*g), "\n") {
		sentence = string(*g) + sentence[len(space):]
	}
	*g = ""
	return sentence
}

// spaceBefore returns the space at the beginning of a sentence.
func spaceBefore(sentence string) string {
	return sentence[:len(sentence)-len(strings.TrimLeftFunc(sentence, unicode.IsSpace))]
}

// Complete reports whether the rest ends like a sentence: with a stop that is not the dot of a number or an abbreviation.
func (s *Sentences) Complete() bool {
	rest := strings.TrimRightFunc(s.held, unicode.IsSpace)
	words := strings.TrimRightFunc(rest, func(r rune) bool { return isStop(r) || isCloser(r) })
	last, _ := utf8.DecodeLastRuneInString(words)
	stops := rest[len(words):]
	return words != "" && strings.ContainsFunc(stops, isStop) && !IsDigit(last) &&
		(stops[0] != '.' || !isAbbreviation(words[strings.LastIndexFunc(words, unicode.IsSpace)+1:]))
}

// Stuck reports whether the text had no place to cut for so long that the buffer has given up: Add returns nothing more, and Rest
// holds at least MaxSentence bytes.
func (s *Sentences) Stuck() bool { return s.stuck }

// end returns the end of the first sentence, or 0 while it is unknown. A text without an end for too long is stuck.
func (s *Sentences) end() int {
	if s.window == 0 {
		s.window = longSentence
	}
	for s.at < len(s.held) {
		if s.at >= s.window {
			if end := softEnd(s.held[:s.window]); end > 0 {
				return end
			}
			if s.window += longSentence; s.window > MaxSentence {
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
			return 0 // the next piece decides
		}
		s.at = next
	}
	return 0
}

// endAt reports whether a sentence ends at the character at i. It returns the end; or 0 and where to continue reading, which is i
// if the next piece decides.
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
	case isWide(r) && !isInHost(t, i, end):
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

// isInHost reports whether the wide stop at i is read as the dot in the name of a host.
func isInHost(t string, i, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(t[:i])
	r, n := utf8.DecodeRuneInString(t[i:])
	after, _ := utf8.DecodeRuneInString(t[end:])
	return (r == '。' || r == '｡') && i+n == end && isAlphabetic(before) && isAlphabetic(after)
}

// isAlphabetic reports whether a character belongs to a script with spaces between words, or is a digit.
func isAlphabetic(r rune) bool {
	return IsDigit(r) || IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// endAtDot tells the dot at the end of a sentence from the dot of a number or an abbreviation, by what is before and after it.
func endAtDot(t string, i, end int) (int, int) {
	behind := t[end:]
	c := strings.IndexFunc(behind, func(r rune) bool { return !unicode.IsSpace(r) || r == '\n' })
	switch {
	case c < 0 && len(behind) >= maxLookahead, c >= maxLookahead:
		return end, 0
	case c < 0 || !utf8.FullRuneInString(behind[c:]):
		return 0, i
	case behind[c] == '\n':
		return end, 0
	}
	first, _ := utf8.DecodeRuneInString(behind[c:])
	if unicode.IsLower(first) || IsDigit(first) {
		return 0, end
	}
	before := t[:i]
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	if last, _ := utf8.DecodeLastRuneInString(before); IsDigit(last) {
		next := behind[c:]
		n := strings.IndexFunc(next, func(r rune) bool { return !IsLetter(r) })
		switch {
		case n < 0 && len(next) < maxLookahead, n >= 0 && n < maxLookahead && !utf8.FullRuneInString(next[n:]):
			return 0, i // the next word may grow
		case n > 0:
			next = next[:n]
		}
		if mayBeOrdinal(before, next) {
			return 0, end
		}
		return end, 0
	}
	if isAbbreviation(strings.TrimLeft(word, "(«“„\"*\u00a0\u202f")) {
		return 0, end
	}
	return end, 0
}

// mayBeOrdinal reports whether the number at the end of before, with the dot after it, may be more than the last word of a sentence:
// a German ordinal or date, such as "3." in "am 3. Mai" and "der 2. Artikel", or the mark of a list item. Next is the next word.
func mayBeOrdinal(before, next string) bool {
	start := strings.LastIndexFunc(before, unicode.IsSpace) + 1
	number, month, isDate := strings.Cut(strings.TrimLeft(before[start:], "(«“„\"*_"), ".")
	n, err := strconv.Atoi(number)
	if err != nil || len(number) > 2 {
		return false // an amount, a year
	}
	if isDate {
		m, err := strconv.Atoi(month)
		return err == nil && n <= 31 && m <= 12
	}
	before = before[:start]
	line := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
	word := line[strings.LastIndexFunc(line, unicode.IsSpace)+1:]
	return !strings.ContainsFunc(line, IsLetter) || strings.HasSuffix(line, ":") || strings.Contains(before, strconv.Itoa(n-1)+". ") ||
		slices.Contains(germanMonths, strings.ToLower(next)) || slices.Contains(beforeOrdinals, strings.ToLower(word))
}

var (
	germanMonths = strings.Fields("januar jänner februar märz april mai juni juli august september oktober november dezember " +
		"jan feb mär apr jun jul aug sep sept okt nov dez")
	beforeOrdinals = strings.Fields("der die das den dem des am im zum zur vom beim ab bis seit jede jeder jedes jeden jedem " +
		"ein eine einen einem einer eines mein meine dein deine ihr ihre ihrem ihren ihrer unser unsere unserem unseren")
)

// abbreviations are those that a capital letter may follow, in lower case.
var abbreviations = strings.Fields("dr mr mrs ms prof st nr no núm num art abs bzw ca inkl exkl zzgl ggf evtl usw etc vgl approx " +
	"incl excl vs tel str sr sra dto dña ud uds aprox pág mme mlle m env réf bd av jan feb mar apr jun jul aug sep sept oct okt nov dec dez")

// isAbbreviation reports whether a word before a dot is an abbreviation: a known one, a single letter, or a word with a dot inside.
func isAbbreviation(word string) bool {
	word = strings.ToLower(word)
	first, n := utf8.DecodeRuneInString(word)
	return n > 0 && n == len(word) && IsLetter(first) || strings.Contains(word, ".") && len(word) <= 6 || slices.Contains(abbreviations, word)
}

// softEnd returns the last place between two words without a number near, or 0 if there is none.
func softEnd(t string) int {
	for end := len(t) - quietBytes; end > quietBytes; end-- {
		r, _ := utf8.DecodeRuneInString(t[end:])
		if !unicode.IsSpace(r) && r != '，' && r != '、' || strings.TrimSpace(t[:end]) == "" {
			continue
		}
		if near := t[end-quietBytes : end+quietBytes]; strings.IndexFunc(near, IsDigit) < 0 {
			return end
		}
	}
	return 0
}

func isStop(r rune) bool { return strings.ContainsRune(".!?…", r) || isWide(r) }

// isWide reports whether a character ends a sentence without a space after it.
func isWide(r rune) bool { return strings.ContainsRune("。！？｡", r) }

func isCloser(r rune) bool { return strings.ContainsRune(")]}\"'“”’»›*_`）」』】", r) }
