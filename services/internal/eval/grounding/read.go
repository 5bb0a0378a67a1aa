// Package grounding measures the checks of claims: how many wrong facts they keep from shoppers, and how many honest texts
// they harm. Read reads cases from files, Generate makes cases of a known truth, Measure puts them to the checks.
//
// A case is one of two kinds. A merge case goes through package merge with a model that writes its text, as in a turn. An answer
// case is checked against the tool results that its text rests on, as a specialist's answer is. The package reads no files,
// flags or environment.
package grounding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Case is a text with what it rests on. Payloads make it an answer, Sections a merge.
type Case struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Language string `json:"language"` // base of a BCP 47 tag, such as "de"
	Message  string `json:"message"`
	// Given is what a specialist is told beside the message, such as the date.
	Given []string `json:"given,omitempty"`
	// Payloads are the tool results behind an answer.
	Payloads []Payload `json:"payloads,omitempty"`
	// Sections are the answers behind a merge.
	Sections []Section `json:"sections,omitempty"`
	// Text of an answer, Honest or Merged of a merge: exactly one is set.
	Text   string `json:"text,omitempty"`
	Honest string `json:"honest,omitempty"`
	Merged string `json:"merged,omitempty"`
	// Verdict of an answer: "honest" or "corrupted".
	Verdict string `json:"verdict,omitempty"`
	// Wrong is the part of a corrupted text that must not stand; "#1" says that a merge lacks the second section.
	Wrong string `json:"wrong,omitempty"`
}

// Payload is the result of a tool.
type Payload struct {
	Tool   string          `json:"tool"`
	Result json.RawMessage `json:"result"`
}

// Section is the answer to a part of a message, with the titles of the products beside it.
type Section struct {
	Query  string   `json:"query"`
	Text   string   `json:"text"`
	Titles []string `json:"titles"`
}

// text returns the text that is checked.
func (c Case) text() string { return c.Text + c.Honest + c.Merged }

// corrupted reports whether the text has a wrong fact.
func (c Case) corrupted() bool { return c.Wrong != "" }

// dropped returns the index of the section that a merge lacks.
func (c Case) dropped() (int, bool) {
	digits, ok := strings.CutPrefix(c.Wrong, "#")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

// Read returns the cases of a file in JSON Lines.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	for line, d := 1, json.NewDecoder(r); ; line++ {
		var l struct {
			Case
			Supports string `json:"supports"`
		}
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			if len(cases) == 0 {
				return nil, errors.New("no cases")
			}
			return cases, nil
		}
		read := []Case{l.Case}
		if err == nil && l.Supports != "" {
			read, err = Phrase{l.Language, l.Supports, l.Text}.cases(fmt.Sprintf("p%04d", line))
		}
		for i := range read {
			err = errors.Join(err, read[i].check())
		}
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", line, err)
		}
		cases = append(cases, read...)
	}
}

func (c Case) check() error {
	texts := 0
	for _, text := range []string{c.Text, c.Honest, c.Merged} {
		if text != "" {
			texts++
		}
	}
	n, isDropped := c.dropped()
	switch {
	case texts != 1:
		return errors.New("want one of text, honest and merged")
	case (c.Text != "") != (len(c.Payloads) > 0), (c.Text == "") != (len(c.Sections) > 1):
		return errors.New("want payloads beside text, or two sections or more beside honest or merged")
	case c.Text != "" && c.Verdict != "honest" && c.Verdict != "corrupted":
		return fmt.Errorf("verdict is %q, want honest or corrupted", c.Verdict)
	case (c.Merged != "" || c.Verdict == "corrupted") != c.corrupted():
		return errors.New("want wrong beside a corrupted text, and only there")
	case isDropped && (c.Merged == "" || n >= len(c.Sections)):
		return fmt.Errorf("wrong is %q, and there is no such section", c.Wrong)
	case c.corrupted() && !isDropped && !strings.Contains(c.text(), c.Wrong):
		return fmt.Errorf("wrong is %q, which the text does not say", c.Wrong)
	}
	return nil
}
