package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// excerptChars is how much of a line an error shows.
	excerptChars = 80
	// beforeFault is how much of that stands before the fault, so that the field's name is seen with its value.
	beforeFault = 30
	// maxCauseChars bounds the cause, which quotes the token at fault whole.
	maxCauseChars = 200
)

var (
	errInvalidUTF8 = errors.New("invalid UTF-8")
	errCutShort    = errors.New("the line ends before its message does")
	errList        = errors.New("a list; write one object a line, as jq -c '.[]' does")
)

// LineError says what was wrong with one line.
type LineError struct {
	// Line is the 1-based number of the line.
	Line int
	// Column is the 1-based place of the fault in characters. Zero when it is not known.
	Column int
	// Text is what stands there, cut to about 80 characters. Empty when the fault is not of one place.
	Text string
	// Err is the cause, ErrLineTooLong among others. Never nil.
	Err error
}

// Error returns place, cause and text in one line.
func (e *LineError) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("line %d, %s", e.Line, e.What())
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What())
}

// What is the error without the number of the line: column, cause and text.
func (e *LineError) What() string {
	text := e.Err.Error()
	if e.Text != "" {
		text = fmt.Sprintf("%s, in %q", text, e.Text)
	}
	if e.Column > 0 {
		text = fmt.Sprintf("column %d: %s", e.Column, text)
	}
	return text
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// decoderPlace is how protojson names a place. Its line is always 1, for it sees one line at a time.
var decoderPlace = regexp.MustCompile(`\(line 1:(\d+)\)`)

// newLineError turns an error of protojson into one that names the line of the file.
func newLineError(number int, line []byte, err error) *LineError {
	// The prefix ends in an ordinary or a non-breaking space, from build to build.
	cause := strings.TrimLeftFunc(strings.TrimPrefix(err.Error(), "proto:"), unicode.IsSpace)
	column := 0
	if at := decoderPlace.FindStringSubmatchIndex(cause); at != nil {
		column, _ = strconv.Atoi(cause[at[2]:at[3]])
		cause = strings.TrimSpace(cause[:at[0]]) + cause[at[1]:]
		cause = strings.TrimPrefix(cause, ": ")
	}
	e := &LineError{Line: number, Column: column, Text: excerpt(line, column)}
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")):
		e.Err = errList
	case strings.HasSuffix(cause, "unexpected EOF") || strings.HasSuffix(cause, "unexpected token "):
		e.Err = errCutShort
	default:
		e.Err = errors.New(text.Cut(cause, maxCauseChars))
	}
	return e
}

// excerpt returns the part of a line around a 1-based column, or its start when the column is 0.
func excerpt(line []byte, column int) string {
	start := 0
	for skip := column - beforeFault; skip > 1 && start < len(line); skip-- {
		_, size := utf8.DecodeRune(line[start:])
		start += size
	}
	// Enough bytes for the characters wanted; a long line is not copied whole.
	end := min(len(line), start+(excerptChars+1)*utf8.UTFMax)
	shown := text.Cut(strings.ToValidUTF8(string(line[start:end]), "�"), excerptChars)
	if start > 0 {
		return "…" + shown
	}
	return shown
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return at
}

// columnOf returns the 1-based column of the byte at an index.
func columnOf(text []byte, at int) int { return utf8.RuneCount(text[:at]) + 1 }
