package fanout

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// minCall is the shortest time in which a specialist is asked. With less, a model would be paid for an answer that comes
	// too late.
	minCall = 100 * time.Millisecond
	// MinTurn is the shortest time in which a message is routed. Describing and routing may take all that they are given, and
	// each of several specialists still has minCall.
	MinTurn = 3 * minCall
	// DrainTimeout is how long a stream may go on after its last message before it is cut. Streams end by themselves, unless
	// the peer is stuck.
	DrainTimeout = 100 * time.Millisecond
	// recordMargin is the time kept for recording and replying, but at most a tenth of the time left.
	recordMargin = 250 * time.Millisecond
)

// Share returns limit, but at most one of so many parts of the time until the context's deadline.
func Share(ctx context.Context, limit time.Duration, parts int) time.Duration {
	due, _ := ctx.Deadline()
	return min(limit, time.Until(due)/time.Duration(parts))
}

// Enough returns an error if less than least is left until the context's deadline: a call that cannot finish is not started.
// What names the work.
func Enough(ctx context.Context, least time.Duration, what string) error {
	due, _ := ctx.Deadline()
	if left := time.Until(due); left < least {
		return fmt.Errorf("%v left, too little to %s: %w", left, what, context.DeadlineExceeded)
	}
	return nil
}

// ReplyDue returns when the text of the reply must be there, so that there is time to record it and to reply.
func ReplyDue(ctx context.Context) time.Time {
	due, _ := ctx.Deadline()
	return due.Add(-Share(ctx, recordMargin, 10))
}

// due returns when specialists must be done, so that there is time to merge, record and reply.
func (f *Fanout) due(ctx context.Context, assignments int) time.Time {
	due := ReplyDue(ctx)
	if assignments > 1 {
		due = due.Add(-min(f.cfg.MergeReserve, time.Until(due)/4))
	}
	return due
}

// Drains are the streams of a turn whose last message has come, and which are read to their end in the background. The zero
// value is ready.
type Drains struct{ wg sync.WaitGroup }

// Drain reads the rest of a stream in the background, so that the turn does not wait for trailers, and the call does not end
// as cancelled. It calls cancel at the end of the stream, or after DrainTimeout.
func Drain[T any](d *Drains, stream grpc.ServerStreamingClient[T], cancel context.CancelFunc) {
	d.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				slog.Error("panic in draining a stream", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			}
		}()
		defer cancel()
		defer time.AfterFunc(DrainTimeout, cancel).Stop()
		for {
			if _, err := stream.Recv(); err != nil {
				return // the result is known, so the way in which the stream ends does not matter
			}
		}
	})
}

// Wait waits for the ends of all streams.
func (d *Drains) Wait() { d.wg.Wait() }
