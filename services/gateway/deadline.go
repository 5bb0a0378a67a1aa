package gateway

import (
	"context"
	"fmt"
	"time"
)

const (
	// leastCall is the shortest time in which a specialist is asked. With less, a model would be paid for an answer that
	// comes too late.
	leastCall = 100 * time.Millisecond
	// leastTurn is the shortest time in which a message is routed. Describing and routing may take all that they are given,
	// and each of several specialists still has leastCall.
	leastTurn = 3 * leastCall
	// streamEnd is how long a stream may go on after its last word before it is cut. Streams end by themselves, unless the
	// peer is stuck.
	streamEnd = 100 * time.Millisecond
)

// timeLeft is how long a turn may still last. Its context has a deadline.
func timeLeft(ctx context.Context) time.Duration {
	due, _ := ctx.Deadline()
	return time.Until(due)
}

// share returns limit, but never more than one of so many parts of what is left of the turn.
func share(ctx context.Context, limit time.Duration, parts int) time.Duration {
	return min(limit, timeLeft(ctx)/time.Duration(parts))
}

// enough returns an error if there is less time than something takes at least: a call that can not finish is not started.
func enough(ctx context.Context, least time.Duration, what string) error {
	if left := timeLeft(ctx); left < least {
		return fmt.Errorf("%v left, which is too little to %s: %w", left, what, context.DeadlineExceeded)
	}
	return nil
}

// branchesDue is when specialists must be done, so that there is time left to merge, record and reply.
func (s *Service) branchesDue(ctx context.Context, assignments int) time.Time {
	due := replyDue(ctx)
	if assignments > 1 {
		due = due.Add(-min(s.cfg.MergeReserve, time.Until(due)/4))
	}
	return due
}

// replyDue is when the text must be there.
func replyDue(ctx context.Context) time.Time {
	due, _ := ctx.Deadline()
	return due.Add(-share(ctx, recordMargin, 10))
}
