package specialist

import (
	"encoding/json"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// toolNotes are the sentences that tools wrote for the model. Errors, and what a result calls "instruction", are never for a
// shopper. A "note" states a fact in English, which an English answer may repeat.
type toolNotes struct {
	read      int             // messages of the run
	sentences map[string]bool // by key; the value says that an English answer may have it
}

// add takes in the messages of a run, of which it has read the first before.
func (n *toolNotes) add(messages []agentloop.Message) {
	for _, m := range messages[n.read:] {
		if m.Role != agentloop.RoleTool {
			continue
		}
		content := unfenced(m.Text)
		if words, isError := strings.CutPrefix(content, "Error: "); isError {
			n.keep(words, false)
			_, words, _ = strings.Cut(words, ": ") // the tool's name
			n.keep(words, false)
		}
		var result any
		if json.Unmarshal([]byte(content), &result) == nil { // a text has no notes
			n.find(result)
		}
	}
	n.read = len(messages)
}

// find takes in the notes of a part of a result.
func (n *toolNotes) find(part any) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			n.find(p)
		}
	case map[string]any:
		for name, p := range part {
			if s, ok := p.(string); ok && (name == "instruction" || name == "note") {
				n.keep(s, name == "note")
			} else {
				n.find(p)
			}
		}
	}
}

func (n *toolNotes) keep(note string, isFact bool) {
	if n.sentences == nil {
		n.sentences = make(map[string]bool)
	}
	for _, s := range text.SplitSentences(note) {
		n.sentences[sentenceKey(s)] = isFact
	}
}

// has reports whether a sentence of an answer is only a note's.
func (n *toolNotes) has(sentence, answerLanguage string) bool {
	key := sentenceKey(sentence)
	isFact, found := n.sentences[key]
	base, _ := language.Make(answerLanguage).Base()
	return found && key != "" && !(isFact && (answerLanguage == "" || base.String() == "en"))
}

// sentenceKey is a sentence without case and without what stands around its words.
func sentenceKey(s string) string {
	return strings.ToLower(text.OneLine(strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })))
}
