package grounding

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

//go:embed topics.txt
var topicTable string

// phrase is an entry of the table of topics.
type phrase struct {
	topic    string
	denies   bool
	words    []string // folded
	isPrefix bool     // the last word is the beginning of words
}

// prefixLength is the length of the shortest beginning of words in the table.
const prefixLength = 3

// phrases are by their first word, or by the first letters of it if it is the beginning of words.
var phrases, phrasesByPrefix = readTopics(topicTable)

func readTopics(table string) (exact, byPrefix map[string][]phrase) {
	exact, byPrefix = map[string][]phrase{}, map[string][]phrase{}
	for line := range strings.Lines(table) {
		topic, list, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.TrimPrefix(topic, "!")
		for entry := range strings.SplitSeq(list, ",") {
			words, isPrefix := strings.CutSuffix(strings.TrimSpace(entry), "*")
			p := phrase{topic: name, denies: name != topic, words: strings.Fields(words), isPrefix: isPrefix}
			if first := p.words[0]; isPrefix && len(p.words) == 1 {
				byPrefix[first[:prefixLength]] = append(byPrefix[first[:prefixLength]], p)
			} else {
				exact[first] = append(exact[first], p)
			}
		}
	}
	return exact, byPrefix
}

// begins reports whether words begin with the phrase.
func (p phrase) begins(words []text.Word) bool {
	if len(words) < len(p.words) {
		return false
	}
	for i, w := range p.words {
		if words[i].Text != w && !(p.isPrefix && i == len(p.words)-1 && strings.HasPrefix(words[i].Text, w)) {
			return false
		}
	}
	return true
}

// hit is a phrase of the table in a clause.
type hit struct {
	phrase
	at int // the number of its first word
}

// clause is a part of a sentence that says one thing: it ends at a comma, a bracket, a colon, or before "and" or "but".
type clause struct {
	words      []text.Word
	hits       []hit
	start, end int // in the text, in bytes
	sentence   int // number of the sentence
	line       int // number of the line
	inBrackets bool
	isQuestion bool // its sentence ends in a question mark
}

// has reports whether the clause has a phrase of a topic.
func (c *clause) has(topic string) bool {
	for _, h := range c.hits {
		if h.topic == topic {
			return true
		}
	}
	return false
}

// saysSomething reports whether the clause has a phrase that says something by itself.
func (c *clause) saysSomething() bool {
	return slices.ContainsFunc(c.hits, func(h hit) bool { return isTopic(h.topic) })
}

// clausesOf splits a text with its words into its clauses, but no title.
func clausesOf(s string, words []text.Word, titles []string) []clause {
	inTitle := partsOf(s, titles)
	var out []clause
	sentence, line, begin := 0, 0, 0
	inBrackets := false
	add := func(end int) {
		if end > begin {
			if last := len(out) - 1; last >= 0 && out[last].sentence == sentence && out[last].has("CAN") && isInfinitive(words[begin:end]) {
				begin -= len(out[last].words) // "die Möglichkeit, sie zu stornieren"
				out = out[:last]
			}
			c := clause{words: words[begin:end], sentence: sentence, line: line, inBrackets: inBrackets}
			c.start, c.end = c.words[0].Start, c.words[len(c.words)-1].End
			c.hits = hitsOf(c.words)
			out = append(out, c)
			begin = end
		}
	}
	for i := range words {
		if i == 0 || inTitle(words[i].Start) {
			continue
		}
		gap := s[words[i-1].End:words[i].Start]
		switch {
		case strings.Contains(gap, "\n"):
			add(i)
			markQuestion(out, gap)
			sentence, line, inBrackets = sentence+1, line+1, false
		case endsSentence(gap, words[:i], words[i], isCapital(s[words[i].Start:])):
			add(i)
			markQuestion(out, gap)
			sentence, inBrackets = sentence+1, false
		case separates(gap):
			add(i)
			inBrackets = strings.Contains(gap, "(") || inBrackets && !strings.Contains(gap, ")")
		case isWordOf(words[i], "BUT"):
			add(i)
		}
	}
	add(len(words))
	if begin > 0 {
		markQuestion(out, s[words[begin-1].End:])
	}
	return out
}

