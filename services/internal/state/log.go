package state

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends what the Redis client says on its own, such as each failed dial, to l at debug level. Without it the client
// writes to the process's standard error. It is a setting of the process: call it once, before Open.
func LogTo(l *slog.Logger) { redis.SetLogger(clientLog{l}) }

type clientLog struct{ log *slog.Logger }

func (c clientLog) Printf(ctx context.Context, format string, args ...any) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "redis client", slog.String("text", fmt.Sprintf(format, args...)))
	}
}
