package wrap_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// statusError is an error as adapters return them.
type statusError struct {
	code  int
	after time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("status %dxx", e.code/100) }

func (e *statusError) RetryHint() (time.Duration, bool) {
	return e.after, e.code == 429 || e.code >= 500
}

func (e *statusError) Is(target error) bool { return e.code == 400 && target == endpoint.ErrBadRequest }

var (
	overloaded = &statusError{code: 503}
	refused    = &statusError{code: 401}
	badRequest = &statusError{code: 400}
	errBroken  = errors.New("broken")
)

func user(text string) *agentloop.Request {
	return &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: text}}}
}

// collect ranges over an answer; the chunks come before the error.
func collect(chunks iter.Seq2[agentloop.Chunk, error]) (all []agentloop.Chunk, err error) {
	for c, e := range chunks {
		if e != nil {
			return all, e
		}
		all = append(all, c)
	}
	return all, nil
}

func textOf(chunks []agentloop.Chunk) (text, reasoning string) {
	for _, c := range chunks {
		text += c.Text
		reasoning += c.Reasoning
	}
	return text, reasoning
}

// stopEarly breaks out of an answer of every length.
func stopEarly(t *testing.T, generate func() iter.Seq2[agentloop.Chunk, error], chunks int) {
	t.Helper()
	for n := range chunks {
		seen := 0
		for range generate() {
			if seen++; seen > n {
				break
			}
		}
		if seen != n+1 {
			t.Errorf("stopped after chunk %d, saw %d", n, seen)
		}
	}
}

func permutations[T any](items []T) [][]T {
	if len(items) == 0 {
		return [][]T{nil}
	}
	var all [][]T
	for i := range items {
		rest := slices.Concat(items[:i:i], items[i+1:])
		for _, p := range permutations(rest) {
			all = append(all, append([]T{items[i]}, p...))
		}
	}
	return all
}
