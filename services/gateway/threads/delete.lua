-- delete removes keys and a customer's entry of a thread, if the place of the one who deletes is the first.
-- Begins with the Lua of services/internal/state.
if not held() then return 0 end
redis.call('ZREM', key(1), arg(1))
for i = 2, #KEYS - 2 * queues do redis.call('DEL', key(i)) end
return 1
