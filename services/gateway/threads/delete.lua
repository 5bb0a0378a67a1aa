-- delete removes keys if the lock is held.
-- Begins with queuelock.lua of services/internal/state.
if not held() then return 0 end
for i = 1, #KEYS - 2 * queues do redis.call('DEL', key(i)) end
return 1
