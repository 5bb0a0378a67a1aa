package gateway

import (
	"context"
	"errors"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// errTakenOver ends a turn that has lost its place, and is the cause of its context's end then.
var errTakenOver = &fault.Aborted{
	Reason:      commonv1.ErrorReason_ERROR_REASON_TURN_TAKEN_OVER,
	Description: "this gateway was not heard of for too long, and another may have taken the turn over; repeat the request",
}

// hold keeps the places of a turn while it runs.
type hold struct {
	turn    *turn
	ctx     context.Context // ends when the places are lost
	cancel  context.CancelCauseFunc
	stop    func() // keeping the places
	settled bool   // there is a reply, so nobody shall resume the turn
}

// newHold begins to keep the places of a turn. The caller must release what it gets.
func newHold(ctx context.Context, t *turn) *hold {
	h := &hold{turn: t}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.stop = t.lock.KeepAlive(h.ctx, func() { h.cancel(errTakenOver) })
	return h
}

// lost returns the error of a turn that has failed with err: that it was taken over, if it was.
func (h *hold) lost(err error) error {
	if errors.Is(context.Cause(h.ctx), errTakenOver) {
		return errTakenOver
	}
	return err
}

// release ends everything that the turn has going. A turn that has failed leaves its lines; one that is settled has left
// them when it was recorded or, when it could not be, leaves them to the lease: its reply must not wait any longer.
func (h *hold) release() {
	if h.settled {
		h.turn.ends.Wait() // by now they have ended, and not because they were cut
	}
	h.cancel(nil)
	h.turn.branches.Wait()
	h.turn.ends.Wait()
	h.turn.journal.close(h.settled)
	h.stop()
	if !h.settled {
		_ = h.turn.lock.Release(h.ctx) // the lease runs out anyway
	}
}
