package offline

import (
	"regexp"
	"strings"
)

// adviceRE opens the list in a prompt of what may be told without looking anything up.
var adviceRE = regexp.MustCompile(`(?i)^\W*(?:advice|tips|facts|faq|good to know)\b[^\n]*:\s*$`)

// adviceIn returns the entries of such lists.
func adviceIn(system string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(system) {
		entry, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		switch {
		case ok && inside:
			out = append(out, entry)
		case strings.TrimSpace(line) != "":
			inside = adviceRE.MatchString(strings.TrimSpace(line))
		}
	}
	return out
}

// leastShared is how many words of a question an entry must hold to be its answer, if the question has as many.
const leastShared = 2

// advice returns the entry that the question asks for, "" when there is none.
func (w *writer) advice() string {
	asked := wishes(salient(w.c.question, nil))
	best, shared := "", 0
	for _, entry := range adviceIn(w.c.system) {
		b := bag{}
		b.addText(entry, 1)
		n := 0
		for _, word := range asked {
			if b.weigh(stem(word)) > 0 {
				n++
			}
		}
		if n > shared {
			best, shared = entry, n
		}
	}
	if shared == 0 || shared < min(leastShared, len(asked)) {
		return ""
	}
	return sentence(best)
}
