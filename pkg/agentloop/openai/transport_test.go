package openai

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
)

// sink is a connection that keeps what is written to it, where it is.
type sink struct {
	net.Conn
	got []byte
}

func (s *sink) Write(p []byte) (int, error) {
	s.got = p
	return len(p), nil
}

func TestBodiesAreWrittenFromWhereTheyAre(t *testing.T) {
	text := []byte("0123456789")
	for name, c := range map[string]struct {
		body   io.Reader
		bound  int64
		want   string
		copied bool
	}{
		"a body that knows its length": {bytes.NewReader(text), 10, "0123456789", false},
		"a request":                    {&sending{rest: text}, 10, "0123456789", false},
		"one that is longer":           {bytes.NewReader(text), 4, "0123", true},
		"one that does not know":       {io.MultiReader(bytes.NewReader(text)), 10, "0123456789", true},
		"nothing":                      {strings.NewReader(""), 10, "", true},
	} {
		s := &sink{}
		bounded := &io.LimitedReader{R: c.body, N: c.bound}
		n, err := conn{s}.ReadFrom(bounded)
		if n != int64(len(c.want)) || err != nil || string(s.got) != c.want || bounded.N != c.bound-n {
			t.Errorf("%s: %q, %d bytes, %d left, error %v", name, s.got, n, bounded.N, err)
		}
		if copied := len(s.got) > 0 && &s.got[0] != &text[0]; c.want != "" && copied != c.copied {
			t.Errorf("%s: copied: %v", name, copied)
		}
	}
}
