package specialist

import (
	"context"
	"time"
)

// aheadAfter is how long an assignment has run when its read ahead begins: its model has been asked by then, which is what
// the read must not delay.
const aheadAfter = 5 * time.Millisecond

// Ahead returns a read that the tools of a turn share and that begins by itself, a moment after the assignment has, so that
// it is done when the model asks for a tool. A tool that comes earlier makes it, or waits for it; one that failed is made
// again by the tool that needs it. The read is made for nothing where no tool is called, so it must be a cheap one. It is
// for a Tools function to call, once at most.
func Ahead[T any](t *Turn, read func(context.Context) (T, error)) *Once[T] {
	once := NewOnce(read)
	t.ahead = func(ctx context.Context) { _, _ = once.Get(ctx) }
	return once
}

// lookAhead makes the turn's read ahead. What it returns ends that: nothing is read any more when it has returned. The read
// lasts no longer than ctx.
func (t *Turn) lookAhead(ctx context.Context) (end func()) {
	if t.ahead == nil {
		return func() {}
	}
	done := make(chan struct{})
	timer := time.AfterFunc(aheadAfter, func() {
		defer close(done)
		defer func() { _ = recover() }() // a tool that reads gets the same panic, in the call that it belongs to
		t.ahead(ctx)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}
