package router

import (
	"slices"
	"strings"
)

// heard is what the shopper has said, as a model's answer is compared with it.
type heard struct {
	lower   string     // the message in lower case
	context []string   // stems of the message and of the conversation before it, sorted
	parts   [][]string // stems of each of the rules' drafts, sorted
	known   map[string][]string
}

// prepare makes what a model's answer is compared with. That is done with the answer's first piece, while the model writes the
// rest, so that the shopper does not wait for it.
func (t *turn) prepare() {
	if t.heard != nil {
		return
	}
	h := &heard{lower: strings.ToLower(t.req.GetMessage()), context: telling(t.ruling.words), known: make(map[string][]string, 8)}
	for _, said := range t.req.GetHistory() {
		h.context = append(h.context, stemsOf(said.GetText())...)
	}
	slices.Sort(h.context)
	h.context = slices.Compact(h.context)
	for _, d := range t.ruling.drafts {
		h.parts = append(h.parts, h.stemsOf(d.text))
	}
	t.heard = h
}

// found returns where the message has a part, whatever the case, in bytes; below zero: nowhere.
func (h *heard) found(part string) int { return strings.Index(h.lower, strings.ToLower(part)) }

// stemsOf is stemsOf, once for each text: few are compared, and again and again. The result must not be modified.
func (h *heard) stemsOf(text string) []string {
	stems, ok := h.known[text]
	if !ok {
		stems = stemsOf(text)
		h.known[text] = stems
	}
	return stems
}

// stemsOf returns the stems of the words that carry meaning, or of all if none does: each once, sorted.
func stemsOf(text string) []string { return telling(splitWords(text)) }

// telling is stemsOf for words.
func telling(ws []word) []string {
	if stems := meaning(ws); len(stems) > 0 {
		return stems
	}
	return stemsWhere(ws, func(word) bool { return true })
}

// meaning returns the stems of the words that carry meaning: each once, sorted.
func meaning(ws []word) []string { return stemsWhere(ws, word.content) }

func stemsWhere(ws []word, counts func(word) bool) []string {
	stems := make([]string, 0, len(ws))
	for _, w := range ws {
		if counts(w) {
			stems = append(stems, w.stem)
		}
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}
