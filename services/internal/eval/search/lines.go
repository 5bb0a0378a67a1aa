package search

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// shownProblems is how many wrong lines the text of a *LinesError lists.
const shownProblems = 20

// LinesError says which lines of a file are wrong.
type LinesError struct {
	// Problems are the wrong lines in their order, each with its number, what is wrong and what is wanted. Empty: there is
	// no line at all.
	Problems []string
	// Wanted says what a line looks like.
	Wanted string
}

// Error returns the first 20 problems, one a line, and how many more there are.
func (e *LinesError) Error() string {
	if len(e.Problems) == 0 {
		return "there is no line to measure; want " + e.Wanted
	}
	var b strings.Builder
	fmt.Fprintf(&b, "wrong lines: %d; want %s", len(e.Problems), e.Wanted)
	for i, p := range e.Problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "\n  ... and %d more", len(e.Problems)-i)
			break
		}
		b.WriteString("\n  " + p)
	}
	return b.String()
}

// plain returns what r holds, decompressed if it is gzip.
func plain(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, peeked)
	if start, _ := in.Peek(2); string(start) != "\x1f\x8b" {
		return in, nil // also when it is too short: whoever reads on finds out
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return bufio.NewReaderSize(z, peeked), nil
}

// peeked is how far into the first line is looked to tell what it is.
const peeked = 64 << 10
