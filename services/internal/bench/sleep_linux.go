package bench

import (
	"context"
	"syscall"
	"time"
)

// timerSlack is how late a timer of Go may be where nothing else goes on: the poller waits in whole milliseconds.
const timerSlack = 1500 * time.Microsecond

// SleepExactly waits as [Sleep] does, but leaves the end to the kernel, which wakes it less than a tenth of a
// millisecond late. It holds a thread meanwhile, and does not know a fake clock.
func SleepExactly(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	if err := Sleep(ctx, d-timerSlack); err != nil {
		return err
	}
	if rest := time.Until(end); rest > 0 {
		left := syscall.NsecToTimespec(rest.Nanoseconds())
		_ = syscall.Nanosleep(&left, nil) // a signal ends it early, which is as good as late
	}
	return ctx.Err()
}