// partsOf returns a function that reports whether a byte of a text is in one of some parts, and not the first of it.
func partsOf(s string, parts []string) func(at int) bool {
	var spans [][2]int
	for _, part := range parts {
		for from := 0; ; {
			i := strings.Index(s[from:], part)
			if i < 0 {
				break
			}
			spans = append(spans, [2]int{from + i, from + i + len(part)})
			from += i + len(part)
		}
	}
	return func(at int) bool {
		return slices.ContainsFunc(spans, func(span [2]int) bool { return span[0] < at && at < span[1] })
	}
}

// markQuestion marks the clauses of the last sentence if what follows it has a question mark.
func markQuestion(clauses []clause, gap string) {
	for i := len(clauses) - 1; i >= 0 && clauses[i].sentence == clauses[len(clauses)-1].sentence && strings.Contains(gap, "?"); i-- {
		clauses[i].isQuestion = true
	}
}

func isWordOf(w text.Word, topic string) bool {
	for _, p := range phrases[w.Text] {
		if p.topic == topic {
			return true
		}
	}
	return false
}

// isCapital reports whether a text begins with a letter that is not a small one, or a digit.
func isCapital(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return !unicode.IsLower(first)
}

// isMonth reports whether a folded word is a month.
func isMonth(w string) bool { return monthOf[w] > 0 || w == "marz" }

// separates reports whether what stands between two words ends a clause.
func separates(gap string) bool {
	return strings.ContainsAny(gap, ",;:()|—") || strings.Contains(gap, " – ") || strings.Contains(gap, " - ")
}

// closers may stand between the last word of a sentence and its dot.
const closers = ")]*_\"'”“»’€$£% \u00a0\u202f"

// endsSentence reports whether what stands between words and the next one ends a sentence. The dot of an abbreviation or of a date does not.
func endsSentence(gap string, words []text.Word, after text.Word, isCapital bool) bool {
	if strings.ContainsAny(gap, "!?") {
		return true
	}
	gap = strings.TrimLeft(gap, closers)
	switch {
	case !strings.HasPrefix(gap, ".") || len(gap) == 1 || !isCapital:
		return false
	case isNumeral(words[len(words)-1]):
		return !isMonth(after.Text)
	}
	isUnit := len(words) > 1 && isNumeral(words[len(words)-2]) // "205 g."
	last := words[len(words)-1].Text
	return isUnit || len(last) > 2 || shortWords[last]
}

// shortWords are those of two letters or fewer that end sentences, unlike abbreviations.
var shortWords = map[string]bool{
	"an": true, "ab": true, "da": true, "zu": true, "um": true, "ja": true, "so": true, "it": true, "us": true, "me": true, "up": true, "on": true,
	"in": true, "to": true, "la": true, "si": true, "te": true, "ti": true, "mi": true, "lo": true, "el": true, "le": true, "ca": true, "ok": true,
}

// isInfinitive reports whether a clause is a German one that goes on with the one before it.
func isInfinitive(words []text.Word) bool {
	at := slices.IndexFunc(words, func(w text.Word) bool { return w.Text == "zu" })
	return at >= 0 && at+1 < len(words) && strings.HasSuffix(words[at+1].Text, "en") && !isWordOf(words[0], "BUT")
}

func isNumeral(w text.Word) bool { return text.IsDigit(rune(w.Text[0])) }

// hitsOf returns the phrases of the table in some words, in order, the longest at each place, and none within another of its topic. A word
// may be of several topics.
func hitsOf(words []text.Word) []hit {
	var out []hit
	for i, w := range words {
		first := len(out)
		for _, p := range phrases[w.Text] {
			if p.begins(words[i:]) {
				out = append(out, hit{p, i})
			}
		}
		if len(w.Text) >= prefixLength {
			for _, p := range phrasesByPrefix[w.Text[:prefixLength]] {
				if strings.HasPrefix(w.Text, p.words[0]) {
					out = append(out, hit{p, i})
				}
			}
		}
		longest := 0
		for _, h := range out[first:] {
			longest = max(longest, len(h.words))
		}
		out = append(out[:first], slices.DeleteFunc(out[first:], func(h hit) bool {
			return len(h.words) < longest || slices.ContainsFunc(out[:first], func(o hit) bool { return o.topic == h.topic && i < o.at+len(o.words) })
		})...)
	}
	return out
}
