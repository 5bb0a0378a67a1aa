-- Gives back what a turn has reserved, if it has.
-- KEYS: totals, leases by their end, amounts by turn.
local function release(turn)
  local amounts = redis.call('HGET', KEYS[3], turn)
  if amounts then
    local tokens, micros = string.match(amounts, '^(%d+) (%d+)$')
    redis.call('HINCRBY', KEYS[1], 'reserved_tokens', string.format('%.0f', 0 - tokens))
    redis.call('HINCRBY', KEYS[1], 'reserved_micros', string.format('%.0f', 0 - micros))
    redis.call('HDEL', KEYS[3], turn)
    redis.call('ZREM', KEYS[2], turn)
  end
end

-- Gives back what turns have reserved whose gateways did not end them in time.
local function expire(now)
  for _, turn in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)) do
    release(turn)
  end
end
