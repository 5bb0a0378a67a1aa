package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
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
	const buffer = 512
	var sent strings.Builder
	var want []string
	for _, n := range []int{1, buffer - len("data: \n"), buffer - len("data: \n") + 1, buffer, 2 * buffer, 10_000, 1} {
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
		r := &eventReader{Closer: io.NopCloser(nil), in: bufio.NewReaderSize(c.in, buffer)}
		lines := bufio.NewReader(r)
		for i := 0; ; i++ {
			got, err := lines.ReadString('\n')
			if err != nil {
				if !errors.Is(err, c.err) || i != len(c.want) || r.ended != errors.Is(err, io.EOF) {
					t.Errorf("%s: error %v after %d events, ended %v, want %v after %d", name, err, i, r.ended, c.err, len(c.want))
				}
				break
			}
			if i >= len(c.want) || got != "data: "+c.want[i]+"\n" {
				t.Fatalf("%s: event %d is %.40q of %d bytes", name, i, got, len(got))
			}
		}
	}
}

// A check that calls itself for each of these levels would end the process.
func TestEventsOfAnyDepth(t *testing.T) {
	nested := func(n int) []byte {
		return slices.Concat([]byte(`{"x":`), bytes.Repeat([]byte("["), n), bytes.Repeat([]byte("]"), n), []byte("}"))
	}
	text := []byte(`{"x":"` + strings.Repeat("[{", maxBrackets) + `"}`)
	for name, c := range map[string]struct {
		raw   []byte
		valid bool
	}{
		"a few levels": {nested(9), true}, "half of them": {nested(9)[:10], false}, "too many levels": {nested(maxEvent / 2), false},
		"brackets in a text": {text, true}, "half of a text": {text[:len(text)-2], false},
	} {
		if got := isValid(c.raw); got != c.valid {
			t.Errorf("%s: valid %v, want %v", name, got, c.valid)
		}
	}
}

// What an endpoint may send in one event is read in a time that grows with its size alone: these took half a minute.
func TestEventsOfManyParts(t *testing.T) {
	const n = 300_000
	text := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		event string
		want  string
	}{
		"parts":          {`{"choices":[{"delta":{"content":["` + strings.Repeat(`x","`, n-1) + `x"]}}]}`, text(n)},
		"parts in parts": {`{"choices":[{"delta":{"content":` + strings.Repeat("[", 4_000) + `"` + text(maxEvent/4) + `"` + strings.Repeat("]", 4_000) + `}}]}`, ""},
		"texts in texts": {`{"choices":[{"delta":{"content":` + strings.Repeat(`{"text":`, 4_000) + `"` + text(maxEvent/4) + `"` + strings.Repeat("}", 4_000) + `}}]}`, ""},
		"a few levels":   {`{"choices":[{"delta":{"content":[{"text":[{"text":"x"}]}]}}]}`, "x"},
		"choices":        {`{"choices":[` + strings.Repeat(`{"delta":{"content":"x"}},`, n-1) + `{"delta":{"content":"x"}}]}`, text(maxChoices)},
	} {
		chunk, err := new(answer).decode([]byte(c.event))
		if err != nil || chunk.Text != c.want {
			t.Errorf("%s: %d bytes of text, want %d; %v", name, len(chunk.Text), len(c.want), err)
		}
	}
}
