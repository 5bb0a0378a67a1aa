package offline

import (
	"regexp"
	"slices"
	"strings"
)

var (
	sectionRE  = regexp.MustCompile(`(?m)^##+[ \t]*Section\b[^\n]*$`)
	headingRE  = regexp.MustCompile(`(?m)^##[ \t]+[^\n]*$`)
	greetingRE = regexp.MustCompile(`(?i)^(?:hi|hello|hey|good (?:morning|afternoon|evening)|hola|buenos d[ií]as|hallo|guten tag|bonjour)\b[^.!?\n]{0,30}[.!]\s+`)
)

var offersHelpRE = regexp.MustCompile(`(?i)(?:help you|ayudarte|helfen|vous aider)\s?\?$`)

// onlyGreets reports whether a paragraph says hello, offers help and does nothing else: beside an answer it is idle.
func onlyGreets(paragraph string) bool {
	return len(paragraph) < 160 && offersHelpRE.MatchString(paragraph) && (greetingRE.MatchString(paragraph) || strings.Count(paragraph, " ") < 7)
}

// mergeSections answers a request to make one text of several: what stands under the headings, in order, without the
// headings and without repeated greetings or paragraphs. It reports false when the message to answer has no such sections.
func mergeSections(messages []message) (string, bool) {
	at := questionAt(messages, false)
	if at < 0 {
		return "", false
	}
	whole := string(messages[at].Content)
	marks := sectionRE.FindAllStringIndex(whole, -1)
	if len(marks) == 0 {
		if marks = headingRE.FindAllStringIndex(whole, -1); len(marks) < 2 {
			return "", false
		}
	}
	var out []string
	greeted := false
	for i, m := range marks {
		end := len(whole)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		body := strings.TrimSpace(tagRE.ReplaceAllString(whole[m[1]:end], ""))
		if g := greetingRE.FindString(body); g != "" {
			if greeted || i > 0 {
				body = strings.TrimSpace(body[len(g):])
			}
			greeted = true
		}
		for p := range strings.SplitSeq(body, "\n\n") {
			if p = strings.TrimSpace(p); p != "" && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	if rest := slices.DeleteFunc(slices.Clone(out), onlyGreets); len(rest) > 0 {
		out = rest
	}
	return strings.Join(out, "\n\n"), len(out) > 0
}
