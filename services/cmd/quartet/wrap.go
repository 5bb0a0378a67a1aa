package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// wrapper writes streamed text in lines of at most width characters, broken at spaces. Longer words stand alone.
type wrapper struct {
	out    io.Writer
	width  int // 0: lines are written as they come
	column int
	spaces int             // before the word
	word   strings.Builder // not written yet
}

// Write takes the next piece of text. The last word of it waits for its end.
func (w *wrapper) Write(p []byte) (int, error) {
	if w.width == 0 {
		return w.out.Write(p)
	}
	for _, r := range string(p) {
		switch r {
		case ' ':
			if err := w.flush(); err != nil {
				return 0, err
			}
			w.spaces++
		case '\n':
			if err := w.Close(); err != nil {
				return 0, err
			}
			if _, err := io.WriteString(w.out, "\n"); err != nil {
				return 0, err
			}
			w.column = 0
		default:
			w.word.WriteRune(r)
		}
	}
	return len(p), nil
}

// flush writes the word that waits, on a new line if it does not fit.
func (w *wrapper) flush() error {
	n := utf8.RuneCountInString(w.word.String())
	if n == 0 {
		return nil
	}
	lead := strings.Repeat(" ", w.spaces)
	if w.column > 0 && w.column+w.spaces+n > w.width {
		lead, w.column, w.spaces = "\n", 0, 0
	}
	_, err := io.WriteString(w.out, lead+w.word.String())
	w.column, w.spaces = w.column+w.spaces+n, 0
	w.word.Reset()
	return err
}

// Close writes the last word. The wrapper can be used again.
func (w *wrapper) Close() error {
	err := w.flush()
	w.spaces = 0
	return err
}
