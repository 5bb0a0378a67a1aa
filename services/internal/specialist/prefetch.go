package specialist

import (
	"context"
	"time"
)

// prefetchDelay is how long an assignment has run when its read ahead begins: its model has been asked by then, which is what
// the read must not delay.
const prefetchDelay = 5 * time.Millisecond

// Prefetch returns a read that the tools of a turn share and that begins by itself, a moment after the assignment has, so that
// it is done when the model asks for a tool. A tool that comes earlier makes it, or waits for it; one that failed is made
// again by the tool that needs it. The read is made for nothing where no tool is called, so it must be a cheap one. It is
// for a Tools function to call, once at most.
func Prefetch[T any](t *Turn, read func(context.Context) (T, error)) *Memo[T] {
	once := Memoise(read)
	t.prefetch = func(ctx context.Context) { _, _ = once.Get(ctx) }
	return once
}

// startPrefetch makes the turn's read ahead. What it returns ends that: nothing is read any more when it has returned. The read
// lasts no longer than ctx.
func (t *Turn) startPrefetch(ctx context.Context) (end func()) {
	if t.prefetch == nil {
		return func() {}
	}
	done := make(chan struct{})
	timer := time.AfterFunc(prefetchDelay, func() {
		defer close(done)
		defer func() { _ = recover() }() // a tool that reads gets the same panic, in the call that it belongs to
		t.prefetch(ctx)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// Memo is a read that the tools of a turn share, so that all of them see the same and it is made once. It is safe for
// concurrent use.
type Memo[T any] struct {
	read  func(context.Context) (T, error)
	token chan struct{} // held while reading, and while looking at the rest
	done  bool
	value T
}

// Memoise returns a read that has not been made yet.
func Memoise[T any](read func(context.Context) (T, error)) *Memo[T] {
	return &Memo[T]{read: read, token: make(chan struct{}, 1)}
}

// Get returns what the first read that succeeded returned. A read that fails is made again by the next caller. While
// one reads the others wait, as long as their context lasts.
func (o *Memo[T]) Get(ctx context.Context) (T, error) {
	select {
	case o.token <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-o.token }()
	if o.done {
		return o.value, nil
	}
	value, err := o.read(ctx)
	if err == nil {
		o.value, o.done = value, true
	}
	return value, err
}
