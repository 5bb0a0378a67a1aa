package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"
)

// writer writes a request as JSON. go-openai writes each message, and each tool through a map, into JSON of its own, which is then
// checked and copied twice; encoding/json checks and copies every schema, and needs the request in types of its own. Either
// took more time than all else that a call takes.
type writer struct {
	out     []byte
	schemas *schemas
	err     error // the first
}

// raw writes JSON as it is.
func (w *writer) raw(s string) { w.out = append(w.out, s...) }

// comma writes what stands before an element of a list.
func (w *writer) comma(i int) {
	if i > 0 {
		w.raw(`,`)
	}
}

// integer writes a number after a key.
func (w *writer) integer(key string, n int) {
	w.raw(key)
	w.out = strconv.AppendInt(w.out, int64(n), 10)
}

// float writes a number after a key. encoding/json would need as much stack for that as all else before the wait for an answer.
func (w *writer) float(key string, n float32) {
	if f := float64(n); w.err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		w.err = fmt.Errorf("a number that JSON does not have: %v", n)
	}
	w.raw(key)
	w.out = strconv.AppendFloat(w.out, float64(n), 'g', -1, 32)
}

// schema writes a schema after a key.
func (w *writer) schema(key string, schema json.RawMessage) {
	w.raw(key)
	switch {
	case schema == nil:
		w.raw(`null`)
	case w.schemas.valid(schema):
		w.out = append(w.out, schema...)
	case w.err == nil:
		w.err = fmt.Errorf("a schema that is no JSON: %.100q", schema)
	}
}

// text writes a string after a key.
func (w *writer) text(key, s string) {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // with a U+FFFD for each byte that is no UTF-8
	}
	w.raw(key)
	w.raw(`"`)
	begin := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		w.raw(s[begin:i])
		begin = i + 1
		switch b {
		case '"', '\\':
			w.out = append(w.out, '\\', b)
		case '\n':
			w.raw(`\n`)
		default:
			const digits = "0123456789abcdef"
			w.out = append(w.out, '\\', 'u', '0', '0', digits[b>>4], digits[b&0xf])
		}
	}
	w.raw(s[begin:])
	w.raw(`"`)
}

// maxSchemas bounds how many schemas are remembered. They may hold what is known only in a call.
const maxSchemas = 256

// schemas remembers which schemas are JSON, for the same go with call after call. The zero value knows none. It is safe for
// concurrent use.
type schemas struct {
	mu    sync.Mutex
	known map[string]struct{}
}

func (s *schemas) valid(schema json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[string(schema)]; ok {
		return true
	}
	if !json.Valid(schema) {
		return false
	}
	if len(s.known) >= maxSchemas {
		clear(s.known)
	}
	if s.known == nil {
		s.known = make(map[string]struct{})
	}
	s.known[string(schema)] = struct{}{}
	return true
}
