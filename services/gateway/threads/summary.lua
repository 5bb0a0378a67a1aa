-- summary keeps the summary of a thread's first ARGV[2] turns, unless there is one of as many turns. A thread with fewer turns, or
-- that was not created at ARGV[3], is not the thread that was summarized, which was deleted meanwhile.
local kept = redis.call('HMGET', KEYS[1], 'turns', 'summary_turns', 'created')
local covers = tonumber(ARGV[2])
if kept[3] ~= ARGV[3] then return 0 end
if tonumber(kept[1] or '0') < covers or tonumber(kept[2] or '0') >= covers then return 0 end
redis.call('HSET', KEYS[1], 'summary', ARGV[1], 'summary_turns', covers)
return 1
