package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// maxEvent bounds one event of a stream, and an answer that does not stream, in bytes.
const maxEvent = 32 << 20

// lineBytes is the buffer for lines of usual length.
const lineBytes = 512

// body is the body of an answer: the events of a stream, or one JSON object, whichever was asked for. What it is shows in
// its first character, for content types are often wrong.
type body struct {
	io.Closer
	in          *bufio.Reader
	long        []byte // a line that is longer than the reader's buffer
	contentType string
	key         string // never to be repeated in an error
	begun       bool   // the first character was looked at
	data        bool   // an event with data was seen
	done        bool   // the answer is complete: "[DONE]", or the end of the object
}

func newBody(raw io.ReadCloser, contentType, key string) *body {
	return &body{Closer: raw, in: bufio.NewReaderSize(raw, lineBytes), contentType: contentType, key: key}
}

// next returns the JSON of the next event, or the error that ended the body; io.EOF for its end.
func (b *body) next() ([]byte, error) {
	if b.done {
		return nil, io.EOF
	}
	if !b.begun {
		first, err := b.first()
		switch {
		case err != nil:
			return nil, err
		case first == '{':
			return b.object()
		}
		b.begun = true
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
	for {
		line, err := b.line()
		if err != nil {
			return nil, err
		}
		field, data, colon := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		data = bytes.TrimSpace(data)
		switch {
		case string(field) == "data" && string(data) == "[DONE]":
			b.done = true
			return nil, io.EOF
		case string(field) == "data" && len(data) > 0:
			b.data = true
			return data, nil
		case !b.data && !b.isStream() && !(colon && isField(string(field))) && len(field) > 0:
			return nil, b.page(line)
		}
	}
}

// line returns the next line, until the next call. The last one may come without its end; one that broke off does not.
func (b *body) line() ([]byte, error) {
	line, err := b.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, lineError(line, err)
	}
	b.long = b.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if b.long = append(b.long, line...); len(b.long) > maxEvent {
			return nil, bufio.ErrTooLong
		}
		line, err = b.in.ReadSlice('\n')
	}
	b.long = append(b.long, line...)
	return b.long, lineError(b.long, err)
}

// lineError returns the error of a line: none if it is the last.
func lineError(line []byte, err error) error {
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return nil
	}
	return err
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
func (b *body) page(line []byte) error {
	head := bytes.Clone(line)
	for len(head) <= 500 {
		line, err := b.line()
		if err != nil {
			break
		}
		head = append(head, line...)
	}
	return b.strange(head)
}

// strange returns the error for a body that is no answer of a model.
func (b *body) strange(head []byte) error {
	return &endpoint.ResponseError{Reason: "the endpoint answered with something else than a chat completion", Message: endpoint.CleanMessage(fmt.Sprintf("content type %q: %s", b.contentType, head), b.key)}
}

// drainTime bounds the wait for the end of a body whose answer is whole.
const drainTime = 100 * time.Millisecond

// drain reads what is left after the last event, a few bytes as a rule, because a connection whose answer was not read to
// its end can not be used again.
func (b *body) drain() {
	t := time.AfterFunc(drainTime, func() { b.Close() }) // which ends a read, as the transport has it
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, b.in, 4<<10)
}
