package specialist

import "context"

// Once is a read that the tools of a turn share, so that all of them see the same and it is made once. It is safe for
// concurrent use.
type Once[T any] struct {
	read  func(context.Context) (T, error)
	token chan struct{} // held while reading, and while looking at the rest
	done  bool
	value T
}

// NewOnce returns a read that has not been made yet.
func NewOnce[T any](read func(context.Context) (T, error)) *Once[T] {
	return &Once[T]{read: read, token: make(chan struct{}, 1)}
}

// Get returns what the first read that succeeded returned. A read that fails is made again by the next caller. While
// one reads the others wait, as long as their context lasts.
func (o *Once[T]) Get(ctx context.Context) (T, error) {
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
