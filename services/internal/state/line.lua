-- The places of ARGV[2] in ARGV[1] lines, whose keys come first in KEYS: for each the list of tokens in order, and the hash
-- of when their leases run out. ARGV[3] is the lease in milliseconds. The server's clock counts, so the clocks of the
-- processes may differ. See Lua in line.go for what may be called.
local lines, token, lease = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local function key(i) return KEYS[2 * lines + i] end
local function arg(i) return ARGV[3 + i] end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- lend renews the lease in the i-th line, or enters that. Of a line that nobody cares for nothing is left after some time.
local function lend(i)
  if redis.call('HSET', KEYS[2 * i], token, now() + lease) == 1 then redis.call('RPUSH', KEYS[2 * i - 1], token) end
  redis.call('PEXPIRE', KEYS[2 * i - 1], lease * 10)
  redis.call('PEXPIRE', KEYS[2 * i], lease * 10)
end

local function enter()
  for i = 1, lines do
    local line, leases = KEYS[2 * i - 1], KEYS[2 * i]
    lend(i)
    local head = redis.call('LINDEX', line, 0)
    while head ~= token and tonumber(redis.call('HGET', leases, head) or '0') < now() do
      redis.call('LPOP', line)
      redis.call('HDEL', leases, head)
      head = redis.call('LINDEX', line, 0)
    end
    if head ~= token then return redis.call('LPOS', line, token) end
  end
  return 0
end

local function first()
  for i = 1, lines do
    if redis.call('LINDEX', KEYS[2 * i - 1], 0) ~= token then return false end
  end
  return true
end

-- renew never takes a place anew: one who has lost it must not become the first again when the others have gone.
local function renew()
  if not first() then return false end
  for i = 1, lines do lend(i) end
  return true
end

local function leave()
  for i = 1, lines do
    redis.call('LREM', KEYS[2 * i - 1], 1, token)
    redis.call('HDEL', KEYS[2 * i], token)
  end
end
