package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// words are what a model wrote: a string as a rule. Some endpoints send a list of parts, thoughts among them (Mistral), or
// one part.
type words struct{ text, thoughts string }

// all returns the words whatever they are marked as, for a field that holds nothing but thoughts.
func (w words) all() string { return w.thoughts + w.text }

// part is a part of a list.
type part struct {
	Type     string `json:"type"`
	Text     words  `json:"text"`
	Thinking words  `json:"thinking"`
}

// UnmarshalJSON implements json.Unmarshaler. It never fails: what is no words says nothing.
func (w *words) UnmarshalJSON(raw []byte) error {
	*w = words{}
	switch raw[0] {
	case '"':
		return readString(raw, &w.text)
	case '[':
		var parts []words
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			w.text += p.text
			w.thoughts += p.thoughts
		}
	case '{':
		var p part
		if json.Unmarshal(raw, &p) != nil {
			return nil
		}
		w.text, w.thoughts = p.Text.text, p.Text.thoughts+p.Thinking.all()
		if strings.HasPrefix(p.Type, "thinking") || strings.HasPrefix(p.Type, "reasoning") {
			w.text, w.thoughts = "", w.all()
		}
	}
	return nil
}

// arguments are those of a tool call: JSON in a string, or from some endpoints the JSON itself.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		return readString(raw, (*string)(a))
	case string(raw) != "null":
		*a = arguments(raw)
	}
	return nil
}

// readString reads a JSON string that is known to be well-formed. Most pieces of a stream need no decoding.
func readString(raw []byte, out *string) error {
	if bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		return json.Unmarshal(raw, out)
	}
	*out = string(raw[1 : len(raw)-1])
	return nil
}
