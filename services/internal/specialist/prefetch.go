package specialist

import (
	"context"
	"time"
)

// prefetchDelay is the time between the start of an assignment and its prefetch. The model request goes out first, so the
// prefetch does not delay it.
const prefetchDelay = 5 * time.Millisecond

// Prefetch returns a read that the tools of a turn share. It starts by itself shortly after the assignment, so that it is usually
// done when the model asks for a tool. A tool that needs the result earlier starts the read or waits for it; after a failure,
// the next tool repeats it. When no tool is called the read is wasted, so it must be cheap. A Tools function calls Prefetch at
// most once.
func Prefetch[T any](t *Turn, read func(context.Context) (T, error)) *Memo[T] {
	memo := Memoise(read)
	t.prefetch = func(ctx context.Context) { _, _ = memo.Get(ctx) }
	return memo
}

// startPrefetch schedules the turn's prefetch, which ends with ctx. The caller cancels ctx and then calls end, which waits until
// the prefetch has returned.
func (t *Turn) startPrefetch(ctx context.Context) (end func()) {
	if t.prefetch == nil {
		return func() {}
	}
	done := make(chan struct{})
	timer := time.AfterFunc(prefetchDelay, func() {
		defer close(done)
		defer func() { _ = recover() }() // a tool that needs the read gets the same panic in its own call
		t.prefetch(ctx)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// Memo memoises a read, so that all tools of a turn see the same result. It is safe for concurrent use.
type Memo[T any] struct {
	read  func(context.Context) (T, error)
	token chan struct{} // guards the other fields; a mutex cannot be waited for with a context
	done  bool
	value T
}

// Memoise returns a Memo of read. It does not read yet.
func Memoise[T any](read func(context.Context) (T, error)) *Memo[T] {
	return &Memo[T]{read: read, token: make(chan struct{}, 1)}
}

// Get returns the result of the first successful read. After a failed read the next caller reads again. Concurrent callers wait
// until the read has returned or their context has ended.
func (m *Memo[T]) Get(ctx context.Context) (T, error) {
	select {
	case m.token <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-m.token }()
	if m.done {
		return m.value, nil
	}
	value, err := m.read(ctx)
	if err == nil {
		m.value, m.done = value, true
	}
	return value, err
}
