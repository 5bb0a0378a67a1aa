-- feedback keeps feedback for as long as its turn, and returns 1; or 0 when the turn is gone.
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', left)
return 1
