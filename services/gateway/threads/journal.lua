-- journal keeps fields of a turn if its lock is held.
-- Begins with queuelock.lua of services/internal/state.
if not held() then return 0 end
for i = 2, #ARGV - 3, 2 do redis.call('HSET', key(1), arg(i), arg(i + 1)) end
redis.call('PEXPIRE', key(1), arg(1))
return 1
