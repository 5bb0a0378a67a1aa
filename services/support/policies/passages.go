package policies

import (
	"strings"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
)

// sectionMark begins a line that titles the passages below it.
const sectionMark = "## "

// defaultLanguage is the language of documents that name none.
const defaultLanguage = "en"

// split cuts a document into passages at blank lines and section titles. The lines of a passage stay as they were
// written.
func split(p *policyv1.Policy) []*policyv1.Passage {
	var passages []*policyv1.Passage
	var section string
	var lines []string
	flush := func() {
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
			passages = append(passages, &policyv1.Passage{
				PolicyId:    p.GetPolicyId(),
				PolicyTitle: p.GetTitle(),
				Section:     section,
				Text:        text,
				Url:         p.GetUrl(),
				Language:    languageTag(p),
			})
		}
		lines = lines[:0]
	}
	for line := range strings.SplitSeq(p.GetBody(), "\n") {
		line = strings.TrimSuffix(line, "\r")
		title, isTitle := strings.CutPrefix(line, sectionMark)
		switch {
		case isTitle:
			flush()
			section = strings.TrimSpace(title)
		case strings.TrimSpace(line) == "":
			flush()
		default:
			lines = append(lines, line)
		}
	}
	flush()
	return passages
}

func languageTag(p *policyv1.Policy) string {
	if p.GetLanguage() == "" {
		return defaultLanguage
	}
	return p.GetLanguage()
}
