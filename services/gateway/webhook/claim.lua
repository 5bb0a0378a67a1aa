-- Takes what is due, and hides it from others for a while: who dies with it leaves it to them.
-- KEYS: due times by id, items by id, attempts by id. ARGV: now and end of the hiding in ms, how many.
local out = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])) do
  redis.call('ZADD', KEYS[1], ARGV[2], id)
  local item = redis.call('HGET', KEYS[2], id)
  out[#out + 1] = {id, item or '', redis.call('HINCRBY', KEYS[3], id, 1)}
end
return out
