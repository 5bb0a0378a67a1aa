package gateway

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// summaryScript writes a summary of a thread's first turns. KEYS: thread. ARGV: summary, number of turns.
var summaryScript = redis.NewScript(`
local kept = redis.call('HMGET', KEYS[1], 'turns', 'summary_turns')
if tonumber(kept[1] or '0') < tonumber(ARGV[2]) or tonumber(kept[2] or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'summary', ARGV[1], 'summary_turns', ARGV[2])
return 1
`)

// setSummary keeps a summary of a thread's first turns, if the thread is still there and no summary of as many turns is.
func (t threads) setSummary(ctx context.Context, storeID, threadID, summary string, turns int) error {
	err := summaryScript.Run(ctx, t.redis, []string{threadKey(storeID, threadID)}, summary, turns).Err()
	return state.Error("write summary", err)
}
