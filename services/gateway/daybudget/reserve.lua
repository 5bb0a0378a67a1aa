-- Reserves tokens and micros for a turn. 0 as a maximum: not bounded.
-- ARGV: turn, now and end of the lease in ms, tokens and micros wanted, the day's, percent from which a turn is saving, divisor of what
-- a saving turn reserves, ms for which the keys are kept.
-- Returns granted (0 or 1), saving (0 or 1), tokens, micros.
local turn, now = ARGV[1], tonumber(ARGV[2])
expire(now)
release(turn) -- of a turn that is resumed
local saving, grants = 0, {}
local wants, limits, used = {tonumber(ARGV[4]), tonumber(ARGV[5])}, {tonumber(ARGV[6]), tonumber(ARGV[7])}, {}
for i, unit in ipairs({'tokens', 'micros'}) do
  used[i] = tonumber(redis.call('HGET', KEYS[1], 'used_' .. unit) or 0) + tonumber(redis.call('HGET', KEYS[1], 'reserved_' .. unit) or 0)
  if limits[i] > 0 and used[i] * 100 >= limits[i] * tonumber(ARGV[8]) then
    saving = 1
  end
end
for i in ipairs(wants) do
  local want = wants[i]
  if saving == 1 then
    want = math.ceil(want / tonumber(ARGV[9]))
  end
  grants[i] = 0
  if limits[i] > 0 then
    grants[i] = math.min(want, limits[i] - used[i])
    if grants[i] < 1 or grants[i] * 4 < want then
      return {0, saving, 0, 0}
    end
  end
end
local format = string.format
redis.call('HINCRBY', KEYS[1], 'reserved_tokens', format('%.0f', grants[1]))
redis.call('HINCRBY', KEYS[1], 'reserved_micros', format('%.0f', grants[2]))
redis.call('HSET', KEYS[3], turn, format('%.0f %.0f', grants[1], grants[2]))
redis.call('ZADD', KEYS[2], ARGV[3], turn)
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[10])
end
return {1, saving, grants[1], grants[2]}
