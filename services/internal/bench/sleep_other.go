//go:build !linux

package bench

import (
	"context"
	"time"
)

// SleepExactly waits as [Sleep] does: this system is asked for nothing better.
func SleepExactly(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }
