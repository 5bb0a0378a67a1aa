package openai

import (
	"fmt"
	"io"
	"sync"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// sending is the body of a request, which is let go of once it was read to its end: a call waits for its answer most of its
// life, and seldom has to be sent again. It is then written again.
type sending struct {
	rest []byte
	from *writer // holds rest; nil: it was given back
}

// writers are used again and again, for requests that are written and sent.
var writers = sync.Pool{New: func() any { return new(writer) }}

// maxKept bounds the writers that are kept, in bytes.
const maxKept = 64 << 10

// encode returns a request as it is sent.
func (m *Model) encode(req *agentloop.Request) (*sending, error) {
	w := writers.Get().(*writer)
	w.out, w.schemas, w.err = w.out[:0], &m.schemas, nil
	m.write(w, req)
	if w.err != nil {
		return nil, fmt.Errorf("encode the request: %w", w.err)
	}
	return &sending{rest: w.out, from: w}, nil
}

// Len returns how many bytes were not read yet.
func (s *sending) Len() int { return len(s.rest) }

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.drop(n)
	return n, nil
}

// WriteTo implements io.WriterTo.
func (s *sending) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.rest)
	s.drop(n)
	return int64(n), err
}

// drop lets go of the next n bytes.
func (s *sending) drop(n int) {
	s.rest = s.rest[n:]
	if len(s.rest) > 0 || s.from == nil {
		return
	}
	if cap(s.from.out) <= maxKept {
		writers.Put(s.from)
	}
	s.rest, s.from = nil, nil
}

// Close implements io.Closer. It does nothing: it may come while another goroutine reads.
func (s *sending) Close() error { return nil }
