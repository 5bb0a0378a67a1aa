package offline

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

var (
	// keepsNotesRE recognises the prompt of somebody who writes down what was said.
	keepsNotesRE = regexp.MustCompile(`(?i)\byou (?:keep|write|maintain|update)\b[^.\n]{0,40}\b(?:notes|summary|minutes)\b[^.]{0,20}\bconversation\b`)
	notesRE      = regexp.MustCompile(`(?s)<(?:notes|summary)>\n?(.*?)\n?</(?:notes|summary)>`)
	spokenRE     = regexp.MustCompile(`(?s)<(shopper|customer|user|visitor|store|assistant|agent)>\n?(.*?)\n?</(?:shopper|customer|user|visitor|store|assistant|agent)>`)
	spokenLineRE = regexp.MustCompile(`(?mi)^(shopper|customer|user|visitor|store|assistant|agent)[ \t]*:[ \t]*(\S.*)$`)
	mostWordsRE  = regexp.MustCompile(`(?i)\b(?:at most|no more than|up to) (\d{1,4}) words\b`)
)

const (
	// mostNoteWords bounds notes whose prompt does not.
	mostNoteWords = 120
	// maxAsked and maxTold are how many characters of a message and of its answer are noted.
	maxAsked = 160
	maxTold  = 240
)

// said is one message of a conversation that is written about.
type said struct {
	asker bool // the one who asks, not the one who answers
	text  string
}

// takeNotes answers a request for notes on a conversation: the notes so far, and for each message that they do not have yet
// what was asked and how it was answered. The oldest go when there are more words than the prompt allows. It reports false
// when that is not what is asked for.
func takeNotes(system string, messages []message) (string, bool) {
	at := questionAt(messages, false)
	if at < 0 || !keepsNotesRE.MatchString(system) {
		return "", false
	}
	given := string(messages[at].Content)
	spoken := spokenIn(given)
	if len(spoken) == 0 {
		spoken = spokenBefore(messages[:at])
	}
	var lines []string
	if m := notesRE.FindStringSubmatch(given); m != nil {
		for line := range strings.Lines(html.UnescapeString(m[1])) {
			if line = strings.TrimSpace(line); line != "" && !begins(line, spoken) {
				lines = append(lines, line)
			}
		}
	}
	lines = append(lines, newNotes(strings.Join(lines, "\n"), spoken)...)
	return strings.Join(latest(lines, mostWords(system)), "\n"), len(lines) > 0
}

// latest are the last lines that have no more than so many words together; of the very last one, if it alone has more, its
// beginning.
func latest(lines []string, most int) []string {
	for i, line := range slices.Backward(lines) {
		words := strings.Fields(line)
		switch {
		case len(words) <= most:
			most -= len(words)
		case i == len(lines)-1:
			return []string{strings.Join(words[:most], " ")}
		default:
			return lines[i+1:]
		}
	}
	return lines
}

// spokenIn reads the messages that a text reports, between tags or after names.
func spokenIn(given string) []said {
	found := spokenRE.FindAllStringSubmatch(given, -1)
	if len(found) == 0 {
		found = spokenLineRE.FindAllStringSubmatch(given, -1)
	}
	var out []said
	for _, m := range found {
		switch strings.ToLower(m[1]) {
		case "store", "assistant", "agent":
			out = append(out, said{false, html.UnescapeString(m[2])})
		default:
			out = append(out, said{true, html.UnescapeString(m[2])})
		}
	}
	return out
}

// spokenBefore reads messages that are given as such.
func spokenBefore(messages []message) []said {
	var out []said
	for _, m := range messages {
		if m.Role == "user" || m.Role == "assistant" {
			out = append(out, said{m.Role == "user", string(m.Content)})
		}
	}
	return out
}

// begins reports whether a line is no more than the beginning of a message: what serves as notes at first.
func begins(line string, spoken []said) bool {
	for _, s := range spoken {
		if s.asker && strings.HasPrefix(unlisted(s.text), unlisted(line)) {
			return true
		}
	}
	return false
}

// newNotes are the notes on messages that the notes so far do not quote.
func newNotes(known string, spoken []said) []string {
	var out []string
	for i, s := range spoken {
		t := read(plaintext.HeadBytes(s.text, maxQuestion))
		asked := shorten(unlisted(s.text), maxAsked)
		if !s.asker || asked == "" || isSmallTalk(t) || strings.Contains(known, `"`+asked+`"`) {
			continue
		}
		say := phrases[t.lang]
		note := strings.Replace(say.asked, "%s", asked, 1)
		if i+1 < len(spoken) && !spoken[i+1].asker {
			note += " " + sentence(strings.Replace(say.told, "%s", shorten(unlisted(spoken[i+1].text), maxTold), 1))
		}
		out = append(out, note)
	}
	return out
}

// bulletRE finds what makes lines a list.
var bulletRE = regexp.MustCompile(`(?m)^\s*(?:[-*•]|\d+[.)])\s+`)

// unlisted returns lines and lists as running text.
func unlisted(s string) string {
	return plaintext.OneLine(bulletRE.ReplaceAllString(s, ""))
}

func mostWords(system string) int {
	if m := mostWordsRE.FindStringSubmatch(system); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			return n
		}
	}
	return mostNoteWords
}
