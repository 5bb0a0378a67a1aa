// Package jsonl reads JSON Lines: one protobuf message a line, in the JSON form of protobuf.
//
// Files of products, orders and policies are written by many hands and tools, so one bad line must neither stop the
// rest nor be passed over in silence: each is reported with its number, the column and the text around it.
// Only protobuf and the standard library are imported here; what a message means is the caller's business.
package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// DefaultMaxLineBytes is the longest line that is read when Config says nothing else.
const DefaultMaxLineBytes = 16 << 20

// ErrLineTooLong is the cause in a LineError for a line that exceeds Config.MaxLineBytes.
var ErrLineTooLong = errors.New("the line is too long")

// Config bounds a Read. The zero value is ready to use.
type Config struct {
	// MaxLineBytes is the longest line to read, in bytes without its end. Zero or less: DefaultMaxLineBytes.
	MaxLineBytes int
}

// Line is one message and where it stood.
type Line[T proto.Message] struct {
	// Number is the 1-based number of the line in the input; blank lines count.
	Number int
	// Item is the message. It is the zero T, which is nil for generated messages, when the line was refused.
	Item T
}

// Read yields the messages of r in order, each decoded into what newItem returns. Field names may be in either of
// protobuf's two forms; unknown fields are refused.
//
// A line that cannot be decoded is yielded as a *LineError and reading goes on with the next one. Any other error
// comes from r, wraps its cause and is the last thing yielded. Blank lines, a UTF-8 byte order mark at the start,
// line ends of either kind and a missing end of the last line are all accepted.
//
// Lines are read as they are asked for and at most one is held, so memory is bounded by the longest line allowed.
// The sequence can be ranged over once, by one goroutine.
func Read[T proto.Message](r io.Reader, newItem func() T, cfg Config) iter.Seq2[Line[T], error] {
	return func(yield func(Line[T], error) bool) {
		in := newLines(r, cfg)
		for {
			text, err := in.next()
			if err == io.EOF {
				return
			}
			line := Line[T]{Number: in.number}
			switch {
			case err != nil && !errors.Is(err, ErrLineTooLong):
				yield(line, fmt.Errorf("read line %d: %w", in.number, err))
				return
			case err != nil:
				err = &LineError{Line: in.number, Text: excerpt(text, 0), Err: err}
			case len(bytes.TrimSpace(text)) == 0:
				continue
			default:
				line.Item, err = decode(in.number, text, newItem)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// decode returns the message of one line, or the zero T and a *LineError.
func decode[T proto.Message](number int, text []byte, newItem func() T) (T, error) {
	var none T
	if at := invalidUTF8(text); at >= 0 {
		column := columnOf(text, at)
		return none, &LineError{Line: number, Column: column, Text: excerpt(text, column), Err: errInvalidUTF8}
	}
	item := newItem()
	if err := protojson.Unmarshal(text, item); err != nil {
		return none, newLineError(number, text, err)
	}
	return item, nil
}

// lines cuts a reader into lines.
type lines struct {
	in     *bufio.Reader
	max    int
	buf    []byte // The current line; reused.
	number int    // Number of the current line, from 1.
}

func newLines(r io.Reader, cfg Config) *lines {
	limit := cfg.MaxLineBytes
	if limit <= 0 {
		limit = DefaultMaxLineBytes
	}
	return &lines{in: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its end, valid until the next call. With ErrLineTooLong the whole line has been
// passed and its start is returned. io.EOF means that there are no more lines.
func (l *lines) next() ([]byte, error) {
	const end = len("\r\n")
	l.number++
	l.buf = l.buf[:0]
	long := false
	for {
		chunk, err := l.in.ReadSlice('\n')
		if room := l.max + end - len(l.buf); len(chunk) > room {
			chunk, long = chunk[:room], true
		}
		l.buf = append(l.buf, chunk...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || len(l.buf) == 0) {
			return nil, err
		}
		break
	}
	return l.trimmed(long)
}

// trimmed returns the current line without its end and, on the first line, without a byte order mark.
func (l *lines) trimmed(long bool) ([]byte, error) {
	text := bytes.TrimSuffix(l.buf, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	if l.number == 1 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	if long || len(text) > l.max {
		return text, fmt.Errorf("%w: the limit is %d bytes", ErrLineTooLong, l.max)
	}
	return text, nil
}
