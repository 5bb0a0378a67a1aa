package openai

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
)

// maxEvent bounds one event of a stream, and an answer that does not stream, in bytes.
const maxEvent = 32 << 20

// headBytes is a buffer to look at a body's first character in. What follows is read past it.
const headBytes = 512

// body is the body of an answer: the events of a stream, or one JSON object, whichever was asked for. What it is shows in
// its first character, for content types are often wrong.
type body struct {
	io.Closer
	in          *bufio.Reader
	lines       *bufio.Scanner // nil before the first event, and for an object
	contentType string
	key         string // never to be repeated in an error
	data        bool   // an event with data was seen
	done        bool   // the answer is complete: "[DONE]", or the end of the object
}

func newBody(raw io.ReadCloser, contentType, key string) *body {
	return &body{Closer: raw, in: bufio.NewReaderSize(raw, headBytes), contentType: contentType, key: key}
}

// next returns the JSON of the next event, or the error that ended the body; io.EOF for its end.
func (b *body) next() ([]byte, error) {
	if b.done {
		return nil, io.EOF
	}
	if b.lines == nil {
		first, err := b.first()
		switch {
		case err != nil:
			return nil, err
		case first == '{':
			return b.object()
		}
		b.lines = bufio.NewScanner(b.in)
		b.lines.Buffer(make([]byte, 0, 1<<10), maxEvent)
	}
	return b.event()
}

// first returns the first character that is no space, without taking it.
func (b *body) first() (byte, error) {
	const skip = "\xef\xbb\xbf \t\r\n" // with the mark of UTF-8
	for {
		head, err := b.in.Peek(1)
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(skip, head[0]) < 0 {
			return head[0], nil
		}
		if _, err := b.in.Discard(1); err != nil {
			return 0, err
		}
	}
}

// object returns a body of one JSON object.
func (b *body) object() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(b.in, maxEvent))
	if err != nil {
		return nil, err
	}
	b.done = true
	return raw, nil
}

// event returns the data of the next event.
func (b *body) event() ([]byte, error) {
	for b.lines.Scan() && b.lines.Err() == nil { // a line that broke off comes with its error
		field, data, colon := bytes.Cut(bytes.TrimSpace(b.lines.Bytes()), []byte(":"))
		data = bytes.TrimSpace(data)
		switch {
		case string(field) == "data" && string(data) == "[DONE]":
			b.done = true
			return nil, io.EOF
		case string(field) == "data" && len(data) > 0:
			b.data = true
			return data, nil
		case !b.data && !b.isStream() && !(colon && isField(string(field))) && len(field) > 0:
			return nil, b.page()
		}
	}
	if err := b.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// isStream reports whether the endpoint says that it streams. Lines of any kind are then passed over, as the format of
// event streams has it.
func (b *body) isStream() bool {
	media, _, err := mime.ParseMediaType(b.contentType)
	return err == nil && media == "text/event-stream"
}

// isField reports whether a line of an event stream may start so. A comment has no name.
func isField(name string) bool {
	return slices.Contains([]string{"", "data", "event", "id", "retry"}, name)
}

// page returns the error for lines that are no events, such as a proxy's page to sign in.
func (b *body) page() error {
	head := bytes.Clone(b.lines.Bytes())
	for len(head) <= messageBytes && b.lines.Scan() {
		head = append(append(head, '\n'), b.lines.Bytes()...)
	}
	return b.strange(head)
}

// strange returns the error for a body that is no answer of a model.
func (b *body) strange(head []byte) error {
	return &answerError{fmt.Errorf("the endpoint answered with something else than a chat completion, of content type %q: %s",
		CleanMessage(b.contentType, b.key), CleanMessage(string(head), b.key))}
}

// drain reads what is left after the last event, a few bytes as a rule, because a connection whose answer was not read to
// its end can not be used again.
func (b *body) drain() { _, _ = io.CopyN(io.Discard, b.in, 4<<10) }
