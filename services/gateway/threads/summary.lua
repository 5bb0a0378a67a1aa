-- summary keeps the summary of a thread up to its ARGV[2]-th turn, unless a later one is there. A thread that has had fewer
-- turns is not the one that was summed up: that was deleted meanwhile.
local kept = redis.call('HMGET', KEYS[1], 'turns', 'summary_turns')
local covers = tonumber(ARGV[2])
if tonumber(kept[1] or '0') < covers or tonumber(kept[2] or '0') >= covers then return 0 end
redis.call('HSET', KEYS[1], 'summary', ARGV[1], 'summary_turns', covers)
return 1
