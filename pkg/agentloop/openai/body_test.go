package openai

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ':'
	}
	return len(p), nil
}

func TestEventsOfAnyLength(t *testing.T) {
	var sent strings.Builder
	var want []string
	for _, n := range []int{1, lineBytes - len("data: \n"), lineBytes - len("data: \n") + 1, lineBytes, 2 * lineBytes, 10_000, 1} {
		want = append(want, strings.Repeat("x", n))
		sent.WriteString("data: " + want[len(want)-1] + "\n")
	}
	for name, c := range map[string]struct {
		in   io.Reader
		want []string
		err  error
	}{
		"whole":                {strings.NewReader(sent.String()), want, io.EOF},
		"byte by byte":         {iotest.OneByteReader(strings.NewReader(sent.String())), want, io.EOF},
		"without the last end": {strings.NewReader(strings.TrimSpace(sent.String())), want, io.EOF},
		"broken off":           {io.MultiReader(strings.NewReader("data: a\ndata: b"), iotest.ErrReader(io.ErrUnexpectedEOF)), []string{"a"}, io.ErrUnexpectedEOF},
		"broken off, long":     {io.MultiReader(strings.NewReader("data: a\ndata: "+want[5]), iotest.ErrReader(io.ErrUnexpectedEOF)), []string{"a"}, io.ErrUnexpectedEOF},
		"without any end":      {io.MultiReader(strings.NewReader("data: a\n"), endless{}), []string{"a"}, bufio.ErrTooLong},
	} {
		b := newBody(io.NopCloser(c.in), "text/event-stream", "")
		for i := 0; ; i++ {
			got, err := b.next()
			if err != nil {
				if !errors.Is(err, c.err) || i != len(c.want) {
					t.Errorf("%s: error %v after %d events, want %v after %d", name, err, i, c.err, len(c.want))
				}
				break
			}
			if i >= len(c.want) || string(got) != c.want[i] {
				t.Fatalf("%s: event %d is %.40q of %d bytes", name, i, got, len(got))
			}
		}
	}
}
